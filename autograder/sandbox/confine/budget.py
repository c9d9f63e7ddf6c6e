"""The time of a submission, and the time, requests and bytes of each of its checks. Workers share one budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..protocol.worker_errors import WorkerDied
from .limits import Limits

MAX_REQUESTS = 100_000
MAX_CHECK_BYTES = 512 * 1024 * 1024
"""Maximum number of bytes that one check may receive: an endless iterator is stopped."""


@dataclass
class Spent:
    """The resources that one check has used."""

    seconds: float = 0.0
    requests: int = 0
    num_bytes: int = 0


class Budget:
    """A submission's use of its limits.

    seconds: the time that all cells and calls have used together. check: the resources that the current check has used. nearest_limit: the
    largest share of its own time limit that a cell or call has used.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.seconds = 0.0
        self.nearest_limit = 0.0
        self.check = Spent()

    def begin_check(self) -> None:
        """Begin the next check: its use of time, requests and bytes starts at zero."""
        self.check = Spent()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Charge the time used inside this context to the submission, not to the check."""
        saved, self.check = self.check, Spent()
        try:
            yield
        finally:
            self.check = saved

    @property
    def is_spent(self) -> bool:
        """Return whether the submission has used all its time."""
        return self.seconds > self.limits.submission_seconds

    def ask(self, times: int = 1) -> None:
        """Count `times` more requests. Raises WorkerDied if a limit is passed."""
        self.check.requests += times
        for used, limit, what in (
            (self.seconds, self.limits.submission_seconds, "the submission has used {:g} s in all"),
            (self.check.seconds, self.limits.check_seconds, "the calls of this check have used {:g} s together"),
            (self.check.requests, MAX_REQUESTS, "the check has asked {:,} times: does the iterator end?"),
            (self.check.num_bytes, MAX_CHECK_BYTES, "the check has received {:,} bytes: does the iterator end?"),
        ):
            if used > limit:
                raise WorkerDied("timeout", f"stopped: {what.format(limit)}")

    def use(self, seconds: float, limit: float) -> None:
        """Charge the seconds of a request that was allowed `limit` seconds."""
        self.seconds += seconds
        self.check.seconds += seconds
        self.nearest_limit = max(self.nearest_limit, seconds / limit)

    def receive(self, num_bytes: int) -> None:
        self.check.num_bytes += num_bytes
