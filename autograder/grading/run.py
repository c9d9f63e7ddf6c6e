"""A run: many submissions side by side, finished records kept."""

from __future__ import annotations

import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from .. import __version__
from ..base.errors import CourseError
from ..sandbox.process import zygotes
from . import verdict_inputs
from .executors.base import Executor
from .executors.local import Local
from .grade import Options, submission_sha256
from .lane import time_task, timing_canary, timing_checks
from .records import Record, read_record, record_path, write_record
from .tasks import Task


def fresh_record(records: Path, task: Task, options: Options, *, any_seed: bool = False) -> Record | None:
    """Return the stored record, if it is of exactly this file, course and seed."""
    path = record_path(records, task.student, task.day.slug)
    if not path.exists():
        return None
    try:
        record = read_record(path)
    except CourseError:
        return None
    same = (
        record.submission_sha256 == submission_sha256(task)
        and (record.submission_sha256 or record.problem)
        and record.course_version == __version__
        and record.course_sha256 == verdict_inputs.of_day(task.day)
        and (any_seed or record.seed == options.seed)
        and record.infrastructure is None
    )
    return record if same else None


def drawn_seed(records: Path | None = None, tasks: Iterable[Task] = ()) -> int:
    """A seed for a class's run: where a run is to go on the one that it had, else a new one that nobody can guess."""
    seeds: Counter[int] = Counter()
    for task in tasks:
        if records is None:
            break
        with contextlib.suppress(CourseError, OSError):
            seeds[read_record(record_path(records, task.student, task.day.slug)).seed] += 1
    return seeds.most_common(1)[0][0] if seeds else secrets.randbits(SEED_BITS)


SEED_BITS = 52
"""Within what JSON and a spreadsheet keep exactly."""


def grade_all(
    tasks: Iterable[Task],
    options: Options,
    records: Path,
    *,
    resume: bool = False,
    any_seed: bool = False,
    progress: Callable[[int, int, Record], None] | None = None,
    executor: Executor | None = None,
) -> list[Record]:
    """Records of all tasks, in the order of the tasks. Canaries of each day go first; what measures speed comes last, here, one by one.

    resume: keep finished records; any_seed: whatever their seed. progress: called with (done, total, record) after each. executor: where
    to grade; in this process if None. Raises InfrastructureFault, CourseError.
    """
    wanted = list(tasks)
    results: dict[int, Record] = {}
    due: dict[int, Record] = {}

    def done(number: int, record: Record) -> None:
        if record.timing_due and record.infrastructure is None:
            due[number] = record
            return
        results[number] = record
        if progress is not None:
            progress(len(results), len(wanted), record)

    def keep(record: Record) -> None:
        try:
            write_record(records, record)
        except OSError as error:  # a full disk, a folder in its place: this submission's trouble, and nobody else's
            record.infrastructure = f"its record cannot be kept: {error.strerror or error}"

    for number, task in enumerate(wanted if resume else []):
        kept = fresh_record(records, task, options, any_seed=any_seed)
        if kept is not None:
            done(number, kept)
    left = {number: task for number, task in enumerate(wanted) if number not in results and number not in due}
    if executor is not None and any(timing_checks(wanted[number].day) for number in (*left, *due)):
        zygotes.require_safe()  # speed is measured here, whoever grades the rest
    if left:
        executor = executor or Local()
        executor.prepare({task.day.slug: task.day for task in left.values()}.values(), options)
        with closing(executor.graded(left, options, keep)) as finished:
            for number, record in finished:
                done(number, record)
    for day in {wanted[number].day.slug: wanted[number].day for number in due}.values():
        timing_canary(day, options)
    for number, record in list(due.items()):  # one after the other, and nothing beside them
        record = time_task(wanted[number], record, options)
        keep(record)
        done(number, record)
    return [results[number] for number in range(len(wanted))]
