"""The incorrect versions that count: those that a test can tell from a correct one.

The rule: a version counts if, with each of three seeds, it fails one of its exercise's own checks, visible or hidden, that uses nothing
beyond a test's own means: calls, their results and exceptions, arguments as they are afterwards, attributes and methods. Checks that count
work, measure time, look at memory, at other devices or at the random state are ignored here. A version that fails none of the remaining
checks differs only in such a property, or fails only by chance, and is left out.

`python -m autograder.certification.written_tests.counting causal_mask` prints the result, and every difference from the task.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

from course.kit.threads import one_thread

from ...base.course_table import earlier_sources
from ...checking.runner import Check, run_check, select
from ...sandbox.process.remote_student import RemoteStudent
from ...sandbox.protocol.handles import Handle, RemoteFunction
from ...sandbox.submission import Cell
from ..certify import Specimen
from .tasks import Task, name_of, task

SEEDS = 3


class NotSeen(BaseException):
    """A check's request for something that a written test cannot use.

    This is a BaseException, so that a check's `except Exception` does not catch it.
    """


class OnlySeen:
    """A check's `student`, limited to what a written test can use."""

    def __init__(self, remote: RemoteStudent) -> None:
        self._remote = remote

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("begin_check", "value", "forget"):
            return getattr(self._remote, name)
        if hasattr(type(self._remote), name):
            raise NotSeen(name)
        return OnlyCalled(getattr(self._remote, name))


def not_seen(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSeen(name)

    return mock.patch.object(Handle, name, refuse)


class OnlyCalled:
    """A function of the student, limited to what a written test can do with it."""

    def __init__(self, function: RemoteFunction) -> None:
        self._function = function

    def __call__(self, *args: Any, _rng_unchanged: bool = False, **kwargs: Any) -> Any:
        if _rng_unchanged:
            raise NotSeen("the random state")
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "each":
            return self._function.each
        if name.startswith("_") or hasattr(RemoteFunction, name):
            raise NotSeen(name)
        return getattr(self._function, name)


def fails(topic: str, checks: Iterable[Check], remote: RemoteStudent, seed: int) -> str:
    """Return the title of the first of these checks that fails in a way that a written test can see; "" for none."""
    for check in checks:
        try:
            verdict = run_check(topic, check, OnlySeen(remote), seed=seed)
        except NotSeen:
            continue
        if verdict.failed:
            return check.title
    return ""


def seen(which: Task, specimen: Specimen) -> list[str]:
    """Return the title of a failing check for each seed, up to and including the first seed without one ("").

    Only failures that a written test can see count.
    """
    checks = select(which.topic, exercise=which.exercise, timing=False)
    titles = []
    for seed in range(SEEDS):
        cells = [Cell("setup", which.setup), Cell("reference", which.reference), Cell(specimen.file, specimen.source)]
        remote = RemoteStudent(which.topic, cells, earlier_sources(which.topic), seed=seed)
        try:
            titles.append(fails(which.topic, [c for c in checks if not c.gpu], remote, seed))
        finally:
            remote.close()
        if not titles[-1]:
            break
    return titles


def sort(which: Task, wrong: list[Specimen]) -> dict[str, list[str]]:
    """Return {incorrect version: the failing check for each seed}. A version counts if every seed has a failing check."""
    with one_thread(), not_seen("on_meta"), not_seen("awaited"), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return dict(zip(map(name_of, wrong), pool.map(lambda each: seen(which, each), wrong), strict=True))


def main(exercises: list[str]) -> None:
    for exercise in exercises:
        which = task(exercise)
        titles = sort(which, [each for each in which.specimens if not each.right])
        listed = {name for names in which.rules.values() for name in names}
        for name, found in titles.items():
            counts = all(found)
            differs = "" if counts == (name in listed) and (name in which.left_out) != counts else "  <- the task says otherwise"
            print(f"{exercise}: {name}: {'counts: ' + found[0] if counts else 'left out'}{differs}")


if __name__ == "__main__":
    main(sys.argv[1:])
