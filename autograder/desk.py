"""A student's desk: the folder with their notebooks, what they have passed, and their own functions for later days."""

from __future__ import annotations

import hashlib
import json
import os
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.kit.paths import ROOT, WORK

from .errors import CourseError
from .grading.far import Cell
from .grading.near import Near
from .grading.submission import read_submission
from .lessons import Day, lesson, syllabus
from .runner import reference, run_checks, select

PROGRESS = "progress.json"
OWN = "earlier_"
"""How the name of a module begins that is made of a student's earlier notebook."""


def desk_folder() -> Path | None:
    """Where this student's notebooks lie: $COURSE_WORK, or the folder of days that one stands in or beside, or work/.

    None inside course/ itself: what runs there is the release, not a student.
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
    """Where this student's notebook of a day lies, or would."""
    return (desk_folder() or WORK) / day.slug / f"{day.slug}.ipynb"


def day_of_notebook(namespace: dict[str, Any]) -> Day | None:
    """The day whose notebook runs here, by the name of its file or folder as Jupyter or VS Code tell it; None where neither says."""
    told = (namespace.get("__vsc_ipynb_file__"), namespace.get("__session__"), os.environ.get("JPY_SESSION_NAME"))
    paths = [Path(place) for place in told if isinstance(place, str)]
    names = [name for path in paths for name in (path.stem, path.parent.name)]
    return next((day for name in [*names, Path.cwd().name] for day in syllabus() if day.slug == name), None)


def find_exercise(name: str, here: Day | None = None) -> tuple[Day, float]:
    """The day an exercise belongs to, and its points. here: the day whose exercises are named where nothing is like this."""
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
    raise CourseError(f"there is no exercise {name!r}; `progress()` lists the days, each notebook names its exercises")


def not_from_here(function: object) -> str | None:
    """Whose a function is that was not written in this notebook, in words; None for one that was."""
    module = getattr(function, "__module__", None) or ""
    if module.startswith("solutions."):
        return "the course's own"
    return "yours of an earlier day" if module.startswith(OWN) else None


# What has been passed


@dataclass(frozen=True)
class Standing:
    """What a student's last check of an exercise said (visible checks only)."""

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
    """Kept whole or not at all; a desk that cannot be written to costs nothing but the memory of it."""
    if folder is None or not folder.is_dir():
        return
    temporary = folder / f".{PROGRESS}.{os.getpid()}"
    try:
        temporary.write_text(json.dumps(table, indent=1), encoding="utf-8")
        os.replace(temporary, folder / PROGRESS)
    except OSError:
        temporary.unlink(missing_ok=True)


def note_standing(topic: str, exercise: str, points: float, max_points: float, passed: bool) -> None:
    folder = desk_folder()
    table = read_progress(folder)
    entry = {"points": points, "max_points": max_points, "passed": passed, "when": time.time()}
    table.setdefault("exercises", {})[f"{topic}/{exercise}"] = entry
    write_progress(folder, table)


def standings(folder: Path | None) -> dict[str, Standing]:
    """{"samplers/top_p_probs": Standing} of everything checked so far."""
    found = {}
    for name, entry in read_progress(folder).get("exercises", {}).items():
        try:
            found[name] = Standing(float(entry["points"]), float(entry["max_points"]), bool(entry["passed"]), float(entry["when"]))
        except (TypeError, KeyError, ValueError):
            continue
    return found


# A student's own functions for later days


def own_functions(day: Day) -> types.ModuleType | None:
    """The student's functions of an earlier day, if every visible check of it passes; else None.

    A notebook is held against the checks once; the verdict is kept with the notebook's checksum.
    """
    folder = desk_folder()
    if folder is None:
        return None
    path = folder / day.slug / f"{day.slug}.ipynb"
    passed = {name for name, standing in standings(folder).items() if standing.passed}
    if not path.exists() or any(f"{day.topic}/{e.name}" not in passed for e in lesson(day).exercises):
        return None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    table = read_progress(folder)
    known = table.setdefault("notebooks", {}).get(day.topic, {})
    if known.get("sha256") == digest and not known.get("passed"):
        return None
    module = exercise_module(day, path)
    if module is not None and known.get("sha256") != digest:
        verdicts = run_checks(day.topic, select(day.topic, hidden=False), Near(vars(module)))
        passed_now = not any(v.failed for v in verdicts)
        table["notebooks"][day.topic] = {"sha256": digest, "passed": passed_now}
        write_progress(folder, table)
        return module if passed_now else None
    return module


def exercise_module(day: Day, path: Path) -> types.ModuleType | None:
    """A module made of a notebook's setup and the cells that define something; None if they do not run."""
    module = types.ModuleType(OWN + day.topic)
    try:
        cells = read_submission(path, day.slug, {}).cells
        names = {e.name for e in lesson(day).exercises}
        wanted = [Cell("setup", lesson(day).setup), *(c for c in cells if _defines(c.source, names))]
        for cell in wanted:
            exec(compile(cell.source, f"<cell {cell.name} of {day.slug}>", "exec"), module.__dict__)
    except Exception:
        return None
    return module


def _defines(source: str, names: set[str]) -> bool:
    return any(f"def {name}(" in source or f"class {name}" in source for name in names)


class Functions(types.ModuleType):
    """A module that shows itself without the path where the answers lie."""

    whose = ""

    def __repr__(self) -> str:
        return self.whose


def earlier_module(topic: str) -> tuple[types.ModuleType, str]:
    """(functions of an earlier day, one line that says whose they are)."""
    day = next((d for d in syllabus() if d.topic == topic), None)
    if day is None or not day.solutions_path.exists():
        raise CourseError(f"there is no topic {topic!r}; there are {', '.join(d.topic for d in syllabus())}")
    own = own_functions(day) if day.ready else None
    module, whose = (own, "your own") if own is not None else (reference(topic), "the course's")
    module.__class__ = Functions
    module.whose = f"{whose} functions of Day {day.number} ({day.title})"  # type: ignore[attr-defined]
    line = f"Day {day.number} ({day.title}): using {whose} functions"
    return module, f"{line}." if own is not None else f"{line}; yours take their place once that day's checks pass."
