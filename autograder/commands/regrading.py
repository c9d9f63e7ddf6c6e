"""The command regrade: who would get what, now that a check was mended."""

from __future__ import annotations

import datetime
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import CourseError
from .course import DayArgument, chosen_days
from .grading import DatabaseOption, Stop, SubmittedOption, console, progress_bar, say, shown_database, tell

if TYPE_CHECKING:
    from ..gradebook.reports.regrading import Change


def register(app: typer.Typer) -> None:
    app.command()(regrade)


def regrade(
    day: DayArgument = None,
    store: Annotated[bool, typer.Option("--store", help="Store what was shown: records and gradebook.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Submissions graded side by side; 0: as many as processors.")] = 0,
    student: Annotated[str | None, typer.Option(help="One student only.")] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
    isolation: Annotated[str, typer.Option(help="auto, or a level: namespaces, landlock, seccomp, none.")] = "auto",
) -> None:
    """Grades again into regraded/ and shows whose score changes. Nothing is stored without --store."""
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.books.gradebook import check_gradebook
    from ..gradebook.reports import regrading
    from ..gradebook.results import booked
    from ..grading.executors import chosen
    from ..grading.grade import Options
    from ..grading.records import alone
    from ..grading.tasks import find_tasks
    from ..lessons.notebooks import write_if_changed
    from .grading import On

    days = chosen_days(day)
    folder = ClassFolder.of(submitted, db)
    tasks = list(find_tasks(folder.submitted, days, student))
    if not tasks:
        raise CourseError(f"no submission under {submitted} for {', '.join(d.slug for d in days)}")
    check_gradebook(folder.db_url)
    side = folder.root / regrading.FOLDER
    old = regrading.old_records(folder.records, tasks)
    stopped = Stop()
    with closing(chosen(On.local, None, jobs, isolation, say)) as grader, alone(folder.records), alone(side):
        with progress_bar("regrading", len(tasks)) as advance:
            new = regrading.regrade(
                tasks, old, lambda seed: Options(seed=seed, jobs=jobs), side,
                executor=grader, progress=stopped.counting(len(tasks), advance),
            )  # fmt: skip
        books = {(who, each.slug): book for each in days for who, book in booked(folder.db_url, each).items()}
        found = regrading.changes(old, new, books)
        failures = regrading.store(folder, tasks, new, datetime.datetime.now()) if store else {}
    stopped.over()
    write_if_changed(side / "changes.csv", regrading.changes_csv(found))
    print_changes(found)
    faults = [record for record in new if record.infrastructure is not None]
    for record in faults:
        say(f"needs a person, stays as it was: {record.student}, {record.slug}: {(record.infrastructure or '').splitlines()[0]}")
    for (who, slug), reason in failures.items():
        say(f"not in the gradebook: {who}, {slug}: {reason}")
    people = len({change.student for change in found})
    tell(f"{len(tasks)} submissions graded again; {people} students with a changed score; {side / 'changes.csv'}")
    if store:
        tell(f"stored in {folder.records} and {shown_database(folder)}; the records before are in {side / 'replaced'}")
    else:
        tell("nothing is stored; `autograder regrade --store`, with the same arguments, stores this")
    if faults or failures:
        raise typer.Exit(1)


def print_changes(found: list[Change]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from ..gradebook.lms.tables import number

    if not found:
        return
    table = Table()
    for column in ("student", "day", "exercise", "from", "to", "checks", ""):
        table.add_column(column, justify="right" if column in ("from", "to") else "left", overflow="fold")
    for c in found:
        before = "none" if c.before is None else number(c.before)
        table.add_row(*map(escape, (c.student, c.slug, c.exercise, before, number(c.after), "\n".join(c.checks), c.note)))
    console.print(table)
