"""The interface between a run and the place where its submissions are graded."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Protocol

from ...lessons import Day
from ..grade import Options, new_record, scores
from ..records import Record
from ..tasks import Task

Keep = Callable[[Record], object]
"""A function that stores a record. Called once for each task, perhaps from several threads at a time."""


class Executor(Protocol):
    """A grader of many submissions in parallel. The process that runs the command writes all records, even those graded elsewhere."""

    def prepare(self, days: Iterable[Day], options: Options) -> None:
        """Run the canaries of each day before any submission. Raises InfrastructureFault, CourseError."""

    def graded(self, tasks: Mapping[int, Task], options: Options, keep: Keep) -> Generator[tuple[int, Record]]:
        """Yield (number, record) of each task as soon as it is done, in any order, after `keep(record)`.

        Closing the generator cancels the tasks that have not begun. Raises InfrastructureFault, CourseError.
        """

    def close(self) -> None:
        """Release everything that `prepare` and `graded` have started."""


def lost(task: Task, options: Options, reason: str) -> Record:
    """Return the record of a submission that could not be graded. A person must look at this record; it is never a zero."""
    record = new_record(task, options, level="")
    record.infrastructure = reason
    record.scores = scores(task.day, record)
    return record
