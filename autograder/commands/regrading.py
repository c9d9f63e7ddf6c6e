"""The command regrade: new scores after a check was fixed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import CourseError
from ..base.wording import counted
from .course import DayArgument, chosen_days
from .grading import (
    DatabaseOption,
    Stop,
    SubmittedOption,
    console,
    exclusive_executor,
    first_line,
    lines_for_a_person,
    progress_bar,
    say,
    shown_database,
    tell,
    use_own_checks,
)

if TYPE_CHECKING:
    from ..gradebook.booking import Failures
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.reports.regrading import Change, Key
    from ..grading.executors.base import Executor
    from ..grading.records import Record
    from ..grading.tasks import Task


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
    """Grade again into regraded/ and show changed scores. Nothing is stored without --store."""
    from ..gradebook.booking import check_books
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.reports import regrading
    from ..grading.tasks import find_tasks

    days, folder = chosen_days(day), ClassFolder.of(submitted, db)
    use_own_checks(folder.root, (day.topic for day in days))
    tasks = list(find_tasks(folder.submitted, days, student))
    if not tasks:
        raise CourseError(f"no submission under {submitted} for {', '.join(d.slug for d in days)}")
    check_books(folder)
    old = regrading.old_records(folder.records, tasks)
    stopped = Stop()
    with exclusive_executor(jobs, isolation, folder.records, folder.root / regrading.FOLDER) as executor:
        new = grade_again(folder, tasks, old, jobs, executor, stopped)
        found = regrading.changes(old, new, regrading.all_booked(folder, days))
        failures = regrading.store(folder, tasks, new, datetime.datetime.now()) if store else {}
    stopped.over()
    show_changes(folder, found, new, failures, stored=store)


def grade_again(
    folder: ClassFolder, tasks: list[Task], old: Mapping[Key, Record], jobs: int, executor: Executor, stopped: Stop
) -> list[Record]:
    """Grade all tasks into a folder beside the old records, with a progress bar. Return the new records."""
    from ..gradebook.reports import regrading
    from ..grading.grade import Options

    with progress_bar("regrading", len(tasks)) as advance:
        return regrading.regrade(
            tasks, old, lambda seed: Options(seed=seed, jobs=jobs), folder.root / regrading.FOLDER,
            executor=executor, progress=stopped.counting(len(tasks), advance),
        )  # fmt: skip


def show_changes(folder: ClassFolder, found: list[Change], new: list[Record], failures: Failures, *, stored: bool) -> None:
    """Write and print the changes, and a line for each fault. Exit with status 1 after a fault."""
    from ..gradebook.reports import regrading
    from ..lessons.notebooks import write_if_changed

    side = folder.root / regrading.FOLDER
    write_if_changed(side / "changes.csv", regrading.changes_csv(found))
    print_changes(found)
    faults = [record for record in new if record.infrastructure is not None]
    lines = [f"needs a person, record unchanged: {record.student}, {record.slug}: {first_line(record)}" for record in faults]
    lines += lines_for_a_person([], failures)
    for line in lines:
        say(line)
    people = len({change.student for change in found})
    students = counted(people, "student")
    tell(f"{counted(len(new), 'submission')} graded again; {students} with a changed score; {side / 'changes.csv'}")
    if stored:
        tell(f"stored in {folder.records} and {shown_database(folder)}; the previous records are in {side / 'replaced'}")
    else:
        tell("nothing is stored: run `autograder regrade --store` with the same arguments to store these scores")
    if lines:
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
