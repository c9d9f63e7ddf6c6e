"""The class's own tables in nbgrader's gradebook, for formgrader to show them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...lessons import Day
from ..books.gradebook import set_people
from .deadlines import book_due_dates
from .roster import find_roster


def book_class(root: Path, db_url: str, days: Iterable[Day]) -> None:
    """Book the roster's names and addresses, and the due dates and extensions of these days, if the gradebook has the days.

    Students of the roster who handed in nothing are added, too. Raises CourseError if a table cannot be read.
    """
    roster = find_roster(root)
    if roster is not None:
        set_people(roster.by_id.values(), db_url)
    book_due_dates(root, db_url, days)
