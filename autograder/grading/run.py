"""A run: many submissions side by side. A resumed run reloads its finished records."""

from __future__ import annotations

import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from .. import __version__
from ..base.errors import CourseError
from ..lessons import Day
from ..sandbox.process import forkserver_pool
from . import verdict_inputs
from .executors.base import Executor
from .executors.local import Local
from .grade import Options, submission_sha256
from .records import Record, read_record, record_path, write_record
from .tasks import Task
from .timing_phase import time_task, timing_canary, timing_checks

Progress = Callable[[int, int, Record], None]
"""A function called with (finished, all, record) after each record that is final."""
Bar = Callable[[str, int], AbstractContextManager[Callable[..., None]]]
"""A function that shows a step of the work, with its number of parts, and yields a function to call after each part."""
SEED_BITS = 52
"""The number of bits of a seed: JSON and spreadsheets hold integers of this size exactly."""


@contextmanager
def no_bar(what: str, total: int) -> Iterator[Callable[..., None]]:
    yield lambda *ignored: None


def fresh_record(records: Path, task: Task, options: Options, *, any_seed: bool = False) -> Record | None:
    """Return the stored record if it belongs to exactly this file, course and seed; otherwise None."""
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
    """Return a seed for a class's run: the most frequent seed in these tasks' records, or a random one that nobody can guess."""
    seeds: Counter[int] = Counter()
    for task in tasks:
        if records is None:
            break
        with contextlib.suppress(CourseError, OSError):
            seeds[read_record(record_path(records, task.student, task.day.slug)).seed] += 1
    return seeds.most_common(1)[0][0] if seeds else secrets.randbits(SEED_BITS)


def grade_all(
    tasks: Iterable[Task],
    options: Options,
    records: Path,
    *,
    resume: bool = False,
    any_seed: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
    bar: Bar = no_bar,
) -> list[Record]:
    """Grade all tasks and return their records, in the order of the tasks. Raises InfrastructureFault, CourseError.

    Canaries of each day run first. Timing checks run last, in this process, one submission at a time.
    resume: reload finished records; any_seed: also records with another seed. executor: grades the tasks; None: this process does.
    bar: shows the two steps, grading and the measurement of times.
    """
    run = Run(tasks, options, records, progress, bar)
    if resume:
        run.reload(any_seed=any_seed)
    if executor is not None and run.has_timing():
        forkserver_pool.require_safe()  # this machine measures speed, even if others grade the rest
    run.grade(executor)
    run.time()
    return run.in_order()


class Run:
    """One run over submissions: the tasks by number, the final records, and the records that wait for their timing checks."""

    def __init__(self, tasks: Iterable[Task], options: Options, records: Path, progress: Progress | None, bar: Bar) -> None:
        self.tasks = dict(enumerate(tasks))
        self.options, self.folder, self.progress, self.bar = options, records, progress, bar
        self.final: dict[int, Record] = {}
        self.timing_due: dict[int, Record] = {}

    def reload(self, *, any_seed: bool) -> None:
        """Load the stored records that are still fresh."""
        for number, task in self.tasks.items():
            record = fresh_record(self.folder, task, self.options, any_seed=any_seed)
            if record is not None:
                self.note(number, record)

    def grade(self, executor: Executor | None) -> None:
        """Grade the tasks that have no record yet, in parallel, after the canaries of their days."""
        tasks = self.without_record()
        if not tasks:
            return
        executor = executor or Local()
        executor.prepare(different_days(tasks.values()), self.options)
        with self.bar("grading", len(tasks)) as step, closing(executor.graded(tasks, self.options, self.store)) as graded:
            for number, record in graded:
                self.note(number, record)
                step()

    def time(self) -> None:
        """Run the pending timing checks, one submission at a time, with nothing beside them."""
        for day in different_days(self.tasks[number] for number in self.timing_due):
            timing_canary(day, self.options)
        due = list(self.timing_due.items())
        with self.bar("measuring times", len(due)) as step:
            for number, untimed in due:
                record = time_task(self.tasks[number], untimed, self.options)
                self.store(record)
                self.note(number, record)
                step()

    def in_order(self) -> list[Record]:
        """Return the final records in the order of the tasks."""
        return [self.final[number] for number in self.tasks]

    def without_record(self) -> dict[int, Task]:
        """Return the tasks that have no record yet."""
        return {number: task for number, task in self.tasks.items() if number not in self.final and number not in self.timing_due}

    def has_timing(self) -> bool:
        """Return True if a task without a final record has timing checks."""
        return any(timing_checks(task.day) for number, task in self.tasks.items() if number not in self.final)

    def store(self, record: Record) -> None:
        """Write a record. If this fails, the record gets an infrastructure fault, and the run continues."""
        try:
            write_record(self.folder, record)
        except OSError as error:  # a full disk, or a folder in the record's place
            record.infrastructure = f"its record cannot be written: {error.strerror or error}"

    def note(self, number: int, record: Record) -> None:
        """Count a record as final and report it, or store it in `timing_due` until its timing checks."""
        if record.timing_due and record.infrastructure is None:
            self.timing_due[number] = record
            return
        self.final[number] = record
        if self.progress is not None:
            self.progress(len(self.final), len(self.tasks), record)


def different_days(tasks: Iterable[Task]) -> list[Day]:
    """Return the days of these tasks, each once, in the order of the tasks."""
    return list({task.day.slug: task.day for task in tasks}.values())
