"""The functions of earlier days in a later notebook: the student's own if they pass their checks, otherwise the course's.

The rule: **a later day gets a module in which every exercise passes its checks.**

- An exercise name means the same function everywhere in the module: the student's if it is taken, otherwise the course's. So a function of
  the student's calls the student's other functions if they are taken, and the course's in place of those that are not.
- A function is checked with the functions and classes that it will be used with. Exercises are decided in the order in which they use each
  other, those without others first; an exercise that was decided before something that it uses is checked again.
- A class of the student's is also used by the course's functions, which make objects of it. If one of them does not pass with it, the class
  is not taken. Apart from such classes, the course's functions call only the course's.
- Classes that the setup cell gives, such as exceptions, are the course's own objects on both sides, unless their methods call exercises.
- The checks are the visible ones, without those that measure speed: a slow function is slow, but right, and no verdict depends on how busy
  the machine is. They stop at the first that fails.
- The checks of each exercise have a module of their own, and a later day gets a new one: no state of the checks is in it.

Only those statements of the cells run that define something needed (see `definitions.py`), with the limits of a call. A verdict is cached
by the sources of all that it depends on. Grading does not use this module: a worker's `earlier` gives the reference solution.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

import torch

from ..base.errors import CourseError, InfrastructureFault
from ..base.evidence import all_of
from ..base.verdicts import NOT_WRITTEN, STOPPED, Verdict
from ..checking.runner import reference, run_check, select
from ..lessons import Day, lesson, syllabus
from ..sandbox.process.local import LocalStudent
from ..sandbox.protocol.worker_errors import StudentRaised, WorkerDied
from ..sandbox.submission import BadSubmission, Cell, read_submission
from .checking import as_in_grading
from .definitions import Definitions, Statement, digest, names_in, topics
from .workspace import read_progress, workspace_folder, write_progress

OWN = "earlier_"
"""The beginning of the name of a module made from a student's earlier notebook."""
SAVED = "earlier"
"""The place of the verdicts in a workspace's progress."""
UNREADABLE, ENDLESS = "unreadable", "stopped at the time limit"


def not_from_here(function: object) -> str | None:
    """Return in words where a function comes from; None for a function written in this notebook."""
    module = getattr(function, "__module__", None) or ""
    if module.startswith("solutions."):
        return "the course's own"
    return "yours of an earlier day" if module.startswith(OWN) else None


class Functions(types.ModuleType):
    """A module whose repr hides the path of the answers."""

    whose = ""

    def __repr__(self) -> str:
        return self.whose


@dataclass(frozen=True)
class Found:
    """The functions of an earlier day.

    own: the names of the student's functions. why: {exercise whose function is the course's: the reason}. identity: a digest of the
    student's functions.
    """

    module: types.ModuleType
    own: tuple[str, ...] = ()
    why: dict[str, str] = field(default_factory=dict)
    identity: str = "course"


Say = Callable[[str], None]
_found: dict[str, tuple[object, Found]] = {}
"""{topic: (the state of the notebooks, what was found)}: in one kernel, a day is decided once for each state."""
_deciding: dict[str, Say | None] = {}
"""The days that are being decided now, each inside the one before it."""
TITLE_CHARS = 60
"""The length at which a check's title is cut in the line that names it."""
SLOW_SECONDS = 1.0
"""Seconds after which a message says that checks run."""


def earlier_module(topic: str, say: Say | None = None) -> tuple[types.ModuleType, str]:
    """Return (functions of an earlier day, one line that says which are the student's). say: shows a sentence while checks run.

    Raises CourseError for an unknown topic only.
    """
    day = next((d for d in syllabus() if d.topic == topic), None)
    if day is None or not day.solutions_path.exists():
        raise CourseError(f"no topic {topic!r}: choose one of {', '.join(d.topic for d in syllabus())}")
    found = functions_of(day, say)
    whose, line = _in_words(found)
    here = f"Day {day.number} ({day.title})"
    found.module.__class__ = Functions
    found.module.whose = f"{whose} of {here}"  # type: ignore[attr-defined]
    return found.module, f"{here}: {line}"


def own_functions(day: Day) -> tuple[types.ModuleType, list[str]] | None:
    """Return (the functions of an earlier day, the names of those that are the student's); None if none is."""
    found = functions_of(day)
    return (found.module, list(found.own)) if found.own else None


def functions_of(day: Day, say: Say | None = None) -> Found:
    """Return a day's functions, chosen by the rule of this module. A faulty notebook raises nothing."""
    if day.topic in _deciding:  # a cell of the day asks for its own day
        return Found(reference(day.topic))
    folder = workspace_folder()
    state = folder, tuple(_stamp(folder, each) for each in syllabus() if each.number <= day.number)
    if day.topic in _found and _found[day.topic][0] == state:
        return _found[day.topic][1]
    _deciding[day.topic] = say = say or next(filter(None, _deciding.values()), None)  # a setup that asks for an earlier day has none
    try:
        found = _decided(day, folder, say)
    finally:
        del _deciding[day.topic]
    _found[day.topic] = state, found
    return found


def exercise_module(day: Day, path: Path) -> types.ModuleType | None:
    """Return a module with all exercises that a notebook defines, passing or not; None if the cell of an exercise does not run."""
    try:
        notebook = Notebook(day, _cells(day, path), {})
    except (CourseError, OSError):
        return None
    with as_in_grading():
        made = notebook.made({name for name in notebook.names if notebook.definitions.defines(name)})
    return None if notebook.definitions.broken or made.trouble else made.own


def _stamp(folder: Path | None, day: Day) -> tuple[int, int] | None:
    try:
        status = (folder / day.slug / f"{day.slug}.ipynb").stat() if folder is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size)


def _cells(day: Day, path: Path) -> list[Cell]:
    """Return the student's own cells, as in grading: without setup and demonstrations. Raises BadSubmission, OSError."""
    demos = {f"cell {cell.line} of the lesson": cell.source for cell in lesson(day).cells if cell.role in ("setup", "demo")}
    return read_submission(path, day.slug, demos).cells


def _decided(day: Day, folder: Path | None, say: Say | None) -> Found:
    course = Found(reference(day.topic))
    if folder is None or not day.ready or not (path := folder / day.slug / f"{day.slug}.ipynb").exists():
        return course
    try:
        cells = _cells(day, path)
    except (BadSubmission, OSError):
        return Found(course.module, why={path.name: UNREADABLE})
    saved = _saved(folder, day.topic)
    try:
        notebook = Notebook(day, cells, saved, say)
        with as_in_grading():
            found = notebook.decided()
    except (CourseError, InfrastructureFault):  # a copy of the course without this day's checks
        return course
    if notebook.asked != saved:
        table = read_progress(folder)
        places = table.get(SAVED)
        table[SAVED] = {**(places if isinstance(places, dict) else {}), day.topic: notebook.asked}
        write_progress(folder, table)
    return found


def _saved(folder: Path, topic: str) -> dict[str, str]:
    places = read_progress(folder).get(SAVED)
    verdicts = places.get(topic) if isinstance(places, dict) else None
    return {k: v for k, v in verdicts.items() if isinstance(v, str)} if isinstance(verdicts, dict) else {}


@dataclass
class Made:
    """A day's namespaces. own: the module of the student's code. trouble: {name: the error that its definition raised}."""

    own: types.ModuleType
    trouble: dict[str, str] = field(default_factory=dict)


class Notebook:
    """A student's notebook of an earlier day, and the verdicts on its exercises."""

    def __init__(self, day: Day, cells: Iterable[Cell], saved: dict[str, str], say: Say | None = None) -> None:
        """Read the definitions. saved: earlier verdicts, {key: "" or the reason why the function is not used}. Raises CourseError."""
        self.day, self.say, self.saved = day, say, saved
        self.course = reference(day.topic)
        self.names = [exercise.name for exercise in lesson(day).exercises]
        self.classes = {name for name in self.names if isinstance(getattr(self.course, name), type)}
        self.definitions = Definitions(lesson(day).setup, cells, self.names)
        self.asked: dict[str, str] = {}
        """The verdicts that were needed, to be saved."""
        self._unsaved: dict[str, str] = {}
        self._directly: dict[str, set[str]] = {}
        self._uses: dict[str, set[str]] = {}
        self._sources: dict[str, str] = {}
        self._start = time.monotonic()

    def decided(self) -> Found:
        """Return the functions for a later day, by the rule of this module."""
        own, why = set[str](), {}
        written = []
        for name in self.names:
            if self.definitions.defines(name) and not self.definitions.is_stub(name):
                written.append(name)
            else:
                trouble = None if self.definitions.defines(name) else self.definitions.broken.get(name)
                why[name] = f"its cell does not run: {trouble}" if trouble else NOT_WRITTEN
        for name in self._in_order(written):
            if reason := self.verdict(name, own | {name}):
                why[name] = reason
            else:
                own.add(name)
        while fault := self._fault(own):
            why |= fault
            own -= fault.keys()
        names = tuple(name for name in self.names if name in own)
        if not own:
            return Found(self.course, why=why)
        made, module = self.made(own), types.ModuleType(OWN + self.day.topic)
        vars(module).update({name: value for name, value in vars(self.course).items() if not name.startswith("__")})
        vars(module).update({name: vars(made.own)[name] for name in self.names})
        parts = [(name, self._source(name)) for name in names], self._identities(own)
        return Found(module, names, why, digest(self.day.topic, *parts))

    def _fault(self, own: set[str]) -> dict[str, str]:
        """Return {name: why} of exercises to take out of `own`, because an exercise does not pass in the module with `own`; else {}."""
        for name in self.names:
            if name in own and (reason := self.verdict(name, own)):
                return {name: reason}
        for name in self.names:
            used = own & self.classes if name not in own else set()
            if used and (used := used & self._used_by_course(name)) and self.verdict(name, own):
                return dict.fromkeys(sorted(used), f"the course's {name} does not work with it")
        return {}

    # The order, and what a verdict depends on

    def _in_order(self, written: list[str]) -> list[str]:
        """Return the exercises, each one after those that it uses; otherwise classes first, then the lesson's order."""
        order: list[str] = []
        seen: set[str] = set()

        def visit(name: str) -> None:
            if name not in seen:
                seen.add(name)
                for other in self.names:
                    if other in self._direct(name):
                        visit(other)
                order.append(name)

        for name in [*(n for n in self.names if n in self.classes), *self.names]:
            visit(name)
        return [name for name in order if name in written]

    def _direct(self, name: str) -> set[str]:
        """Return the exercises that an exercise's code or its checks name."""
        if name not in self._directly:
            self._directly[name] = (self.definitions.uses(name) | checks_use(self.day.topic, name)) & set(self.names) - {name}
        return self._directly[name]

    def _used(self, name: str) -> set[str]:
        """Return all exercises on which a verdict may depend. They include all classes, whose objects may come from anywhere."""
        if name not in self._uses:
            self._uses[name] = self.classes | closure([name, *self.classes], self._direct)
        return self._uses[name]

    def _used_by_course(self, name: str) -> set[str]:
        """Return the exercises that the course's function or its checks reach."""
        course = course_definitions(self.day.topic, *self.names)
        return closure([name], lambda each: (course.uses(each) | checks_use(self.day.topic, each)) & set(self.names))

    def _source(self, name: str) -> str:
        if name not in self._sources:
            self._sources[name] = digest(self.definitions.source_of(name))
        return self._sources[name]

    def _identities(self, own: set[str]) -> list[str]:
        """Return the identities of the earlier days' functions that the setup and these exercises use."""
        days = {day.topic: day for day in syllabus() if day.number < self.day.number}
        statements = self.definitions.needed(own, set(self.names) - own)
        return [functions_of(days[topic]).identity for topic in topics(statements) if topic in days]

    def _key(self, name: str, own: set[str]) -> str:
        used = self._used(name) | {name}
        parts = [(each, self._source(each) if each in own else "course") for each in self.names if each in used]
        return digest(name, parts, self._identities(own & used), course_state(self.day.topic))

    # Verdicts

    def verdict(self, name: str, own: set[str]) -> str:
        """Return "" if an exercise passes in a module with the student's `own`, otherwise the reason why it does not."""
        key = self._key(name, own)
        for known in (self.asked, self._unsaved, self.saved):
            if key in known:
                break
        else:
            if self.say is not None and time.monotonic() - self._start > SLOW_SECONDS:
                self.say(f"Checking your functions of Day {self.day.number}. A function is checked once, until it changes.")
            reason, lasting = self._checked(name, self.made(own))
            known = {key: reason}
            if not lasting:
                self._unsaved |= known
        if known is not self._unsaved and key not in self._unsaved:
            self.asked[key] = known[key]
        return known[key]

    def _checked(self, name: str, made: Made) -> tuple[str, bool]:
        """Return (the reason why an exercise does not pass, or ""; False if the machine may be the cause)."""
        if name not in vars(made.own):
            trouble = made.trouble.get(name)
            return f"its cell does not run: {trouble}" if trouble else NOT_WRITTEN, trouble != ENDLESS
        student, passed = LocalStudent(vars(made.own)), False
        for check in select(self.day.topic, exercise=name, hidden=False, timing=False):
            try:
                verdict = run_check(self.day.topic, check, student)
            except InfrastructureFault:
                return "could not be checked", False
            if verdict.outcome == STOPPED:
                raise KeyboardInterrupt
            if verdict.failed:
                return _reason(verdict), "busy" not in verdict.message
            passed = passed or verdict.passed
        return ("", True) if passed else ("its checks do not run on this machine", False)

    # Namespaces

    def made(self, own: set[str]) -> Made:
        """Return new namespaces with the student's code for `own` and the course's code for all other exercises."""
        made = Made(types.ModuleType(OWN + self.day.topic))
        namespace = vars(made.own)
        sys.modules[made.own.__name__] = made.own  # a dataclass looks its module up
        others = {name: getattr(self.course, name) for name in self.names if name not in own}
        namespace.update(others)
        for statement in self.definitions.needed(own, others):
            if not statement.binds & others.keys():
                self._run(statement, made)
        classes = {name: namespace[name] for name in self.classes & own if name in namespace}
        if classes:
            course = course_with(self.day.topic, classes)
            others = {name: value if name in self.classes else course[name] for name, value in others.items()}
        namespace.update(others)
        return made

    def _run(self, statement: Statement, made: Made) -> None:
        """Run one statement. Stop it if it is endless, and record an error."""
        namespace, node = vars(made.own), statement.node
        if statement.given and isinstance(node, ast.ClassDef) and not self.definitions.uses(node.name):
            shared = getattr(self.course, node.name, None)
            if isinstance(shared, type):
                namespace[node.name] = shared
                return
        try:
            if statement.given or statement.imports or "earlier" in statement.reads:
                exec(statement.code, namespace)
            else:
                LocalStudent({"definition": lambda: exec(statement.code, namespace)}).definition()
        except StudentRaised as error:
            made.trouble |= dict.fromkeys(statement.binds, error.names[0])
        except WorkerDied:
            made.trouble |= dict.fromkeys(statement.binds, ENDLESS)
        except (Exception, SystemExit) as error:
            made.trouble |= dict.fromkeys(statement.binds, type(error).__name__)
        if statement.imports and "earlier" in namespace:
            namespace["earlier"] = _quietly


def _quietly(topic: str) -> types.ModuleType:
    return earlier_module(topic)[0]


def closure(names: Iterable[str], uses: Callable[[str], set[str]]) -> set[str]:
    """Return all names that these use, directly or indirectly."""
    found, waiting = set[str](), list(names)
    while waiting:
        new = uses(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def _reason(verdict: Verdict) -> str:
    title = verdict.title if len(verdict.title) <= TITLE_CHARS else verdict.title[:TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + " …"
    return NOT_WRITTEN if verdict.message.startswith(NOT_WRITTEN) else f"fails “{title}”"


@functools.cache
def checks_use(topic: str, exercise: str) -> frozenset[str]:
    """Return all names in the checks of an exercise, and in the functions of the checks that they call."""
    names: set[str] = set()
    waiting: list[Any] = [check.function for check in select(topic, exercise=exercise, hidden=False, timing=False)]
    seen: set[int] = set()
    while waiting:
        function = waiting.pop()
        if not (getattr(function, "__module__", None) or "").startswith("autograder.checking") or id(function) in seen:
            continue
        if isinstance(function, type):
            waiting += vars(function).values()
        if not isinstance(function, FunctionType):
            continue
        seen.add(id(function))
        found = names_in(function.__code__)
        names |= found
        waiting += [function.__globals__.get(name) for name in found]
    return frozenset(names)


@functools.cache
def course_definitions(topic: str, *names: str) -> Definitions:
    return Definitions("", [Cell("reference", inspect.getsource(reference(topic)))], names)


def course_with(topic: str, classes: dict[str, type]) -> dict[str, Any]:
    """Return a namespace with the course's functions and the student's classes. All other classes are those of `solutions`."""
    course = reference(topic)
    tree = ast.parse(inspect.getsource(course))
    nodes = [node for node in tree.body if not isinstance(node, ast.ClassDef)]
    namespace = {**{name: value for name, value in vars(course).items() if isinstance(value, type)}, **classes, "__name__": course.__name__}
    exec(compile(ast.Module(nodes, []), f"<reference {topic}>", "exec"), namespace)
    return namespace


@functools.cache
def course_state(topic: str) -> str:
    """Return a digest of the reference solutions, the visible checks and torch's version: a verdict depends on them."""
    checks = importlib.import_module(f"autograder.checking.checks.test_{topic}").__file__
    return digest(inspect.getsource(reference(topic)), Path(str(checks)).read_bytes(), torch.__version__)


def _in_words(found: Found) -> tuple[str, str]:
    """Return (a line that says which functions are the student's, a sentence with the reasons for the others)."""
    if UNREADABLE in found.why.values():
        return "the course's functions", f"using the course's functions; {next(iter(found.why))} cannot be read: open it and save it again."
    if not found.own and set(found.why.values()) <= {NOT_WRITTEN}:
        return "the course's functions", "using the course's functions; yours replace them once their checks pass."
    if not found.why:
        return "your own functions", "using your own functions."
    whose = f"your own {all_of(list(found.own))} and the course's other functions" if found.own else "the course's functions"
    return whose, f"yours: {', '.join(found.own) or 'none'}; the course's: {', '.join(_grouped(found.why))}."


def _grouped(why: dict[str, str]) -> Iterator[str]:
    """Yield names with their reason; names with the same reason come together."""
    for reason in dict.fromkeys(why.values()):
        same = [name for name, each in why.items() if each == reason]
        yield f"{all_of(same)} ({reason})"
