"""Runs of a test on every version of an exercise. Each run has two processes of its own: one with the test, one with the version.

Both are workers as submissions have them, with the same isolation and limits. The judge passes calls from one to the other. The order of
the versions is random, and a test that tries to recognise a version finds the same proxy each time, without traces of earlier runs.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from course.kit.threads import one_thread

from ...authoring import CheckFailed, exception_names
from ...base.course_table import earlier_sources
from ...base.errors import CourseError, InfrastructureFault
from ...sandbox.process.remote_student import RemoteStudent
from ...sandbox.protocol.handles import Handle
from ...sandbox.protocol.worker_errors import StudentRaised, WorkerDied
from ...sandbox.submission import Cell
from .tasks import Task, Version

RUNS = 2
"""The runs of each version, with different random draws: a test that contradicts itself has said nothing."""
CALLS_SECONDS = 20.0
"""The limit for all calls of one run, in seconds of wall time."""
MANY_CALLS = 1000
"""The number of calls above which a time-out is attributed to them."""
HANDED = (Path(__file__).parent / "payload.py").read_text(encoding="utf-8")
ENTRY = "judged_test_run"
OURS = frozenset(re.findall(r"def (\w+)\(", HANDED))
"""Functions whose lines do not belong to the test."""
USED_CELL, TEST_CELL = "what the test uses", "the test"


@dataclass(frozen=True)
class Run:
    """The run of one test on one version. outcome: accepts, rejects, timeout, crashed, memory or slow."""

    outcome: str
    message: str = ""
    line: str = ""
    """The line of the test at which it raised."""
    kind: str = ""
    """The class of the exception that it raised."""
    returned: bool = False


@dataclass
class Judged:
    """The result for a test.

    refused: a run that rejects a correct version. Then score is 0, and incorrect versions may not have been run.
    """

    right_total: int
    wrong_total: int
    rules: list[str]
    """The rules in the order of the docstring."""
    right_accepted: int = 0
    rejected: int = 0
    refused: Run | None = None
    unsure: int = 0
    """The number of versions on which the runs disagreed."""
    returned: bool = False
    through: Counter[str] = field(default_factory=Counter)
    """{rule: the number of accepted versions that break it}."""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    """The runs by version, for the course's own tests only."""

    @property
    def score(self) -> float:
        """Return the share of incorrect versions that are rejected; 0 unless all correct ones are accepted."""
        return self.rejected / self.wrong_total if self.right_accepted == self.right_total else 0.0


class TestDoesNotRun(CourseError):
    """An exception in the cell that defines the test."""

    __test__ = False


def judge(
    task: Task,
    source: str,
    test_name: str,
    *,
    uses: str = "",
    progress: Callable[[int, int], None] | None = None,
    runs: int = RUNS,
    draw: int | None = None,
) -> Judged:
    """Run the function `test_name` of `source` on all versions. uses: the code before it. Raises TestDoesNotRun, InfrastructureFault.

    The first run uses a correct version. If the test does not accept this version, no other version is run.
    """
    luck = random.Random(draw) if draw is not None else random.SystemRandom()
    every, cells = list(task.versions), [Cell(USED_CELL, uses), Cell(TEST_CELL, source)]
    judged = Judged(sum(each.right for each in every), sum(not each.right for each in every), list(task.rules))
    with one_thread():
        first = run(task, cells, test_name, every[0], seed=luck.getrandbits(50))
        judged.returned = first.returned
        if first.outcome != "accepts":
            judged.refused = first
            return judged
        luck.shuffle(every)
        seeds = [[luck.getrandbits(50) for _ in range(runs)] for _ in every]
        stop, done = threading.Event(), 0

        def runs_of(version: Version, seeds: list[int]) -> list[Run] | None:
            if stop.is_set():
                return None
            made = [run(task, cells, test_name, version, seed=seed) for seed in seeds]
            if version.right and any(each.outcome != "accepts" for each in made):
                stop.set()
            return made

        with ThreadPoolExecutor(max(2, min(4, os.cpu_count() or 1))) as pool:
            try:
                for version, made in zip(every, pool.map(runs_of, every, seeds), strict=True):
                    done += 1
                    if progress is not None:
                        progress(done, len(every))
                    if made is not None:
                        note(judged, version, made)
            finally:
                stop.set()  # no thread waits in vain any longer
    return judged


def note(judged: Judged, version: Version, made: list[Run]) -> None:
    judged.runs[version.file] = made
    accepted = sum(each.outcome == "accepts" for each in made)
    judged.unsure += 0 < accepted < len(made)
    if version.right:
        judged.right_accepted += accepted == len(made)
        if accepted < len(made):
            judged.refused = judged.refused or next(each for each in made if each.outcome != "accepts")
    elif accepted:
        judged.through[version.rule] += 1
    else:
        judged.rejected += 1


def run(task: Task, cells: list[Cell], test_name: str, version: Version, *, seed: int) -> Run:
    """Run a test once on one version. cells: the code that the test uses, and the test."""
    earlier = earlier_sources(task.topic)
    tester = RemoteStudent(task.topic, [Cell("setup", task.setup), Cell("handed", HANDED), *cells], earlier, seed=seed)
    own = [Cell(version.file, version.source)] if version.source is not None else []
    tested = RemoteStudent(task.topic, [Cell("reference", task.reference), *own], earlier)
    try:
        tested.start()
        tester.start()
        for name, outcome in tester.cell_outcomes.items():
            if name not in (USED_CELL, TEST_CELL):
                raise InfrastructureFault(f"the {name} cell does not run: {outcome.message}")
            raise TestDoesNotRun(f"{outcome.message} ({outcome.lines[-1]})" if outcome.lines else outcome.message)
        passing_on = PassingOn(tested, task.exercise)
        made = one_run(tester, passing_on, test_name, task.exercise, seed)
        kept_calling = made.outcome == "timeout" and passing_on.num_calls > MANY_CALLS
        return Run("slow") if passing_on.late or kept_calling else made
    finally:
        tester.close()
        tested.close()


def one_run(tester: RemoteStudent, passing_on: PassingOn, test_name: str, exercise: str, seed: int) -> Run:
    try:
        returned = getattr(tester, ENTRY)(passing_on, test_name, exercise, seed)
    except StudentRaised as raised:
        own = [line for line in raised.lines if line.partition(",")[0] not in OURS]
        return Run("rejects", str(raised), own[-1] if own else "", raised.names[0])
    except (CheckFailed, WorkerDied) as ended:
        return Run(getattr(ended, "outcome", "rejects"), str(ended))
    return Run("accepts", returned=returned is not None)


class PassingOn:
    """A proxy that passes a test's requests on to the process with the version.

    late: the calls of the test took too long.
    """

    def __init__(self, tested: RemoteStudent, exercise: str) -> None:
        self.tested, self.exercise = tested, exercise
        self.things: list[Handle] = []
        self.until = time.monotonic() + CALLS_SECONDS
        self.late, self.num_calls = False, 0

    def __call__(self, request: Any) -> dict[str, Any]:
        self.num_calls += 1
        self.late |= time.monotonic() > self.until
        if self.late:
            return {"raised": ["TimeoutError"], "message": "the calls of the test took too long"}
        try:
            refuse_objects(request)
            return self.answer(**request)
        except WorkerDied as died:
            return {"raised": ["RuntimeError"], "message": str(died)}
        except StopIteration:
            return {"raised": ["StopIteration"], "message": ""}
        except NotPublic as error:
            return {"raised": ["AttributeError"], "message": str(error)}
        except Exception as error:
            names = [name for name in exception_names(error) if name not in ("object", "BaseException")]
            return {"raised": names if isinstance(error, StudentRaised) else ["TypeError"], "message": str(error)[:2000]}

    def answer(self, op: str, args: list[Any], kwargs: dict[str, Any] | None = None, thing: int | None = None) -> dict[str, Any]:
        if thing is None:
            value, after = getattr(self.tested, self.exercise)(*args, **(kwargs or {}), _arguments=True)
            return {**self.as_data(value), "after": after}
        target = self.things[thing]
        match op, args:
            case "call", _:
                return self.as_data(target(*args, **(kwargs or {})))
            case "attr", [str(name)]:
                return self.as_data(getattr(target, public(target, name)))
            case "setattr", [str(name), value]:
                setattr(target, public(target, name), value)
                return self.as_data(None)
            case "len", []:
                return self.as_data(len(target))
            case "iter", []:
                return self.as_data(iter(target))
            case "next", []:
                return self.as_data(next(target))
            case "getitem", [key]:
                return self.as_data(target[key])
            case "contains", [item]:
                return self.as_data(item in target)
        raise TypeError(f"an unknown request {op!r}")

    def as_data(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Handle):
            refuse_objects(value)
            return {"value": value}
        self.things.append(value)
        return {"thing": len(self.things) - 1, "type": value.type_name}


class NotPublic(Exception):
    """A request for an attribute that a test may not use."""


def public(target: Handle, name: str) -> str:
    """Return the name of a public attribute. Raises NotPublic for a private name, and for an attribute of the handle itself."""
    if name.startswith("_") or name in Handle.OWN or hasattr(type(target), name):
        raise NotPublic(f"{name!r} is not a public attribute of a {target.type_name}")
    return name


def refuse_objects(value: Any) -> None:
    """Raise TypeError for an object, because only data can pass between a test and a version."""
    if isinstance(value, Handle):
        raise TypeError(f"only data can be passed or returned here, and a {value.type_name} is not data")
    if isinstance(value, torch.Tensor | str | bytes):
        return
    for each in (*value.keys(), *value.values()) if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        refuse_objects(each)
