"""A class's own material, from the folder `own` in the class's folder: hidden checks for the course's days, and days of its own.

    hidden/test_<topic>.py                 hidden checks, of a day of the course or of the class
    checks/test_<topic>.py                 the visible checks of a day of the class, and its other files in the course's forms:
    course/syllabus.toml, course/dayNN_<topic>/lesson.md, solutions/<topic>.py, specimens/<topic>/<exercise>.py

`use` chooses the class for this process. Without a class, only the course's own material is used.
"""

from __future__ import annotations

import functools
import sys
import tomllib
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

import solutions

from .errors import CourseError
from .imports import names_imported

FOLDER = "own"
"""The folder of a class's own material, beside its submissions; it may be a link to a folder elsewhere."""
SYLLABUS = Path("course", "syllabus.toml")
PARTS = ("course", "solutions", "checks", "hidden")
"""The subfolders that grading reads."""
PACKAGE = "own_checks"

_used: Path | None = None
_course_solutions = tuple(solutions.__path__)


def folder_of(root: Path) -> Path | None:
    """Return the folder of a class's own material; None if the class has none."""
    folder = root.absolute() / FOLDER
    return folder if folder.is_dir() or folder.is_symlink() else None


def use(folder: Path | None) -> None:
    """Use the checks and days in this folder in addition to the course's; None: use only the course's. Raises CourseError."""
    global _used
    if folder is not None and not folder.is_dir():
        raise CourseError(f"{folder}, the folder of the class's own material, is missing on this machine: copy the folder to this path")
    if folder != _used:
        for name, module in list(sys.modules.items()):  # a topic of another class may have the same name
            if name.startswith("solutions.") and not str(getattr(module, "__file__", "")).startswith(_course_solutions):
                del sys.modules[name]
    _used = folder
    solutions.__path__[:] = [*_course_solutions, *([str(folder / "solutions")] if folder is not None else [])]


def used() -> Path | None:
    """Return the folder of the class's own material that this process uses, or None."""
    return _used


def topics() -> tuple[str, ...]:
    """Return the topics of the class's own days that have a solutions module, in the order of days. Raises CourseError."""
    path = _used / SYLLABUS if _used is not None else None
    if _used is None or path is None or not path.is_file():
        return ()
    rows = _rows(path, path.stat().st_mtime_ns)
    return tuple(topic for topic in rows if (_used / "solutions" / f"{topic}.py").is_file())


@functools.lru_cache(maxsize=8)
def _rows(path: Path, stamp: int) -> tuple[str, ...]:
    try:
        days = tomllib.loads(path.read_text(encoding="utf-8")).get("day", [])
        return tuple(str(day["topic"]) for day in sorted(days, key=lambda day: day["number"]))
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CourseError(f"{path}: {type(error).__name__}: {error}: write the days in the form of course/syllabus.toml") from None


def file_of(topic: str, part: str = "hidden") -> Path | None:
    """Return the class's own file of a topic in the folder `part`; None if there is none.

    part: `hidden` for every topic; `checks` and `solutions` only for the class's own days.
    """
    if _used is None or (part != "hidden" and topic not in topics()):
        return None
    path = _used / part / (f"{topic}.py" if part == "solutions" else f"test_{topic}.py")
    return path if path.is_file() else None


def files() -> Iterator[Path]:
    """Yield all files that grading may read, without hidden files and Python's caches."""
    folder = _used
    if folder is None:
        return
    for part in PARTS:
        for path in sorted((folder / part).rglob("*")):
            if path.is_file() and not any(name.startswith(".") or name == "__pycache__" for name in path.relative_to(folder).parts):
                yield path


def inputs(topic: str) -> tuple[Path, ...]:
    """Return the class's own files that a verdict on a topic depends on: the topic's checks, and the solutions up to this topic."""
    mine = topics()
    earlier = mine[: mine.index(topic) + 1] if topic in mine else ()
    found = (file_of(topic), file_of(topic, "checks"), *(file_of(each, "solutions") for each in earlier))
    return tuple(path for path in found if path is not None)


def imports_of(topic: str) -> tuple[str, ...]:
    """Return the modules that the class's own files of a topic may import. Raises CourseError for a file that is not Python."""
    found: list[str] = []
    for path in inputs(topic):
        try:
            found += names_imported(path.read_text(encoding="utf-8"), PACKAGE)
        except (SyntaxError, ValueError) as error:
            raise _fault(path, error) from None
    return tuple(found)


def module_of(path: Path) -> types.ModuleType:
    """Import a file of checks, again after a change, and return the module. Raises CourseError, with the line, if the import fails."""
    return _module(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _module(path: Path, stamp: int) -> types.ModuleType:
    module = types.ModuleType(f"{PACKAGE}.{path.parent.name}.{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up there
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(module))
    except Exception as error:
        raise _fault(path, error) from None
    return module


def _fault(path: Path, error: Exception) -> CourseError:
    """Return a CourseError for a file that cannot be imported, with the line that failed."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    line, reason = (error.lineno, error.msg) if isinstance(error, SyntaxError) else (lines[-1] if lines else None, str(error))
    where = f"{path}:{line}" if line else str(path)
    reason = (reason.strip().splitlines() or [""])[0]
    return CourseError(f"{where}: cannot be imported ({type(error).__name__}: {reason}): fix it, or move the file away")
