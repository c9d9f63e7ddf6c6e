"""Limits on a student's time, memory and files, and the reading of a process's clock from outside."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

SCRATCH_BYTES = 256 * 1024**2
"""Bytes that a submission may write in all."""
BUSY = 2.0
"""Runnable processes per processor above which a timeout may be the machine's fault."""
BUSY_MACHINE = "This machine is busy"


def stopped_after(seconds: float, *, waited: bool = True) -> str:
    """Return the message of a call that was stopped at its time limit.

    waited: whether the limit of wall time was reached, not that of processor time. A correct answer may then have waited for a busy
    machine, so the message names the load first.
    """
    if waited and (busy := busy_machine()):
        return f"stopped after {seconds:g} s.{busy} If it is stopped again: does it end?"
    return f"stopped after {seconds:g} s: does it end?"


def busy_machine() -> str:
    """Return a sentence to add to a message, with the load, if the machine is busy; else an empty text."""
    processors = os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load <= BUSY * processors:
        return ""
    return f" {BUSY_MACHINE} (a load of {load:.0f} on {processors} processors): run it again later."


@dataclass(frozen=True)
class Limits:
    """Limits of cells, calls, checks and submissions.

    Seconds are processor seconds if the system reports them (Linux), so a busy machine makes no submission fail. Wall seconds limit code
    that sleeps.
    """

    call_seconds: float = 3.0
    counted_factor: float = 3.0
    """Factor on a call's time while its work is counted.

    The counter looks at every operation, and takes several times as long as the small ones themselves.
    """
    cell_seconds: float = 10.0
    check_seconds: float = 30.0
    """Seconds of all calls of one check together."""
    submission_seconds: float = 180.0
    """Seconds of all cells and calls of a submission together."""
    wall_factor: float = 4.0
    memory_bytes: int = 2 * 1024**3
    file_bytes: int = 64 * 1024**2


class Deadline:
    """A limit of `seconds` of a process's own processor time, and of `wall_factor` times as much wall time."""

    def __init__(self, pid: int, seconds: float, wall_factor: float) -> None:
        self.pid = pid
        self.seconds = seconds
        self.wall_factor = wall_factor
        self.cpu_start = cpu_seconds(pid)
        self.wall_start = time.monotonic()

    def pause(self) -> float:
        return time.monotonic()

    def resume(self, paused_at: float) -> None:
        """Continue after a pause: time in the grader's own functions is not the student's."""
        self.wall_start += time.monotonic() - paused_at

    def charge(self, seconds: float) -> None:
        """Charge the grader's seconds of reading an answer in full; other wall time counts only in part."""
        self.wall_start -= seconds * (self.wall_factor - 1)

    def expired(self) -> bool:
        return self.used() > self.seconds

    def waited(self) -> bool:
        """Return whether the process has used less processor time than its limit."""
        now = cpu_seconds(self.pid)
        return now is None or self.cpu_start is None or now - self.cpu_start < self.seconds

    def used(self) -> float:
        """Return the larger of the processor seconds and the wall seconds / wall_factor so far; `seconds` limits this number."""
        wall = (time.monotonic() - self.wall_start) / self.wall_factor
        now = cpu_seconds(self.pid)
        return wall if now is None or self.cpu_start is None else max(wall, now - self.cpu_start)


def main_thread_seconds(pid: int) -> float | None:
    """Return the processor seconds of a process's first thread; None if unknown."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def cpu_seconds(pid: int) -> float | None:
    """Return another process's processor seconds; None if unknown. The figure is the kernel's, so the process cannot change it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return time.clock_gettime_ns(((~pid) << 3) | 2) / 1e9
    except OSError:
        return None
