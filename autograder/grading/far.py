"""What a check calls `student` where the student's functions are in a worker.

Near and Far answer the same way: `student.f(x)`, `student.f.each(inputs)`, `_unchanged=True`, `_rng_unchanged=True`,
`_arguments=True`, `student.generator(seed)`, `student.model(name)`, `student.tokenizer(name)`.
"""

from __future__ import annotations

import hashlib
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from ..authoring import CheckFailed
from ..errors import InfrastructureFault
from . import wire
from .far_values import FarFunction, Handle
from .given import kit_dataclasses
from .limits import Limits, cpu_seconds, main_thread_seconds
from .raised import LOST, error_parts, is_memory, student_raised
from .remote import Connection, WorkerDied
from .warm import Zygote
from .watch import Print, is_print
from .work import Work

MAX_REQUESTS = 100_000
MAX_CHECK_BYTES = 512 * 1024 * 1024
"""What one check may ask for and get: an iterator that never ends is not waited for."""
MAX_CELL_CHARS = 1_000_000
MAX_DEATHS = 20
"""Cells that may end the process before the rest is not tried any more: each costs a new worker and all cells again."""
UNCOUNTED_SECONDS, UNCOUNTED_SHARE = 0.02, 0.1
"""So much of the processor's time may go by in other threads while work is counted: a worker has one thread for torch, so the rest is
the interpreter's."""
SLOW_TO_LOAD = {"torch._dynamo": ("FlopCounterMode", "TorchDispatchMode", "torch.compile")}
"""Modules that torch loads at the first use of what is named here, in seconds of a processor: not the student's, so they are loaded
before the clock runs, where a submission names them."""


def _in_one_thread(start: tuple[float, float] | None, end: tuple[float, float] | None) -> None:
    """Fails where counted calls used the processor in other threads than the one that is called: what they did was not counted."""
    if start is None or end is None:
        return
    everything, main = end[0] - start[0], end[1] - start[1]
    if everything - main > UNCOUNTED_SECONDS + UNCOUNTED_SHARE * everything:
        raise CheckFailed(
            "work is done in other threads, where it is not counted",
            expected="all of it in the thread that calls the function",
            got=f"{everything - main:.2f} of {everything:.2f} s of the processor elsewhere",
        )


def worker_seed(seed: int) -> int:
    """What the worker's own random state is seeded with: nobody comes back from it to the run's seed, of which the checks draw."""
    return int.from_bytes(hashlib.sha256(f"the worker's, of {seed}".encode()).digest()[:7], "big")


@dataclass(frozen=True)
class Named:
    """A model or tokenizer that the worker loads for itself."""

    kind: str
    fields: dict[str, Any]

    @property
    def wire_tree(self) -> dict[str, Any]:
        return {"$": "named", "kind": self.kind, "v": self.fields}


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
        self._load = [m for m, names in SLOW_TO_LOAD.items() if any(name in cell.source for cell in cells for name in names)]
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
        self._counts = False
        self._handles: weakref.WeakSet[Handle] = weakref.WeakSet()
        self.nearest_limit = 0.0
        """The largest share of its time that a cell or call has used."""
        self.cell_outcomes: dict[str, CellOutcome] = {}
        """Cells that did not run to their end, by name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return FarFunction(self, name)

    def generator(self, seed: int) -> Any:
        return self._ask("generator", self._call_seconds, seed=seed)

    def gradients(self, on: bool | None = None) -> str:
        """torch's gradient mode in the worker, as it was: "on", "off" or "inference". Then it is set, unless `on` is None."""
        return str(self._ask("gradients", self._call_seconds, on=on))

    def forget(self, thing: Any) -> None:
        """Lets go of something that stayed in the worker, as a caller does who drops it."""
        if isinstance(thing, Handle):
            self._ask("forget", self._call_seconds, number=thing._number)

    @property
    def _call_seconds(self) -> float:
        return self._limits.call_seconds * (self._limits.counted_factor if self._counts else 1.0)

    def counting(self) -> AbstractContextManager[Work]:
        """`with student.counting() as work:` counts what torch does in the worker for the calls inside; work is filled in at the end."""
        return self._counting(None)

    def stand_in(self, *, peak_flops: float, bandwidth: float) -> AbstractContextManager[Work]:
        """As `counting`, on a made-up machine: the clocks that the calls read show how long it takes for what is counted."""
        return self._counting({"peak_flops": peak_flops, "bandwidth": bandwidth})

    @contextmanager
    def _counting(self, machine: dict[str, float] | None) -> Iterator[Work]:
        work = Work()
        self._ask("counting", self._call_seconds, on=True, machine=machine)
        self._counts = True
        pid, start = self._pid, self._threads_seconds()
        try:
            yield work
        finally:
            self._counts = False
            end = self._threads_seconds() if self._pid == pid else None
            counted = self._ask("counting", self._call_seconds, on=False, machine=None) if self._connection is not None else None
        _in_one_thread(start, end)
        if not isinstance(counted, dict) or any(type(counted.get(name)) is not int for name in vars(work)):
            raise self._nonsense("counts that are no numbers")
        vars(work).update({name: counted[name] for name in vars(work)})

    @contextmanager
    def watching(self) -> Iterator[list[Print]]:
        """`with student.watching() as prints:` notes prints of what torch computes in the worker for the calls inside, see `watch.py`;
        the list is filled at the end."""
        prints: list[Print] = []
        self._ask("watching", self._call_seconds, on=True)
        self._counts = True
        try:
            yield prints
        finally:
            self._counts = False
            noted = self._ask("watching", self._call_seconds, on=False)
        if not isinstance(noted, list) or not all(is_print(one) for one in noted):
            raise self._nonsense("prints that are no numbers")
        prints += noted

    @property
    def _pid(self) -> int:
        return -1 if self._connection is None else self._connection.pid

    def _threads_seconds(self) -> tuple[float, float] | None:
        """Processor seconds so far (of all of the worker's threads, of the one that is called), by the kernel; None where it is mute."""
        everything, main = cpu_seconds(self._pid), main_thread_seconds(self._pid)
        return None if everything is None or main is None else (everything, main)

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
        with self._counted() as connection:
            return connection.request(op, seconds, **fields)

    @contextmanager
    def _counted(self) -> Iterator[Connection]:
        """One request more, and what it uses. Raises WorkerDied where nothing is left."""
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
            yield connection
        finally:
            self._used += connection.used - used_before
            self._used_by_check += connection.used - used_before
            self._bytes += connection.received - bytes_before
            self.nearest_limit = max(self.nearest_limit, connection.nearest_limit)

    def _start_once(self) -> bool:
        """False if a cell killed the worker; that cell is then left out for good."""
        self.close()
        self._generation += 1
        connection = Connection(self._limits, self._resolve, self._parent() if self._parent is not None else None)
        self._connection = connection
        try:
            reply = connection.request(
                "start", 60.0, earlier=self._earlier, seed=worker_seed(self._seed), threads=self._threads, load=self._load
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
                connection.look()  # at each cell's end: else a quick cell's files would cost it, or not, with how busy the machine is
            except WorkerDied as died:
                self._deaths += 1
                self._broken.add(index)
                self.cell_outcomes[cell.name] = CellOutcome(died.outcome, str(died))
                self.close()
                return False
            self._ran.add(index)
            if "error" in reply:
                names, message, lines = error_parts(reply["error"])
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
        with self._ready(function):
            reply = self._request(op, seconds, **fields)
        return self._value(reply)

    def _ask_each(self, op: str, seconds: float, many: Iterable[dict[str, Any]], *, function: str) -> Iterator[Any]:
        """The answers to many requests, none of which gives a function along."""
        with self._ready(function):
            connection = self._connection
        assert connection is not None
        replies = connection.requests(op, seconds, many)
        while self._connection is connection:
            with self._ready(function), self._counted():
                reply = next(replies, None)
            if reply is None:
                return
            if "stop" in reply:  # in a generator it would end the loop
                raise student_raised(["StopIteration", "Exception"], "", [])
            yield self._value(reply)
        raise WorkerDied("crashed", LOST)

    @contextmanager
    def _ready(self, function: str) -> Iterator[None]:
        """There is a worker to ask; if it dies now, this function is what it died of."""
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
            yield
        except BaseException as died:
            self.close()
            if isinstance(died, WorkerDied) and died.outcome == "timeout" and function:
                self._hung[function] = died  # one wait a function, not one a check
            raise

    def _value(self, reply: dict[str, Any]) -> Any:
        """What was answered. Raises what the student's code raised."""
        if "stop" in reply:
            raise StopIteration
        if "error" in reply:
            names, message, lines = error_parts(reply["error"])
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
