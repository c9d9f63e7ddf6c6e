"""Commands for what students hand in: collect, due."""

from __future__ import annotations

import datetime
import enum
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ..errors import CourseError
from .grading import DatabaseOption, SubmittedOption, say, tell


class Source(enum.StrEnum):
    canvas = "canvas"
    moodle = "moodle"
    folder = "folder"
    nbgrader = "nbgrader"


def register(app: typer.Typer) -> None:
    for function in (collect, due):
        app.command()(function)


def collect(
    sources: Annotated[list[Path] | None, typer.Argument(help="Zips or folders as the platform gives them.")] = None,
    form: Annotated[Source, typer.Option("--from", help="Where they come from; nbgrader: note what it collected.")] = Source.folder,
    day: Annotated[str | None, typer.Option(help="The day they are of; else told from the files' names, or the notebooks.")] = None,
    roster: Annotated[Path | None, typer.Option(help="CSV with id, lms_id, name, email; else roster.csv of the class.")] = None,
    at: Annotated[str | None, typer.Option(help="The time to note instead of now: when the download was made.")] = None,
    submitted: SubmittedOption = Path("submitted"),
) -> None:
    """Puts downloads into submitted/<student>/<day>/, and notes when they were first seen."""
    from ..exports.collecting import Collector
    from ..exports.deadlines import parse_time
    from ..exports.roster import find_roster
    from ..lessons import find_day

    now = parse_time(at) if at else datetime.datetime.now().astimezone()
    if now > datetime.datetime.now().astimezone():
        raise CourseError(f"--at {at} is still to come")
    if form is not Source.nbgrader and not sources:
        raise CourseError("what is to be collected? Give the platform's zip, or a folder")
    if form is Source.nbgrader and sources:
        raise CourseError("--from nbgrader notes what lies in submitted/ already: run `nbgrader collect DAY` before, and give no file")
    which = find_day(day) if day else None
    collector = Collector(submitted, now, find_roster(submitted.absolute().parent, roster))
    if form is Source.nbgrader:
        outcomes = collector.note_in_place([which] if which else None)
    else:
        collector.submitted.mkdir(parents=True, exist_ok=True)
        outcomes = []
        for source in sources or []:
            outcomes += collector.collect(source, form.value, which)
    for outcome in outcomes:
        if outcome.kind in ("refused", "newer", "older"):
            say(f"left out: {outcome.line}" if outcome.kind == "refused" else outcome.line)
    counts = Counter(outcome.kind for outcome in outcomes)
    words = {"new": "new", "newer": "newer", "same": "unchanged", "older": "older", "refused": "left out"}
    tell(f"{len(outcomes)} files: " + ", ".join(f"{words[kind]} {counts[kind]}" for kind in words if counts[kind] or kind == "new"))
    tell(f"submissions in {collector.submitted}")
    if counts["refused"]:
        raise typer.Exit(1)


def due(
    day: Annotated[str | None, typer.Argument(help="A day; all if left out.")] = None,
    when: Annotated[str | None, typer.Argument(help='"2026-11-20 23:59", with or without a zone; `none` takes it back.')] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
) -> None:
    """Says when days are due, or sets it: in due.csv, and in nbgrader's gradebook for its own penalties."""
    from ..exports.deadlines import due_dates, parse_time, set_due
    from ..lessons import find_day
    from ..nbgrader_bridge.class_folder import ClassFolder
    from ..nbgrader_bridge.gradebook import check_gradebook, set_due_date

    root = submitted.absolute().parent
    if when is not None:
        found = find_day(day or "")
        moment = None if when == "none" else parse_time(when)
        folder = ClassFolder.of(submitted, db)
        check_gradebook(folder.db_url)
        set_due(root, found, moment)
        set_due_date(found, moment, folder.db_url)
    dates = due_dates(root)
    chosen = [find_day(day).slug] if day else sorted(dates)
    for slug in chosen:
        tell(f"{slug}: {dates[slug].strftime('%Y-%m-%d %H:%M %z') if slug in dates else 'no due date'}")
    if not chosen:
        tell('no due dates; set one with `autograder due day05 "2026-11-20 23:59"`')
