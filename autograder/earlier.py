"""A student's own functions for later days: theirs if that day's checks pass, else the course's."""

from __future__ import annotations

import hashlib
import types
from pathlib import Path

from .desk import desk_folder, read_progress, standings, write_progress
from .errors import CourseError
from .grading.near import Near
from .grading.submission import Cell, read_submission
from .lessons import Day, lesson, syllabus
from .runner import reference, run_checks, select

OWN = "earlier_"
"""How the name of a module begins that is made of a student's earlier notebook."""


def not_from_here(function: object) -> str | None:
    """Whose a function is that was not written in this notebook, in words; None for one that was."""
    module = getattr(function, "__module__", None) or ""
    if module.startswith("solutions."):
        return "the course's own"
    return "yours of an earlier day" if module.startswith(OWN) else None


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
