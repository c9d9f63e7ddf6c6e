"""The command round: collect, grade, report, feedback and export of a day, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import CourseError, InfrastructureFault
from .course import chosen_days
from .grading import DatabaseOption, Stop, SubmittedOption, grade_in_bulk, progress_bar, say, tell, without_grade
from .grading import counts_text as counts_of_records
from .handing_in import Source, collected, of_unknown_time
from .handing_in import counts_text as counts_of_files
from .reporting import RosterOption, To, assignment_ids, read_class, write_export, write_report

if TYPE_CHECKING:
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.policy.rounds import Steps
    from ..grading.records import Record
    from ..lessons import Day


def register(app: typer.Typer) -> None:
    app.command("round")(a_round)


@dataclass(frozen=True)
class Outcome:
    """line: what a step says; made: its files; look: lines for a person, who may leave them as they are; again: not all is done."""

    line: str
    made: tuple[Path, ...] = ()
    look: tuple[str, ...] = ()
    again: bool = False


@dataclass(frozen=True)
class Step:
    """of: the digest of what it is made from, asked when its turn has come; run: does it, or raises."""

    name: str
    of: Callable[[], str]
    run: Callable[[], Outcome]


def a_round(
    day: Annotated[str, typer.Argument(help="A day: day05, 5, samplers.")],
    sources: Annotated[list[Path] | None, typer.Argument(help="Zips or folders of the platform; else submitted/ as it is.")] = None,
    form: Annotated[Source, typer.Option("--from", help="Where they come from; nbgrader: note what it collected.")] = Source.folder,
    to: Annotated[To, typer.Option(help="The system for which scores are exported.")] = To.csv,
    assignment: Annotated[list[str] | None, typer.Option(help="Canvas's id of the assignment: day05=12345.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Submissions graded side by side; 0: as many as processors.")] = 0,
    roster: RosterOption = None,
    at: Annotated[str | None, typer.Option(help="The time to note: when the download's files were handed in, at the latest.")] = None,
    submitted: SubmittedOption = Path("submitted"),
    db: DatabaseOption = None,
    isolation: Annotated[str, typer.Option(help="auto, or a level: namespaces, landlock, seccomp, none.")] = "auto",
) -> None:
    """Collects, grades, reports, writes feedback and exports a day. Run again, it does what is new, or goes on where it stopped."""
    from ..gradebook.books.class_folder import ClassFolder
    from ..gradebook.books.gradebook import check_gradebook
    from ..gradebook.policy.rounds import FOLDER, Steps
    from ..grading.records import alone

    if assignment and to is not To.canvas:
        raise CourseError("--assignment is for --to canvas only")
    (found,) = chosen_days(day)
    folder = ClassFolder.of(submitted, db)
    check_gradebook(folder.db_url)
    stopped = Stop(again="")
    steps = (
        collect_step(found, sources or [], form, roster, at, folder),
        grade_step(found, jobs, isolation, folder, stopped),
        report_step(found, roster, folder, db),
        feedback_step(found, folder),
        export_step(found, to, assignment_ids(assignment or []), roster, folder, db),
    )
    try:
        with alone(folder.root / FOLDER):
            look = walk(steps, Steps(folder.root, found.slug))
    finally:
        stopped.over()
    if look:
        raise typer.Exit(1)


def walk(steps: tuple[Step, ...], before: Steps) -> bool:
    """Does the steps in order, but those that hold. -> whether there is something for a person

    Raises CourseError or InfrastructureFault where a step fails, and says what is done.
    """
    from sqlalchemy.exc import SQLAlchemyError

    looked = False
    for number, step in enumerate(steps, start=1):
        place = f"{number} of {len(steps)}, {step.name}"
        of = step.of()
        if before.holds(step.name, of):
            outcome = Outcome(f"nothing new; it was: {before.done[step.name].line}", look=before.done[step.name].look)
            looked = told(place, outcome) or looked
            continue
        try:
            outcome = step.run()
        except (CourseError, InfrastructureFault, OSError, SQLAlchemyError) as error:
            done = ", ".join(each.name for each in steps[: number - 1]) or "nothing"
            kind = CourseError if isinstance(error, CourseError) else InfrastructureFault
            raise kind(f"the round stopped at {step.name}: {why(error)}. Done and kept: {done}. "
                       f"Mend it and give the same command: it goes on with {step.name}") from None  # fmt: skip
        looked = told(place, outcome) or looked
        if outcome.again:
            before.forget(step.name)
        else:
            before.note(step.name, of, outcome.made, outcome.line, outcome.look)
    return looked


def why(error: BaseException) -> str:
    """In one line."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def told(place: str, outcome: Outcome) -> bool:
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
            return Outcome("no download was given: what is in submitted/ stays as it is")
        collector, outcomes = collected(sources, form, day.slug, roster, at, folder.submitted)
        refused = tuple(f"left out: {outcome.line}" for outcome in outcomes if outcome.kind == "refused")
        unknown = of_unknown_time(collector, day.slug)
        look = refused + ((unknown,) if unknown else ())
        return Outcome(counts_of_files(outcomes), look=look, again=bool(refused) or form is Source.nbgrader)

    return Step("collect", of, run)


def grade_step(day: Day, jobs: int, isolation: str, folder: ClassFolder, stopped: Stop) -> Step:
    from .. import __version__
    from ..gradebook.policy.rounds import digest
    from ..grading import verdict_inputs
    from ..grading.tasks import find_tasks, left_out
    from ..lessons import syllabus

    def of() -> str:
        """Return a digest of submissions and course: grading itself looks at each record once more."""
        tasks = list(find_tasks(folder.submitted, [day]))
        course = (__version__, verdict_inputs.of_day(day))
        gradebook = folder.db_url.replace(str(folder.root), ".")
        return digest(*course, isolation, gradebook, [task.student for task in tasks], *(task.path for task in tasks))

    def run() -> Outcome:
        from ..gradebook.books.writer import is_of_the_gradebook
        from ..gradebook.results import automatic_scores
        from ..grading.executors import chosen
        from ..grading.grade import Options
        from ..grading.records import alone, record_path
        from ..grading.run import drawn_seed, fresh_record
        from .grading import On

        tasks = list(find_tasks(folder.submitted, [day]))
        if not tasks:
            raise CourseError(f"no submission under {folder.submitted} for {day.slug}: give the platform's download")
        options = Options(seed=drawn_seed(folder.records, tasks), jobs=jobs)
        with closing(chosen(On.local, None, jobs, isolation, say)) as grader, alone(folder.records):
            found = {task.student: fresh_record(folder.records, task, options, any_seed=True) for task in tasks}
            kept = sum(record is not None for record in found.values())
            book, notebook = automatic_scores(folder.db_url, day), f"{day.slug}/{day.slug}.ipynb"
            left = [
                task for task in tasks
                if not is_booked(found[task.student], folder.autograded / task.student / notebook, book.get(task.student))
            ]  # fmt: skip
            new: list[Record] = []
            failures: dict[tuple[str, str], str] = {}
            if left:
                new, failures = grade_in_bulk(left, options, folder, grader, stopped, resume=True, any_seed=True)
        for (student, slug), reason in failures.items():
            if is_of_the_gradebook(reason):
                raise InfrastructureFault(f"{len(failures)} submissions are not in the gradebook: {student}, {slug}: {reason}")
        records = [record for record in ({**found, **{record.student: record for record in new}}).values() if record is not None]
        look = [f"not graded: {line}" for line in left_out(folder.submitted, [d.slug for d in syllabus()])]
        look += [f"unreadable: {record.student}: {record.problem}" for record in records if record.problem is not None]
        look += [f"{record.student}, {exercise}: {note}" for record in records for exercise, note in record.notes.items()]
        look += [
            f"needs a person: {record.student}: {(record.infrastructure or 'a check was inconclusive').splitlines()[0]}"
            for record in records if record.needs_person
        ]  # fmt: skip
        look += [f"not in the gradebook: {student}: {reason}" for (student, _), reason in failures.items()]
        line = f"{counts_of_records(records)}; {len(tasks) - kept} graded now, {kept} kept"
        files = (record_path(folder.records, task.student, day.slug) for task in tasks)
        again = bool(failures) or any(record.infrastructure is not None for record in records)
        return Outcome(line, tuple(files), tuple(look), again)

    return Step("grade", of, run)


def is_booked(record: Record | None, graded: Path, automatic: dict[str, float | None] | None) -> bool:
    """Whether a record that still holds is in the gradebook and among the graded notebooks: storing it again would do nothing, but take
    nbgrader's penalty for lateness from it."""
    if record is None or record.timing_due or not graded.exists():
        return False
    return automatic == {score.exercise: None if record.problem is not None else score.points for score in record.scores}


def made_of(day: Day, roster: Path | None, folder: ClassFolder, *more: object) -> str:
    """The digest of all that is told of a day: its records, the gradebook's word, and the class's own tables."""
    from ..gradebook.policy.rounds import digest
    from ..gradebook.results import all_booked

    tables = [folder.root / name for name in ("due.csv", "late.txt", "collected.json")]
    return digest(folder.records / day.slug, all_booked(folder.db_url, day), roster or folder.root / "roster.csv", *tables, *more)


def report_step(day: Day, roster: Path | None, folder: ClassFolder, db: str | None) -> Step:
    def run() -> Outcome:
        results = read_class(day.slug, folder.submitted, db, roster)
        files = write_report(results, folder.root / "report")
        return Outcome(f"{len(results.results)} submissions; {files[0]}", tuple(files), results.damaged, again=bool(results.damaged))

    return Step("report", lambda: made_of(day, roster, folder), run)


def feedback_step(day: Day, folder: ClassFolder) -> Step:
    def run() -> Outcome:
        from ..gradebook.books.bulk import graded_students, write_feedback
        from ..gradebook.results import book_penalties

        book_penalties(folder, [day])
        students = graded_students(folder, day)
        with progress_bar("feedback", len(students)) as advance:
            failures = write_feedback(folder, day, advance) | without_grade(folder, day, students)
        look = tuple(f"no page: {student}: {reason}" for (student, _), reason in failures.items())
        made = [student for student in students if (student, day.slug) not in failures]
        pages = tuple(folder.feedback / student / day.slug / f"{day.slug}.html" for student in made)
        return Outcome(f"{len(pages)} pages in {folder.feedback}", pages, look, again=bool(look))

    return Step("feedback", lambda: made_of(day, None, folder), run)


def export_step(day: Day, to: To, ids: dict[str, str], roster: Path | None, folder: ClassFolder, db: str | None) -> Step:
    def run() -> Outcome:
        results = read_class(day.slug, folder.submitted, db, roster)
        files, lines = write_export(results, to, folder.root / "exports", ids)
        where = str(files[0]) if len(files) == 1 else f"{len(files)} files in {folder.root / 'exports'}"
        scores = sum(r.points is not None for r in results.results)
        return Outcome(f"{scores} scores; {where}", tuple(files), tuple(lines), again=bool(lines))

    return Step("export", lambda: made_of(day, roster, folder, to.value, sorted(ids.items())), run)
