"""The line to a submission's worker: it runs the cells, asks, and starts a worker anew where one died."""

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
from ..protocol.worker_errors import LOST, StudentRaised, WorkerDied, error_parts, is_memory, nonsense, student_raised
from ..submission import Cell
from . import forkserver_pool
from .channel import WorkerChannel
from .forkserver_client import ForkServer

MAX_CELL_CHARS = 1_000_000
MAX_DEATHS = 20
"""Cells that may end the process before the rest is not tried any more: each costs a new worker and all cells again."""
SLOW_TO_LOAD = {"torch._dynamo": ("FlopCounterMode", "TorchDispatchMode", "torch.compile")}
"""Modules that torch loads at the first use of what is named here, in seconds of a processor: not the student's, so they are loaded
before the clock runs, where a submission names them."""


def worker_seed(seed: int) -> int:
    """What the worker's own random state is seeded with: nobody comes back from it to the run's seed, of which the checks draw."""
    return int.from_bytes(hashlib.sha256(f"the worker's, of {seed}".encode()).digest()[:7], "big")


@dataclass
class CellOutcome:
    """How a cell ended, if not well. outcome: error, timeout, memory, crashed."""

    outcome: str
    message: str
    lines: list[str] = field(default_factory=list)


class WorkerSession:
    """To one worker at a time. One that dies is replaced, and the cells run again without the one that killed it.

    home: the line that this one is a peer of; what ran to its end there is no submission's fault if it does not here.

    generation: how many workers there were. counts: work is counted just now, which takes longer. cell_outcomes: of the cells that did not
    run to their end, by name.
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
        """limits: of cells and calls. parent: gives the fork server that workers come from, if not this process's."""
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
        """Those that are still held, each by itself: two of the same object are equal, and the one that is left must count."""

    @property
    def pid(self) -> int:
        return -1 if self.connection is None else self.connection.pid

    @property
    def call_seconds(self) -> float:
        return self.limits.call_seconds * (self.limits.counted_factor if self.counts else 1.0)

    def start(self) -> None:
        """Starts a worker and runs the cells in it; cells that failed are in `cell_outcomes`."""
        for _ in range(len(self.cells) + 1):
            if self._start_once():
                return
        raise InfrastructureFault("the submission's cells could not be run")

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _start_once(self) -> bool:
        """False if a cell killed the worker; that cell is then left out for good."""
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
                    raise WorkerDied(died.outcome, f"in a rank's worker a cell did not run to its end, as it did before: {died}") from None
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
        """Why a cell is not run at all, or None."""
        if len(cell.source) > MAX_CELL_CHARS:
            return CellOutcome("error", f"not run: {len(cell.source):,} characters are more than a cell may have ({MAX_CELL_CHARS:,})")
        if self._deaths > MAX_DEATHS:
            return CellOutcome("crashed", f"not run: {MAX_DEATHS} cells before it ended the process")
        if self.budget.is_spent:
            return CellOutcome("timeout", f"not run: the submission has used {self.limits.submission_seconds:g} s in all")
        return None

    def peer(self) -> WorkerSession:
        """A line to another worker of the same submission, on the same budget."""
        other = WorkerSession(
            self.topic, self.cells, self.earlier, limits=self.limits, seed=self.seed, threads=self.threads, parent=self.parent
        )
        other.budget, other.home = self.budget, self
        return other

    def look_from_outside(self, thread: threading.Thread) -> None:
        """Is called now and then while another thread asks: nothing is to be done, for a worker's deadline is kept where it is asked."""

    def ask(self, op: str, *, function: str = "", **fields: Any) -> Any:
        """What the worker answers; `function` is what it works at. Raises WorkerDied, and what the student's code raised."""
        with self._ready(function) as connection:
            reply = connection.request(op, self.call_seconds, **fields)
        return self._value(reply)

    def ask_each(self, op: str, many: Iterable[dict[str, Any]], *, function: str) -> Iterator[Any]:
        """The answers to many requests, none of which gives a function along."""
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

    def play(self, story: CallBatch, *, stop: bool = True) -> list[Outcome]:
        """What came of each step. stop: after one that raises none is played; else those that do not use its result are.

        Each step is a request of its own to the budget, with the time of a call. Raises WorkerDied.
        """
        check_generation(self, tuple(leaves(story.steps)), {})
        many = [{"number": number, "request": step, "stop": stop} for number, step in enumerate(story.steps)]
        with self._ready("") as connection:
            replies = list(connection.requests("step", self.call_seconds, many, may_call_back=True))
        outcomes: list[Outcome] = []
        for number, reply in enumerate(replies):
            before = range(number) if stop else story.leans_on(number)
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
        """There is a worker to ask; if it dies now, this function is what it died of."""
        if function in self._hung:
            raise self._hung[function]
        if self.connection is not None and self.connection.answering:
            raise TypeError("an object of the submission's was given where data was due")
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
        """What was answered. Raises what the student's code raised."""
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
        """The end of a worker that breaks the protocol."""
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
