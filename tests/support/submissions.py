"""Notebooks as students hand them in, for the tests of grading."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.grading.grade import Options, grade_file
from autograder.grading.records import Record
from autograder.grading.tasks import Task
from autograder.lessons import Day, find_day, release_notebook_path, solved_notebook
from autograder.sandbox.confine.limits import Limits

SOFTMAX = find_day("softmax")
QUICK = Options(limits=Limits(call_seconds=1.0, cell_seconds=2.0))
"""One set of limits for all tests: each other one starts a fork server of its own."""

Notebook = dict[str, Any]


def released(day: Day = SOFTMAX) -> Notebook:
    notebook = json.loads(release_notebook_path(day).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def solved(day: Day = SOFTMAX, **answers: str) -> Notebook:
    """The release with the reference's answers, or with others where they are given; `name=None` leaves the stub."""
    notebook = released(day)
    reference = {c.metadata.course.exercise: c.source for c in solved_notebook(day).cells if c.metadata.course.role == "exercise"}
    for cell in notebook["cells"]:
        if cell["metadata"]["course"]["role"] == "exercise":
            name = cell["metadata"]["course"]["exercise"]
            answer = answers.get(name, reference[name])
            cell["source"] = cell["source"] if answer is None else answer
    return notebook


def code(source: str, **more: Any) -> Notebook:
    return {"cell_type": "code", "id": "added", "metadata": {}, "source": source, "outputs": [], "execution_count": None, **more}


def with_cell(notebook: Notebook, source: str, place: int = 2) -> Notebook:
    """A cell that the student added; at place 2, after the setup."""
    notebook["cells"].insert(place, code(source))
    return notebook


def cells_of(notebook: Notebook, role: str) -> list[Notebook]:
    return [cell for cell in notebook["cells"] if cell["metadata"].get("course", {}).get("role") == role]


def hand_in(root: Path, student: str, content: Notebook | str | bytes, day: Day = SOFTMAX) -> Task:
    """Writes root/submitted/<student>/<slug>/<slug>.ipynb."""
    path = root / "submitted" / student / day.slug / f"{day.slug}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Task(student, day, path)


def graded(root: Path, content: Notebook | str | bytes, day: Day = SOFTMAX, options: Options = QUICK) -> Record:
    return grade_file(hand_in(root, "ada", content, day), options)


def points(record: Record) -> dict[str, float]:
    """Of each exercise the share of its points, so that a test need not know what a lesson gives for what."""
    assert record.infrastructure is None, record.infrastructure
    return {s.exercise: s.points / s.max_points for s in record.scores}


def only_lost(record: Record, *names: str) -> bool:
    """Whether just these exercises have nothing, and all others everything."""
    return points(record) == {s.exercise: 0.0 if s.exercise in names else 1.0 for s in record.scores}


Change = Callable[[Notebook], None]
