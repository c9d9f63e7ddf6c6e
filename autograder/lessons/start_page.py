"""The parts of the syllabus on the course's first page: the days, the eight steps of inference, and ways through the course.

All parts are Markdown, made from `course/syllabus.toml`. Callers with other paths to the days (the site, the README) pass their own links.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.base.errors import CourseError
from autograder.lessons.syllabus import ROOT, Day, find_day, syllabus

Link = Callable[[Day], str | None]
"""The address of a day, or None for a day that is only named."""


@dataclass(frozen=True)
class Step:
    """One of the steps from a prompt to a token, with the exercises and days in which a student writes it."""

    title: str
    happens: str
    written: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Way:
    """A way through the course: some or all of the days, split into sittings. sitting: the name of one sitting."""

    title: str
    gives: str
    days: tuple[Day, ...]
    sittings: int
    sitting: str

    @property
    def timetable(self) -> list[tuple[Day, ...]]:
        """Return the days of each sitting, in order. The split has the smallest sum of squared minutes, so sittings are nearly equal."""
        cuts = itertools.combinations(range(1, len(self.days)), self.sittings - 1)
        bounds = ((0, *cut, len(self.days)) for cut in cuts)
        splits = ([self.days[a:b] for a, b in itertools.pairwise(bound)] for bound in bounds)
        return min(splits, key=lambda split: sum(minutes(part) ** 2 for part in split))

    @property
    def borrowed(self) -> list[Day]:
        """Return the days outside this way whose functions it needs; the course's functions replace them."""
        days = syllabus(self.days[0].root)
        used = {topic for day in self.days for topic in day.prerequisites} - {day.topic for day in self.days}
        return [day for day in days if day.topic in used]


def steps(root: Path = ROOT) -> list[Step]:
    return [
        Step(row["title"], row["happens"], {find_day(topic, root).topic: tuple(names) for topic, names in row["written"].items()})
        for row in _table("step", root)
    ]


def ways(root: Path = ROOT) -> list[Way]:
    """Return the ways through the course. Raises CourseError if a way has more sittings than days."""
    found = []
    for row in _table("way", root):
        days = tuple(find_day(topic, root) for topic in row["days"]) if "days" in row else tuple(syllabus(root))
        if not 0 < row["sittings"] <= len(days):
            raise CourseError(f"course/syllabus.toml: {row['title']!r} has {len(days)} days for {row['sittings']} sittings")
        found.append(Way(row["title"], row["gives"], days, row["sittings"], row["sitting"]))
    return found


def _table(name: str, root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((root / "course" / "syllabus.toml").read_text(encoding="utf-8")).get(name, [])
    return found


def notebook_link(day: Day) -> str | None:
    """Return the link to a day from start_here.ipynb, which is beside the days' folders."""
    return f"{day.slug}/{day.slug}.ipynb" if day.ready else None


def fill(text: str, link: Link = notebook_link, root: Path = ROOT) -> str:
    """Return the text with the requested table in place of each line such as `{{ days }}`."""
    tables = {"{{ days }}": table_of_days, "{{ steps }}": table_of_steps, "{{ ways }}": table_of_ways, "{{ timetable }}": timetable}
    lines = text.split("\n")
    return "\n".join(tables[line.strip()](link, root) if line.strip() in tables else line for line in lines)


def table_of_days(link: Link = notebook_link, root: Path = ROOT) -> str:
    """Return the table of days: each with its title, question, minutes, the days it builds on, and its state."""
    number = {day.topic: day.number for day in syllabus(root)}
    lines = ["| Day | Title | The question | Minutes | Builds on | State |", "|---:|---|---|---:|---|---|"]
    for day in syllabus(root):
        before = ", ".join(map(str, sorted(number[topic] for topic in day.prerequisites)))
        state = day.difficulty if day.ready else f"{day.difficulty}, to come"
        lines.append(f"| {day.number} | {linked(day.title, link(day))} | {day.question} | {day.minutes} | {before} | {state} |")
    return "\n".join(lines)


def table_of_steps(link: Link = notebook_link, root: Path = ROOT) -> str:
    lines = ["| | What happens | You write it on |", "|---:|---|---|"]
    for number, step in enumerate(steps(root), start=1):
        written = "; ".join(
            f"{linked(f'Day {day.number}', link(day))}: {', '.join(f'`{name}`' for name in step.written[day.topic])}"
            for day in syllabus(root)
            if day.topic in step.written
        )
        lines.append(f"| {number} | **{step.title}.** {step.happens} | {written} |")
    return "\n".join(lines)


def table_of_ways(link: Link = notebook_link, root: Path = ROOT) -> str:
    """Return each way with its days and hours, its goal, and the days whose functions come from the course."""
    total = len(syllabus(root))
    lines = ["| You have | Days | Hours | What you have afterwards | Provided by the course |", "|---|---|---|---|---|"]
    for way in ways(root):
        days = f"all {total}, in order" if len(way.days) == total else ", ".join(linked(str(day.number), link(day)) for day in way.days)
        spans = [minutes(part) for part in way.timetable]
        shortest, longest = in_hours(min(spans)), in_hours(max(spans))
        each = longest if shortest == longest else f"{shortest} to {longest}"
        hours = f"{each}, one {way.sitting}" if len(spans) == 1 else f"{each} on each of {len(spans)} {way.sitting}s"
        borrowed = ", ".join(f"Day {day.number} ({day.title})" for day in way.borrowed) or "nothing"
        lines.append(f"| **{way.title}** | {days} | {hours} | {way.gives} | {borrowed} |")
    return "\n".join(lines)


def timetable(link: Link = notebook_link, root: Path = ROOT) -> str:
    """Return the longest way, sitting by sitting."""
    way = max(ways(root), key=lambda way: way.sittings)
    lines = [f"| {way.sitting.capitalize()} | Days of the course | Hours |", "|---:|---|---|"]
    for number, part in enumerate(way.timetable, start=1):
        days = ", ".join(linked(f"{day.number} {day.title}", link(day)) for day in part)
        lines.append(f"| {number} | {days} | {in_hours(minutes(part))} |")
    return "\n".join(lines)


def minutes(days: tuple[Day, ...]) -> int:
    return sum(day.minutes for day in days)


def in_hours(of_minutes: int) -> str:
    """Return minutes in the form `3 h 30` or `3 h`."""
    hours, rest = divmod(of_minutes, 60)
    return f"{hours} h {rest:02}" if rest else f"{hours} h"


def linked(words: str, target: str | None) -> str:
    return f"[{words}]({target})" if target else words
