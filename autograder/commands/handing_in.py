"""Commands for submissions and for the rules of a class: roster, collect, due, late, weights."""

from __future__ import annotations

import datetime
import enum
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import CourseError
from ..base.wording import agreeing, counted
from .grading import DatabaseOption, SubmittedOption, say, tell

if TYPE_CHECKING:
    from ..gradebook.lms.collecting import Collector, Outcome


class Source(enum.StrEnum):
    canvas = "canvas"
    moodle = "moodle"
    folder = "folder"
    nbgrader = "nbgrader"


def register(app: typer.Typer) -> None:
    for function in (roster, collect, due, late, weights):
        app.command()(function)


def roster(
    files: Annotated[list[Path], typer.Argument(help="Canvas's gradebook export, or Moodle's grading worksheet or participants.")],
    submitted: SubmittedOption = Path("submitted"),
) -> None:
    """Fill roster.csv from a platform's list. Existing lines stay; missing fields are added."""
    from ..gradebook.policy.roster import NAME, added, find_roster, people_of_platform, write_roster

    root = submitted.absolute().parent
    before = find_roster(root)
    people = list(before.by_id.values()) if before is not None else []
    for file in files:
        found = people_of_platform(file, root)
        people, new = added(people, found)
        tell(f"{file}: {len(found)} people, {new} of them new")
    write_roster(root / NAME, people)
    tell(f"{root / NAME}: {len(people)} people")


def collect(
    sources: Annotated[list[Path] | None, typer.Argument(help="Zips or folders downloaded from the platform.")] = None,
    form: Annotated[Source, typer.Option("--from", help="Source; nbgrader: record files that nbgrader collected.")] = Source.folder,
    day: Annotated[str | None, typer.Option(help="Day of the files; default: taken from file names or notebooks.")] = None,
    by_roster: Annotated[
        Path | None, typer.Option("--roster", help="CSV with id, lms_id, name, email; default: the class's roster.csv.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="Latest time at which these files were submitted.")] = None,
    submitted: SubmittedOption = Path("submitted"),
) -> None:
    """Put downloads into submitted/<student>/<day>/, and record when they were first seen."""
    collector, outcomes = collected(sources or [], form, day, by_roster, at, submitted)
    for outcome in outcomes:
        if outcome.kind in ("refused", "newer", "older"):
            say(f"left out: {outcome.line}" if outcome.kind == "refused" else outcome.line)
    tell(counts_text(outcomes))
    tell(f"submissions in {collector.submitted}")
    if (line := of_unknown_time(collector)) is not None:
        say(line)
    if any(outcome.kind == "refused" for outcome in outcomes):
        raise typer.Exit(1)


def collected(
    sources: list[Path], form: Source, day: str | None, roster: Path | None, at: str | None, submitted: Path
) -> tuple[Collector, list[Outcome]]:
    """Return a collector and the outcome for each file. Raises CourseError."""
    from ..gradebook.lms.collecting import Collector
    from ..gradebook.policy.deadlines import parse_time
    from ..gradebook.policy.roster import find_roster
    from ..lessons import find_day

    now = parse_time(at) if at else datetime.datetime.now().astimezone()
    if now > datetime.datetime.now().astimezone():
        raise CourseError(f"--at {at} is in the future: give a time that has passed")
    if form is not Source.nbgrader and not sources:
        raise CourseError("nothing to collect: give the platform's zip, or a folder")
    if form is Source.nbgrader and sources:
        raise CourseError("--from nbgrader records files that are in submitted/ already: run `nbgrader collect DAY` first, name no file")
    which = find_day(day) if day else None
    collector = Collector(submitted, now, find_roster(submitted.absolute().parent, roster), at_given=at is not None)
    if form is Source.nbgrader:
        outcomes = collector.note_in_place([which] if which else None)
    else:
        collector.submitted.mkdir(parents=True, exist_ok=True)
        outcomes = []
        for source in sources:
            outcomes += collector.collect(source, form.value, which)
    return collector, outcomes


def of_unknown_time(collector: Collector, slug: str | None = None) -> str | None:
    """Return one line on submissions first seen after their due date without a known time of submission, or None.

    slug: count only this day's submissions.
    """
    from ..gradebook.policy.deadlines import due_dates, extensions, lateness

    due, more = due_dates(collector.root), extensions(collector.root)
    number = 0
    for (student, day), entry in collector.notes.entries.items():
        if slug in (None, day):
            when = lateness(entry, due.get(day), more.get((student, day)))
            number += when is not None and when.unknown is not None
    if not number:
        return None
    of = f"{counted(number, 'submission')} {agreeing(number, 'was', 'were')}"
    return (f"{of} collected after the due date; the time of submission is unknown, so nobody is marked late. "
            "If you know that time, collect again with --at TIME, the latest time of submission")  # fmt: skip


WORDS = {"new": "new", "newer": "newer", "same": "unchanged", "older": "older", "refused": "left out"}


def counts_text(outcomes: list[Outcome]) -> str:
    """Return `5 files: new 4, newer 1`."""
    counts = Counter(outcome.kind for outcome in outcomes)
    parts = [f"{WORDS[kind]} {counts[kind]}" for kind in WORDS if counts[kind] or kind == "new"]
    return f"{counted(len(outcomes), 'file')}: {', '.join(parts)}"


def due(
    day: Annotated[str | None, typer.Argument(help="A day; default: all.")] = None,
    when: Annotated[str | None, typer.Argument(help='"2026-11-20 23:59", with or without a zone; `none` removes the date.')] = None,
    student: Annotated[str | None, typer.Option(help="Set an extension for this student only.")] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
) -> None:
    """Show or set due dates, in due.csv and in nbgrader's gradebook."""
    from ..gradebook.booking import book_penalties
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.books.gradebook import check_gradebook, set_due_date, set_extension
    from ..gradebook.policy.deadlines import book_due_dates, due_dates, extensions, parse_time, set_due
    from ..gradebook.policy.roster import require_known
    from ..lessons import find_day

    root = submitted.absolute().parent
    if when is not None:
        found = find_day(day or "")
        moment = None if when == "none" else parse_time(when)
        folder = ClassFolder.of(submitted, db)
        check_gradebook(folder.db_url)
        if student is not None and moment is not None:
            require_known(student, root)
        for_all = due_dates(root).get(found.slug)
        if student is not None and moment is not None and (for_all is None or moment <= for_all):
            if for_all is None:
                raise CourseError(f"{found.slug} has no due date that could be extended: set it with `autograder due {found.slug} TIME`")
            raise CourseError(f"{found.slug} is due {shown(for_all)} for everybody: give a later time for the extension")
        set_due(root, found, moment, student or "")
        if moment is None and student is None:
            set_due_date(found, None, folder.db_url)
        elif moment is None:
            set_extension(found, student or "", None, folder.db_url)
        book_due_dates(root, folder.db_url, [found])
        book_penalties(folder, [found])
    dates, more = due_dates(root), extensions(root)
    chosen = [find_day(day).slug] if day else sorted(dates)
    for slug in chosen:
        tell(f"{slug}: {shown(dates[slug]) if slug in dates else 'no due date'}")
        for (who, of), moment in sorted(more.items()):
            if of == slug:
                tell(f"{slug}, {who}: {shown(moment)}")
    if not chosen:
        tell('no due dates; set one with `autograder due day05 "2026-11-20 23:59"`')


def late(
    rule: Annotated[str | None, typer.Argument(help='"10% a day", "10% a day, at most 50%", or `none`.')] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
) -> None:
    """Show or set the late policy of a class, for all its days. Late days are counted from the due date."""
    from ..gradebook.booking import book_penalties
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.books.gradebook import check_gradebook, set_penalty
    from ..gradebook.policy.late import FORM, late_rule, parse_rule, set_rule
    from .course import chosen_days

    folder = ClassFolder.of(submitted, db)
    if rule is not None:
        check_gradebook(folder.db_url)
        before = late_rule(folder.root)
        set_rule(folder.root, None if rule == "none" else parse_rule(rule))
        for day in chosen_days(None):
            graded = [path.stem for path in (folder.records / day.slug).glob("*.json")]
            if rule == "none" and before is not None:
                set_penalty(day, dict.fromkeys(graded, 0.0), folder.db_url)
            book_penalties(folder, [day])
    found = late_rule(folder.root)
    tell(f"late: {found.text}" if found else f"late work costs nothing; set a policy with `autograder late RULE`: {FORM}")


def weights(
    rule: Annotated[str | None, typer.Argument(help='"day05=2, day01=0, best 10, missing 0", or `none`.')] = None,
    submitted: SubmittedOption = Path("submitted"),
) -> None:
    """Show or set the weights of days in the course's grade, a percentage in gradebook.csv.

    A day weighs 1 if the rule does not name it. best N: only the N best days count. missing 0: a day that was not handed in counts
    as 0 after its due date.
    """
    from ..gradebook.policy.weights import FORM, class_weights, parse_weights, set_weights

    root = submitted.absolute().parent
    if rule is not None:
        set_weights(root, None if rule == "none" else parse_weights(rule))
    found = class_weights(root)
    none = f"no weights, so gradebook.csv has no percentage; set them with `autograder weights RULE`: {FORM}"
    tell(none if found is None else f"weights: {found.text or 'every day 1'}")


def shown(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M %z")
