"""The `student` of a check when the student's functions are in a worker.

LocalStudent and RemoteStudent answer the same way: `student.f(x)`, `student.f.each(inputs)`, `_unchanged=True`, `_rng_unchanged=True`,
`_arguments=True`, `student.generator(seed)`, `student.model(name)`, `student.tokenizer(name)`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ..async_harness import Scenario
from ..confine.limits import Limits, cpu_seconds
from ..measure.op_counter import Work
from ..measure.op_counting import counting_on
from ..measure.trace_fingerprints import Fingerprint, is_fingerprint
from ..protocol.batch import CallBatch, Outcome
from ..protocol.handles import Awaited, Handle, RemoteFunction, awaited
from ..submission import Cell
from .forkserver_client import ForkServer
from .ranks import Ranks
from .session import CellOutcome, WorkerSession


@dataclass(frozen=True)
class Named:
    """A model or tokenizer that the worker loads for itself."""

    kind: str
    fields: dict[str, Any]

    @property
    def wire_tree(self) -> dict[str, Any]:
        return {"$": "named", "kind": self.kind, "v": self.fields}


class RemoteStudent:
    """The student's functions in a worker process. Any attribute that this class does not define is a name in the student's code."""

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
        """Prepare a `WorkerSession` with these arguments."""
        self._session = WorkerSession(topic, cells, earlier, limits=limits, seed=seed, threads=threads, parent=parent)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return RemoteFunction(self._session, name)

    def value(self, name: str) -> Any:
        """Return the value of a student's name that is not a function: data, or a handle of a class or object."""
        return self._session.ask("value", function=name, name=name)

    def play(self, batch: CallBatch, *, stop: bool = True) -> list[Outcome]:
        """Return the outcome of each step of a batch.

        stop: whether to skip all steps after one that raises, or only those that use its result.
        """
        return self._session.play(batch, stop=stop)

    def scenario(self, name: str, *given: Any) -> Awaited:
        """Play a scenario of `async_harness.py` in the process of the student's code, around the student's functions or classes.

        `student.scenario("serve", student.AsyncEngine, ...)`.
        """
        played = next((thing._name for thing in given if isinstance(thing, RemoteFunction)), name)
        things = [self.value(thing._name) if isinstance(thing, RemoteFunction) else thing for thing in given]
        return awaited(self._session, self._session.ask("await", function=played, target=Scenario(name), args=things, kwargs={}))

    def generator(self, seed: int) -> Any:
        return self._session.ask("generator", seed=seed)

    def gradients(self, on: bool | None = None) -> str:
        """Return torch's gradient mode in the worker ("on", "off" or "inference"), then set it unless `on` is None."""
        return str(self._session.ask("gradients", on=on))

    def forget(self, thing: Any) -> None:
        """Drop an object that stayed in the worker, as code does when it no longer needs an object."""
        if isinstance(thing, Handle):
            self._session.ask("forget", number=thing.wire_tree["id"])

    def counting(self, *, fast_bytes: int | None = None, python: bool = False) -> AbstractContextManager[Work]:
        """Count torch's work in the worker for the calls inside `with student.counting() as work:`.

        `work` is filled in at the end. fast_bytes: the size of the fast memory, needed for `work.slow_bytes`. python: whether to measure
        `work.python_bytes`.
        """
        return counting_on(self._session, fast_bytes=fast_bytes, python=python)

    def simulated_machine(self, *, peak_flops: float, bandwidth: float) -> AbstractContextManager[Work]:
        """Count as `counting` does, on a simulated machine: clocks read by the calls show that machine's time for the counted work."""
        return counting_on(self._session, machine={"peak_flops": peak_flops, "bandwidth": bandwidth})

    @contextmanager
    def watching(self) -> Iterator[list[Fingerprint]]:
        """Record fingerprints of the tensors that torch computes in the worker for the calls inside.

        `with student.watching() as fingerprints:` fills the list `fingerprints` at the end. See `trace_fingerprints.py`.
        """
        fingerprints: list[Fingerprint] = []
        self._session.ask("watching", on=True)
        self._session.counts = True
        try:
            yield fingerprints
        finally:
            self._session.counts = False
            noted = None if self._session.connection is None else self._session.ask("watching", on=False)
        if not isinstance(noted, list) or not all(is_fingerprint(one) for one in noted):
            raise self._session.nonsense("fingerprints that are not numbers")
        fingerprints += noted

    def clock(self) -> float:
        """Return the processor seconds that the worker has used, read from outside; wall seconds if the system does not report them."""
        if self._session.connection is None:
            self.start()
        assert self._session.connection is not None
        used = cpu_seconds(self._session.connection.pid)
        return time.perf_counter() if used is None else used

    def model(self, name: str, *, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Named:
        return Named("model", {"name": name, "dtype": dtype, "device": device})

    def tokenizer(self, name: str) -> Named:
        return Named("tokenizer", {"name": name})

    def ranks(self, world: int) -> Ranks:
        """Return `world` ranks, each in a worker of its own. The grader passes their messages on; later calls reuse the workers."""
        while len(self._peers) < world:
            self._peers.append(self._session.peer())
        return Ranks(self._peers[:world])

    @functools.cached_property
    def _peers(self) -> list[WorkerSession]:
        return []

    def begin_check(self) -> None:
        """Begin the next check: its use of time, requests and bytes starts at zero."""
        self._session.budget.begin_check()

    def start(self) -> None:
        """Start a worker and run the cells in it; cells that failed are in `cell_outcomes`."""
        self._session.start()

    def close(self) -> None:
        """End the worker and the workers of ranks. The next request starts a new worker."""
        for session in (self._session, *self._peers):
            session.close()

    @property
    def cell_outcomes(self) -> dict[str, CellOutcome]:
        """Return the outcomes of the cells that did not run to their end, by name."""
        return self._session.cell_outcomes

    @property
    def nearest_limit(self) -> float:
        """Return the largest share of its time that a cell or call has used."""
        return self._session.budget.nearest_limit
