"""Regrading after a check was fixed: the new scores of everybody, before anything is stored.

New records go into regraded/, beside the old ones. Storing the new records replaces the old ones, which move to
regraded/replaced/. A grade corrected by hand stays: the gradebook stores it separately from the checks' points.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.errors import CourseError
from ...grading.records import Record, read_record, record_path, write_record
from ...grading.run import different_days, drawn_seed, grade_all
from ...grading.tasks import Task
from ...lessons import Day
from ..booking import Failures, open_books
from ..lms.tables import harmless, number, written
from ..results import Booked, booked, lost

if TYPE_CHECKING:
    from ...grading.executors.base import Executor
    from ...grading.grade import Options
    from ..books.class_folder import ClassFolder

FOLDER = "regraded"
Key = tuple[str, str]


@dataclass(frozen=True)
class Change:
    """An exercise whose automatic points change. before: None if there was no record.

    corrected: the points that a person gave, which stay; None if there are none.
    """

    student: str
    slug: str
    exercise: str
    before: float | None
    after: float
    checks: tuple[str, ...]
    corrected: float | None = None

    @property
    def note(self) -> str:
        return "" if self.corrected is None else f"corrected by hand: stays {number(self.corrected)}"


def old_records(records: Path, tasks: Iterable[Task]) -> dict[Key, Record]:
    """Return the existing records; an unreadable one counts as none."""
    found = {}
    for task in tasks:
        path = record_path(records, task.student, task.day.slug)
        if path.exists():
            try:
                found[task.student, task.day.slug] = read_record(path)
            except CourseError:
                continue
    return found


def regrade(
    tasks: list[Task],
    old: Mapping[Key, Record],
    options: Callable[[int], Options],
    side: Path,
    *,
    executor: Executor | None = None,
    progress: Callable[[int, int, Record], None] | None = None,
) -> list[Record]:
    """Grade into a folder beside the old records, each submission with its old seed or a new one. Reload fresh records from this folder."""
    by_seed: dict[int, list[Task]] = {}
    drawn = drawn_seed(side, [task for task in tasks if (task.student, task.day.slug) not in old])
    for task in tasks:
        before = old.get((task.student, task.day.slug))
        by_seed.setdefault(before.seed if before is not None else drawn, []).append(task)
    new: dict[Key, Record] = {}
    for seed, of_seed in sorted(by_seed.items()):
        for record in grade_all(of_seed, options(seed), side, resume=True, progress=progress, executor=executor):
            new[record.student, record.slug] = record
    return [new[task.student, task.day.slug] for task in tasks]


def changes(old: Mapping[Key, Record], new: Iterable[Record], books: Mapping[Key, Booked]) -> list[Change]:
    """Return the exercises whose automatic points differ; an infrastructure fault changes nothing."""
    found = []
    for record in new:
        if record.infrastructure is not None:
            continue
        key = record.student, record.slug
        before = old.get(key)
        if before is not None and before.infrastructure is not None:
            before = None
        points = {s.exercise: s.points for s in before.scores} if before is not None else {}
        book = books.get(key)
        for score in record.scores:
            was = points.get(score.exercise)
            if was is not None and abs(was - score.points) < 1e-6:
                continue
            hand = book.by_hand.get(score.exercise) if book is not None else None
            found.append(Change(*key, score.exercise, was, score.points, checks_that_differ(before, record, score.exercise), hand))
    return found


def checks_that_differ(before: Record | None, after: Record, exercise: str) -> tuple[str, ...]:
    """Return lines such as `test_ties: fail -> pass`, with a note on a check that is new or gone."""
    if before is None:
        return ()
    was = {v.check: v for v in before.exercise(exercise)}
    now = {v.check: v for v in after.exercise(exercise)}
    lines = []
    for name in dict.fromkeys([*was, *now]):
        if name not in now:
            lines.append(f"{name}: gone ({was[name].outcome})")
        elif name not in was:
            lines.append(f"{name}: new ({now[name].outcome})")
        elif was[name].outcome != now[name].outcome and lost(was[name]) != lost(now[name]):
            lines.append(f"{name}: {was[name].outcome} -> {now[name].outcome}")
        elif was[name].weight != now[name].weight:
            lines.append(f"{name}: weight {was[name].weight:g} -> {now[name].weight:g}")
    return tuple(lines)


def changes_csv(found: Iterable[Change]) -> bytes:
    rows: list[tuple[object, ...]] = [("day", "student", "exercise", "from", "to", "checks", "note")]
    rows += [(c.slug, harmless(c.student), c.exercise, number(c.before), number(c.after), "; ".join(c.checks), c.note) for c in found]
    return written(rows)


def all_booked(folder: ClassFolder, days: Iterable[Day]) -> dict[Key, Booked]:
    """Return {(student, slug): scores in the gradebook} of these days."""
    return {(student, day.slug): book for day in days for student, book in booked(folder.db_url, day).items()}


def store(folder: ClassFolder, tasks: list[Task], new: list[Record], now: datetime.datetime) -> Failures:
    """Replace the old records by the new ones, and book the new ones. Return the booking failures.

    A new record with an infrastructure fault is left out.
    """
    replaced = folder.root / FOLDER / "replaced" / now.strftime("%Y%m%dT%H%M%S")
    with open_books(folder, different_days(tasks)) as writer:
        for task, record in zip(tasks, new, strict=True):
            if record.infrastructure is None:
                replace(folder.records, record, replaced)
                writer.put(task, record)
    return writer.failures


def replace(records: Path, record: Record, replaced: Path) -> None:
    """Write a record. First copy the old record to the folder of replaced records."""
    path = record_path(records, record.student, record.slug)
    if path.exists():
        copy = record_path(replaced, record.student, record.slug)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    write_record(records, record)
