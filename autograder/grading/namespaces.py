"""What a check calls `student`: the student's functions, near (in this process) or far (in a worker).

Both answer the same way: `student.f(x)`, `_unchanged=True`, `_rng_unchanged=True`, `_arguments=True`, `student.generator(seed)`,
`student.model(name)`, `student.tokenizer(name)`.
"""

from __future__ import annotations

import builtins
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from ..authoring import CheckFailed
from ..errors import InfrastructureFault
from . import wire
from .given import kit_dataclasses, named
from .limits import Limits, cpu_seconds
from .remote import Connection, WorkerDied
from .warm import Zygote
from .work import Work, counting
from .worker import same, snapshot

ALLOWED_EXCEPTIONS = {
    name: cls for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, Exception)
}  # fmt: skip
MAX_REQUESTS = 100_000
MAX_CHECK_BYTES = 512 * 1024 * 1024
"""What one check may ask for and get: an iterator that never ends is not waited for."""
MAX_CELL_CHARS = 1_000_000
MAX_DEATHS = 20
"""Cells that may end the process before the rest is not tried any more: each costs a new worker and all cells again."""
MEMORY_TEXTS = ("can't allocate memory", "not enough memory", "out of memory")


class StudentRaised(Exception):
    """An exception from the student's own code. names: its classes there; lines: the student's lines of the traceback."""

    names: list[str]
    lines: list[str]


def student_raised(names: list[str], message: str, lines: list[str]) -> StudentRaised:
    """An exception that is a StudentRaised and also the nearest builtin class, so that `except ValueError` works in a check."""
    base = next((ALLOWED_EXCEPTIONS[name] for name in names if name in ALLOWED_EXCEPTIONS), Exception)
    if base in (StopIteration, StopAsyncIteration):
        base = RuntimeError
    bases: tuple[type, ...] = (StudentRaised,) if base is Exception else (StudentRaised, base)
    cls = type(names[0] if names and names[0].isidentifier() else "Exception", bases, {"__str__": lambda self: message})
    try:
        error = cls(message)
    except TypeError:  # UnicodeDecodeError and its like want more arguments
        error = type("StudentError", (StudentRaised,), {"__str__": lambda self: message})(message)
    error.names, error.lines = names, lines
    return error


def compare_arguments(name: str, before: list[Any], after: list[Any]) -> None:
    """Raises CheckFailed if an argument is not as it was."""
    for position, (old, new) in enumerate(zip(before, after, strict=True)):
        if not same(old, new):
            cause = "Work on a copy: operations that end in an underscore, and `x[...] = ...`, write into the caller's tensor."
            raise CheckFailed(f"{name} changed its argument {position + 1} in place", cause=cause)


def compare_random_states(name: str, before: Any, after: Any) -> None:
    if not same(before, after):
        cause = "Draw from the generator that is given, and only where a draw is asked for."
        raise CheckFailed(f"{name} moved torch's global random state", cause=cause)


@dataclass(frozen=True)
class Named:
    """A model or tokenizer that the worker loads for itself."""

    kind: str
    fields: dict[str, Any]

    @property
    def wire_tree(self) -> dict[str, Any]:
        return {"$": "named", "kind": self.kind, "v": self.fields}


class Near:
    """The student's functions in this process: a notebook, or the reference itself."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            value = self._namespace[name]
        except KeyError:
            raise student_raised(["NameError", "Exception"], f"{name} is not defined: run its cell first", []) from None
        return _near_call(name, value) if callable(value) and not isinstance(value, type) else value

    def generator(self, seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(seed)

    def counting(self) -> AbstractContextManager[Work]:
        """`with student.counting() as work:` counts what torch does for the calls inside."""
        return counting()

    def clock(self) -> float:
        """Processor seconds that this process has used."""
        return time.process_time()

    def model(self, name: str, *, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Any:
        return named("model", name, dtype, device)

    def tokenizer(self, name: str) -> Any:
        return named("tokenizer", name)


def _near_call(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, _unchanged: bool = False, _rng_unchanged: bool = False, _arguments: bool = False, **kwargs: Any) -> Any:
        before = [snapshot(value) for value in [*args, *kwargs.values()]] if _unchanged else None
        state = torch.get_rng_state() if _rng_unchanged else None
        result = function(*args, **kwargs)
        if before is not None:
            compare_arguments(name, before, [*args, *kwargs.values()])
        if state is not None:
            compare_random_states(name, state, torch.get_rng_state())
        return (result, [*args, *kwargs.values()]) if _arguments else result

    return call


@dataclass
class Cell:
    """A cell of a submission: a name for messages (the exercise, or its place) and its source."""

    name: str
    source: str


@dataclass
class CellOutcome:
    """How a cell ended, if not well. outcome: error, timeout, memory, crashed."""

    outcome: str
    message: str
    lines: list[str] = field(default_factory=list)


class Far:
    """The student's functions in a worker process.

    A worker that dies is replaced, and the cells run again without the one that killed it.
    """

    def __init__(
        self,
        topic: str,
        cells: list[Cell],
        earlier: dict[str, str],
        *,
        limits: Limits | None = None,
        seed: int = 0,
        threads: int = 1,
        parent: Callable[[], Zygote] | None = None,
    ) -> None:
        self._parent = parent
        self._topic = topic
        self._cells = cells
        self._earlier = earlier
        self._limits = limits or Limits()
        self._seed = seed
        self._threads = threads
        self._connection: Connection | None = None
        self._hung: dict[str, WorkerDied] = {}
        self._generation = 0
        self._broken: set[int] = set()
        self._ran: set[int] = set()
        self._deaths = 0
        self._used = 0.0
        self._used_by_check = 0.0
        self._requests = 0
        self._bytes = 0
        self._handles: weakref.WeakSet[Handle] = weakref.WeakSet()
        self.cell_outcomes: dict[str, CellOutcome] = {}
        """Cells that did not run to their end, by name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return FarFunction(self, name)

    def generator(self, seed: int) -> Any:
        return self._ask("generator", self._limits.call_seconds, seed=seed)

    @contextmanager
    def counting(self) -> Iterator[Work]:
        """`with student.counting() as work:` counts what torch does in the worker for the calls inside; work is filled in at the end."""
        work = Work()
        self._ask("counting", self._limits.call_seconds, on=True)
        yield work
        counted = self._ask("counting", self._limits.call_seconds, on=False)
        if not isinstance(counted, dict) or any(type(counted.get(name)) is not int for name in vars(work)):
            raise self._nonsense("counts that are no numbers")
        vars(work).update({name: counted[name] for name in vars(work)})

    def clock(self) -> float:
        """Processor seconds that the worker has used, read from outside; by the wall where the system does not tell."""
        if self._connection is None:
            self.start()
        assert self._connection is not None
        used = cpu_seconds(self._connection.pid)
        return time.perf_counter() if used is None else used

    def model(self, name: str, *, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Named:
        return Named("model", {"name": name, "dtype": dtype, "device": device})

    def tokenizer(self, name: str) -> Named:
        return Named("tokenizer", {"name": name})

    def start(self) -> None:
        """Starts a worker and runs the cells in it; cells that failed are in `cell_outcomes`."""
        for _ in range(len(self._cells) + 1):
            if self._start_once():
                return
        raise InfrastructureFault("the submission's cells could not be run")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin_check(self) -> None:
        """The next check has all its time again."""
        self._used_by_check, self._requests, self._bytes = 0.0, 0, 0

    def _request(self, op: str, seconds: float, **fields: Any) -> dict[str, Any]:
        """A request within what is left to this check and to this submission. Raises WorkerDied."""
        connection = self._connection
        assert connection is not None
        self._requests += 1
        for used, limit, what in (
            (self._used, self._limits.submission_seconds, "the submission has used {:g} s in all"),
            (self._used_by_check, self._limits.check_seconds, "the calls of this check have used {:g} s together"),
            (self._requests, MAX_REQUESTS, "the check has asked {:,} times: does what was returned end?"),
            (self._bytes, MAX_CHECK_BYTES, "the check has been given {:,} bytes: does what was returned end?"),
        ):
            if used > limit:
                self.close()
                raise WorkerDied("timeout", f"stopped: {what.format(limit)}")
        used_before, bytes_before = connection.used, connection.received
        try:
            return connection.request(op, seconds, **fields)
        finally:
            self._used += connection.used - used_before
            self._used_by_check += connection.used - used_before
            self._bytes += connection.received - bytes_before

    def _start_once(self) -> bool:
        """False if a cell killed the worker; that cell is then left out for good."""
        self.close()
        self._generation += 1
        connection = Connection(self._limits, self._resolve, self._parent() if self._parent is not None else None)
        self._connection = connection
        try:
            reply = connection.request(
                "start", 60.0, earlier=self._earlier, seed=self._seed, threads=self._threads
            )
        except WorkerDied as died:
            raise InfrastructureFault(f"a worker did not start: {died}") from None
        if "error" in reply:
            raise InfrastructureFault(f"a worker did not start: {reply['error']}")
        for index, cell in enumerate(self._cells):
            if index in self._broken:
                continue
            refused = None if index in self._ran else self._refused(cell)
            if refused is not None:
                self._broken.add(index)
                self.cell_outcomes[cell.name] = refused
                continue
            self._begin_check()
            try:
                reply = self._request("cell", self._limits.cell_seconds, name=cell.name, source=cell.source)
            except WorkerDied as died:
                self._deaths += 1
                self._broken.add(index)
                self.cell_outcomes[cell.name] = CellOutcome(died.outcome, str(died))
                self._connection = None
                return False
            self._ran.add(index)
            if "error" in reply:
                names, message, lines = _error_parts(reply["error"])
                outcome = "memory" if is_memory(names, message) else "error"
                self.cell_outcomes[cell.name] = CellOutcome(outcome, f"{names[0]}: {message}", lines)
        return True

    def _refused(self, cell: Cell) -> CellOutcome | None:
        """Why a cell is not run at all, or None."""
        if len(cell.source) > MAX_CELL_CHARS:
            return CellOutcome("error", f"not run: {len(cell.source):,} characters are more than a cell may have ({MAX_CELL_CHARS:,})")
        if self._deaths > MAX_DEATHS:
            return CellOutcome("crashed", f"not run: {MAX_DEATHS} cells before it ended the process")
        if self._used > self._limits.submission_seconds:
            return CellOutcome("timeout", f"not run: the submission has used {self._limits.submission_seconds:g} s in all")
        return None

    def _ask(self, op: str, seconds: float, *, function: str = "", **fields: Any) -> Any:
        if function in self._hung:
            raise self._hung[function]
        if self._connection is not None and self._connection.answering:
            raise TypeError("an object of the submission's was given where data was due")
        if self._connection is None:
            check = self._used_by_check, self._requests, self._bytes
            self.start()
            self._used_by_check, self._requests, self._bytes = check
        assert self._connection is not None
        if not self._handles:  # a stream that is still held may call its model at any later next()
            self._connection.callables.clear()
        try:
            reply = self._request(op, seconds, **fields)
        except BaseException as died:
            self._connection = None
            if isinstance(died, WorkerDied) and died.outcome == "timeout" and function:
                self._hung[function] = died  # one wait a function, not one a check
            raise
        if "stop" in reply:
            raise StopIteration
        if "error" in reply:
            names, message, lines = _error_parts(reply["error"])
            if names[0] == "WireError":
                raise CheckFailed(f"the result cannot be used: {message}")
            raise student_raised(names, message, lines)
        if "ok" not in reply:
            raise self._nonsense("a reply without a result")
        return reply["ok"]

    def _nonsense(self, what: str) -> WorkerDied:
        """A worker that breaks the protocol is a submission's doing, never a fault of ours: it is ended."""
        self.close()
        return WorkerDied("crashed", f"the submission's process sent nonsense ({what})")

    def _resolve(self, tree: dict[str, Any]) -> Any:
        match tree["$"]:
            case "handle":
                if type(tree["id"]) is not int:
                    raise wire.WireError("a bad handle")
                handle = Handle(self, tree["id"], str(tree["type"])[:100], self._generation, tree.get("callable") is True)
                self._handles.add(handle)
                return handle
            case "data":
                return wire.data_value(tree, kit_dataclasses())
        raise wire.WireError("a worker may not send this kind of value")


class FarFunction:
    """A name of the student's, called over the pipe."""

    def __init__(self, far: Far, name: str) -> None:
        self._far = far
        self._name = name

    def __call__(
        self, *args: Any, _unchanged: bool = False, _rng_unchanged: bool = False, _arguments: bool = False, **kwargs: Any
    ) -> Any:
        _check_generation(self._far, args, kwargs)
        before = [snapshot(value) for value in [*args, *kwargs.values()]] if _unchanged else []
        reply = self._far._ask(
            "call", self._far._limits.call_seconds, function=self._name, name=self._name,
            args=list(args), kwargs=kwargs, unchanged=_unchanged or _arguments, rng_unchanged=_rng_unchanged,
        )  # fmt: skip
        if not (_unchanged or _rng_unchanged or _arguments):
            return reply
        # The worker says how its arguments are now; the comparison is made here. A worker that lies about them lies about
        # its own side effects, and about nothing else.
        match reply:
            case {"result": result, "args": list(after), "rng": list(states)}:
                given = (len(args) + len(kwargs)) * (_unchanged or _arguments)
                if len(after) == given and len(states) == 2 * _rng_unchanged:
                    if _unchanged:
                        compare_arguments(self._name, before, after)
                    if states:
                        compare_random_states(self._name, *states)
                    return (result, after) if _arguments else result
        raise self._far._nonsense("a reply without its arguments")


class Handle:
    """An object that stays in the worker. Attributes, calls and a fixed list of operators are forwarded."""

    def __init__(self, far: Far, number: int, type_name: str, generation: int, is_callable: bool) -> None:
        self._far, self._number, self.type_name, self._generation = far, number, type_name, generation
        self._is_callable = is_callable

    @property
    def wire_tree(self) -> dict[str, Any]:
        return {"$": "handle", "id": self._number}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._ask("attr", name=name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _check_generation(self._far, args, kwargs)
        return self._ask("apply", args=list(args), kwargs=kwargs)

    def __len__(self) -> int:
        return int(self._dunder("len"))

    def __iter__(self) -> Iterator[Any]:
        return self._dunder("iter")

    def __next__(self) -> Any:
        return self._dunder("next")

    def __getitem__(self, key: Any) -> Any:
        return self._dunder("getitem", key)

    def __bool__(self) -> bool:
        return bool(self._dunder("bool"))

    def __contains__(self, item: Any) -> bool:
        return bool(self._dunder("contains", item))

    def __repr__(self) -> str:
        return f"a {self.type_name}"

    def _dunder(self, name: str, *args: Any) -> Any:
        return self._ask("dunder", name=name, args=list(args))

    def _ask(self, op: str, **fields: Any) -> Any:
        _check_generation(self._far, (self,), {})
        return self._far._ask(op, self._far._limits.call_seconds, target=self, **fields)


def _check_generation(far: Far, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for value in [*args, *kwargs.values()]:
        if isinstance(value, Handle) and value._generation != far._generation:
            raise WorkerDied("crashed", "the submission's process ended while this check held an object of it")


def _error_parts(error: Any) -> tuple[list[str], str, list[str]]:
    if not isinstance(error, dict):
        return ["Exception"], "", []
    names, lines = _texts(error.get("names")), _texts(error.get("lines"))
    message = error.get("message")
    text = message[:2000] if isinstance(message, str) else ""
    return [n[:80] for n in names[:12]] or ["Exception"], text, [line[:300] for line in lines[:6]]


def _texts(value: Any) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def is_memory(names: list[str], message: str) -> bool:
    """Whether an exception says that no memory was left: Python's own class, or torch's RuntimeError by its words."""
    return "MemoryError" in names or any(text in message for text in MEMORY_TEXTS)
