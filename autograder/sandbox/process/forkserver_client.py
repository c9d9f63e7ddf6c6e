"""The grader's end of the fork server: code that starts a process with `forkserver.py` and asks it for workers."""

from __future__ import annotations

import array
import contextlib
import json
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ...base.errors import InfrastructureFault, SlowStart
from ..confine import isolation
from ..confine.confine import source_sha256
from ..confine.limits import Limits, busy_machine
from .forkserver import remove

FORKSERVER_START_SECONDS = 120.0
FORK_SECONDS = 20.0
REMOVE_SECONDS = 2.0
"""Seconds to wait for the removal of all scratch folders; after them it continues by itself."""

_lasting = ThreadPoolExecutor(1, thread_name_prefix="forkserver-parent")


def _in_a_lasting_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function in a thread that ends with the process.

    bubblewrap's `--die-with-parent` and the kernel's PDEATHSIG refer to the parent *thread*. A fork server started from a pool's thread
    would be killed at the end of that pool.
    """
    return _lasting.submit(function, *args, **kwargs).result()


def slow_start(who: str, seconds: float, log: str = "") -> SlowStart:
    """Return the fault of a process that did not answer in time. It names the load of a busy machine."""
    return SlowStart(f"{who} did not answer in {seconds:.0f} s.{busy_machine()}\n{log}".rstrip())


class ForkServer:
    """The warm process that workers are forked from. Safe to use from several threads.

    Raises InfrastructureFault if it does not start.
    """

    def __init__(self, limits: Limits, level: str) -> None:
        self.limits, self.level = limits, level
        self.source = source_sha256()
        self.lock = threading.Lock()
        self.broken = False
        """A flag: it failed to answer once, so a later reply could belong to an earlier request."""
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the fork server
        self.scratch = Path(tempfile.mkdtemp(prefix="autograder-"))
        self.scratch.chmod(0o711)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.control = ours
        try:
            start = isolation.launch(level, limits, self.scratch)
            self.process = _in_a_lasting_thread(
                subprocess.Popen,
                [part.replace("{fd}", str(theirs.fileno())) if part == "{fd}" else part for part in start.command],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
                cwd=start.folder,
                env=start.environment,
                start_new_session=True,
            )
        except BaseException as error:
            shutil.rmtree(self.scratch, ignore_errors=True)
            if isinstance(error, OSError):
                raise InfrastructureFault(str(error)) from None
            raise
        finally:
            theirs.close()
        try:
            if self._line(FORKSERVER_START_SECONDS) != b"ready":
                raise InfrastructureFault(self._log_tail() or "it did not start")
        except InfrastructureFault:
            self.close()
            raise

    def fork(self, connection: socket.socket) -> tuple[int, str]:
        """Fork a worker that serves the other end of `connection`; return its process id and folder as the fork server sees them."""
        with self.lock:
            try:
                fds = array.array("i", [connection.fileno()])
                self.control.sendmsg([b"fork"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
                reply = json.loads(self._line(FORK_SECONDS))
            except InfrastructureFault:
                self.broken = True
                raise
            except (OSError, ValueError) as error:
                self.broken = True
                raise InfrastructureFault(f"no worker could be started: {error}\n{self._log_tail()}") from None
        if "pid" not in reply:
            raise InfrastructureFault(f"no worker could be started: {reply.get('error', reply)}")
        return int(reply["pid"]), str(reply["scratch"])

    @property
    def alive(self) -> bool:
        return not self.broken and self.process.poll() is None

    def close(self) -> None:
        self.control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        remove(str(self.scratch), patience=REMOVE_SECONDS)  # a worker's folder may still be in it

    def _line(self, seconds: float) -> bytes:
        line, until = b"", time.monotonic() + seconds
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.control], [], [], left)[0]:
                raise slow_start("the process that forks workers", seconds, self._log_tail())
            piece = self.control.recv(4096)  # nothing follows the line: it answers, and then waits
            if not piece:
                raise InfrastructureFault(f"the process that forks workers ended\n{self._log_tail()}")
            line += piece
        return line.strip()

    def _log_tail(self) -> str:
        try:
            self.log.seek(0)
            return self.log.read().decode(errors="replace")[-2000:].strip()
        except (OSError, ValueError):
            return ""
