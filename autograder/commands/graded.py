"""Grading of a learner's own notebook: as a submission, with every check; nothing is stored."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import CourseError, InfrastructureFault
from .grading import say, stderr

if TYPE_CHECKING:
    from ..base.verdicts import Verdict
    from ..grading.records import Record
    from ..lessons import Day
    from ..notebook.graded import Report

HIDDEN = ("title", "outcome", "message", "cause", "same_as", "lines")
"""The fields of a hidden check's verdict that a feedback page shows."""
VISIBLE = (
    "check", "title", "weight", "outcome", "message", "expected", "got", "cause", "same_as", "lines", "ratio", "ratio_limit", "times",
)  # fmt: skip


def judged(day: Day, path: Path, exercise: str | None, seed: int | None) -> Record:
    """Grade a notebook for its author and return the record. Raises CourseError, InfrastructureFault.

    exercise: the exercise whose verdicts are needed. Speed is measured only if this exercise has a speed check. seed: drawn if None.
    """
    from course.kit.threads import one_thread

    from ..checking.runner import select
    from ..grading.grade import Options, grade_task
    from ..grading.run import drawn_seed
    from ..grading.tasks import Task
    from ..grading.timing_phase import time_task
    from ..notebook.graded import number_of_checks, require_hidden_checks
    from ..sandbox.submitted_file import collect

    require_hidden_checks(day)
    task = Task("me", day, path, collect(path))
    options = Options(seed=drawn_seed() if seed is None else seed)
    with one_thread(), waiting(f"{day.slug}: {number_of_checks(day)}") as go_on:
        record = grade_task(task, options)
        if record.timing_due and record.infrastructure is None and select(day.topic, exercise=exercise, timing=True):
            go_on(f"{day.slug}: now measuring speed; leave the machine alone meanwhile")
            record = time_task(task, record, options)
    if record.problem is not None:
        raise CourseError(record.problem)
    if record.infrastructure is not None:
        raise InfrastructureFault(record.infrastructure)
    return record


@contextmanager
def waiting(what: str) -> Iterator[Any]:
    """Show a text and the elapsed time, and yield a function that changes the text. Without a terminal, show nothing."""
    if not stderr.is_terminal:
        yield lambda words: None
        return
    from rich import progress as p

    columns = (p.SpinnerColumn(), p.TextColumn("{task.description}"), p.TimeElapsedColumn())
    with p.Progress(*columns, console=stderr, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda words: progress.update(task, description=words)


def tell_level() -> None:
    """Print why a better isolation level was not used, and the limits of the level in use."""
    from ..sandbox.process import forkserver_pool

    found = forkserver_pool.level()
    for better, reason in forkserver_pool.refusals.items():
        say(f"isolation level {found}, not {better}: {reason}")
    if found not in forkserver_pool.SAFE_LEVELS and not forkserver_pool.refusals:
        say(f"isolation level {found}: your code can reach all that you can reach; `autograder doctor` says how to get a better level")


def report(day: Day, record: Record, exercise: str | None, target: str) -> Report:
    """Return the report on a record. A hidden check shows no more than in feedback.

    target: the notebook as named in the command that repeats the run.
    """
    from ..base.verdicts import only_stubs
    from ..gradebook.books.pages import shown
    from ..sandbox.protocol.text import cell_title

    scores, exercises = [score for score in record.scores if exercise in (None, score.exercise)], []
    for score in scores:
        verdicts = record.exercise(score.exercise)
        exercises.append({
            "exercise": score.exercise, "points": score.points, "max_points": score.max_points,
            "passed": not any(v.failed for v in verdicts), "written": not only_stubs(score.exercise, verdicts),
            "checks": [as_data(shown(v)) for v in verdicts],
        })  # fmt: skip
    again = ["autograder", "check", target, *(["--exercise", exercise] if exercise else []), "--graded", "--seed", str(record.seed)]
    notes = [f"{name}: {note}" for name, note in record.notes.items()]
    notes += [f"The {cell_title(name)} did not run to its end: {text}" for name, text in record.cells.items()]
    return {
        "day": day.slug, "exercises": exercises, "notes": notes,
        "points": round(sum(score.points for score in scores), 4), "max_points": round(sum(score.max_points for score in scores), 4),
        "seed": record.seed, "isolation": record.isolation, "again": shlex.join(again), "seconds": record.seconds,
    }  # fmt: skip


def as_data(verdict: Verdict) -> dict[str, Any]:
    return {"hidden": verdict.hidden} | {name: getattr(verdict, name) for name in (HIDDEN if verdict.hidden else VISIBLE)}
