"""Common parts of a day's submissions, side by side: a page for staff, and a table. A person judges; nothing here does."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from ... import __version__
from ...lessons import Day
from ..lms.tables import harmless, written
from .similarity import MIN_TOKENS, RUN, Found, Side, Unit
from .templating import rendered

MOST_SHOWN = 50
"""The maximum number of pairs on the page; the table has all."""


def html(day: Day, found: Found, now: datetime.datetime) -> str:
    """Return the page. Everything that came from a student is escaped."""
    return rendered(
        "similar.html.j2", day=day, found=found, shown=found.pairs[:MOST_SHOWN], version=__version__, numbered=numbered,
        when=now.strftime("%Y-%m-%d %H:%M %z"), min_tokens=MIN_TOKENS, run=RUN,
    )  # fmt: skip


def numbered(unit: Unit, alike: frozenset[int]) -> list[tuple[int, str, bool]]:
    """Return (number, text, whether the line is common) of each line of a cell."""
    return [(number, line, number in alike) for number, line in enumerate(unit.source.splitlines(), start=1)]


def similar_csv(day: Day, found: Found) -> bytes:
    """Return a CSV with a row for each pair.

    tokens: each side's number of common tokens; own: each side's number of tokens that the task does not give.
    """
    rows: list[Sequence[object]] = [
        ("day", "first", "second", "tokens_first", "own_first", "tokens_second", "own_second", "cells_first", "cells_second")
    ]
    for pair in found.pairs:
        first, second = pair.first, pair.second
        rows.append((
            day.slug, harmless(first.student), harmless(second.student), first.tokens, first.own, second.tokens, second.own,
            harmless(cells(first)), harmless(cells(second)),
        ))  # fmt: skip
    return written(rows)


def cells(side: Side) -> str:
    return " ".join(unit.name for unit, _ in side.cells)
