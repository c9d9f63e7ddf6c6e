"""The grader of submissions: notebook in, record out. A problem in one submission never affects another."""

from __future__ import annotations

import functools
import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from .. import __version__
from ..base.course_table import earlier_sources, solution_source
from ..base.errors import InfrastructureFault
from ..base.verdicts import ERROR, NOT_RUN, NOT_WRITTEN, Verdict, share
from ..checking.runner import run_checks, select
from ..lessons import Day, lesson, release_notebook_path
from ..lessons.syllabus import stamp
from ..sandbox.confine.limits import Limits
from ..sandbox.process import forkserver_pool
from ..sandbox.process.remote_student import RemoteStudent
from ..sandbox.submission import BadSubmission, Cell, Submission, read_submission, submission_in
from ..sandbox.submitted_file import collect, file_sha256
from . import verdict_inputs
from .records import ExerciseScore, Record, machine_name
from .tasks import Task, check_student_id


@dataclass
class Options:
    seed: int = 0
    """The seed of the checks' inputs. A class's run draws one; with 0 a hidden check uses the same inputs as in a student's notebook."""
    limits: Limits = field(default_factory=Limits)
    jobs: int = 0
    """The number of submissions graded side by side; 0: as many as there are processors."""


def our_cells(day: Day) -> dict[str, str]:
    """Return {cell id: source} of the release notebook's code cells that are not exercises."""
    path = release_notebook_path(day)
    return _our_cells(path, stamp(path))


@functools.lru_cache(maxsize=64)
def _our_cells(path: Path, stamp: tuple[int, int]) -> dict[str, str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    found = {}
    for cell in notebook["cells"]:
        role = cell["metadata"].get("course", {}).get("role")
        if cell["cell_type"] == "code" and role != "exercise":
            source = cell["source"]
            found[cell["id"]] = source if isinstance(source, str) else "".join(source)
    return found


def grade_file(task: Task, options: Options) -> Record:
    """Return the record of one submission. A file that cannot be read gets a record with the reason."""
    record = new_record(task, options)
    try:
        submission = read_task(task)
    except BadSubmission as bad:
        record.problem = str(bad)
        record.scores = [ExerciseScore(e.name, 0.0, e.points) for e in lesson(task.day).exercises]
        return record
    return grade_cells(record, task.day, submission, options)


def read_task(task: Task) -> Submission:
    """Return the submission that was handed in. Raises BadSubmission."""
    check_student_id(task.student)
    exercises = [exercise.name for exercise in lesson(task.day).exercises]
    return submission_in(task.file or collect(task.path), task.day.slug, our_cells(task.day), exercises)


def start_cells(day: Day, submission: Submission, options: Options) -> RemoteStudent:
    """Return a worker in which the lesson's setup cell and the submission's cells have run. Raises InfrastructureFault."""
    cells = [Cell("setup", lesson(day).setup), *submission.cells]
    remote = RemoteStudent(day.topic, cells, earlier_sources(day.topic), limits=options.limits, seed=options.seed)
    try:
        remote.start()
        if "setup" in remote.cell_outcomes:
            raise InfrastructureFault(f"the lesson's own setup cell failed: {remote.cell_outcomes['setup'].message}")
    except BaseException:
        remote.close()
        raise
    return remote


def grade_cells(record: Record, day: Day, submission: Submission, options: Options) -> Record:
    """Run a submission's cells, then every check except timing checks, which run later."""
    start = time.perf_counter()
    remote = None
    try:
        remote = start_cells(day, submission, options)
        record.verdicts = run_checks(day.topic, select(day.topic, timing=False), remote, seed=options.seed)
        record.timing_due = bool(select(day.topic, timing=True))
        record.cells = {name: f"{o.outcome}: {o.message}" for name, o in remote.cell_outcomes.items()}
        for verdict in record.verdicts:
            explain_missing(verdict, remote, submission)
            verdict.lines = [line for line in verdict.lines if is_line_of(line, submission)]
    except InfrastructureFault as fault:
        record.infrastructure = str(fault)
    finally:
        if remote is not None:
            remote.close()
    record.scores = scores(day, record)
    lost = {score.exercise for score in record.scores if score.points < score.max_points}
    record.notes = {name: note for name, note in submission.notes.items() if name in lost}
    record.seconds = round(time.perf_counter() - start, 4)
    return record


def explain_missing(verdict: Verdict, remote: RemoteStudent, submission: Submission) -> None:
    """Explain a missing function or a stub by the outcome of its cell."""
    missing = verdict.outcome == ERROR and "NameError" in verdict.message
    stub = verdict.outcome == ERROR and verdict.message.startswith(NOT_WRITTEN)
    if (missing or stub) and verdict.exercise in submission.notes:
        note = submission.notes[verdict.exercise]
        verdict.cause = f"{note[0].upper()}{note[1:]}."
    outcome = remote.cell_outcomes.get(submission.homes.get(verdict.exercise, verdict.exercise))
    if outcome is None or not missing:
        return
    verdict.outcome = outcome.outcome
    verdict.message = f"{NOT_RUN} {verdict.exercise} did not run to its end: {outcome.message}"
    verdict.lines = outcome.lines
    verdict.cause = None


LINE = re.compile(r"(?:(<?\w+>?), )?line (\d+): (.*)", re.DOTALL)


def is_line_of(line: str, submission: Submission) -> bool:
    """Return True if a line of a traceback is in the submission.

    The worker reports the line and could invent any text. Without this test, feedback could carry the inputs of a hidden check.
    """
    found = LINE.fullmatch(line)
    if found is None:
        return False
    name, number, text = found[1] or "<module>", int(found[2]), found[3].strip()
    for cell in submission.cells:
        lines = cell.source.splitlines()
        if 0 < number <= len(lines) and lines[number - 1].strip().startswith(text) and (name in FRAMES or name in cell.source):
            return True
    return False


FRAMES = ("<module>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


def scores(day: Day, record: Record) -> list[ExerciseScore]:
    shares = {e.name: share(record.exercise(e.name)) for e in lesson(day).exercises}
    return [ExerciseScore(e.name, round(e.points * shares[e.name], 4), e.points) for e in lesson(day).exercises]


def new_record(task: Task, options: Options, level: str | None = None) -> Record:
    """Return an empty record. level: the isolation level; this process's level if None."""
    return Record(
        student=task.student,
        slug=task.day.slug,
        topic=task.day.topic,
        course_version=__version__,
        seed=options.seed,
        isolation=forkserver_pool.level() if level is None else level,
        machine=machine_name(),
        submission_sha256=submission_sha256(task),
        course_sha256=verdict_inputs.of_day(task.day),
    )


def submission_sha256(task: Task) -> str:
    """Return the checksum of the submission: of the bytes in the task, else of the file as it is on disk now."""
    return task.file.sha256 if task.file else file_sha256(task.path)


def canaries(day: Day, options: Options) -> None:
    """Grade the reference, which must get all points, and the blank release, which must get none.

    Raises InfrastructureFault.
    """
    reference = Submission([Cell("reference", solution_source(day.topic))], {})
    blank = read_submission(release_notebook_path(day), day.slug, our_cells(day))
    for name, submission, expected in (("reference", reference, lesson(day).points), ("blank notebook", blank, 0.0)):
        task = Task(f"canary-{name.split()[0]}", day, release_notebook_path(day))
        record = grade_cells(new_record(task, options), day, submission, options)
        if record.infrastructure is not None:
            raise InfrastructureFault(f"the {name} of {day.slug} could not be graded: {record.infrastructure}")
        if abs(record.points - expected) > 1e-6:
            wrong = next((f"{v.check}: {v.message}" for v in record.verdicts if v.passed == (expected == 0)), "")
            got = f"{record.points} points where {expected} were expected"
            raise InfrastructureFault(f"the {name} of {day.slug} got {got}; {wrong}")


def grade_task(task: Task, options: Options) -> Record:
    """Grade one submission and return its record. Grade it a second time after an infrastructure fault or a crash.

    A second infrastructure fault is reported to a person. A crash can be the machine's fault (no memory left, a kill from outside);
    a submission that ends its own process does so again.
    """
    record = grade_safely(task, options)
    if record.infrastructure is not None or record.crashed:
        record = grade_safely(task, options)
    return record


def grade_safely(task: Task, options: Options) -> Record:
    """Return the record of `grade_file`; an unforeseen error becomes an infrastructure fault in the record."""
    try:
        return grade_file(task, options)
    except (Exception, InfrastructureFault) as error:
        record = new_record(task, options)
        record.infrastructure = f"{type(error).__name__}: {error}"
        record.scores = scores(task.day, record)
        return record


