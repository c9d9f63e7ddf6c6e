"""The time of submission in nbgrader's timestamp.txt, which the student's own process writes."""

from __future__ import annotations

import datetime
import re
import stat
from pathlib import Path

NAME, MAX_BYTES = "timestamp.txt", 1000
TIME = re.compile(r"[\d:. T+-]+ ?(?:[A-Za-z][\w+-]*(?:/[A-Za-z][\w+-]*)*)?")
"""The form of a time. A zone has a name and not a path, because its reader would open any file."""


def submitted_at(folder: Path) -> datetime.datetime | None:
    """Return the time in timestamp.txt, in UTC and without a zone, as nbgrader stores it; None without a file or a time in it."""
    path = folder / NAME
    try:
        if not stat.S_ISREG(path.lstat().st_mode) or path.stat().st_size > MAX_BYTES:
            return None
        text = path.read_text(encoding="utf-8").strip()
        return _parsed(text) if TIME.fullmatch(text) else None
    except (OSError, ValueError, ArithmeticError, TypeError, AttributeError):  # dateutil does not document its exceptions
        return None


def _parsed(text: str) -> datetime.datetime:
    from nbgrader.utils import parse_utc  # takes a second to import, and most folders have no such file

    found: datetime.datetime = parse_utc(re.sub(r" (?=[+-]\d)", "", text))  # after a space it takes +0100 for 100 seconds
    return found
