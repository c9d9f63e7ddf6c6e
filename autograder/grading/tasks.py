"""The submissions to grade: one file for each student and day, and the rules for student ids."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import CourseError
from ..lessons import CAPSTONE, Day, syllabus
from ..sandbox.submitted_file import SubmittedFile

STUDENT_ID = re.compile(r"[\w.@+-]{1,100}")
MAX_ID_BYTES = 200
"""The limit of an id in bytes. A file is named for each student, and most disks give a name 255 bytes: a letter can be four of them."""
ID_RULE = f"a student id has letters, digits and . _ @ + - only, no slash, no leading dot, at most 100 characters and {MAX_ID_BYTES} bytes"


@dataclass(frozen=True)
class Task:
    """One file to grade. file: its content, if it was read already (perhaps on another machine)."""

    student: str
    day: Day
    path: Path
    file: SubmittedFile | None = None


def find_tasks(submitted: Path, days: Iterable[Day], student: str | None = None) -> Iterator[Task]:
    """Yield the submissions submitted/<student>/<slug>/<slug>.ipynb, by day, then by student; `left_out` reports the others."""
    if student is not None:
        check_student_id(student)
    every = student_folders(submitted)
    twins = twin_folders(every)
    folders = [folder for folder in every if why_left_out(folder, twins) is None]
    for day in days:
        for folder in folders:
            place = folder / day.slug
            if student in (None, folder.name) and place.is_dir() and not place.is_symlink():
                yield Task(folder.name, day, place / f"{day.slug}.ipynb")


def known_slugs() -> list[str]:
    """Return the names that a submission's folder may have: the days, and the capstone."""
    return [*(day.slug for day in syllabus()), CAPSTONE]


def left_out(submitted: Path, slugs: Iterable[str], student: str | None = None) -> list[str]:
    """Return a line for each folder that cannot be graded, of all students or of one.

    The reasons: an id that cannot name a file, a link, a day that does not exist.
    """
    known = set(slugs)
    every = student_folders(submitted)
    twins = twin_folders(every)
    lines = []
    for folder in every:
        if student not in (None, folder.name):
            continue
        if (reason := why_left_out(folder, twins)) is not None:
            lines.append(f"{folder.name!a}: {reason}")
            continue
        for place in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
            if place.is_symlink():
                lines.append(f"{folder.name}: {place.name!a} {LINK}")
            elif place.name not in known:
                lines.append(f"{folder.name}: {place.name!a} is not a day: rename the folder")
    return lines


LINK = "is a link to another folder, so its owner is unknown: replace it with the folder itself"


def why_left_out(folder: Path, twins: dict[str, list[str]]) -> str | None:
    """Return the reason why nothing in a student's folder is graded, or None."""
    if not is_student_id(folder.name):
        return f"{ID_RULE}; rename the folder"
    if folder.is_symlink():
        return LINK
    if not os.access(folder, os.R_OK | os.X_OK):
        return "the folder cannot be read: fix its permissions"
    others = [name for name in twins.get(id_key(folder.name), []) if name != folder.name]
    if others:
        return f"on some disks this is the same name as {', '.join(map(ascii, others))}: put all files in one folder"
    return None


def student_folders(submitted: Path) -> list[Path]:
    if not submitted.is_dir():
        form = f"{submitted}/<student>/<day>/<day>.ipynb"
        raise CourseError(f"no folder {submitted}: put submissions at {form}")
    return sorted(p for p in submitted.iterdir() if p.is_dir() and not p.name.startswith("."))


def id_key(student: str) -> str:
    """Return a key that is equal for two ids that some file systems cannot distinguish.

    Such ids differ only in case, or in how an accent is encoded.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", student).casefold())


def twin_folders(folders: Iterable[Path]) -> dict[str, list[str]]:
    """Return {key: the names} of folders that some file systems cannot distinguish."""
    found: dict[str, list[str]] = {}
    for folder in folders:
        found.setdefault(id_key(folder.name), []).append(folder.name)
    return {key: names for key, names in found.items() if len(names) > 1}


def is_student_id(student: str) -> bool:
    if STUDENT_ID.fullmatch(student) is None or student.startswith("."):
        return False
    return len(student.encode("utf-8", "surrogatepass")) <= MAX_ID_BYTES


def check_student_id(student: str) -> str:
    """Return the id, if it can be a folder's name; else raise CourseError."""
    if not is_student_id(student):
        raise CourseError(f"student id {student!r} cannot be used: {ID_RULE}")
    return student
