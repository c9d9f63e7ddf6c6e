"""The runner of checks: it runs them against a namespace of student functions and returns verdicts.

The same code runs in a notebook, in a terminal, in grading and in certification.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import inspect
import math
import re
import statistics
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..authoring import CheckFailed, Student, exception_names
from ..base import own
from ..base.datafiles import hand_computed
from ..base.errors import CourseError, InfrastructureFault
from ..base.parsing import parse
from ..base.verdicts import ERROR, FAIL, INCONCLUSIVE, MEMORY, NOT_MEASURED, NOT_WRITTEN, PASS, SKIPPED, STOPPED, Verdict
from ..lessons.syllabus import stamp
from ..sandbox.measure.timing import Inconclusive, Race
from ..sandbox.process.local import LocalStudent
from ..sandbox.process.worker import is_student_file
from ..sandbox.protocol.worker_errors import StudentRaised, WorkerDied, is_memory
from .exception_causes import cause_of
from .mistakes import NOTEBOOK_SEED, name_known_mistakes, what_was_seen

MAX_MESSAGE = 4_000
# Warnings of checks are about a result: nobody at a terminal is concerned.
warnings.filterwarnings("ignore", module=rf"(autograder\.checking\.(checks|helpers|hidden)|{own.PACKAGE})\b")
FIXTURES = ("student", "reference", "hand", "rng")
"""The names that a check may ask for; one that measures speed may also ask for `race`."""
KNOWN_FIXTURES = f"a check gets {', '.join(FIXTURES)}, and race if it measures speed"


@dataclass(frozen=True)
class Check:
    """A check of one behaviour of one exercise."""

    name: str
    exercise: str
    title: str
    weight: float
    hidden: bool
    function: Callable[..., None]
    timing: bool = False
    gpu: bool = False
    own: bool = False
    """The mark of a check that is the class's own, and not the course's."""


def load_checks(topic: str) -> tuple[Check, ...]:
    """Return all checks of a topic, visible ones first and the class's own last, in the order they are written. Raises CourseError."""
    visible, hidden = own.file_of(topic, "checks"), own.file_of(topic)
    found = _checks_of_course(topic) if visible is None else _checks_of_class(topic, visible, stamp(visible))
    return found if hidden is None else (*found, *_checks_of_class(topic, hidden, stamp(hidden), found))


@functools.cache
def _checks_of_course(topic: str) -> tuple[Check, ...]:
    found: list[Check] = []
    for package, hidden in (("checks", False), ("hidden", True)):
        name = f"autograder.checking.{package}.test_{topic}"
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        found += [_check_of(function, hidden=hidden) for function in _marked(module)]
    if not found:
        raise CourseError(f"no checks for topic {topic!r}: autograder/checking/checks/test_{topic}.py is missing")
    names = [c.name for c in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CourseError(f"topic {topic!r}: two checks are called {', '.join(twice)}, so one of them would never count: rename one")
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _checks_of_class(topic: str, path: Path, stamp: tuple[int, int], others: tuple[Check, ...] | None = None) -> tuple[Check, ...]:
    """Return the checks in a class's own file. Raises CourseError for a file without checks and for an invalid check.

    others: the checks before hidden ones; None: the file contains the visible checks of a day of the class.
    """
    found = tuple(_check_of(function, hidden=others is not None, own=True) for function in _marked(own.module_of(path)))
    exercises = list(dict.fromkeys(check.exercise for check in (found if others is None else others)))
    if not found:
        raise CourseError(f'{path} holds no check: put @checks("{(exercises or [topic])[0]}") above a function')
    taken = {check.name for check in others or ()}
    defined = [node.name for node in parse(path.read_bytes()).body if isinstance(node, ast.FunctionDef)]
    for check in found:
        where = f"{path}: {check.name}"
        if check.name in taken:
            raise CourseError(f"{where} is the name of another check: choose another name")
        if defined.count(check.name) > 1:
            raise CourseError(f"{where} is defined more than once: give each check a name of its own")
        if check.exercise not in exercises:
            raise CourseError(f"{where} is for {check.exercise!r}, not an exercise of {topic}: choose one of {', '.join(exercises)}")
        if unknown := asked(check.function) - {*FIXTURES, *(("race",) if check.timing else ())}:
            raise CourseError(f"{where} asks for {min(unknown)!r}: {KNOWN_FIXTURES}")
        if not 0 < check.weight < math.inf:
            raise CourseError(f"{where} has the weight {check.weight}: give a number above 0")
    return found


def _marked(module: types.ModuleType) -> list[Any]:
    """Return the functions of a module that are checks, in the order they are written."""
    functions = [f for f in vars(module).values() if inspect.isfunction(f) and hasattr(f, "check") and f.__module__ == module.__name__]
    return sorted(functions, key=lambda f: f.__code__.co_firstlineno)


def _check_of(function: Any, *, hidden: bool, own: bool = False) -> Check:
    info = function.check
    title = (function.__doc__ or "").strip().splitlines()[0].strip().rstrip(".")
    return Check(function.__name__, info.exercise, title, info.weight, hidden, function, info.timing, info.gpu, own)


_more: dict[str, tuple[Check, ...]] = {}


@contextmanager
def more_checks(topic: str, functions: Iterable[Callable[..., None]]) -> Iterator[None]:
    """Add checks to a topic inside the `with` block. The attack suite uses them to test behaviour that no day's checks test yet."""
    _more[topic] = tuple(_check_of(function, hidden=False) for function in functions)
    try:
        yield
    finally:
        del _more[topic]


def select(topic: str, *, exercise: str | None = None, hidden: bool | None = None, timing: bool | None = None) -> list[Check]:
    """Return the checks of a topic, of one exercise if named. Raises CourseError for an unknown exercise.

    hidden=False leaves the hidden ones out, timing=False those that measure speed.
    """
    every = (*load_checks(topic), *_more.get(topic, ()))
    chosen = [c for c in every if exercise in (None, c.exercise) and hidden in (None, c.hidden) and timing in (None, c.timing)]
    if exercise is not None and not any(c.exercise == exercise for c in load_checks(topic)):
        known = ", ".join(dict.fromkeys(c.exercise for c in load_checks(topic)))
        raise CourseError(f"no exercise {exercise!r} in topic {topic!r}: choose one of {known}")
    return chosen


def run_checks(topic: str, selected: Iterable[Check], student: Student, *, seed: int = 0, name_mistakes: bool = True) -> list[Verdict]:
    """Return verdicts in order. Checks that measure speed run after all others.

    student: a LocalStudent or RemoteStudent namespace. name_mistakes: if everything that the checks of an exercise see matches a known
    mistake, name it in a verdict (see `mistakes.py`).
    """
    checks = list(selected)
    verdicts = {c.name: run_check(topic, c, student, seed=seed) for c in checks if not c.timing}
    if name_mistakes:
        of_course = [c for c in checks if not c.own]
        again = None if seed == NOTEBOOK_SEED else functools.partial(_with_the_notebook_seed, topic, of_course, student)
        of_class = {c.name for c in checks if c.own}
        name_known_mistakes(topic, list(verdicts.values()), hidden=any(c.hidden for c in checks), again=again, unknown=of_class)
    verdicts |= {v.check: v for v in run_timing(topic, [c for c in checks if c.timing], student, list(verdicts.values()), seed=seed)}
    return [verdicts[c.name] for c in checks]


def _with_the_notebook_seed(topic: str, checks: list[Check], student: Student, exercise: str) -> list[Verdict]:
    """Return an exercise's verdicts for the inputs of the saved fingerprints; [] after an InfrastructureFault.

    These verdicts only name a mistake, and change no other verdict.
    """
    try:
        return [run_check(topic, c, student, seed=NOTEBOOK_SEED) for c in checks if c.exercise == exercise and not c.timing]
    except InfrastructureFault:
        return []


def run_timing(
    topic: str, timing: Iterable[Check], student: Student, others: list[Verdict], *, seed: int = 0, patient: bool = False
) -> list[Verdict]:
    """Return the verdicts of checks that measure speed. others: the exercises' other verdicts.

    An exercise whose other checks all failed is not measured. patient: more rounds, for checks that were inconclusive before.
    """
    verdicts = []
    for check in timing:
        here = [v for v in others if v.exercise == check.exercise]
        if here and not any(v.passed for v in here):
            verdict = _verdict_of(check)
            verdict.outcome, verdict.message = FAIL, f"{NOT_MEASURED}: no other check of this exercise passes yet"
            verdicts.append(verdict)
        else:
            verdicts.append(run_check(topic, check, student, seed=seed, patient=patient))
    return verdicts


def _verdict_of(check: Check) -> Verdict:
    return Verdict(check.name, check.exercise, check.title, check.weight, check.hidden, PASS, timing=check.timing)


def run_check(topic: str, check: Check, student: Student, *, seed: int = 0, patient: bool = False) -> Verdict:
    """Return one check's verdict. An InfrastructureFault passes through, because it is not a verdict on the student."""
    verdict = _verdict_of(check)
    reason = why_skipped(topic, check, student)
    if reason is not None:
        verdict.outcome, verdict.message = SKIPPED, reason
        return verdict
    start = time.perf_counter()
    student.begin_check()
    given: dict[str, Any] = {}
    try:
        if check.gpu:
            wake_gpu()
        given = fixtures(topic, check, student, seed, patient)
        check.function(**given)
    except CheckFailed as failed:
        verdict.outcome, verdict.message = FAIL, failed.what
        verdict.expected, verdict.got, verdict.cause = failed.expected, failed.got, failed.cause
        verdict.claimed = failed.cause is not None and not failed.fact
        verdict.seen = what_was_seen(FAIL, failed.what, failed.values)
    except Inconclusive as unclear:
        verdict.outcome, verdict.message = INCONCLUSIVE, str(unclear)
    except WorkerDied as died:
        verdict.outcome, verdict.message, verdict.lines = died.outcome, str(died), getattr(died, "lines", [])
    except KeyboardInterrupt as stop:
        if not isinstance(student, LocalStudent):
            raise
        verdict.outcome = STOPPED
        verdict.message, verdict.lines = student.interrupt(stop)
    except Exception as error:
        _student_error(topic, verdict, error)
    verdict.message = verdict.message[:MAX_MESSAGE]
    verdict.seconds = time.perf_counter() - start
    if isinstance(race := given.get("race"), Race) and race.ratios:
        verdict.ratio, verdict.ratio_limit, verdict.ratio_of = round(statistics.median(race.ratios), 4), round(race.limit, 4), race.of
        verdict.times = {size: {whose: round(value, 2) for whose, value in of.items()} for size, of in race.times.items()}
    return verdict


def wake_gpu() -> None:
    """Initialise CUDA in this process. This takes seconds, and a student's call has only three."""
    torch.zeros(1, device="cuda")


def why_skipped(topic: str, check: Check, student: Student) -> str | None:
    """Return the reason why this check does not run here, or None."""
    if asked(check.function) & {"reference", "race"} and getattr(reference(topic), "ANSWERS_ARE_LEFT_OUT", False):
        return "the check compares with the reference solution, which is not handed out; grading runs the check"
    if not check.gpu:
        return None
    if not isinstance(student, LocalStudent):
        return "submissions are graded without a GPU; `make gpu` runs this check on a machine with a GPU"
    return None if torch.cuda.is_available() else "this machine has no CUDA device that torch can use"


@functools.cache
def asked(function: Callable[..., None]) -> Set[str]:
    """Return the names of a check's parameters, in order."""
    return inspect.signature(function).parameters.keys()


def fixtures(topic: str, check: Check, student: Student, seed: int, patient: bool = False) -> dict[str, Any]:
    """Return the arguments that a check requests by name. Raises CourseError for an unknown name."""
    made: dict[str, Any] = {}
    for name in asked(check.function):
        match name:
            case "student":
                made[name] = student
            case "reference":
                made[name] = reference(topic)
            case "hand":
                made[name] = hand_computed(topic)
            case "rng":
                digest = hashlib.sha256(f"{seed}/{topic}/{check.name}".encode()).digest()
                made[name] = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))
            case "race" if check.timing:
                made[name] = Race(topic, student, seed=f"{seed}/{topic}/{check.name}", patient=patient)
            case _:
                raise CourseError(f"check {check.name} asks for {name!r}: {KNOWN_FIXTURES}")
    return made


def reference(topic: str) -> types.ModuleType:
    return importlib.import_module(f"solutions.{topic}")


def _says_so_itself(error: Exception) -> bool:
    """Return whether the student's own line raised the error, as in a stub.

    Torch raises the same error for an operation that a device or a dtype does not support. A check gets this error for a result whose dtype
    supports almost no operation.
    """
    return isinstance(error, StudentRaised) and (not error.lines or "raise NotImplementedError" in error.lines[-1])


def _student_error(topic: str, verdict: Verdict, error: Exception) -> None:
    names = exception_names(error)
    if isinstance(error, NotImplementedError) and _says_so_itself(error):
        verdict.outcome, verdict.message = ERROR, f"{NOT_WRITTEN}: {error}" if str(error) else NOT_WRITTEN
        return
    if not isinstance(error, StudentRaised):
        lines, ours = student_lines(error)
        if ours and not lines:
            # The check stumbled over what the function returned (None.shape and the like). The canaries see to it
            # that a right answer never comes here.
            verdict.outcome = FAIL
            verdict.message = f"the check could not use the result ({names[0]}: {error})"
            verdict.seen = [FAIL, "stumbled", names[0], ["is", names[0]]]
            return
        verdict.lines = lines
    else:
        verdict.lines = error.lines
    verdict.outcome = MEMORY if is_memory(names, str(error), verdict.lines) else ERROR
    verdict.seen = [verdict.outcome, names[0]]
    verdict.message = f"your code raised {names[0]}: {error}".removesuffix(": ")
    topic_cause = getattr(error, "proved_cause", None) or _cause_of_topic(topic, verdict.exercise, names[0], str(error))
    verdict.cause, verdict.claimed = topic_cause or cause_of(names[0], str(error), verdict.lines), topic_cause is not None
    if names[0] == "TypeError" and not verdict.lines and (stub := _first_line_of_stub(topic, str(error))):
        verdict.message = f"your code cannot be called as the stub says: {error}"
        verdict.cause = f"The parameters differ from those of the stub, `{stub}`: use the stub's parameters."


def _cause_of_topic(topic: str, exercise: str, name: str, message: str) -> str | None:
    """Return the cause that the exception proves in this exercise, or None.

    The topic's checks find the cause. Its text must not repeat the message's own words.
    """
    path = own.file_of(topic, "checks")
    checks = importlib.import_module(f"autograder.checking.checks.test_{topic}") if path is None else own.module_of(path)
    tell: Callable[[str, str, str], str | None] | None = getattr(checks, "cause_of_exception", None)
    return tell(exercise, name, message) if tell is not None else None


def _first_line_of_stub(topic: str, message: str) -> str | None:
    """Return `def name(...)` of the function or method that a message on wrong arguments names, or None."""
    found = re.match(r"((?:\w+\.)?\w+)\(\) (?:missing|takes|got)", message)
    function: Any = reference(topic)
    for name in found[1].split(".") if found else ("",):
        function = getattr(function, name, None)
    if not inspect.isfunction(function):
        return None
    signature = str(inspect.signature(function)).replace("'", "").replace("torch.Tensor", "Tensor")
    return f"def {function.__name__}{signature}"


def student_lines(error: BaseException) -> tuple[list[str], bool]:
    """Return (the student's own lines of a traceback, whether there are none). If there are none, the error is a check's."""
    lines: list[str] = []
    for frame in traceback.extract_tb(error.__traceback__):
        if is_student_file(frame.filename):
            lines.append(f"{frame.name}, line {frame.lineno}: {frame.line}")
    return lines[-6:], not lines
