"""The code that a worker of a cluster runs: tasks come in as plain data, records go back as plain data.

A station is a process that grades for a run elsewhere, with its own fork server, checkout of the course and isolation. Before its first
submission a station checks that it has the same course as the requesting run, that it reaches the required isolation level, and
that its canaries pass. It writes no file.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ... import __version__
from ...base import own
from ...base.errors import CourseError, InfrastructureFault
from ...lessons import Day, find_day
from ...sandbox.confine.limits import Limits
from ...sandbox.process import forkserver_pool
from ...sandbox.submitted_file import SubmittedFile
from .. import verdict_inputs
from ..canaries import canaries
from ..grade import Options, grade_task
from ..tasks import Task

Message = dict[str, Any]
"""Plain data between a run and its workers: a handshake, a job or an answer."""

_lock = threading.Lock()
_canaries_lock = threading.Lock()
_busy = 0
_level = ""
_own = ""
_shown: set[str] = set()


def handshake(day: Day, options: Options, level: str) -> Message:
    """Return the handshake of a run: all that a grading process must match before it grades a submission of this day."""
    return {
        "slug": day.slug,
        "course_version": __version__,
        "environment": verdict_inputs.environment(),
        "course_sha256": verdict_inputs.of_day(day),
        "options": asdict(options),
        "isolation": level,
        "own": own_checks(),
    }


def own_checks() -> str:
    """Return the folder of the class's own checks in this process, as plain data: "" if only the course's checks run."""
    return str(own.used() or "")


def job(task: Task, file: SubmittedFile, handshake: Message) -> Message:
    """Return a job: a submission to grade and everything that grading it needs, as plain data."""
    return {"student": task.student, "file": asdict(file), "handshake": handshake}


def agree(handshake: Message) -> Message:
    """Return {} if this process can grade this day under the handshake.

    Otherwise return {"refused": reason, "ours": True if the process is broken, False if it is unfit}.
    """
    try:
        with _at(handshake["isolation"], handshake["own"]):
            _show(handshake)
    except CourseError as unfit:
        return {"refused": str(unfit), "ours": False}
    except InfrastructureFault as fault:
        return {"refused": str(fault), "ours": True}
    return {}


def grade(job: Message) -> Message:
    """Return {"record": the submission's record as a table}, or the refusal of `agree`."""
    handshake = job["handshake"]
    try:
        with _at(handshake["isolation"], handshake["own"]):
            day, options = _show(handshake)
            file = SubmittedFile(**job["file"])
            return {"record": asdict(grade_task(Task(job["student"], day, Path(day.slug) / file.name, file), options))}
    except CourseError as unfit:
        return {"refused": str(unfit), "ours": False}
    except InfrastructureFault as fault:
        return {"refused": str(fault), "ours": True}


def raise_for_refusal(answer: Message, who: str) -> None:
    """Raise the error of a grading process that refused. who: the name of the process in the message."""
    if "refused" in answer:
        kind = InfrastructureFault if answer["ours"] else CourseError
        raise kind(f"{who} cannot grade: {answer['refused']}")


def warm_up(level: str, folder: str = "") -> None:
    """Start the fork server ahead of the first job. An error here is ignored: the first job reports it."""
    try:
        with _at(level, folder):
            forkserver_pool.forkserver()
    except (CourseError, InfrastructureFault):
        pass


def put_out() -> None:
    """End the fork server, unless it grades another run's job."""
    with _lock:
        if not _busy:
            forkserver_pool.close()


@contextmanager
def _at(level: str, folder: str = "") -> Iterator[None]:
    """Set the isolation level and the class's own checks while the body runs. Raises CourseError if a run with other settings grades here.

    Both settings belong to the whole process, so two runs that differ cannot share it. folder: as `own_checks` returns it.
    """
    global _busy, _level, _own
    with _lock:
        if _busy and level != _level:
            raise CourseError(f"another run grades there at isolation level {_level}: wait until that run ends, or use the same level")
        if _busy and folder != _own:
            raise CourseError("another run grades there with its class's own checks: wait until that run ends")
        own.use(Path(folder) if folder else None)
        forkserver_pool.want(level)
        _busy, _level, _own = _busy + 1, level, folder
    try:
        yield
    finally:
        with _lock:
            _busy -= 1


def _show(handshake: Message) -> tuple[Day, Options]:
    """Check that this process matches the handshake and that the canaries pass. Return the day and the options.

    Raises CourseError, InfrastructureFault.
    """
    day = find_day(handshake["slug"])
    if handshake["course_version"] != __version__:
        raise CourseError(f"the worker has version {__version__} of the course, not {handshake['course_version']}: {SAME_COURSE}")
    here = verdict_inputs.environment()
    if others := [
        f"{name} {here.get(name)}, not {version}" for name, version in handshake["environment"].items() if here.get(name) != version
    ]:
        raise CourseError(f"the worker has {'; '.join(others)}: {SAME_COURSE}, with an environment made from its lock file")
    if handshake["course_sha256"] != verdict_inputs.of_day(day):
        raise CourseError(f"the worker's lesson, answers, checks or grader of {day.slug} differ from those here: {SAME_COURSE}")
    try:
        options = Options(**{**handshake["options"], "limits": Limits(**handshake["options"]["limits"])})
    except TypeError:
        raise CourseError(f"the worker's autograder does not know the requested options: {SAME_COURSE}") from None
    forkserver_pool.require_safe()
    with _canaries_lock:
        if repr(handshake) not in _shown:
            canaries(day, options)
            _shown.add(repr(handshake))
    return day, options


SAME_COURSE = "give every worker the same checkout"
