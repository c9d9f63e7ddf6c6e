"""Commands for an instructor: grade a class, write its feedback, try both on a class of samples."""

from __future__ import annotations

import enum
import os
import shlex
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..base.errors import CourseError
from ..base.wording import agreeing, counted
from ..sandbox.protocol.text import encodable
from .course import DayArgument, chosen_days

if TYPE_CHECKING:
    from ..demo.demo import Outcome
    from ..gradebook.booking import Failures
    from ..gradebook.books.class_folder import ClassFolder
    from ..grading.executors.base import Executor
    from ..grading.grade import Options
    from ..grading.records import Record
    from ..grading.tasks import Task
    from ..lessons import Day

console = Console()
stderr = Console(stderr=True)
SubmittedOption = Annotated[
    Path, typer.Option(help="Folder of submissions, <student>/<day>/<day>.ipynb; all results go beside it.")
]
DatabaseOption = Annotated[
    str | None, typer.Option("--db", help="Gradebook, a file or a URL; default: gradebook.db beside the submissions.")
]


class Through(enum.StrEnum):
    bulk = "bulk"
    nbgrader = "nbgrader"


class On(enum.StrEnum):
    local = "local"
    dask = "dask"


def register(app: typer.Typer) -> None:
    for function in (grade, feedback, demo):
        app.command()(function)


def grade(
    day: DayArgument = None,
    jobs: Annotated[int, typer.Option(min=0, help="Submissions graded side by side; 0: as many as processors.")] = 0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the checks' inputs, to repeat a run; default: drawn, and stored in the records.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Reuse the records of unchanged files.")] = False,
    student: Annotated[str | None, typer.Option(help="One student only.")] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
    isolation: Annotated[str, typer.Option(help="auto, or a level: namespaces, landlock, seccomp, none.")] = "auto",
    through: Annotated[Through, typer.Option(help="Scores go into the gradebook in bulk, or by nbgrader's own converters.")] = Through.bulk,
    executor: Annotated[On, typer.Option(help="Grades on this machine, or on a dask cluster.")] = On.local,
    scheduler: Annotated[str | None, typer.Option(help="The cluster's address, tcp://HOST:8786; default: one is started here.")] = None,
) -> None:
    """Grade a class: write a record for each submission, then nbgrader's gradebook."""
    stopped = Stop()
    from ..gradebook.booking import check_books
    from ..gradebook.books.class_folder import ClassFolder

    days, folder = chosen_days(day), ClassFolder.of(submitted, db)
    use_own_checks(folder.root, (day.topic for day in days))
    tasks, bad_folders = read_submissions(folder, days, student, submitted)
    check_books(folder)
    with exclusive_executor(jobs, isolation, folder.records, kind=executor, scheduler=scheduler) as grader:
        options = options_of_run(folder, tasks, seed, jobs, resume)
        run = ClassRun(folder, tasks, options, grader, stopped, resume=resume, any_seed=seed is None)
        records, failures = run.grade_in_bulk() if through is Through.bulk else run.grade_through_nbgrader(days)
    stopped.over()
    print_summary(records)
    raise_status(records, failures, bad_folders, folder)


def use_own_checks(root: Path, topics: Iterable[str]) -> None:
    """Add a class's own hidden checks from now on, and print their files for these topics. Raises CourseError.

    root: the class's folder.
    """
    from ..base import own
    from ..base.course_table import check_own_names

    own.use(own.folder_of(root))
    check_own_names()
    for path in filter(None, map(own.file_of, topics)):
        say(f"with checks of your own: {path}")


def read_submissions(folder: ClassFolder, days: Sequence[Day], student: str | None, shown: Path) -> tuple[list[Task], list[str]]:
    """Return the tasks, and a line for each folder that cannot be graded. Raise CourseError if both lists are empty.

    shown: the folder of submissions as the user typed it.
    """
    from ..grading.tasks import find_tasks, known_slugs, left_out

    tasks = list(find_tasks(folder.submitted, days, student))
    bad_folders = left_out(folder.submitted, known_slugs(), student)
    if not tasks and not bad_folders:
        who = f"of {student} " if student else ""
        raise CourseError(f"no submission {who}under {shown} for {', '.join(d.slug for d in days)}")
    return tasks, bad_folders


def options_of_run(folder: ClassFolder, tasks: list[Task], seed: int | None, jobs: int, resume: bool) -> Options:
    """Return the options with the given seed, the seed of the run that is resumed, or a new one."""
    from ..grading.grade import Options
    from ..grading.run import drawn_seed

    if seed is None:
        seed = drawn_seed(folder.records if resume else None, tasks)
    return Options(seed=seed, jobs=jobs)


@contextmanager
def exclusive_executor(jobs: int, isolation: str, *records: Path, kind: On = On.local, scheduler: str | None = None) -> Iterator[Executor]:
    """Yield the chosen executor, while no other run grades into these folders of records. Raises CourseError."""
    from ..grading.executors import chosen
    from ..grading.records import alone

    with closing(chosen(kind, scheduler, jobs, isolation, say)) as executor, ExitStack() as locks:
        for folder in records:
            locks.enter_context(alone(folder))
        yield executor


@dataclass(frozen=True)
class ClassRun:
    """One run of a command over submissions of a class. resume and any_seed: as in `grade_all`."""

    folder: ClassFolder
    tasks: list[Task]
    options: Options
    executor: Executor
    stopped: Stop
    resume: bool
    any_seed: bool

    def grade_in_bulk(self) -> tuple[list[Record], Failures]:
        """Grade, and book each record as soon as it is final. Return the records and the booking failures."""
        from ..gradebook.booking import open_books
        from ..grading.run import different_days

        with open_books(self.folder, different_days(self.tasks)) as writer:
            records = self.grade(writer.of(self.tasks))
        return records, writer.failures

    def grade_through_nbgrader(self, days: Iterable[Day]) -> tuple[list[Record], Failures]:
        """Grade, then book all records by nbgrader's converters. Return the records and the booking failures."""
        from ..gradebook.booking import book_through_nbgrader

        records = self.grade()
        whole = [task for task, record in zip(self.tasks, records, strict=True) if record.infrastructure is None]
        with progress_bar("gradebook", len(whole)) as advance:
            return records, book_through_nbgrader(self.folder, days, whole, advance)

    def grade(self, *steps: Callable[..., None]) -> list[Record]:
        """Grade all tasks and return their records. Call each step with each final record."""
        from ..grading.run import grade_all

        return grade_all(
            self.tasks, self.options, self.folder.records, resume=self.resume, any_seed=self.any_seed,
            progress=self.stopped.counting(len(self.tasks), *steps), executor=self.executor, bar=progress_bar,
        )  # fmt: skip


def feedback(
    day: DayArgument = None, submitted: SubmittedOption = Path("submitted"), db: DatabaseOption = None
) -> None:
    """Write a page for each graded submission: verdicts and messages, without the source of hidden checks."""
    from ..gradebook.booking import book_penalties, check_books
    from ..gradebook.books.bulk import ClassFolder, graded_students, write_feedback

    days = chosen_days(day)
    folder = ClassFolder.of(submitted, db)
    check_books(folder)
    graded = {each: graded_students(folder, each) for each in days}
    if not any(graded.values()):
        raise CourseError(f"nothing graded under {folder.autograded}: run `autograder grade` first")
    book_penalties(folder, days)
    failures: dict[tuple[str, str], str] = {}
    with progress_bar("feedback", sum(map(len, graded.values()))) as advance:
        for each in days:
            failures |= write_feedback(folder, each, advance)
    written = sum(map(len, graded.values())) - len(failures)
    for each in days:
        failures |= without_grade(folder, each, graded[each])
    for (name, slug), reason in failures.items():
        say(f"no page: {name}, {slug}: {reason}")
    tell(f"{counted(written, 'page')} in {folder.feedback}")
    if failures:
        raise typer.Exit(1)


def without_grade(folder: ClassFolder, day: Day, graded: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return {(student, day): reason} for a day's submissions that are not graded and so have no page."""
    from ..grading.tasks import find_tasks

    there = [task for task in find_tasks(folder.submitted, [day]) if task.student not in graded] if folder.submitted.is_dir() else []
    return {(task.student, day.slug): "handed in, but not graded yet" for task in there}


def demo(
    days: Annotated[list[str] | None, typer.Argument(help="Days (day05, 5, samplers); all that are ready if left out.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Submissions graded side by side; 0: as many as processors.")] = 0,
    folder: Annotated[Path, typer.Option(help="Folder of the class; its content is replaced.")] = Path("demo"),
) -> None:
    """Grade a class of sample submissions end to end; exit with status 1 if a score is not as expected."""
    from ..demo.demo import demo_days, run

    ready = demo_days()
    wanted = {found for name in days or [] for found in chosen_days(name)} or set(ready)
    chosen = [each for each in ready if each in wanted]
    if not chosen:
        raise CourseError("no such day is ready: a demo needs a lesson, its release and its specimens")
    tell(f"Sample submissions, correct, incorrect, broken, cheating and endless, for {', '.join(day.slug for day in chosen)}:")
    outcomes = run(folder, chosen, jobs, progress_bar)
    for day in chosen:
        print_day_of_samples(day, [outcome for outcome in outcomes if outcome.record.slug == day.slug])
    wrong = [outcome for outcome in outcomes if not outcome.as_expected]
    for outcome in wrong:
        say(unexpected_line(outcome))
    root = folder.absolute()
    right = len(outcomes) - len(wrong)
    tell(f"{right} of {counted(len(outcomes), 'score')} {agreeing(right, 'is', 'are')} as expected.")
    tell(f"records in {root / 'records'}, gradebook {root / 'gradebook.db'}")
    tell(f"feedback, for example: {root / 'feedback' / 'chidi' / chosen[-1].slug / chosen[-1].slug}.html")
    if wrong:
        raise typer.Exit(1)


def print_day_of_samples(day: Day, outcomes: Iterable[Outcome]) -> None:
    """Print a table of a day's samples, with the actual and the expected score of each."""
    from rich.table import Table

    from ..notebook.render import points_text

    table = Table(title=day.slug, title_justify="left")
    for column in ("student", "score", "expected", "status", "submission"):
        table.add_column(column, justify="right" if column in ("score", "expected") else "left")
    for outcome in outcomes:
        status = outcome.record.status if outcome.as_expected else "UNEXPECTED"
        points, expected = points_text(outcome.record.points), outcome.sample.expected.text(day)
        table.add_row(outcome.record.student, points, expected, status, outcome.sample.description)
    console.print(table)


def unexpected_line(outcome: Outcome) -> str:
    """Return a line on a sample whose score is not as expected."""
    from ..notebook.render import points_text

    record = outcome.record
    scores = ", ".join(f"{s.exercise} {points_text(s.points)}/{points_text(s.max_points)}" for s in record.scores)
    reason = f" ({outcome.trouble})" if outcome.trouble else ""
    return f"unexpected: {record.student}, {record.slug}: {scores}; in the gradebook {outcome.booked}{reason}"


class Stop:
    """A handler for Ctrl-C during `grade`: it prints one line, and ends the process immediately, with status 130.

    A run may be killed at any moment: records are written atomically, the fork server ends with its grader, and `--resume` grades the rest.
    """

    def __init__(self, again: str = "--resume") -> None:
        """Install the handler. again: the option that makes the same command resume; empty if no option is needed."""
        self.again = again
        self.done = self.total = 0
        self.before: Any = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self.stop)

    def over(self) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def counting(self, total: int, *steps: Callable[..., None]) -> Callable[..., None]:
        """Return a function that counts each record and passes it on to all steps."""
        self.total = total

        def step(*arguments: object) -> None:
            self.done += 1
            for each in steps:
                each(*arguments)

        return step

    def stop(self, *ignored: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        again = [*sys.argv[1:], *([self.again] if self.again and self.again not in sys.argv else [])]
        are = agreeing(self.done, "is", "are")
        how_far = f"{self.done:,} of {counted(self.total, 'submission')} {are} graded and saved; " if self.total else ""
        clear = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else ""
        os.write(2, f"{clear}autograder: stopped: {how_far}continue with: {shlex.join(['autograder', *again])}\n".encode())
        os._exit(130)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[..., None]]:
    """Show a progress bar with rate and time left, and yield a function to call after each step.

    Without a terminal, print a line now and then.
    """
    if not stderr.is_terminal:
        yield Lines(what, total).step
        return
    from rich import progress as p
    from rich.text import Text

    class Rate(p.ProgressColumn):
        def render(self, task: p.Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:.1f}/s" if speed else "", style="progress.data.speed")

    columns = (p.TextColumn("{task.description}"), p.BarColumn(), p.MofNCompleteColumn(), Rate(), p.TimeRemainingColumn())
    with p.Progress(*columns, console=stderr, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda *ignored: progress.advance(task)


class Lines:
    """A progress report for a log: one line every `EVERY` seconds, and none for a run that is faster."""

    EVERY = 30.0

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.what, self.total, self.clock = what, total, clock
        self.done, self.reported_at = 0, clock()

    def step(self, *ignored: object) -> None:
        self.done += 1
        now = self.clock()
        if now - self.reported_at >= self.EVERY:
            self.reported_at = now
            say(f"{self.what}: {self.done} of {self.total}")


def print_summary(records: list[Record]) -> None:
    from rich.table import Table

    from ..notebook.render import points_text

    table = Table()
    for column in ("student", "day", "points", "of", "status"):
        table.add_column(column, justify="right" if column in ("points", "of") else "left")
    for record in records:
        points = "" if record.infrastructure is not None or record.problem is not None else points_text(record.points)
        table.add_row(record.student, record.slug, points, points_text(record.max_points), record.status)
    if records:
        console.print(table)
        tell(counts_text(records))


STATUSES = ("pass", "partial", "zero", "timed out", "out of memory", "crashed", "unreadable", "needs a person")


def counts_text(records: list[Record]) -> str:
    """Return a line with the number of records of each status. A status that needs attention appears even if its number is 0."""
    counts = Counter("needs a person" if record.needs_person else record.status for record in records)
    always = ("pass", "partial", "timed out", "crashed", "needs a person")
    parts = [f"{status} {counts[status]}" for status in STATUSES if counts[status] or status in always]
    return f"{counted(len(records), 'submission')}: {', '.join(parts)}"


def raise_status(records: list[Record], failures: Failures, bad_folders: list[str], folder: ClassFolder) -> None:
    """Print a line for each finding that somebody must look at, and the paths of the results. Exit with status 1 after a finding."""
    lines = [*(f"not graded: {line}" for line in bad_folders), *lines_for_a_person(records, failures)]
    for line in lines:
        say(line)
    where = f"records in {folder.records}, gradebook {shown_database(folder)}"
    tell(f"{where}; `autograder feedback` writes {folder.feedback}")
    if lines:
        raise typer.Exit(1)


def lines_for_a_person(records: Iterable[Record], failures: Failures, *, with_day: bool = True, again: str = "") -> list[str]:
    """Return a line for each finding in records that somebody must look at, and for each record that is not in the gradebook.

    again: added to the lines on submissions that the next run grades or stores again.
    """
    records = list(records)

    def name(student: str, slug: str) -> str:
        return f"{student}, {slug}" if with_day else student

    lines = [f"unreadable: {r.student}: {r.problem}" for r in records if r.problem is not None]
    lines += [f"{name(r.student, r.slug)}, {exercise}: {note}" for r in records for exercise, note in r.notes.items()]
    for r in records:
        if r.needs_person:
            lines.append(f"needs a person: {name(r.student, r.slug)}: {first_line(r)}{again if r.infrastructure is not None else ''}")
    return [*lines, *(f"not in the gradebook: {name(*key)}: {reason}{again}" for key, reason in failures.items())]


def first_line(record: Record) -> str:
    """Return the first line of the reason why a record needs a person."""
    return (record.infrastructure or "a check was inconclusive").splitlines()[0]


def say(line: str) -> None:
    """Print a line about something that needs attention to standard error."""
    stderr.print(line, markup=False, highlight=False, soft_wrap=True)


def tell(line: str) -> None:
    console.print(encodable(line), markup=False, highlight=False, soft_wrap=True)


def shown_database(folder: ClassFolder) -> str:
    """Return the gradebook's path, or its URL without the password."""
    from sqlalchemy.engine import make_url

    url = make_url(folder.db_url)
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
