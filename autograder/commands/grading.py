"""Commands for an instructor: grade a class, write its feedback, see it done on a class of samples."""

from __future__ import annotations

import enum
import os
import shlex
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..base.errors import CourseError
from .course import DayArgument, chosen_days

if TYPE_CHECKING:
    from ..gradebook.books.bulk import ClassFolder
    from ..grading.executors.base import Executor
    from ..grading.grade import Options
    from ..grading.records import Record
    from ..grading.tasks import Task
    from ..lessons import Day

console = Console()
stderr = Console(stderr=True)
SubmittedOption = Annotated[
    Path, typer.Option(help="The folder of submissions, <student>/<day>/<day>.ipynb; all results go beside it.")
]
DatabaseOption = Annotated[
    str | None, typer.Option("--db", help="The gradebook, a file or a URL; else gradebook.db beside the submissions.")
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
        int | None, typer.Option(min=0, help="The seed of the checks' inputs, to repeat a run; else one is drawn and kept in the records.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep records of files that have not changed.")] = False,
    student: Annotated[str | None, typer.Option(help="One student only.")] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
    isolation: Annotated[str, typer.Option(help="auto, or a level: namespaces, landlock, seccomp, none.")] = "auto",
    through: Annotated[Through, typer.Option(help="Scores go into the gradebook in bulk, or by nbgrader's own converters.")] = Through.bulk,
    executor: Annotated[On, typer.Option(help="Grades on this machine, or on a dask cluster.")] = On.local,
    scheduler: Annotated[str | None, typer.Option(help="The cluster's address, tcp://HOST:8786; else one is made here.")] = None,
) -> None:
    """Grades a class: a record for each submission, then nbgrader's gradebook."""
    stopped = Stop()
    from ..gradebook.books.bulk import ClassFolder, store
    from ..gradebook.books.gradebook import check_gradebook
    from ..gradebook.results import book_penalties
    from ..grading.executors import chosen
    from ..grading.grade import Options
    from ..grading.records import alone
    from ..grading.run import drawn_seed, grade_all
    from ..grading.tasks import find_tasks, left_out
    from ..lessons import CAPSTONE, syllabus

    days = chosen_days(day)
    folder = ClassFolder.of(submitted, db)
    tasks = list(find_tasks(folder.submitted, days, student))
    bad_folders = left_out(folder.submitted, [*(d.slug for d in syllabus()), CAPSTONE], student)
    if not tasks and not bad_folders:
        who = f"of {student} " if student else ""
        raise CourseError(f"no submission {who}under {submitted} for {', '.join(d.slug for d in days)}")
    check_gradebook(folder.db_url)
    with closing(chosen(executor, scheduler, jobs, isolation, say)) as grader, alone(folder.records):
        drawn = drawn_seed(folder.records if resume else None, tasks) if seed is None else seed
        options, keep = Options(seed=drawn, jobs=jobs), {"resume": resume, "any_seed": seed is None}
        if through is Through.bulk:
            records, failures = grade_in_bulk(tasks, options, folder, grader, stopped, **keep)
        else:
            with progress_bar("grading", len(tasks)) as advance:
                step = stopped.counting(len(tasks), advance)
                records = grade_all(tasks, options, folder.records, progress=step, executor=grader, **keep)
            whole = [task for task, record in zip(tasks, records, strict=True) if record.infrastructure is None]
            with progress_bar("gradebook", len(whole)) as advance:
                failures = store(folder, whole, advance)
            book_penalties(folder, days)
    stopped.over()

    print_summary(records)
    for line in bad_folders:
        say(f"not graded: {line}")
    raise_status(records, failures, bool(bad_folders), folder)


def grade_in_bulk(
    tasks: list[Task], options: Options, folder: ClassFolder, grader: Executor, stopped: Stop, **keep: bool
) -> tuple[list[Record], dict[tuple[str, str], str]]:
    """Grades, and stores each record as it comes. -> records; {(student, slug): why it is not in the gradebook}"""
    from ..gradebook.booking import book_class
    from ..gradebook.books.gradebook import enter_day
    from ..gradebook.books.writer import WriterThread
    from ..gradebook.results import book_penalties
    from ..grading.run import grade_all

    days = list({task.day.slug: task.day for task in tasks}.values())
    for day in days:
        enter_day(day, folder.db_url)
    book_class(folder.root, folder.db_url, days)
    with progress_bar("grading", len(tasks)) as advance, WriterThread(folder) as writer:
        step = stopped.counting(len(tasks), advance, writer.of(tasks))
        records = grade_all(tasks, options, folder.records, progress=step, executor=grader, **keep)
    book_penalties(folder, days)
    return records, writer.failures


def feedback(
    day: DayArgument = None, submitted: SubmittedOption = Path("submitted"), db: DatabaseOption = None
) -> None:
    """Writes a page for each graded submission: verdicts and messages, no hidden check's source."""
    from ..gradebook.books.bulk import ClassFolder, graded_students, write_feedback
    from ..gradebook.books.gradebook import check_gradebook
    from ..gradebook.results import book_penalties

    days = chosen_days(day)
    folder = ClassFolder.of(submitted, db)
    check_gradebook(folder.db_url)
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
    tell(f"{written} pages in {folder.feedback}")
    if failures:
        raise typer.Exit(1)


def without_grade(folder: ClassFolder, day: Day, graded: Sequence[str]) -> dict[tuple[str, str], str]:
    """{(student, day): why there is no page} of a day's submissions that are not among the graded ones."""
    from ..grading.tasks import find_tasks

    there = [task for task in find_tasks(folder.submitted, [day]) if task.student not in graded] if folder.submitted.is_dir() else []
    return {(task.student, day.slug): "handed in, and not graded yet" for task in there}


def demo(
    days: Annotated[list[str] | None, typer.Argument(help="Days (day05, 5, samplers); all that are ready if left out.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Submissions graded side by side; 0: as many as processors.")] = 0,
    folder: Annotated[Path, typer.Option(help="Where the class is made; what lies there is replaced.")] = Path("demo"),
) -> None:
    """Grades a class of sample submissions end to end; exit 1 if one gets another score than it deserves."""
    from rich.table import Table

    from ..demo.demo import demo_days, run
    from ..notebook.render import points_text

    ready = demo_days()
    wanted = {found for name in days or [] for found in chosen_days(name)} or set(ready)
    chosen = [each for each in ready if each in wanted]
    if not chosen:
        raise CourseError("no such day is ready: a demo needs a lesson, its release and its specimens")
    tell(f"A class of samples, right, wrong, broken, cheating and endless, for {', '.join(day.slug for day in chosen)}:")
    outcomes = run(folder, chosen, jobs, progress_bar)
    for day in chosen:
        table = Table(title=day.slug, title_justify="left")
        for column in ("student", "score", "due", "status", "what was handed in"):
            table.add_column(column, justify="right" if column in ("score", "due") else "left")
        for outcome in outcomes:
            if outcome.record.slug == day.slug:
                status = outcome.record.status if outcome.as_due else "NOT AS DUE"
                points, due = points_text(outcome.record.points), outcome.sample.due.text(day)
                table.add_row(outcome.record.student, points, due, status, outcome.sample.story)
        console.print(table)
    wrong = [o for o in outcomes if not o.as_due]
    for outcome in wrong:
        record = outcome.record
        scores = ", ".join(f"{s.exercise} {points_text(s.points)}/{points_text(s.max_points)}" for s in record.scores)
        reason = f" ({outcome.trouble})" if outcome.trouble else ""
        say(f"not as due: {record.student}, {record.slug}: {scores}; in the gradebook {outcome.booked}{reason}")
    root = folder.absolute()
    tell(f"{len(outcomes) - len(wrong)} of {len(outcomes)} scores are as due.")
    tell(f"records in {root / 'records'}, gradebook {root / 'gradebook.db'}")
    tell(f"feedback, for example: {root / 'feedback' / 'chidi' / chosen[-1].slug / chosen[-1].slug}.html")
    if wrong:
        raise typer.Exit(1)


class Stop:
    """Ctrl-C during `grade`: one line, and the process ends there and then, with status 130.

    That is safe because a run may be killed at any moment: records are written whole or not at all, the zygote ends with
    its grader, and `--resume` does the rest.
    """

    def __init__(self, again: str = "--resume") -> None:
        """again: the option with which the same command goes on, if it needs one."""
        self.again = again
        self.done = self.total = 0
        self.before: Any = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self.stop)

    def over(self) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def counting(self, total: int, *steps: Callable[..., None]) -> Callable[..., None]:
        """What is to be called with each record: it counts them, and passes them on to all steps."""
        self.total = total

        def step(*arguments: object) -> None:
            self.done += 1
            for each in steps:
                each(*arguments)

        return step

    def stop(self, *ignored: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        again = [*sys.argv[1:], *([self.again] if self.again and self.again not in sys.argv else [])]
        how_far = f"{self.done} of {self.total} submissions are graded and kept; " if self.total else ""
        clear = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else ""
        os.write(2, f"{clear}autograder: stopped: {how_far}to go on: {shlex.join(['autograder', *again])}\n".encode())
        os._exit(130)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar with rate and time left; call what it gives after each step. Where there is no terminal, a line now and then."""
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
    """How far it is, for a log: a line each `EVERY` seconds, none of what is done sooner."""

    EVERY = 30.0

    def __init__(self, what: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.what, self.total, self.clock = what, total, clock
        self.done, self.told = 0, clock()

    def step(self, *ignored: object) -> None:
        self.done += 1
        now = self.clock()
        if now - self.told >= self.EVERY:
            self.told = now
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
    """A line that says how many there are of each status; those that a person looks for are told even where there is none."""
    counts = Counter("needs a person" if record.needs_person else record.status for record in records)
    always = ("pass", "partial", "timed out", "crashed", "needs a person")
    parts = [f"{status} {counts[status]}" for status in STATUSES if counts[status] or status in always]
    return f"{len(records)} submissions: {', '.join(parts)}"


def raise_status(
    records: list[Record], failures: dict[tuple[str, str], str], bad_folders: bool, folder: ClassFolder
) -> None:
    """Print a line for everything that somebody must look at, and where the results are. Exit status 1 if there is such a thing."""
    damaged = [record for record in records if record.problem is not None]
    needs_person = [record for record in records if record.needs_person]
    for record in damaged:
        say(f"unreadable: {record.student}: {record.problem}")
    for record in records:
        for exercise, note in record.notes.items():
            say(f"{record.student}, {record.slug}, {exercise}: {note}")
    for record in needs_person:
        reason = record.infrastructure or "a check was inconclusive"
        say(f"needs a person: {record.student}, {record.slug}: {reason.splitlines()[0]}")
    for (student, slug), reason in failures.items():
        say(f"not in the gradebook: {student}, {slug}: {reason}")
    where = f"records in {folder.records}, gradebook {shown_database(folder)}"
    tell(f"{where}; `autograder feedback` writes {folder.feedback}")
    if damaged or bad_folders or needs_person or failures or any(record.notes for record in records):
        raise typer.Exit(1)


def say(line: str) -> None:
    """A line about something that needs somebody."""
    stderr.print(line, markup=False, highlight=False, soft_wrap=True)


def tell(line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def shown_database(folder: ClassFolder) -> str:
    """The gradebook's path, or its URL without the password."""
    from sqlalchemy.engine import make_url

    url = make_url(folder.db_url)
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
