"""The one fork server from which this process gets its workers, and the choice of its isolation level.

There is one fork server at a time. It starts at the first use, at the best level that its workers can set up. It is replaced if it died, or
if another level or other limits are requested.
"""

from __future__ import annotations

import atexit
import sys
import threading

from ...base.errors import CourseError, InfrastructureFault, SlowStart
from ..confine.confine import LEVELS
from ..confine.limits import Limits
from .channel import WorkerChannel
from .forkserver_client import ForkServer

SAFE_LEVELS = ("namespaces", "landlock")
"""Levels fit for a class: submissions can neither read files nor use the network."""


class Source:
    """The source of workers. Safe to use from several threads.

    wanted: `auto` or one of LEVELS. reached: the level that works, None before the first start. refusals: {level: the reason why it did not
    work}.
    """

    def __init__(self) -> None:
        self.wanted = "auto"
        self.reached: str | None = None
        self.refusals: dict[str, str] = {}
        self.running: ForkServer | None = None
        self._lock = threading.Lock()

    def want(self, level: str) -> None:
        """Set the level for this command: `auto` (the best that works) or one of LEVELS. Raises CourseError."""
        if level not in ("auto", *LEVELS):
            raise CourseError(f"no isolation level {level!r}; there are auto, {', '.join(LEVELS)}")
        with self._lock:
            if level != self.wanted:
                self.wanted, self.reached = level, None

    def level(self) -> str:
        """Return the level at which submissions run.

        Before the first fork server has run, this starts one to find the level. Raises InfrastructureFault.
        """
        return self.reached or self.forkserver().level

    def require_safe(self) -> str:
        """Return the level if it is safe for a class; a level below `landlock` must have been requested by name. Raises CourseError."""
        found = self.level()
        if found not in SAFE_LEVELS and self.wanted != found:
            raise CourseError(
                f"this machine reaches isolation level {found} only ({self._why()}); submissions could read files and use the network. "
                f"`autograder doctor` says how to reach a better one; to grade people you trust anyway: --isolation {found}"
            )
        return found

    def forkserver(self, limits: Limits | None = None) -> ForkServer:
        """Return the fork server at the best available level. Raises InfrastructureFault if none can be started."""
        with self._lock:
            levels = self._candidates()
            # levels[0]: where any level will do, one that was once asked for by name does not replace a better one.
            if (it := self.running) is not None and not (it.alive and it.level == levels[0] and limits in (None, it.limits)):
                self._close()
            if self.running is None:
                self.running = self._first_that_works(levels, limits or Limits())
            self.reached = self.running.level
            return self.running

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self.running is not None:
            self.running.close()
            self.running = None

    def _candidates(self) -> list[str]:
        """Return the levels to try, best first, or only the requested level."""
        if self.reached is not None:
            return [self.reached]
        if self.wanted != "auto":
            return [self.wanted]
        return list(LEVELS) if sys.platform.startswith("linux") else ["none"]

    def _first_that_works(self, levels: list[str], limits: Limits) -> ForkServer:
        """Return the first fork server whose level of confinement works here. It forks one worker at each level to find out.

        A slow start refuses no level: a busy machine must not lower the isolation.
        """
        for level in levels:
            started = None
            try:
                started = ForkServer(limits, level)
                WorkerChannel(limits, lambda tree: None, started).close()
                return started
            except InfrastructureFault as fault:
                if started is not None:
                    started.close()
                if isinstance(fault, SlowStart):
                    raise
                self._refuse(level, str(fault))
        raise InfrastructureFault(f"no worker could be started: {self._why()}")

    def _refuse(self, level: str, reason: str) -> None:
        self.refusals[level] = reason.strip().splitlines()[-1][:300] if reason.strip() else "it did not start"

    def _why(self) -> str:
        return "; ".join(f"{name}: {reason}" for name, reason in self.refusals.items())


source = Source()
"""The source of this process. Its methods are this module's functions."""
atexit.register(source.close)

want, level, require_safe = source.want, source.level, source.require_safe
forkserver, close, refusals = source.forkserver, source.close, source.refusals
