"""Which forkserver this process's workers come from: the isolation level that is asked for, the best one that works, and the one process.

There is one at a time. It is started at the first use, at the best level that its workers can put up, and is replaced where it died, or
where another level or other limits are asked for.
"""

from __future__ import annotations

import atexit
import sys
import threading

from ...base.errors import CourseError, InfrastructureFault
from ..confine.confine import LEVELS
from ..confine.limits import Limits
from .channel import WorkerChannel
from .forkserver_client import ForkServer

SAFE_LEVELS = ("namespaces", "landlock")
"""Fit for a class: submissions can neither read files nor use the network."""


class Source:
    """Where workers come from. Safe to use from several threads.

    wanted: `auto` or one of LEVELS. reached: the level that answered, None before one did. refusals: {level: why it could not be had}.
    """

    def __init__(self) -> None:
        self.wanted = "auto"
        self.reached: str | None = None
        self.refusals: dict[str, str] = {}
        self.running: ForkServer | None = None
        self._lock = threading.Lock()

    def want(self, level: str) -> None:
        """Sets the level for this command: `auto` (the best that works) or one of LEVELS. Raises CourseError."""
        if level not in ("auto", *LEVELS):
            raise CourseError(f"no isolation level {level!r}; there are auto, {', '.join(LEVELS)}")
        with self._lock:
            if level != self.wanted:
                self.wanted, self.reached = level, None

    def level(self) -> str:
        """The level submissions are run at, found by starting a fork server if none has run yet. Raises InfrastructureFault."""
        return self.reached or self.forkserver().level

    def require_safe(self) -> str:
        """The level, if it is fit for a class; below `landlock` only if it was asked for by name. Raises CourseError."""
        found = self.level()
        if found not in SAFE_LEVELS and self.wanted != found:
            raise CourseError(
                f"this machine reaches isolation level {found} only ({self._why()}); submissions could read files and use the network. "
                f"`autograder doctor` says how to reach a better one; to grade people you trust anyway: --isolation {found}"
            )
        return found

    def forkserver(self, limits: Limits | None = None) -> ForkServer:
        """The fork server at the best level there is. Raises InfrastructureFault where none can be started."""
        with self._lock:
            levels = self._candidates()
            # levels[0]: where any level will do, one that was once asked for by name is not kept in place of a better one.
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
        """Levels to try, best first; only the one asked for if one was."""
        if self.reached is not None:
            return [self.reached]
        if self.wanted != "auto":
            return [self.wanted]
        return list(LEVELS) if sys.platform.startswith("linux") else ["none"]

    def _first_that_works(self, levels: list[str], limits: Limits) -> ForkServer:
        """A fork server whose workers can put up the walls of its level: shown by forking one."""
        for level in levels:
            try:
                started = ForkServer(limits, level)
            except InfrastructureFault as fault:
                self._refuse(level, str(fault))
                continue
            try:
                WorkerChannel(limits, lambda tree: None, started).close()
                return started
            except InfrastructureFault as fault:
                self._refuse(level, str(fault))
                started.close()
        raise InfrastructureFault(f"no worker could be started: {self._why()}")

    def _refuse(self, level: str, reason: str) -> None:
        self.refusals[level] = reason.strip().splitlines()[-1][:300] if reason.strip() else "it did not start"

    def _why(self) -> str:
        return "; ".join(f"{name}: {reason}" for name, reason in self.refusals.items())


source = Source()
"""This process's. Its methods are this module's functions."""
atexit.register(source.close)

want, level, require_safe = source.want, source.level, source.require_safe
forkserver, close, refusals = source.forkserver, source.close, source.refusals
