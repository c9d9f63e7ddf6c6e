"""A student's own functions for later days: theirs if their checks pass, and the course's otherwise."""

from __future__ import annotations

import hashlib
import types
from pathlib import Path

from ..base.errors import CourseError
from ..base.evidence import all_of
from ..checking.runner import reference, run_checks, select
from ..lessons import Day, lesson, syllabus
from ..sandbox.process.local import LocalStudent
from ..sandbox.submission import read_submission
from .workspace import read_progress, standings, workspace_folder, write_progress

OWN = "earlier_"
"""The beginning of the name of a module made from a student's earlier notebook."""


def not_from_here(function: object) -> str | None:
    """Return the origin of a function that was not written in this notebook, in words; None for one that was."""
    module = getattr(function, "__module__", None) or ""
    if module.startswith("solutions."):
        return "the course's own"
    return "yours of an earlier day" if module.startswith(OWN) else None


def own_functions(day: Day) -> tuple[types.ModuleType, list[str]] | None:
    """Return the functions of an earlier day, and the names of the student's own: those whose visible checks pass. None if none does.

    The others are the course's; the student's functions call them, too. A function is checked once for each state of its notebook;
    the verdict is stored with the notebook's checksum.
    """
    folder = workspace_folder()
    if folder is None or not (path := folder / day.slug / f"{day.slug}.ipynb").exists():
        return None
    standing = {name for name, found in standings(folder).items() if found.passed}
    asked = [exercise.name for exercise in lesson(day).exercises if f"{day.topic}/{exercise.name}" in standing]
    if not asked or (module := exercise_module(day, path, passing_over=True)) is None:
        return None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    table = read_progress(folder)
    known = table.setdefault("notebooks", {}).get(day.topic, {})
    verdicts = dict(known.get("verdicts", {})) if known.get("sha256") == digest else {}
    for name in asked:
        if name not in verdicts:
            found = run_checks(day.topic, select(day.topic, exercise=name, hidden=False), LocalStudent(vars(module)))
            verdicts[name] = not any(verdict.failed for verdict in found)
    if known != (now := {"sha256": digest, "verdicts": verdicts}):
        table["notebooks"][day.topic] = now
        write_progress(folder, table)
    own = [name for name in asked if verdicts[name]]
    course = reference(day.topic)
    vars(module).update({e.name: getattr(course, e.name) for e in lesson(day).exercises if e.name not in own})
    return (module, own) if own else None


def exercise_module(day: Day, path: Path, *, passing_over: bool = False) -> types.ModuleType | None:
    """Return a module made of a notebook's setup and the cells that define something; None if they do not run.

    passing_over: leave out a cell that does not run, and run the others all the same.
    """
    module = types.ModuleType(OWN + day.topic)
    try:
        cells = read_submission(path, day.slug, {}).cells
        exec(compile(lesson(day).setup, f"<cell setup of {day.slug}>", "exec"), module.__dict__)
    except Exception:
        return None
    names = {e.name for e in lesson(day).exercises}
    for cell in (cell for cell in cells if _defines(cell.source, names)):
        try:
            exec(compile(cell.source, f"<cell {cell.name} of {day.slug}>", "exec"), module.__dict__)
        except Exception:
            if not passing_over:
                return None
    return module


def _defines(source: str, names: set[str]) -> bool:
    return any(f"def {name}(" in source or f"class {name}" in source for name in names)


class Functions(types.ModuleType):
    """A module whose repr hides the path of the answers."""

    whose = ""

    def __repr__(self) -> str:
        return self.whose


def earlier_module(topic: str) -> tuple[types.ModuleType, str]:
    """Return (functions of an earlier day, one line that says whose they are)."""
    day = next((d for d in syllabus() if d.topic == topic), None)
    if day is None or not day.solutions_path.exists():
        raise CourseError(f"there is no topic {topic!r}; there are {', '.join(d.topic for d in syllabus())}")
    found = own_functions(day) if day.ready else None
    module, own = found if found is not None else (reference(topic), [])
    others = [exercise.name for exercise in lesson(day).exercises if exercise.name not in own] if day.ready else []
    here = f"Day {day.number} ({day.title})"
    if not own:
        whose, line = "the course's functions", "using the course's functions; yours replace them once their checks pass."
    elif not others:
        whose, line = "your own functions", "using your own functions."
    else:
        whose = f"your own {all_of(own)} and the course's other functions"
        line = f"using your own {all_of(own)}; {all_of(others)} {'is' if len(others) == 1 else 'are'} the course's until the checks pass."
    module.__class__ = Functions
    module.whose = f"{whose} of {here}"  # type: ignore[attr-defined]
    return module, f"{here}: {line}"
