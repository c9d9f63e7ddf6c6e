"""The functions by which a run uses a class's gradebook: check it, open it for days, book records and penalties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..base.errors import CourseError, InfrastructureFault
from ..base.wording import agreeing, counted
from ..grading.records import Record
from ..grading.tasks import Task
from ..lessons import Day
from .books.gradebook import check_gradebook, check_writable, enter_day, set_penalty
from .policy.class_tables import book_class
from .policy.late import late_rule
from .results import automatic_scores, class_results

if TYPE_CHECKING:
    from .books.class_folder import ClassFolder
    from .books.writer import WriterThread

Failures = dict[tuple[str, str], str]
"""{(student, day's slug): reason why the record is not in the gradebook}."""


def check_books(folder: ClassFolder) -> None:
    """Raise CourseError unless the class's gradebook can be used. Call this function before grading; it changes nothing."""
    check_gradebook(folder.db_url)


@contextmanager
def open_books(folder: ClassFolder, days: Iterable[Day]) -> Iterator[WriterThread]:
    """Enter the days and the class, yield the writer of records, and book the days' late penalties after the last record.

    After an exception in the body no penalties are booked. The writer's failures are complete after the body.
    Raises CourseError.
    """
    from .books.writer import WriterThread

    days = list(days)
    for day in days:
        enter_day(day, folder.db_url)
    book_class(folder.root, folder.db_url, days)
    with WriterThread(folder) as writer:
        yield writer
    book_penalties(folder, days)


def book_through_nbgrader(folder: ClassFolder, days: Iterable[Day], tasks: Iterable[Task], progress: Callable[[str], None]) -> Failures:
    """Store the records of these tasks by nbgrader's own converters, then book the days' late penalties. Raises CourseError."""
    from .books.bulk import store

    failures = store(folder, tasks, progress)
    book_penalties(folder, days)
    return failures


def book_penalties(folder: ClassFolder, days: Iterable[Day]) -> None:
    """Book these days' late penalties by the class's rule. Skip days without records; do nothing without a rule."""
    if late_rule(folder.root) is None:
        return
    for day in days:
        if any((folder.records / day.slug).glob("*.json")):
            results = class_results(folder, [day]).results
            set_penalty(day, {result.record.student: result.penalty for result in results}, folder.db_url)


def unbooked(folder: ClassFolder, day: Day, tasks: Iterable[Task], fresh: Mapping[str, Record]) -> list[Task]:
    """Return the day's tasks without a fresh record, and those whose record is not in the gradebook or among the graded notebooks.

    fresh: {student: record}. Storing a booked record again would only remove nbgrader's late penalty.
    """
    scores = automatic_scores(folder.db_url, day)

    def is_booked(student: str, record: Record) -> bool:
        notebook = folder.autograded / student / day.slug / f"{day.slug}.ipynb"
        return not record.timing_due and notebook.exists() and scores.get(student) == scores_to_book(record)

    return [task for task in tasks if task.student not in fresh or not is_booked(task.student, fresh[task.student])]


def scores_to_book(record: Record) -> dict[str, float | None]:
    """Return {exercise: points} as stored in the gradebook. The points are None for a file that cannot be read."""
    return {score.exercise: None if record.problem is not None else score.points for score in record.scores}


def require_gradebook(folder: ClassFolder, failures: Failures, stored: int) -> None:
    """Raise InfrastructureFault if the gradebook failed for a whole class, or cannot be written now.

    stored: the number of submissions that were in the gradebook already or were entered now. One failed submission alone does not stop
    the run, because another program may have used the gradebook for a moment.
    """
    from .books.writer import GONE, is_of_the_gradebook

    lost = {key: reason for key, reason in failures.items() if is_of_the_gradebook(reason)}
    if not lost:
        return
    missing = f"{counted(len(failures), 'submission')} {agreeing(len(failures), 'is', 'are')}"
    if GONE not in lost.values() and (stored or len(lost) == 1):
        try:
            check_writable(folder.db_url)
            return
        except CourseError as error:
            raise InfrastructureFault(f"{missing} not in the gradebook: {error}") from None
    (student, slug), reason = next(iter(lost.items()))
    raise InfrastructureFault(f"{missing} not in the gradebook: {student}, {slug}: {reason}")
