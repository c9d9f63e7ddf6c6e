"""What the class's own tables say, into nbgrader's gradebook: so that formgrader shows it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..lessons import Day
from .policy.deadlines import book_due_dates
from .policy.roster import find_roster


def book_class(root: Path, db_url: str, days: Iterable[Day]) -> None:
    """Names and addresses of the roster, and the due dates and extensions of these days, as far as the gradebook has the days.

    Whoever is in the roster is in the gradebook, too, with nothing handed in. Raises CourseError where a table cannot be read.
    """
    from .books.gradebook import set_people

    roster = find_roster(root)
    if roster is not None:
        set_people(roster.by_id.values(), db_url)
    book_due_dates(root, db_url, days)
