"""The table of days, `course/syllabus.toml`, as Python objects."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.base import own
from autograder.base.errors import CourseError

ROOT = Path(__file__).resolve().parents[2]

_FIELDS = {"number": int, "topic": str, "title": str, "question": str, "minutes": int, "difficulty": str}


@dataclass(frozen=True)
class Day:
    """One row of the syllabus table. `root` is the checkout that the row was read from; all paths follow from it.

    own: the folder with the files of a class's own day; None for the course's days.
    """

    number: int
    topic: str
    title: str
    question: str
    minutes: int
    difficulty: str
    prerequisites: tuple[str, ...] = ()
    root: Path = field(default=ROOT, repr=False)
    own: Path | None = field(default=None, repr=False)

    @property
    def slug(self) -> str:
        return f"day{self.number:02d}_{self.topic}"

    @property
    def home(self) -> Path:
        """Return the folder with the day's files: the checkout, or the class's own."""
        return self.own or self.root

    @property
    def folder(self) -> Path:
        return self.home / "course" / self.slug

    @property
    def lesson_path(self) -> Path:
        return self.folder / "lesson.md"

    @property
    def solutions_path(self) -> Path:
        return self.home / "solutions" / f"{self.topic}.py"

    @property
    def checks_path(self) -> Path:
        """Return the path of the visible checks."""
        return (self.own or self.root / "autograder" / "checking") / "checks" / f"test_{self.topic}.py"

    @property
    def ready(self) -> bool:
        """Return True if the day has a lesson; the others are still to be written."""
        return self.lesson_path.exists()


def syllabus(root: Path | None = None) -> list[Day]:
    """Return all days, in order. Raises CourseError if the table contradicts itself.

    root: a checkout. Without root the result is this checkout's days, followed by the class's own days.
    """
    days = _days_of_course(root or ROOT)
    folder = own.used() if root is None else None
    if folder is None or not (folder / own.SYLLABUS).is_file():
        return list(days)
    return [*days, *(replace(day, root=ROOT, own=folder) for day in _read(folder, stamp(folder / own.SYLLABUS), days))]


def _days_of_course(root: Path) -> tuple[Day, ...]:
    path = root / own.SYLLABUS
    try:
        return _read(root, stamp(path))
    except FileNotFoundError:
        raise CourseError(f"{path}, the table of days, is missing: restore it from git") from None


def find_day(name: str | int, root: Path | None = None) -> Day:
    """Return the day that a person means by "5", "05", "day05", "day05_samplers" or "samplers"."""
    days = syllabus(root)
    wanted = str(name).strip().lower()
    number = re.fullmatch(r"(?:day)?0*(\d+)", wanted)
    for day in days:
        if wanted in (day.slug, day.topic) or (number and int(number[1]) == day.number):
            return day
    known = ", ".join(f"{day.number} {day.topic}" for day in days)
    raise CourseError(f"{str(name)!r} is not a day; the days are: {known}")


def stamp(path: Path) -> tuple[int, int]:
    """Return numbers that change when a file changes. Raises FileNotFoundError."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=8)
def _read(root: Path, stamp: tuple[int, int], before: tuple[Day, ...] = ()) -> tuple[Day, ...]:
    """Return the days of one table. before: the days of the table that this one continues."""
    where = own.SYLLABUS.as_posix() if not before else str(root / own.SYLLABUS)
    try:
        rows = tomllib.loads((root / own.SYLLABUS).read_text(encoding="utf-8")).get("day", [])
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{where}: {error}") from None
    days = list(before)
    for row in rows:
        day = _day(row, root, where)
        earlier = {other.topic for other in days}
        if days and day.number <= days[-1].number:
            raise CourseError(f"{where}: day {day.number} comes after day {days[-1].number}")
        if day.topic in earlier:
            raise CourseError(f"{where}: day {day.number}: the topic {day.topic!r} belongs to an earlier day")
        for topic in day.prerequisites:
            if topic not in earlier:
                raise CourseError(f"{where}: day {day.number}: the prerequisite {topic!r} is not the topic of an earlier day")
        days.append(day)
    return tuple(days[len(before) :])


def _day(row: dict[str, Any], root: Path, where: str) -> Day:
    label = f"{where}: day {row.get('number', '(without a number)')}"
    for name, kind in _FIELDS.items():
        if not isinstance(row.get(name), kind):
            expected = "a number" if kind is int else "a text"
            raise CourseError(f"{label}: {name} must be {expected}, got {row.get(name)!r}")
    if not row["topic"].isidentifier():
        raise CourseError(f"{label}: topic names a module, so it must be an identifier, got {row['topic']!r}")
    prerequisites = tuple(row.get("prerequisites", ()))
    unknown = set(row) - set(_FIELDS) - {"prerequisites"}
    if unknown:
        raise CourseError(f"{label}: unknown key {sorted(unknown)[0]!r}")
    return Day(**{name: row[name] for name in _FIELDS}, prerequisites=prerequisites, root=root)
