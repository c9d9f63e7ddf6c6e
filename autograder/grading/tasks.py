"""Which submissions there are: one file for each student and day, and who may be a student."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import CourseError
from ..lessons import Day
from .handed_in import HandedIn

STUDENT_ID = re.compile(r"[\w.@+-]{1,100}")
ID_RULE = "a student id has letters, digits and . _ @ + - only, no slash, no leading dot"


@dataclass(frozen=True)
class Task:
    """One file to grade. file: what is in it, where that was read already (perhaps on another machine)."""

    student: str
    day: Day
    path: Path
    file: HandedIn | None = None


def find_tasks(submitted: Path, days: Iterable[Day], student: str | None = None) -> Iterator[Task]:
    """The submissions submitted/<student>/<slug>/<slug>.ipynb, by day, then by student; `left_out` tells the rest."""
    if student is not None:
        check_student_id(student)
    folders = [folder for folder in student_folders(submitted) if is_student_id(folder.name)]
    for day in days:
        for folder in folders:
            if student in (None, folder.name) and (folder / day.slug).is_dir():
                yield Task(folder.name, day, folder / day.slug / f"{day.slug}.ipynb")


def left_out(submitted: Path, slugs: Iterable[str]) -> list[str]:
    """A line for each folder that cannot be graded: an id that nothing can be named for, a day that does not exist."""
    known = set(slugs)
    lines = []
    for folder in student_folders(submitted):
        if not is_student_id(folder.name):
            lines.append(f"{folder.name!a}: {ID_RULE}; rename the folder")
        else:
            days = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
            lines += [f"{folder.name}: no day is called {day!a}; rename the folder" for day in days if day not in known]
    return lines


def student_folders(submitted: Path) -> list[Path]:
    if not submitted.is_dir():
        form = f"{submitted}/<student>/<day>/<day>.ipynb"
        raise CourseError(f"no folder {submitted}: submissions are looked for in {form}")
    return sorted(p for p in submitted.iterdir() if p.is_dir() and not p.name.startswith("."))


def is_student_id(student: str) -> bool:
    return STUDENT_ID.fullmatch(student) is not None and not student.startswith(".")


def check_student_id(student: str) -> str:
    """The id, if it can be a folder's name; else CourseError."""
    if not is_student_id(student):
        raise CourseError(f"student id {student!r} cannot be used: {ID_RULE}")
    return student
