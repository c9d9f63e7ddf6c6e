"""The grader's end of a worker: send requests, read replies with a deadline."""

from __future__ import annotations

import contextlib
import inspect
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ...base.errors import InfrastructureFault
from ..confine.budget import Budget
from ..confine.limits import SCRATCH_BYTES, Deadline, Limits, stopped_after
from ..protocol import wire
from ..protocol.shared_objects import kit_dataclasses
from ..protocol.worker_errors import WorkerDied, nonsense
from .forkserver_client import FORK_SECONDS, ForkServer, slow_start

PIECE_BYTES = 65_536
AHEAD_BYTES = 32_768
"""Size limit of requests that are sent together, a sixth of a Linux socket's buffer."""
CREDENTIALS = struct.Struct("3i")
MAX_SCRATCH_FILES = 20_000
MAX_SCRATCH_DEPTH = 50
LOOK_SECONDS = 0.25
"""Seconds between looks at the files of a submission that keeps the grader waiting."""
MAX_CALLBACKS = 100_000
MAX_CALLBACK_BYTES = 4 * 1024 * 1024
CALLBACK_SECONDS = 60.0
"""Limits on the callbacks of one call to the checks' own functions: their number, their bytes, their seconds.

The student's clock would not see that work, since it is done here.
"""


class WorkerChannel:
    """The channel to one worker: it sends requests and reads each reply within a deadline. After `WorkerDied` it is unusable.

    budget: the Budget charged for each request, at first the channel's own. answering: whether the worker is calling back a function that
    stayed here.
    """

    given, answering = 0, False
    scratch, next_look = "", 0.0

    def __init__(self, limits: Limits, resolve: wire.Resolve, forkserver: ForkServer) -> None:
        self.limits, self.budget = limits, Budget(limits)
        self.resolve = resolve
        self.callables: dict[int, Callable[..., Any]] = {}
        self.seq = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._use(ours)
        if hasattr(socket, "SO_PASSCRED"):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            self.pid, self.scratch = forkserver.fork(theirs)
        finally:
            theirs.close()
        self._hello(forkserver)
        if forkserver.level == "namespaces":
            self.scratch = f"/proc/{self.pid}/root{self.scratch}"

    def _use(self, connection: socket.socket) -> None:
        self.socket, self.unread = connection, bytearray()
        self.socket.setblocking(False)
        self.readable, self.writable = select.poll(), select.poll()
        self.readable.register(self.socket, select.POLLIN)
        self.writable.register(self.socket, select.POLLOUT)

    def _hello(self, forkserver: ForkServer) -> None:
        """Wait for the first frame, which confirms that the worker is confined, and read the worker's process id."""
        if not select.select([self.socket], [], [], FORK_SECONDS)[0]:
            self.close()
            raise slow_start("a new worker", FORK_SECONDS)
        if hasattr(socket, "SO_PASSCRED"):
            _, ancillary, _, _ = self.socket.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS.size), socket.MSG_PEEK)
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                    self.pid = CREDENTIALS.unpack(data[: CREDENTIALS.size])[0]
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)  # from here on they would only cost time
        try:
            hello = self._receive(Deadline(self.pid, FORK_SECONDS, 1.0))["hello"]
        except (WorkerDied, wire.WireError, KeyError) as error:
            self.close()
            if isinstance(error, WorkerDied) and error.outcome == "timeout":
                raise slow_start("a new worker", FORK_SECONDS) from None
            raise InfrastructureFault(f"a new worker ended at once ({error})") from None
        if "error" in hello:
            self.close()
            raise InfrastructureFault(str(hello["error"]))
        if hello.get("source") != forkserver.source:
            self.close()
            raise InfrastructureFault("a worker runs other code than this grader's: is another copy of the course installed?")

    def request(self, op: str, seconds: float, **fields: Any) -> dict[str, Any]:
        """Send a request, answer the worker's callbacks, and return its reply.

        Raises WorkerDied, and WireError for a value that cannot be sent.
        """
        self.seq += 1
        frame = wire.encode({"op": op, "seq": self.seq, **fields}, self._extra)
        deadline = Deadline(self.pid, seconds, self.limits.wall_factor)
        with self._ending_it_on_failure():
            self.budget.ask()
            try:
                self._send_bytes(frame, deadline)
                return self._reply(deadline, self.seq)
            finally:
                self._note(deadline)

    def requests(
        self, op: str, seconds: float, many: Iterable[dict[str, Any]], *, may_call_back: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the replies to many requests, several of which are sent at once. Each has `seconds`. Raises WorkerDied.

        Sending several at once saves time: two processes that wait for each other spend as much time on waking up as on the work.

        may_call_back: whether the requests may contain functions. From the first function on, requests are sent one at a time, since the
        worker would read the next request as the answer to a callback.
        """
        ahead: dict[int, bytes] = {}
        for fields in many:
            self.seq += 1
            frame = wire.encode({"op": op, "seq": self.seq, **fields}, self._extra if may_call_back else lambda value: None)
            alone = may_call_back and bool(self.callables)
            if alone:
                yield from self._exchange(ahead, seconds)
                yield from self._exchange({self.seq: frame}, seconds, may_call_back=True)
                ahead = {}
                continue
            if ahead and sum(map(len, ahead.values())) + len(frame) > AHEAD_BYTES:
                yield from self._exchange(ahead, seconds)
                ahead = {}
            ahead[self.seq] = frame
        yield from self._exchange(ahead, seconds)

    def _exchange(self, ahead: dict[int, bytes], seconds: float, *, may_call_back: bool = False) -> Iterator[dict[str, Any]]:
        """Send requests, given by their numbers, and read all replies before yielding the first.

        The replies are read even if the caller does not ask for the last one. The worker may read nothing while the requests are sent, so
        all of them together must fit into the socket.
        """
        replies: list[dict[str, Any]] = []
        died = None
        try:
            with self._ending_it_on_failure():
                deadline = Deadline(self.pid, seconds, self.limits.wall_factor)
                self._send_bytes(b"".join(ahead.values()), deadline)
                for seq in ahead:
                    self.budget.ask()
                    try:
                        replies.append(self._reply(deadline, seq, may_call_back=may_call_back))
                    finally:
                        self._note(deadline)
                    deadline = Deadline(self.pid, seconds, self.limits.wall_factor)
        except WorkerDied as error:
            died = error
        yield from replies
        if died is not None:
            raise died

    def _note(self, deadline: Deadline) -> None:
        self.budget.use(deadline.used(), deadline.seconds)

    @contextlib.contextmanager
    def _ending_it_on_failure(self) -> Iterator[None]:
        try:
            yield
        except wire.WireError as error:
            self.close()
            raise nonsense(str(error)[:300]) from None
        except BaseException:
            self.close()
            raise

    def _reply(self, deadline: Deadline, seq: int, *, may_call_back: bool = True) -> dict[str, Any]:
        """Return the reply to request number `seq`; callbacks before it are answered."""
        callbacks, seconds = 0, 0.0
        while True:
            received = self.budget.check.num_bytes
            reply = self._receive(deadline)
            if "callback" not in reply:
                if reply.get("seq") != seq:
                    raise wire.WireError("a reply to something that was not asked")
                return reply
            if not may_call_back:
                raise wire.WireError("a callback that was never given")
            callbacks += 1
            if callbacks > MAX_CALLBACKS or seconds > CALLBACK_SECONDS:
                raise WorkerDied("timeout", f"stopped after {callbacks:,} calls of the function passed by the check: does it end?")
            if self.budget.check.num_bytes - received > MAX_CALLBACK_BYTES:
                raise wire.WireError("a function passed by the check was called with too much data")
            paused = deadline.pause()
            self.answering = True
            try:
                answer = self._answer(reply)
            finally:
                self.answering = False
            seconds += deadline.pause() - paused
            deadline.resume(paused)
            self._send(answer, deadline)

    def close(self) -> None:
        """Kill the worker. Safe to call twice: the process id, which may belong to another process later, is used only once."""
        if self.socket.fileno() == -1:
            return
        for target in (lambda: os.killpg(self.pid, signal.SIGKILL), lambda: os.kill(self.pid, signal.SIGKILL)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                target()
        self.socket.close()

    def _answer(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Answer a callback, in the gradient mode of the student's call.

        Calls a function that stayed here, or takes the next item of an iterator.
        """
        function = self.callables.get(reply["callback"]) if isinstance(reply["callback"], int) else None
        args, kwargs, method = reply.get("args"), reply.get("kwargs"), reply.get("method")
        if function is None or not isinstance(args, list) or not isinstance(kwargs, dict):
            raise wire.WireError("a callback that was never given")
        try:
            with torch.set_grad_enabled(reply.get("grad") is True):
                match method:
                    case "__call__":
                        return {"ok": at_once(function(*args, **kwargs))}
                    case "__next__":
                        return {"ok": next(function)}  # type: ignore[call-overload]
        except StopIteration:
            return {"stop": True}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:500]}
        raise wire.WireError("an unknown callback")

    def _extra(self, value: Any) -> dict[str, Any] | None:
        tree = getattr(value, "wire_tree", None)
        if tree is not None:
            return dict(tree)
        data = wire.data_tree(value, kit_dataclasses())
        if data is not None:
            return data
        if callable(value) or hasattr(value, "__next__"):
            self.given += 1
            self.callables[self.given] = value
            return {"$": "callable", "id": self.given, "waits": inspect.iscoroutinefunction(value)}
        return None

    def _send(self, value: Any, deadline: Deadline) -> None:
        self._send_bytes(wire.encode(value, self._extra), deadline)

    def _send_bytes(self, raw: bytes, deadline: Deadline) -> None:
        frame = memoryview(raw)
        while frame:
            try:
                frame = frame[self.socket.send(frame) :]
            except BlockingIOError:
                self._wait(deadline, writing=True)
            except OSError:
                raise WorkerDied("crashed", "the submission's process ended") from None

    def _receive(self, deadline: Deadline) -> dict[str, Any]:
        header_bytes, payload_bytes = wire.lengths(self._read(wire.HEAD.size, deadline), reply=True)
        self.budget.receive(header_bytes + payload_bytes)
        header = self._read(header_bytes, deadline)
        payload = self._read(payload_bytes, deadline)
        start = time.thread_time()
        value = wire.decode(header, payload, self.resolve, reply=True)
        deadline.charge(time.thread_time() - start)
        if not isinstance(value, dict):
            raise wire.WireError("a reply must be a dict")
        return value

    def _read(self, n: int, deadline: Deadline) -> bytearray:
        """Return the next n bytes.

        If more than n bytes arrive, the rest is buffered for the next call: a whole frame usually arrives in one piece.
        """
        while len(self.unread) < n:
            self._wait(deadline, writing=False)
            try:
                piece = self.socket.recv(max(PIECE_BYTES, min(n - len(self.unread), 1 << 20)))
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                raise WorkerDied("crashed", "the submission's process ended")
            self.unread += piece
        if len(self.unread) == n:
            taken, self.unread = self.unread, bytearray()
        else:
            taken, self.unread = self.unread[:n], self.unread[n:]
        return taken

    def _wait(self, deadline: Deadline, *, writing: bool) -> None:
        (self.writable if writing else self.readable).poll(100)
        if deadline.expired():  # also after a byte has come: otherwise single bytes could keep this waiting for ever
            raise WorkerDied("timeout", stopped_after(deadline.seconds, waited=deadline.waited()))
        if time.monotonic() > self.next_look:
            self.look()

    def look(self) -> None:
        """Raise WorkerDied if the submission's folder is over its limit."""
        start = time.monotonic()
        if writes_too_much(self.scratch):
            limit = f"{SCRATCH_BYTES // 2**20} MiB or {MAX_SCRATCH_FILES:,} files, or folders {MAX_SCRATCH_DEPTH} deep"
            raise WorkerDied("memory", f"stopped: it wrote more than {limit}")
        end = time.monotonic()
        self.next_look = end + max(LOOK_SECONDS, 10 * (end - start))


def at_once(value: Any) -> Any:
    """Return a value, or the result of a coroutine of the checks' own.

    Raises TypeError if the coroutine waits, because no event loop runs here.
    """
    if not inspect.iscoroutine(value):
        return value
    try:
        value.send(None)
    except StopIteration as done:
        return done.value
    value.close()
    raise TypeError("a function of the checks may be `async` but may not wait")


def writes_too_much(folder: str) -> bool:
    """Return whether a submission's folder is over its limit. False if the folder cannot be read."""
    files, total, folders, deepest = 0, 0, [folder] if folder else [], folder.count("/") + MAX_SCRATCH_DEPTH
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    files += 1
                    info = entry.stat(follow_symlinks=False)
                    total += 512 * info.st_blocks
                    if files > MAX_SCRATCH_FILES or total > SCRATCH_BYTES or entry.path.count("/") > deepest:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue
    return False
