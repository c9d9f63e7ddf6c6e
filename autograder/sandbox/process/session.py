"""The session with a submission's worker: it runs the cells, sends requests, and starts another worker if one died."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...authoring import CheckFailed
from ...base.errors import InfrastructureFault
from ..confine.budget import Budget
from ..confine.limits import Limits
from ..protocol import wire
from ..protocol.batch import CallBatch, Outcome, leaves
from ..protocol.handles import Handle, check_generation
from ..protocol.shared_objects import kit_dataclasses
from ..protocol.worker_errors import (
    LOST,
    StudentRaised,
    WorkerDied,
    changed_modes,
    error_parts,
    is_memory,
    nonsense,
    student_raised,
)
from ..submission import Cell
from . import forkserver_pool
from .channel import WorkerChannel
from .forkserver_client import ForkServer

MAX_CELL_CHARS = 1_000_000
MAX_DEATHS = 20
"""Number of cells that may end the process; after one more, the other cells are not run.

Each costs a new worker and all cells again.
"""
SLOW_TO_LOAD = {"torch._dynamo": ("FlopCounterMode", "TorchDispatchMode", "torch.compile")}
"""Modules that torch loads at the first use of the names here, which takes seconds of processor time.

That load is not the student's, so they are loaded before the clock runs if a submission mentions such a name.
"""


def worker_seed(seed: int) -> int:
    """Return the seed of the worker's own random state. It does not reveal the run's seed, which the checks draw from."""
    return int.from_bytes(hashlib.sha256(f"the worker's, of {seed}".encode()).digest()[:7], "big")


@dataclass
class CellOutcome:
    """The end of a cell that failed. outcome: error, timeout, memory, crashed."""

    outcome: str
    message: str
    lines: list[str] = field(default_factory=list)


class WorkerSession:
    """A session with one worker at a time. A new worker replaces a dead one and runs all cells but the one that killed the old worker.

    home: the session whose peer this session is. If a cell ran to its end in `home` but not here, the submission is not to blame.

    generation: the number of workers started so far. counts: whether work is being counted, which takes longer. cell_outcomes: outcomes of
    the cells that did not run to their end, by name.
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
        parent: Callable[[], ForkServer] | None = None,
    ) -> None:
        """Prepare a session; `start` starts the worker.

        limits: limits of cells and calls. parent: returns the fork server for the workers, if it is not this process's.
        """
        self.topic, self.cells, self.earlier, self.seed, self.threads, self.parent = topic, cells, earlier, seed, threads, parent
        self.limits = limits or Limits()
        self.budget = Budget(self.limits)
        self.generation = 0
        self.connection: WorkerChannel | None = None
        self.counts = False
        self.cell_outcomes: dict[str, CellOutcome] = {}
        self.home: WorkerSession | None = None
        self._hung: dict[str, WorkerDied] = {}
        self._broken: set[int] = set()
        self._ran: set[int] = set()
        self._deaths = 0
        self._handles: weakref.WeakValueDictionary[int, Handle] = weakref.WeakValueDictionary()
        """Handles that are still referenced, each by its own id.

        Two handles of one object are equal, and the remaining one must count.
        """

    @property
    def pid(self) -> int:
        return -1 if self.connection is None else self.connection.pid

    @property
    def call_seconds(self) -> float:
        return self.limits.call_seconds * (self.limits.counted_factor if self.counts else 1.0)

    def start(self) -> None:
        """Start a worker and run the cells in it; cells that failed are in `cell_outcomes`."""
        for _ in range(len(self.cells) + 1):
            if self._start_once():
                return
        raise InfrastructureFault("the submission's cells could not be run")

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _start_once(self) -> bool:
        """Start a worker and run the cells; return False if a cell killed it. That cell is not run again."""
        self.close()
        self.generation += 1
        forkserver = self.parent() if self.parent is not None else forkserver_pool.forkserver(self.limits)
        connection = self.connection = WorkerChannel(self.limits, self._resolve, forkserver)
        slow = [m for m, names in SLOW_TO_LOAD.items() if any(name in cell.source for cell in self.cells for name in names)]
        try:
            reply = connection.request(
                "start", 60.0, earlier=self.earlier, seed=worker_seed(self.seed), threads=self.threads, load=slow
            )
        except WorkerDied as died:
            raise InfrastructureFault(f"a worker did not start: {died}") from None
        if "error" in reply:
            raise InfrastructureFault(f"a worker did not start: {reply['error']}")
        connection.budget = self.budget  # to start was not the submission's doing
        for index, cell in enumerate(self.cells):
            if index in self._broken:
                continue
            refused = None if index in self._ran else self._refused(cell)
            if refused is not None:
                self._broken.add(index)
                self.cell_outcomes[cell.name] = refused
                continue
            try:
                with self.budget.apart():
                    reply = connection.request("cell", self.limits.cell_seconds, name=cell.name, source=cell.source)
                connection.look()  # at each cell's end: else a quick cell's files would cost it, or not, with how busy the machine is
            except WorkerDied as died:
                if self.home is not None and index not in self.home._broken:
                    self.close()
                    raise WorkerDied(died.outcome, f"a cell that ran before did not run to its end in a rank's worker: {died}") from None
                self._deaths += 1
                self._broken.add(index)
                self.cell_outcomes[cell.name] = CellOutcome(died.outcome, str(died))
                self.close()
                return False
            self._ran.add(index)
            if "error" in reply:
                names, message, lines = error_parts(reply["error"])
                outcome = "memory" if is_memory(names, message, lines) else "error"
                self.cell_outcomes[cell.name] = CellOutcome(outcome, f"{names[0]}: {message}", lines)
        return True

    def _refused(self, cell: Cell) -> CellOutcome | None:
        """Return an outcome with the reason if a cell must not run, else None."""
        if len(cell.source) > MAX_CELL_CHARS:
            return CellOutcome("error", f"not run: the cell has {len(cell.source):,} characters, more than {MAX_CELL_CHARS:,}")
        if self._deaths > MAX_DEATHS:
            return CellOutcome("crashed", f"not run: {MAX_DEATHS} cells before it ended the process")
        if self.budget.is_spent:
            return CellOutcome("timeout", f"not run: the submission has used {self.limits.submission_seconds:g} s in all")
        return None

    def peer(self) -> WorkerSession:
        """Return a session with another worker of the same submission, on the same budget."""
        other = WorkerSession(
            self.topic, self.cells, self.earlier, limits=self.limits, seed=self.seed, threads=self.threads, parent=self.parent
        )
        other.budget, other.home = self.budget, self
        return other

    def look_from_outside(self, thread: threading.Thread) -> None:
        """Do nothing: the thread that sends a request also watches its worker's deadline.

        `Ranks` calls this now and then while that thread waits.
        """

    def ask(self, op: str, *, function: str = "", **fields: Any) -> Any:
        """Return the worker's answer; `function` is the function that it runs.

        Raises WorkerDied, and the exception of the student's code.
        """
        with self._ready(function) as connection:
            reply = connection.request(op, self.call_seconds, **fields)
        return self._value(reply)

    def ask_each(self, op: str, many: Iterable[dict[str, Any]], *, function: str) -> Iterator[Any]:
        """Yield the answers to many requests, none of which contains a function."""
        with self._ready(function) as connection:
            replies = connection.requests(op, self.call_seconds, many)
        while self.connection is connection:
            with self._ready(function):
                reply = next(replies, None)
            if reply is None:
                return
            if "stop" in reply:  # in a generator it would end the loop
                raise student_raised(["StopIteration", "Exception"], "", [])
            yield self._value(reply)
        raise WorkerDied("crashed", LOST)

    def play(self, batch: CallBatch, *, stop: bool = True) -> list[Outcome]:
        """Return the outcome of each step. stop: whether to skip all steps after one that raises, or only those that use its result.

        Each step is charged to the budget as a request of its own, with the time of a call. Raises WorkerDied.
        """
        check_generation(self, tuple(leaves(batch.steps)), {})
        many = [{"number": number, "request": step, "stop": stop} for number, step in enumerate(batch.steps)]
        with self._ready("") as connection:
            replies = list(connection.requests("step", self.call_seconds, many, may_call_back=True))
        outcomes: list[Outcome] = []
        for number, reply in enumerate(replies):
            before = range(number) if stop else batch.leans_on(number)
            if any(outcomes[each].error is not None or not outcomes[each].played for each in before):
                outcomes.append(Outcome(played=False))
                continue
            try:
                outcomes.append(Outcome(self._value(reply)))
            except (StudentRaised, StopIteration, CheckFailed) as error:
                outcomes.append(Outcome(error=error))
        return outcomes

    @contextmanager
    def _ready(self, function: str) -> Iterator[WorkerChannel]:
        """Provide a worker for a request to run this function.

        A function that has timed out once is not called again; the first timeout is raised instead.
        """
        if function in self._hung:
            raise self._hung[function]
        if self.connection is not None and self.connection.answering:
            raise TypeError("an object of the submission was given instead of data")
        if self.connection is None:
            self.start()
        assert self.connection is not None
        if not self._handles:  # a stream that is still held may call its model at any later next()
            self.connection.callables.clear()
        try:
            yield self.connection
        except BaseException as died:
            self.close()
            if isinstance(died, WorkerDied) and died.outcome == "timeout" and function:
                self._hung[function] = died  # one wait a function, not one a check
            raise

    def _value(self, reply: dict[str, Any]) -> Any:
        """Return the value of a reply.

        Raises the exception of the student's code, and CheckFailed for a call that left a mode of torch's changed.
        """
        if "left" in reply:
            raise changed_modes(reply["left"])
        if "stop" in reply:
            raise StopIteration
        if "error" in reply:
            names, message, lines = error_parts(reply["error"])
            if names[0] == "WireError":
                raise CheckFailed(f"the result cannot be used: {message}")
            raise student_raised(names, message, lines)
        if "ok" not in reply:
            raise self.nonsense("a reply without a result")
        return reply["ok"]

    def nonsense(self, what: str) -> WorkerDied:
        """Close the session and return the WorkerDied for a worker that breaks the protocol."""
        self.close()
        return nonsense(what)

    def _resolve(self, tree: dict[str, Any]) -> Any:
        match tree["$"]:
            case "handle":
                if type(tree["id"]) is not int:
                    raise wire.WireError("a bad handle")
                handle = Handle(self, tree["id"], str(tree["type"])[:100], self.generation, tree.get("callable") is True)
                self._handles[id(handle)] = handle
                return handle
            case "data":
                return wire.data_value(tree, kit_dataclasses())
        raise wire.WireError("a worker may not send this kind of value")
