"""Commands that report on a class: report, similar, export."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import CourseError
from ..base.wording import counted
from .course import DayArgument, chosen_days
from .grading import DatabaseOption, SubmittedOption, say, tell

if TYPE_CHECKING:
    from ..gradebook.results import ClassResults

RosterOption = Annotated[Path | None, typer.Option(help="CSV with id, lms_id, name, email; default: the class's roster.csv.")]


class To(enum.StrEnum):
    csv = "csv"
    gradescope = "gradescope"
    canvas = "canvas"
    moodle = "moodle"


def register(app: typer.Typer) -> None:
    for function in (report, similar, export):
        app.command()(function)


def read_class(day: str | None, submitted: Path, db: str | None, roster: Path | None, *, capstone: bool = False) -> ClassResults:
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.books.gradebook import check_gradebook
    from ..gradebook.policy.roster import find_roster
    from ..gradebook.results import class_results
    from ..grading.tasks import known_slugs, left_out

    folder = ClassFolder.of(submitted, db)
    check_gradebook(folder.db_url)
    results = class_results(folder, chosen_days(day), find_roster(folder.root, roster), capstone=capstone)
    lines = left_out(folder.submitted, known_slugs()) if folder.submitted.is_dir() else []
    return dataclasses.replace(results, left_out=tuple(lines))


def report(
    day: DayArgument = None,
    folder: Annotated[Path | None, typer.Option("--into", help="Output folder; default: report/ beside the submissions.")] = None,
    roster: RosterOption = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
) -> None:
    """Write a page for staff and six CSVs: scores, gradebook, failed checks with causes, item analysis, known mistakes, speed."""
    results = read_class(day, submitted, db, roster)
    into = folder or submitted.absolute().parent / "report"
    write_report(results, into)
    for line in results.damaged:
        say(line)
    tell(f"{counted(len(results.results), 'submission')}; {into / 'index.html'} and six CSVs beside it")
    if results.damaged:
        raise typer.Exit(1)


def write_report(results: ClassResults, into: Path) -> list[Path]:
    """Write the report's files and return their paths, the page first."""
    import datetime

    from ..gradebook.lms import tables
    from ..gradebook.reports import items
    from ..gradebook.reports import report as page
    from ..gradebook.reports.speeds import speed_csv
    from ..lessons.notebooks import write_if_changed

    files = {
        "index.html": page.html(results, datetime.datetime.now().astimezone()).encode(),
        "scores.csv": tables.everything(results),
        "gradebook.csv": tables.gradebook(results),
        "checks.csv": page.checks_csv(results),
        "items.csv": items.items_csv(results),
        "mistakes.csv": items.mistakes_csv(results),
        "speed.csv": speed_csv(results),
    }
    for name, content in files.items():
        write_if_changed(into / name, content)
    return [into / name for name in files]


def similar(
    day: DayArgument = None,
    common: Annotated[float, typer.Option(min=0, max=1, help="Ignore code that occurs in more than this share of submissions.")] = 0.1,
    folder: Annotated[Path | None, typer.Option("--into", help="Output folder; default: report/ beside the submissions.")] = None,
    submitted: SubmittedOption = Path("submitted"),
) -> None:
    """Write a page and a CSV on submissions that are more similar than the task explains, for a person to judge."""
    import datetime

    from ..gradebook.reports import similar_page, similarity
    from ..grading.tasks import find_tasks
    from ..lessons.notebooks import write_if_changed

    days = chosen_days(day)
    tasks = list(find_tasks(submitted, days))
    if not tasks:
        raise CourseError(f"no submission under {submitted} for {', '.join(d.slug for d in days)}")
    into = folder or submitted.absolute().parent / "report"
    for each in days:
        of_day = [task for task in tasks if task.day == each]
        if not of_day:
            continue
        found = similarity.alike(each, of_day, common)
        page = into / f"similar_{each.slug}.html"
        write_if_changed(page, similar_page.html(each, found, datetime.datetime.now().astimezone()).encode())
        write_if_changed(page.with_suffix(".csv"), similar_page.similar_csv(each, found))
        for line in found.left_out:
            say(f"left out: {line}")
        pairs = counted(len(found.pairs), "pair")
        tell(f"{each.slug}: {counted(found.compared, 'submission')}, {pairs} for a person to look at; {page} and .csv")


def export(
    day: DayArgument = None,
    to: Annotated[To, typer.Option(help="Target system.")] = To.csv,
    folder: Annotated[Path, typer.Option("--into", help="Output folder.")] = Path("exports"),
    assignment: Annotated[list[str] | None, typer.Option(help="Canvas's assignment id, day05=12345; one option for each day.")] = None,
    roster: RosterOption = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
) -> None:
    """Write scores in another system's import format. Manual corrections count; hidden checks stay hidden."""
    if assignment and to is not To.canvas:
        raise CourseError("--assignment is for --to canvas only")
    ids = assignment_ids(assignment or [])
    results = read_class(day, submitted, db, roster, capstone=day is None and to in (To.csv, To.gradescope))
    files, lines = write_export(results, to, folder, ids)
    for line in [*results.damaged, *lines]:
        say(line)
    where = str(files[0]) if len(files) == 1 else f"{len(files)} files in {folder}"
    tell(f"{counted(sum(r.points is not None for r in results.results), 'submission')}; {where}")
    if results.damaged or lines:
        raise typer.Exit(1)


def write_export(
    results: ClassResults, to: To, folder: Path, ids: dict[str, str], reported: Collection[str] = ()
) -> tuple[list[Path], list[str]]:
    """Write the files of an export. Return their paths, and a line for each omitted submission or student.

    ids: {day's slug: Canvas's assignment id}. reported: students whose missing score has been reported already.
    """
    from ..gradebook.lms import gradescope, tables
    from ..lessons.notebooks import write_if_changed

    files: dict[Path, bytes] = {}
    unknown: list[str] = []
    if to is To.csv:
        files[folder / "scores.csv"] = tables.everything(results)
        files[folder / "gradebook.csv"] = tables.gradebook(results)
    elif to is To.canvas:
        files[folder / "canvas.csv"], unknown = tables.canvas(results, ids)
    elif to is To.moodle:
        for each in results.days:
            files[folder / f"moodle_{each.slug}.csv"], strangers = tables.moodle(results, each)
            unknown += strangers
    else:
        for result in results.results:
            if result.points is not None:
                record = result.record
                files[folder / "gradescope" / record.slug / record.student / "results.json"] = gradescope.results_json(result)
    for path, content in files.items():
        write_if_changed(path, content)
    lines = [
        f"{'needs a person' if r.record.problem is None else 'unreadable'}, no score is exported: "
        f"{r.record.student}{f' ({r.person.email})' if r.person.email else ''}, {r.record.slug}"
        for r in results.results if r.points is None and r.record.student not in reported
    ]  # fmt: skip
    lines += [f"left out: {student}: the roster has no {to.value} id for this student" for student in dict.fromkeys(unknown)]
    return list(files), lines


def assignment_ids(texts: list[str]) -> dict[str, str]:
    from ..lessons import find_day

    found = {}
    for text in texts:
        day, _, number = text.partition("=")
        if not number.isdigit():
            raise CourseError(f"--assignment {text}: give a day and Canvas's number, such as day05=12345")
        found[find_day(day).slug] = number
    return found
