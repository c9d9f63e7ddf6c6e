"""What a run asks of the place where its submissions are graded."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Protocol

from ...lessons import Day
from ..grade import Options, new_record, scores
from ..records import Record
from ..tasks import Task

Keep = Callable[[Record], object]
"""Stores a record. Called once for each task, perhaps from several threads at a time."""


class Executor(Protocol):
    """Grades many submissions side by side. The records are written by the process that runs the command, whoever graded."""

    def prepare(self, days: Iterable[Day], options: Options) -> None:
        """Shows that grading works, by the canaries of each day, before any submission. Raises InfrastructureFault, CourseError."""

    def graded(self, tasks: Mapping[int, Task], options: Options, keep: Keep) -> Generator[tuple[int, Record]]:
        """(number, record) of each task as soon as it is done, in any order, after `keep(record)`.

        Closing it gives up what has not begun. Raises InfrastructureFault, CourseError.
        """

    def close(self) -> None:
        """Gives back what `prepare` and `graded` have started."""


def lost(task: Task, options: Options, reason: str) -> Record:
    """The record of a submission that nobody could grade: for a person, never a zero."""
    record = new_record(task, options, level="")
    record.infrastructure = reason
    record.scores = scores(task.day, record)
    return record
