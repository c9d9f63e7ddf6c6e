"""The timing phase: one submission after the other, when all other grading of the run is done.

Other checks may run side by side on every core; a measurement may not. So a run first grades everything else and marks the records as
`timing_due`. Then it measures one submission at a time.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ..base.course_table import earlier_sources, solution_source
from ..base.errors import InfrastructureFault
from ..base.verdicts import INCONCLUSIVE, Verdict
from ..checking.runner import Check, load_checks, run_timing, select
from ..lessons import Day
from ..sandbox.process.remote_student import RemoteStudent
from ..sandbox.submission import Cell
from .grade import Options, explain_missing, grade_task, is_line_of, read_task, scores, start_cells, submission_sha256
from .records import Record, write_record
from .tasks import Task


def timing_checks(day: Day) -> list[Check]:
    return select(day.topic, timing=True)


def time_task(task: Task, record: Record, options: Options) -> Record:
    """Return the record with the verdicts of its timing checks and final scores.

    After an infrastructure fault, try once more, then report it.
    """
    if not record.timing_due:
        return record
    if submission_sha256(task) != record.submission_sha256:
        record.infrastructure = "the file changed while the class was graded: grade it again"
        return record
    for last in (False, True):
        try:
            found = _measure(task, record, options)
            break
        except (Exception, InfrastructureFault) as error:
            if last:
                record.infrastructure = f"its speed could not be measured: {type(error).__name__}: {error}"
                return record
    order = [check.name for check in load_checks(task.day.topic)]
    record.verdicts = sorted([*record.verdicts, *found], key=lambda v: order.index(v.check))
    record.timing_due = False
    record.scores = scores(task.day, record)
    record.seconds = round(record.seconds + sum(v.seconds for v in found), 4)
    return record


def _measure(task: Task, record: Record, options: Options) -> list[Verdict]:
    submission = read_task(task)
    options = dataclasses.replace(options, seed=record.seed)  # a run that goes on has the seed that it began with
    remote = start_cells(task.day, submission, options)
    try:
        found = measured(task.day.topic, timing_checks(task.day), remote, record.verdicts, options.seed)
        for verdict in found:
            explain_missing(verdict, remote, submission)
            verdict.lines = [line for line in verdict.lines if is_line_of(line, submission)]
        return found
    finally:
        remote.close()


def measured(topic: str, checks: list[Check], remote: RemoteStudent, others: list[Verdict], seed: int) -> list[Verdict]:
    """Return the verdicts of timing checks; inconclusive checks are measured again, with more rounds."""
    found = run_timing(topic, checks, remote, others, seed=seed)
    unclear = [check for check, verdict in zip(checks, found, strict=True) if verdict.outcome == INCONCLUSIVE]
    again = {v.check: v for v in run_timing(topic, unclear, remote, others, seed=seed, patient=True)}
    return [again.get(verdict.check, verdict) for verdict in found]


def grade_one(task: Task, options: Options, records: Path) -> Record:
    """Grade one submission alone, including its speed, and write the record."""
    record = time_task(task, grade_task(task, options), options)
    write_record(records, record)
    return record


def timing_canary(day: Day, options: Options) -> None:
    """Race the reference against itself: it must not fail. Raises InfrastructureFault."""
    cells = [Cell("reference", solution_source(day.topic))]
    remote = RemoteStudent(day.topic, cells, earlier_sources(day.topic), limits=options.limits, seed=options.seed)
    try:
        for verdict in measured(day.topic, timing_checks(day), remote, [], options.seed):
            if verdict.failed and verdict.outcome != INCONCLUSIVE:
                raise InfrastructureFault(f"the reference of {day.slug} fails {verdict.check}: {verdict.message}, {verdict.got}")
    finally:
        remote.close()
