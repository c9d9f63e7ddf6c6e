"""The command round: collect, grade, report, feedback and export of a day, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import CourseError, InfrastructureFault, first_line
from ..base.wording import counted
from .course import chosen_days
from .grading import (
    ClassRun,
    DatabaseOption,
    Stop,
    SubmittedOption,
    exclusive_executor,
    lines_for_a_person,
    options_of_run,
    progress_bar,
    say,
    tell,
    use_own_checks,
    without_grade,
)
from .grading import counts_text as counts_of_records
from .handing_in import Source, collected, of_unknown_time
from .handing_in import counts_text as counts_of_files
from .reporting import RosterOption, To, assignment_ids, read_class, write_export, write_report

if TYPE_CHECKING:
    from ..gradebook.booking import Failures
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.policy.rounds import Steps
    from ..grading.grade import Options
    from ..grading.records import Record
    from ..grading.tasks import Task
    from ..lessons import Day


def register(app: typer.Typer) -> None:
    app.command("round")(a_round)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step. line: its message; made: its files; look: lines for a person; again: the next round repeats the step."""

    line: str
    made: tuple[Path, ...] = ()
    look: tuple[str, ...] = ()
    again: bool = False


@dataclass(frozen=True)
class Step:
    """A step of a round. of: returns the digest of the step's inputs, just before the step. run: does the step."""

    name: str
    of: Callable[[], str]
    run: Callable[[], Outcome]


AGAIN = "fix this and run the same command again"


def a_round(
    day: Annotated[str, typer.Argument(help="A day: day05, 5, samplers.")],
    sources: Annotated[list[Path] | None, typer.Argument(help="Zips or folders from the platform; default: files in submitted/.")] = None,
    form: Annotated[Source, typer.Option("--from", help="Source; nbgrader: record files that nbgrader collected.")] = Source.folder,
    to: Annotated[To, typer.Option(help="The system for which scores are exported.")] = To.csv,
    assignment: Annotated[list[str] | None, typer.Option(help="Canvas's id of the assignment: day05=12345.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Submissions graded side by side; 0: as many as processors.")] = 0,
    roster: RosterOption = None,
    at: Annotated[str | None, typer.Option(help="Latest time at which these files were submitted.")] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
    isolation: Annotated[str, typer.Option(help="auto, or a level: namespaces, landlock, seccomp, none.")] = "auto",
) -> None:
    """Collect, grade, report, write feedback and export a day. Safe to rerun: does only new work, and resumes an interrupted round."""
    from ..gradebook.booking import check_books
    from ..gradebook.books.class_folder import ClassFolder

    if assignment and to is not To.canvas:
        raise CourseError("--assignment is for --to canvas only")
    (found,) = chosen_days(day)
    folder = ClassFolder.of(submitted, db)
    use_own_checks(folder.root, [found.topic])
    check_books(folder)
    stopped = Stop(again="")
    reported: set[str] = set()
    steps = (
        collect_step(found, sources or [], form, roster, at, folder),
        grade_step(found, jobs, isolation, folder, stopped, reported),
        report_step(found, roster, folder, db),
        feedback_step(found, folder, reported),
        export_step(found, to, assignment_ids(assignment or []), roster, folder, db, reported),
    )
    if walk_alone(steps, folder, found, stopped):
        raise typer.Exit(1)


def walk_alone(steps: tuple[Step, ...], folder: ClassFolder, day: Day, stopped: Stop) -> bool:
    """Do the steps of a day as `walk` does, under a lock against other rounds of the class."""
    from ..gradebook.policy.rounds import FOLDER, Steps
    from ..grading.records import alone

    try:
        with alone(folder.root / FOLDER):
            return walk(steps, Steps(folder.root, day.slug))
    finally:
        stopped.over()


def walk(steps: tuple[Step, ...], before: Steps) -> bool:
    """Do the unfinished steps in order. Return whether a person must look at something.

    Raises CourseError or InfrastructureFault if a step fails. The message names the finished steps.
    """
    from sqlalchemy.exc import SQLAlchemyError

    looked = False
    for number, step in enumerate(steps, start=1):
        place = f"{number} of {len(steps)}, {step.name}"
        try:
            of = step.of()
            if before.holds(step.name, of):
                outcome = Outcome(f"nothing new; the last result: {before.done[step.name].line}", look=before.done[step.name].look)
                looked = print_outcome(place, outcome) or looked
                continue
            outcome = step.run()
        except (CourseError, InfrastructureFault, OSError, SQLAlchemyError) as error:
            done = ", ".join(each.name for each in steps[: number - 1]) or "nothing"
            kind = type(error) if isinstance(error, CourseError) else InfrastructureFault
            raise kind(f"the round stopped at {step.name}: {why(error)}. Finished steps: {done}. "
                       f"Fix this and run the same command again: it continues with {step.name}") from None  # fmt: skip
        looked = print_outcome(place, outcome) or looked
        if outcome.again:
            before.forget(step.name)
        else:
            before.note(step.name, of, outcome.made, outcome.line, outcome.look)
    return looked


def why(error: BaseException) -> str:
    """Return the reason for an error in one line."""
    from ..gradebook.books.gradebook import IN_USE_NOW, is_in_use

    if is_in_use(error):
        return IN_USE_NOW
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return first_line(error).rstrip(".")


def print_outcome(place: str, outcome: Outcome) -> bool:
    tell(f"{place}: {outcome.line}")
    for line in outcome.look:
        say(f"  {line}")
    return bool(outcome.look)


def collect_step(day: Day, sources: list[Path], form: Source, roster: Path | None, at: str | None, folder: ClassFolder) -> Step:
    from ..gradebook.policy.rounds import digest

    def of() -> str:
        return digest(form.value, at, roster or folder.root / "roster.csv", *(path.absolute() for path in sources))

    def run() -> Outcome:
        if not sources and form is not Source.nbgrader:
            return Outcome("no download given: submitted/ is unchanged")
        collector, outcomes = collected(sources, form, day.slug, roster, at, folder.submitted)
        refused = tuple(f"left out: {outcome.line}" for outcome in outcomes if outcome.kind == "refused")
        unknown = of_unknown_time(collector, day.slug)
        look = refused + ((unknown,) if unknown else ())
        return Outcome(counts_of_files(outcomes), look=look, again=bool(refused) or form is Source.nbgrader)

    return Step("collect", of, run)


def grade_step(day: Day, jobs: int, isolation: str, folder: ClassFolder, stopped: Stop, reported: set[str]) -> Step:
    """Return the step. reported: the step adds the students who are not graded or booked, and later steps do not report them again."""
    return Step("grade", lambda: graded_from(day, isolation, folder), lambda: grade_day(day, jobs, isolation, folder, stopped, reported))


def graded_from(day: Day, isolation: str, folder: ClassFolder) -> str:
    """Return a digest of everything that a day's grading depends on: course, isolation level, gradebook and submissions."""
    from .. import __version__
    from ..gradebook.policy.rounds import digest
    from ..grading import verdict_inputs
    from ..grading.tasks import find_tasks

    tasks = list(find_tasks(folder.submitted, [day]))
    course = (__version__, verdict_inputs.of_day(day))
    gradebook = folder.db_url.replace(str(folder.root), ".")
    return digest(*course, isolation, gradebook, [task.student for task in tasks], *(task.path for task in tasks))


def grade_day(day: Day, jobs: int, isolation: str, folder: ClassFolder, stopped: Stop, reported: set[str]) -> Outcome:
    """Grade and book the submissions of a day, except those with a fresh record that is booked already."""
    from ..gradebook.booking import require_gradebook, unbooked
    from ..grading.tasks import find_tasks

    tasks = list(find_tasks(folder.submitted, [day]))
    if not tasks:
        raise CourseError(f"no submission under {folder.submitted} for {day.slug}: give the platform's download")
    options = options_of_run(folder, tasks, None, jobs, resume=True)
    with exclusive_executor(jobs, isolation, folder.records) as executor:
        fresh = fresh_records(folder, tasks, options)
        left = unbooked(folder, day, tasks, fresh)
        run = ClassRun(folder, left, options, executor, stopped, resume=True, any_seed=True)
        new, failures = run.grade_in_bulk() if left else ([], {})
    require_gradebook(folder, failures, stored=len(tasks) - len(failures))
    by_student = {**fresh, **{record.student: record for record in new}}
    records = [by_student[task.student] for task in tasks]
    reported.update(student for student, _ in failures)
    reported.update(record.student for record in records if record.infrastructure is not None)
    return outcome_of_grading(day, folder, records, failures, unchanged=len(fresh))


def fresh_records(folder: ClassFolder, tasks: list[Task], options: Options) -> dict[str, Record]:
    """Return {student: record} of one day's stored records that are fresh, with any seed."""
    from ..grading.run import fresh_record

    found = {task.student: fresh_record(folder.records, task, options, any_seed=True) for task in tasks}
    return {student: record for student, record in found.items() if record is not None}


def outcome_of_grading(day: Day, folder: ClassFolder, records: list[Record], failures: Failures, unchanged: int) -> Outcome:
    """Return the step's outcome: counts, files, and lines for a person.

    After an infrastructure fault or a booking failure the next round repeats the step.
    """
    from ..grading.records import record_path
    from ..grading.tasks import known_slugs, left_out

    look = [f"not graded: {line}" for line in left_out(folder.submitted, known_slugs())]
    look += lines_for_a_person(records, failures, with_day=False, again=f": {AGAIN}")
    line = f"{counts_of_records(records)}; {len(records) - unchanged} graded now, {unchanged} unchanged"
    files = tuple(record_path(folder.records, record.student, day.slug) for record in records)
    again = bool(failures) or any(record.infrastructure is not None for record in records)
    return Outcome(line, files, tuple(look), again)


def made_of(day: Day, roster: Path | None, folder: ClassFolder, *more: object) -> str:
    """Return a digest of everything that is reported for a day: its records, the gradebook's scores, and the class's tables."""
    from ..gradebook.policy.rounds import digest
    from ..gradebook.results import all_booked

    tables = [folder.root / name for name in ("due.csv", "late.txt", "weights.txt", "collected.json")]
    return digest(folder.records / day.slug, all_booked(folder.db_url, day), roster or folder.root / "roster.csv", *tables, *more)


def report_step(day: Day, roster: Path | None, folder: ClassFolder, db: str | None) -> Step:
    from ..grading.tasks import known_slugs, left_out

    def run() -> Outcome:
        results = read_class(day.slug, folder.submitted, db, roster)
        files = write_report(results, folder.root / "report")
        summary = f"{counted(len(results.results), 'submission')}; {files[0]}"
        return Outcome(summary, tuple(files), results.damaged, again=bool(results.damaged))

    return Step("report", lambda: made_of(day, roster, folder, left_out(folder.submitted, known_slugs())), run)


def feedback_step(day: Day, folder: ClassFolder, reported: Collection[str] = ()) -> Step:
    def run() -> Outcome:
        from ..gradebook.booking import book_penalties
        from ..gradebook.books.bulk import graded_students, write_feedback

        book_penalties(folder, [day])
        students = graded_students(folder, day)
        with progress_bar("feedback", len(students)) as advance:
            failures = write_feedback(folder, day, advance) | without_grade(folder, day, students)
        look = tuple(f"no page: {student}: {reason}: {AGAIN}" for (student, _), reason in failures.items() if student not in reported)
        made = [student for student in students if (student, day.slug) not in failures]
        pages = tuple(folder.feedback / student / day.slug / f"{day.slug}.html" for student in made)
        return Outcome(f"{counted(len(pages), 'page')} in {folder.feedback}", pages, look, again=bool(failures))

    return Step("feedback", lambda: made_of(day, None, folder), run)


def export_step(
    day: Day, to: To, ids: dict[str, str], roster: Path | None, folder: ClassFolder, db: str | None, reported: Collection[str] = ()
) -> Step:
    def run() -> Outcome:
        results = read_class(day.slug, folder.submitted, db, roster)
        files, lines = write_export(results, to, folder.root / "exports", ids, reported)
        where = str(files[0]) if len(files) == 1 else f"{len(files)} files in {folder.root / 'exports'}"
        scores = sum(r.points is not None for r in results.results)
        return Outcome(f"{counted(scores, 'graded submission')}; {where}", tuple(files), tuple(lines), again=bool(lines))

    return Step("export", lambda: made_of(day, roster, folder, to.value, sorted(ids.items())), run)
