"""Reset of a cell, or of a whole day, to the released version; the student's version is saved beside the notebook."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

from autograder.base.errors import CourseError
from autograder.base.files import write_whole
from autograder.lessons.release import release_notebook_path
from autograder.lessons.syllabus import Day
from autograder.lessons.work import copy_to_work

Cell = dict[str, Any]


def reset(day: Day, work: Path, exercise: str | None = None) -> Path:
    """Reset one exercise's cell (or, with None, the whole notebook) to the release. Return the backup of the previous file.

    A deleted cell and its check are put back in their place. All other cells, with those that the student added, are unchanged. Raises
    CourseError for an unknown exercise, and if the notebook is missing or cannot be read (resetting the whole day still works then).
    """
    path = work / day.slug / f"{day.slug}.ipynb"
    if not path.exists():
        raise CourseError(f"no notebook at {path}: run `autograder work` to get the released notebook")
    if exercise is None:
        backup = _back_up(path)
        path.unlink()
        copy_to_work(day, work)
        return backup
    released = json.loads(release_notebook_path(day).read_text(encoding="utf-8"))["cells"]
    names = [name for cell in released if (name := _exercise(cell)) is not None]
    if exercise not in names:
        raise CourseError(f"no exercise {exercise!r} in {day.slug}: choose one of {', '.join(dict.fromkeys(names))}")
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = notebook["cells"]
        known = {cell.get("id"): index for index, cell in enumerate(cells)}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise CourseError(f"{path} cannot be read: `autograder reset {day.number}` without --exercise resets the whole day") from None
    for place, cell in enumerate(released):
        if _exercise(cell) != exercise:
            continue
        if cell["id"] in known:
            cells[known[cell["id"]]] = cell
        else:
            before = next((known[c["id"]] for c in reversed(released[:place]) if c["id"] in known), -1)
            cells.insert(before + 1, cell)
        known = {each.get("id"): index for index, each in enumerate(cells)}
    backup = _back_up(path)
    write_whole(path, (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())
    return backup


def _exercise(cell: Cell) -> str | None:
    """Return the exercise whose answer or check a released cell is; None for other cells."""
    course = cell["metadata"].get("course", {})
    return course.get("exercise") if course.get("role") in ("exercise", "check") else None


def _back_up(path: Path) -> Path:
    """Make a copy beside the file, with the time in its name; never overwrite another copy."""
    stamp = time.strftime("%Y-%m-%d-%H%M%S")
    for number in range(1, 1000):
        backup = path.parent / "backups" / f"{path.stem}-{stamp}{f'-{number}' if number > 1 else ''}.ipynb"
        if not backup.exists():
            backup.parent.mkdir(exist_ok=True)
            shutil.copy2(path, backup)
            return backup
    raise CourseError(f"{path.parent / 'backups'} has too many copies made in this second: try again")
