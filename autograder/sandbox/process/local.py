"""The `student` of a check when the student's functions are in this process: a notebook, or the reference itself.

LocalStudent is RemoteStudent over a loopback. The same worker answers the same requests, in this process: arguments and results become
the same bytes, so a function gets copies, and a notebook gives the same verdicts as grading.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from ..confine.limits import Limits
from ..confine.timeout import Alarm, TimeoutExpired
from ..measure import meta
from ..protocol import wire
from ..protocol.shared_objects import own_copy
from ..protocol.worker_errors import WorkerDied, error_parts
from .channel import MAX_CALLBACKS, WorkerChannel
from .remote_student import RemoteStudent
from .session import WorkerSession, worker_seed
from .worker import Worker

CALLBACK_SECONDS = 15.0
"""Seconds that the checks' own functions may work for one call here: a person waits for it."""


class LocalStudent(RemoteStudent):
    """The student's functions in this process. `namespace` is the notebook's own dict, so a redefined function is used."""

    _session: LocalSession

    def __init__(
        self,
        namespace: dict[str, Any],
        *,
        limits: Limits | None = None,
        seed: int = 0,
        tell: Callable[[str], None] | None = None,
        on_check: Callable[[], None] | None = None,
    ) -> None:
        """Prepare a session in this process.

        tell: shows a sentence to the person at the notebook when a call cannot be stopped by the checks. on_check: called as each check
        begins.
        """
        self._session = LocalSession(namespace, limits, seed, tell)
        self._on_check = on_check

    def clock(self) -> float:
        """Return the processor seconds that this process has used."""
        return time.process_time()

    def begin_check(self) -> None:
        super().begin_check()
        if self._on_check is not None:
            self._on_check()

    def interrupt(self, stop: KeyboardInterrupt) -> tuple[str, list[str]]:
        """Return (message, lines) of the check that a person stopped, or of a check after it. No more requests are sent."""
        before, self._session.interrupted = self._session.interrupted, True
        return "not run: you stopped the checks" if before else "stopped by you", getattr(stop, "lines", [])


class LocalSession(WorkerSession):
    """A session with a worker in this process. state: torch's state in the worker. interrupted: whether a person stopped the checks."""

    def __init__(self, namespace: dict[str, Any], limits: Limits | None, seed: int, tell: Callable[[str], None] | None) -> None:
        super().__init__("", [], {}, limits=limits, seed=seed)
        self.namespace, self.tell, self.interrupted = namespace, tell, False
        now = State.now()
        self.state = State(now.grad, now.dtype, torch.Generator().manual_seed(worker_seed(seed)).get_state())

    @contextmanager
    def _ready(self, function: str) -> Iterator[WorkerChannel]:
        if self.interrupted:
            raise Interrupted([])
        with super()._ready(function) as connection:
            yield connection

    def peer(self) -> LocalSession:
        """Return another session with the same namespace, which plays a remote rank.

        Only grading can detect a state that ranks share here.
        """
        other = LocalSession(self.namespace, self.limits, self.seed, self.tell)
        other.budget = self.budget
        return other

    def look_from_outside(self, thread: threading.Thread) -> None:
        """Stop a call in another thread if its time is used up: no signal reaches that thread."""
        alarm = getattr(self.connection, "alarm", None)
        if alarm is not None and thread.ident is not None:
            alarm.look_at(thread.ident)

    def _start_once(self) -> bool:
        self.generation += 1
        self.connection = Loopback(self, self._resolve)
        return True


class Stopped(WorkerDied):
    """The end of a call at its time limit. lines: the student's lines that were running."""

    def __init__(self, message: str, lines: list[str]) -> None:
        super().__init__("timeout", message)
        self.lines = lines


class Interrupted(KeyboardInterrupt):
    """The end of the student's code when a person stops it. lines: the student's lines that were running."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines


@dataclass
class State:
    """The torch state that exists once per process. A separate worker would have its own; this process shares it with the notebook."""

    grad: bool
    dtype: torch.dtype
    rng: Tensor

    @classmethod
    def now(cls) -> State:
        return cls(torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_rng_state())

    def set(self) -> None:
        torch.set_grad_enabled(self.grad)
        torch.set_default_dtype(self.dtype)
        torch.set_rng_state(self.rng)


class Loopback(WorkerChannel):
    """A channel to a worker in this process. It has the two socket methods that the worker uses, `sendall` and `recv`."""

    pid = -1

    def __init__(self, session: LocalSession, resolve: wire.Resolve) -> None:
        self.session, self.resolve = session, resolve
        self.limits, self.budget = session.limits, session.budget
        self.callables: dict[int, Callable[..., Any]] = {}
        self.seq = 0
        self.worker = InProcess(self, SimpleNamespace(user_ns=session.namespace))
        self.frames = bytearray()
        """Bytes on their way to the worker."""
        self.reply: dict[str, Any] = {}
        self.here: dict[int, Tensor] = {}
        """Tensors on another device, on their way: they are not sent as bytes."""
        self.ours = State.now()

    def request(self, op: str, seconds: float, **fields: Any) -> dict[str, Any]:
        """Return the worker's reply; its callbacks are answered. Raises WorkerDied, Interrupted."""
        self.seq += 1
        self.callbacks, self.callback_seconds = 0, 0.0
        if op == "meta":
            meta.warm_up()
        self.alarm = Alarm(seconds, self.limits.wall_factor, str(fields.get("name", "your code")), self.session.tell)
        frame = wire.encode({"op": op, "seq": self.seq, **fields}, self._extra)
        with self._ending_it_on_failure():
            self.budget.ask()
            self.frames, self.worker.unread = bytearray(frame), bytearray()
            try:
                with self.alarm, self._as_the_worker():
                    self.worker.serve()
            except TimeoutExpired:  # it came while the reply was made
                pass
            finally:
                self.budget.use(self.alarm.used(), seconds)
        if self.alarm.message:
            raise Stopped(self.alarm.message, self.alarm.lines)
        if "error" in self.reply:
            names, _, lines = error_parts(self.reply["error"])
            if "KeyboardInterrupt" in names:
                raise Interrupted(lines)
        return self.reply

    def requests(
        self, op: str, seconds: float, many: Iterable[dict[str, Any]], *, may_call_back: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the replies, each computed when it is requested."""
        for fields in many:
            if not may_call_back:
                wire.encode(fields, lambda value: None)  # a function is refused, as where requests are sent together
            yield self.request(op, seconds, **fields)

    def close(self) -> None:
        """Do nothing: a worker in this process need not be ended."""

    # The socket, as the worker sees it

    def recv(self, n: int) -> bytes:
        """Return all buffered bytes. An empty result means that the worker has answered; its loop then ends until the next request."""
        taken, self.frames = bytes(self.frames), bytearray()
        return taken

    def sendall(self, frame: bytes) -> None:
        self.budget.receive(len(frame))
        message = self._decoded(frame)
        if "callback" not in message:
            self.reply = message
            return
        self.callbacks += 1
        if self.callbacks > MAX_CALLBACKS or self.callback_seconds > CALLBACK_SECONDS:
            self.alarm.ring(f"stopped after {self.callbacks:,} calls of the function passed by the check: does it end?", sys._getframe())
        start = time.monotonic()
        with self.alarm.paused(), self._as_the_checks():
            self.answering = True
            try:
                answer = self._answer(message)
            finally:
                self.answering = False
        self.callback_seconds += time.monotonic() - start
        self.frames += wire.encode(answer, self._extra)

    def _decoded(self, frame: bytes) -> dict[str, Any]:
        end = wire.HEAD.size + wire.lengths(frame[: wire.HEAD.size], reply=True)[0]
        return wire.decode(bytearray(frame[wire.HEAD.size : end]), bytearray(frame[end:]), self._resolve, reply=True)

    def _resolve(self, tree: dict[str, Any]) -> Any:
        return self.here.pop(tree["id"]) if tree["$"] == "here" else self.resolve(tree)

    def _extra(self, value: Any) -> dict[str, Any] | None:
        if isinstance(value, Tensor):
            return self.leave(value.detach().clone().requires_grad_(value.requires_grad))
        return super()._extra(value)

    def leave(self, tensor: Tensor) -> dict[str, Any]:
        """Leave a tensor on its device, and return the tree that represents it in a message."""
        self.here[id(tensor)] = tensor
        return {"$": "here", "id": id(tensor)}

    # Random states and modes of torch

    @contextmanager
    def _as_the_worker(self) -> Iterator[None]:
        self.ours = State.now()
        self.session.state.set()
        try:
            yield
        finally:
            self.session.state = State.now()
            self.ours.set()

    @contextmanager
    def _as_the_checks(self) -> Iterator[None]:
        theirs = State.now()
        self.ours.set()
        try:
            with _disable_current_modes():  # work of the checks' own functions is not counted
                yield
        finally:
            self.ours = State.now()
            theirs.set()


class InProcess(Worker):
    """A worker that shares its process, which lives longer than the worker. Named models and tokenizers are therefore copied for it."""

    connection: Any

    def __init__(self, connection: Loopback, shell: Any) -> None:
        super().__init__(connection, shell)  # type: ignore[arg-type]
        self.named: dict[str, Any] = {}

    def extra(self, value: Any) -> dict[str, Any]:
        return self.connection.leave(value) if isinstance(value, Tensor) else super().extra(value)

    def resolve(self, tree: dict[str, Any]) -> Any:
        match tree["$"]:
            case "named":
                key = f"{tree['kind']} {sorted(tree['v'].items())}"
                if key not in self.named:
                    self.named[key] = own_copy(tree["kind"], **tree["v"])
                return self.named[key]
            case "here":
                return self.connection.here.pop(tree["id"])
        return super().resolve(tree)
