"""The program that Gradescope's machine runs for each submission: it grades one notebook and writes results.json.

    python -m autograder.gradebook.lms.on_gradescope DAY [BASE]    # BASE: /autograder, with submission/ and results/ in it

Grading works as for a class: in a worker that reaches neither checks nor results. If the machine has no safe level of isolation, or
something else in the grader fails, nothing is written and the exit status is 1. Gradescope tells the instructor, and nobody gets a zero for
it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from ...base import own
from ...base.errors import CourseError, InfrastructureFault
from ...grading.executors import chosen
from ...grading.grade import Options
from ...grading.records import Record
from ...grading.run import drawn_seed, grade_all
from ...grading.tasks import Task
from ...lessons import ROOT, Day, find_day
from ...sandbox.submitted_file import MAX_BYTES
from ..books.class_folder import ClassFolder
from ..results import class_results
from .gradescope import results

STUDENT = "student"
"""The student's id here: Gradescope knows the student, and passes on no name that is needed."""


class NoNotebook(CourseError):
    """A submission without a day's notebook, which the student can fix."""


def notebook_of(submission: Path, day: Day) -> Path:
    """Return the day's notebook among the files of a submission. Raises NoNotebook, with the name of the expected file."""
    found = sorted(path for path in submission.rglob("*.ipynb") if path.is_file() and not path.is_symlink())
    named = [path for path in found if path.stem == day.slug]
    chosen_ones = named or found
    if len(chosen_ones) == 1:
        return chosen_ones[0]
    there = ", ".join(path.name for path in found) or "no notebook"
    raise NoNotebook(f"hand in one file, {day.slug}.ipynb; the submission has: {there}")


def graded(day: Day, notebook: Path) -> dict[str, Any]:
    """Return Gradescope's results. Raises InfrastructureFault, or CourseError if this machine cannot grade."""
    with tempfile.TemporaryDirectory(prefix="gradescope-") as place:
        folder = ClassFolder.of(Path(place) / "submitted")
        path = folder.submitted / STUDENT / day.slug / f"{day.slug}.ipynb"
        path.parent.mkdir(parents=True)
        with notebook.open("rb") as file:
            path.write_bytes(file.read(MAX_BYTES + 1))
        task = Task(STUDENT, day, path)
        with closing(chosen("local", None, 1, "auto", print)) as grader:
            record: Record = grade_all([task], Options(seed=drawn_seed(), jobs=1), folder.records, executor=grader)[0]
        if record.infrastructure is not None:
            raise InfrastructureFault(record.infrastructure)
        return results(class_results(folder, [day]).results[0])


def main(slug: str, base: Path = Path("/autograder")) -> int:
    try:
        own.use(own.folder_of(ROOT))
        day = find_day(slug)
        made = graded(day, notebook_of(base / "submission", day))
    except NoNotebook as error:
        made = {"score": 0, "output": str(error), "tests": []}
    except (CourseError, InfrastructureFault) as error:
        print(f"This is not a fault of the submission: {error}")
        return 1
    (base / "results").mkdir(exist_ok=True)
    (base / "results" / "results.json").write_text(json.dumps(made, indent=1, ensure_ascii=False), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(Path, sys.argv[2:3])))
