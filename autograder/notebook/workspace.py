"""A student's workspace: the folder with their notebooks, and the exercises they have passed."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.kit.paths import ROOT, WORK

from ..base.errors import CourseError
from ..lessons import Day, lesson, syllabus
from . import cells
from .display import in_notebook, show_line

PROGRESS = "progress.json"


def workspace_folder() -> Path | None:
    """Return the folder of this student's notebooks: $COURSE_WORK, else the current or its parent folder if it contains days, else work/.

    Return None inside course/ itself: its notebooks are the release, not a student's.
    """
    if chosen := os.environ.get("COURSE_WORK"):
        return Path(chosen)
    here = Path.cwd()
    if here.is_relative_to(ROOT / "course"):
        return None
    slugs = {day.slug for day in syllabus()}
    if here.name in slugs:
        return here.parent
    return here if any((here / slug).is_dir() for slug in slugs) else WORK


def notebook_path(day: Day) -> Path:
    """Return the path of this student's notebook of a day, even if the file does not exist yet."""
    return (workspace_folder() or WORK) / day.slug / f"{day.slug}.ipynb"


def day_of_notebook(namespace: dict[str, Any]) -> Day | None:
    """Return the day of the running notebook, by the file or folder name that Jupyter or VS Code gives, else by the cells that ran.

    Return None if neither names a day.
    """
    names = [name for path in _reported_paths(namespace) for name in (path.stem, path.parent.name)]
    found = next((day for name in [*names, Path.cwd().name] for day in syllabus() if day.slug == name), None)
    ran = namespace.get("_ih")  # IPython's history of this kernel
    return found if found is not None or not isinstance(ran, list) else cells.day_of_cells(ran)


def saved_notebook(day: Day, namespace: dict[str, Any]) -> Path:
    """Return the saved file of the running notebook if it is this day's, else of the day's notebook. Raises CourseError."""
    reported = _reported_paths(namespace) if day == day_of_notebook(namespace) else []
    path = next((path for path in reported if path.suffix == ".ipynb" and path.is_file()), notebook_path(day)).absolute()
    if not path.is_file():
        raise CourseError(f"There is no saved notebook at {path}: save yours there, then run this cell again.")
    return path


def _reported_paths(namespace: dict[str, Any]) -> list[Path]:
    """Return the notebook's path as Jupyter or VS Code reports it."""
    reported = (namespace.get("__vsc_ipynb_file__"), namespace.get("__session__"), os.environ.get("JPY_SESSION_NAME"))
    return [Path(place) for place in reported if isinstance(place, str)]


def find_exercise(name: str, here: Day | None = None) -> tuple[Day, float]:
    """Return an exercise's day and its points. here: the day whose exercises the error lists if no similar name exists."""
    known: dict[str, list[str]] = {}
    for day in syllabus():
        if day.ready:
            for exercise in lesson(day).exercises:
                if exercise.name == name:
                    return day, exercise.points
                known.setdefault(day.topic, []).append(exercise.name)
    import difflib

    near = difflib.get_close_matches(name, [each for names in known.values() for each in names], 1)
    if near:
        raise CourseError(f"there is no exercise {name!r}; did you mean {near[0]!r}?")
    if here is not None and here.topic in known:
        raise CourseError(f"there is no exercise {name!r}; Day {here.number} has {', '.join(known[here.topic])}")
    raise CourseError(f"there is no exercise {name!r}; `progress()` lists the days, and each notebook names its exercises")


# Passed exercises


@dataclass(frozen=True)
class Standing:
    """The result of a student's last check of an exercise (visible checks only)."""

    points: float
    max_points: float
    passed: bool
    when: float


def read_progress(folder: Path | None) -> dict[str, Any]:
    if folder is None:
        return {}
    try:
        table = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
        return table if isinstance(table, dict) else {}
    except (OSError, ValueError):
        return {}


def write_progress(folder: Path | None, table: dict[str, Any]) -> None:
    """Write the progress whole or not at all. In a notebook, make a missing folder; a sentence says once why nothing was saved."""
    if folder is None:
        _say_once("Your progress is not saved, because this notebook is in `course/`: work in your own copy, in `work/`.")
        return
    temporary = folder / f".{PROGRESS}.{os.getpid()}"
    try:
        if in_notebook() or os.environ.get("COURSE_WORK"):
            folder.mkdir(parents=True, exist_ok=True)
        elif not folder.is_dir():
            return
        temporary.write_text(json.dumps(table, indent=1), encoding="utf-8")
        os.replace(temporary, folder / PROGRESS)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        _say_once(f"Your progress is not saved: {folder} cannot be written to ({reason}). Set `COURSE_WORK` to a folder of yours.")


_said: set[str] = set()


def _say_once(sentence: str) -> None:
    if in_notebook() and sentence not in _said:
        _said.add(sentence)
        show_line(sentence)


def note_standing(topic: str, exercise: str, points: float, max_points: float, passed: bool) -> None:
    folder = workspace_folder()
    table = read_progress(folder)
    entry = {"points": points, "max_points": max_points, "passed": passed, "when": time.time()}
    table.setdefault("exercises", {})[f"{topic}/{exercise}"] = entry
    write_progress(folder, table)


def standings(folder: Path | None) -> dict[str, Standing]:
    """Return {"samplers/top_p_probs": Standing} of everything checked so far."""
    found = {}
    for name, entry in read_progress(folder).get("exercises", {}).items():
        try:
            found[name] = Standing(float(entry["points"]), float(entry["max_points"]), bool(entry["passed"]), float(entry["when"]))
        except (TypeError, KeyError, ValueError):
            continue
    return found
