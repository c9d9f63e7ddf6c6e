"""Due dates and lateness: by the platform's flag or a time that a person gave, never by the time of a download."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.errors import CourseError
from ...grading.tasks import check_student_id
from ...lessons import Day, find_day
from ...lessons.notebooks import write_if_changed

if TYPE_CHECKING:
    from ..lms.collecting import Entry

NAME = "due.csv"
COLLECTED = "the time of collecting"
Key = tuple[str, str]
FORM = 'a date and time such as "2026-11-20 23:59" (this machine\'s time zone), 2026-11-20T23:59+01:00, or a date alone for its end'


def parse_time(text: str) -> datetime.datetime:
    """Return a point in time with its zone. A text without a zone is in this machine's zone. Raises CourseError."""
    try:
        when = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise CourseError(f"{text!r} is not a valid time: give {FORM}") from None
    if len(text.strip()) == 10:
        when = when.replace(hour=23, minute=59, second=59)
    return when.astimezone() if when.tzinfo is None else when


def due_dates(root: Path) -> dict[str, datetime.datetime]:
    """Return {day's slug: due date} from the class's table; empty if there is none. Raises CourseError."""
    return {slug: when for (student, slug), when in _table(root).items() if not student}


def extensions(root: Path) -> dict[Key, datetime.datetime]:
    """Return {(student, slug): due date} of students with an extension. Raises CourseError."""
    return {key: when for key, when in _table(root).items() if key[0]}


def _table(root: Path) -> dict[Key, datetime.datetime]:
    """Return {(student, or "" for the class, slug): due date}."""
    path = root / NAME
    if not path.exists():
        return {}
    dates = {}
    try:
        rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"{path} cannot be read ({type(error).__name__}): save it as CSV in UTF-8: day, due, student") from None
    for number, row in enumerate(rows, start=2):
        try:
            student = (row.get("student") or "").strip()
            key = check_student_id(student) if student else "", find_day(row.get("day") or "").slug
            dates[key] = parse_time(row.get("due") or "")
        except CourseError as error:
            raise CourseError(f"{path}, line {number}: {error}") from None
    return dates


def set_due(root: Path, day: Day, when: datetime.datetime | None, student: str = "") -> None:
    """Write a due date into the class's table, for all students or for one; None removes the date. Raises CourseError."""
    dates, key = _table(root), (check_student_id(student) if student else "", day.slug)
    if when is None:
        dates.pop(key, None)
    else:
        dates[key] = when
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("day", "due", "student"))
    writer.writerows((slug, due.isoformat(timespec="seconds"), who) for (who, slug), due in sorted(dates.items(), key=lambda d: d[0][::-1]))
    write_if_changed(root / NAME, table.getvalue().encode())


def book_due_dates(root: Path, db_url: str, days: Iterable[Day]) -> None:
    """Copy the table's dates of these days to nbgrader's gradebook, if the gradebook has the days and the submissions."""
    from ..books.gradebook import set_due_date, set_extension

    dates, more = due_dates(root), extensions(root)
    for day in days:
        if day.slug in dates:
            set_due_date(day, dates[day.slug], db_url)
            for (student, slug), when in more.items():
                if slug == day.slug:
                    set_extension(day, student, max(when - dates[slug], datetime.timedelta(0)), db_url)


@dataclass(frozen=True)
class Lateness:
    """The lateness of a submission. by: the longest possible delay; said_by: the platform, nbgrader's timestamp, or the time of collecting.

    unknown: the time from the due date until the submission was first seen, if no submission time is known.
    Such a submission is not called late.
    collected: False if the submission was graded in its place, so that no collector has seen it.
    """

    late: bool
    by: datetime.timedelta | None = None
    said_by: str = ""
    unknown: datetime.timedelta | None = None
    collected: bool = True

    @property
    def text(self) -> str:
        if self.unknown is not None:
            seen = f"collected {duration(self.unknown)} after the due date" if self.collected else "not collected"
            return f"{seen}; the time of submission is unknown"
        if not self.late:
            return ""
        return f"late according to {self.said_by}" if self.by is None else f"late by {duration(self.by)}"


def lateness(entry: Entry, due: datetime.datetime | None, extension: datetime.datetime | None = None) -> Lateness | None:
    """Return the lateness of a collected submission, or None if nothing is known about its time.

    The platform saw the submission itself, so its word counts first. The platform does not know an extension given here, so a late
    submission of a student with an extension is checked again. The time of collecting can prove that a submission came in time.
    It proves lateness only if a person gave this time (`--at`) as the latest time of submission. The student's own process writes
    nbgrader's timestamp, so the timestamp is believed only if it is late.
    """
    if entry.lms_late is not None and (extension is None or not entry.lms_late):
        return Lateness(entry.lms_late, None, entry.source.capitalize())
    dates = [when for when in (due, extension) if when is not None]
    if not dates:
        return None
    by = entry.seen_at - max(dates)
    if by <= datetime.timedelta(0):
        return Lateness(False, None, COLLECTED)
    if entry.at_given:
        return Lateness(True, by, COLLECTED)
    if entry.handed_in and max(dates) < datetime.datetime.fromisoformat(entry.handed_in) <= entry.seen_at:
        return Lateness(True, datetime.datetime.fromisoformat(entry.handed_in) - max(dates), "nbgrader's timestamp")
    return Lateness(False, unknown=by)


def lateness_in_place(due: datetime.datetime | None, extension: datetime.datetime | None, now: datetime.datetime) -> Lateness | None:
    """Return the lateness of a submission that was graded in its place and never collected: None until the due date, then unknown."""
    dates = [when for when in (due, extension) if when is not None]
    if not dates or now <= max(dates):
        return None
    return Lateness(False, unknown=now - max(dates), collected=False)


def duration(span: datetime.timedelta) -> str:
    """Return `2 d 3 h`, `3 h 5 min`, `40 s`."""
    seconds = int(span.total_seconds())
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes = rest // 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{seconds} s"
