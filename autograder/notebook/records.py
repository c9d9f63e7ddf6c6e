"""A student's records: on Days 12 to 18 the lesson gives a number to beat, and the workspace stores the student's best result.

A record is a count that does not depend on the machine: passes, messages, bytes, promises kept on a simulated clock. `progress()` shows it;
it is never graded.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from ..base.errors import CourseError
from ..lessons import syllabus
from . import render, workspace


@dataclass(frozen=True)
class Record:
    """The best result of a day's race.

    number: the student's number. text: the lesson's number. unit: the unit of both. more: whether the larger number wins. when: seconds
    since 1970.
    """

    day: int
    number: float
    text: float
    unit: str
    more: bool
    when: float

    def better_than(self, other: float) -> bool:
        return self.number > other if self.more else self.number < other

    @property
    def line(self) -> str:
        return f"Day {self.day}: {self.number:,.10g} {self.unit} (the text: {self.text:,.10g})"


def set_record(day: int, number: float, unit: str, *, text: float, more: bool = False) -> str:
    """Store a result if it is better than the stored one, and return a sentence about it.

    text: the lesson's number. more: whether the larger number wins. Raises CourseError for an unknown day, for a number that is not finite
    or below 0, and for a unit that is not a word.
    """
    if type(day) is not int or day not in {each.number for each in syllabus()}:
        raise CourseError(f"{day!r} is not a day of the course: give its number, such as 15. Nothing was recorded.")
    for name, value in (("result", number), ("number in the text", text)):
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise CourseError(f"Day {day}: the {name} must be a finite number that is not below 0, got {value!r}. Nothing was recorded.")
    if not isinstance(unit, str) or not unit.strip():
        raise CourseError(f"Day {day}: name what is counted, such as 'passes', got {unit!r}. Nothing was recorded.")
    made = Record(day, number, text, unit, more, time.time())
    folder = workspace.workspace_folder()
    table = workspace.read_progress(folder)
    held = _stored(table).get(day)
    if held is not None and (held.unit, held.more) == (unit, more) and not made.better_than(held.number):
        return f"{made.line}. Your record stays: {held.number:,.10g}."
    stored = table.get("records")
    table["records"] = (stored if isinstance(stored, dict) else {}) | {str(day): asdict(made)}
    workspace.write_progress(folder, table)
    if not made.better_than(text):
        return f"{made.line}. Not beaten yet: the {'larger' if more else 'smaller'} number wins."
    return f"{made.line}. A new record: you have beaten the text."


def records() -> list[Record]:
    """Return the records of this workspace, in the order of the days."""
    found = _stored(workspace.read_progress(workspace.workspace_folder()))
    return [found[day] for day in sorted(found)]


def _stored(table: dict[str, Any]) -> dict[int, Record]:
    """Return {day: its record}, without entries that are damaged."""
    entries = table.get("records")
    found = {}
    for entry in entries.values() if isinstance(entries, dict) else ():
        try:
            each = Record(**entry)
            _ = each.line, each.better_than(each.text)  # numbers, or an exception
        except (TypeError, ValueError):
            continue
        found[each.day] = each
    return found


def text(found: list[Record]) -> str:
    lines = (each.line + ("" if each.better_than(each.text) else ", not beaten yet") for each in found)
    return "\n".join(["Your records:", *(f"  {line}" for line in lines)])


def html(found: list[Record]) -> str:
    """Return a table of the records."""
    rows = []
    for each in found:
        beaten = "yes" if each.better_than(each.text) else "not yet"
        rows.append((str(each.day), f"{each.number:,.10g}", f"{each.text:,.10g}", escape(each.unit), beaten))
    return render.plain_table(("day", "yours", "the text", "counted", "beaten"), rows, "Your records")
