"""Counts of a worker's work for the calls inside a `with`, requested through the worker's session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...authoring import CheckFailed
from ..confine.limits import cpu_seconds, main_thread_seconds
from ..process.session import WorkerSession
from .op_counter import Work

UNCOUNTED_SECONDS, UNCOUNTED_SHARE = 0.001, 0.01
"""Maximum processor time of other threads while work is counted: in seconds, plus a share of all.

A worker has one thread for torch, and the interpreter takes no time beside it, by the kernel's account. A thread that starts and does
nothing takes a tenth of that.
"""


def _in_one_thread(start: tuple[float, float] | None, end: tuple[float, float] | None) -> None:
    """Raise CheckFailed if counted calls used the processor in threads other than the called one, whose work alone is counted."""
    if start is None or end is None:
        return
    everything, main = end[0] - start[0], end[1] - start[1]
    if everything - main > UNCOUNTED_SECONDS + UNCOUNTED_SHARE * everything:
        raise CheckFailed(
            "work is done in other threads, where it is not counted",
            expected="all of it in the thread that calls the function",
            got=f"{1e3 * (everything - main):.3g} of {1e3 * everything:.3g} ms of the processor elsewhere",
            values=False,
        )


@contextmanager
def counting_on(
    session: WorkerSession, *, machine: dict[str, float] | None = None, fast_bytes: int | None = None, python: bool = False
) -> Iterator[Work]:
    """Count the work of the calls inside; the Work is filled in at the end.

    machine: the rates of a simulated machine, see `simulated_machine.py`. fast_bytes, python: see `Work`.
    """
    work = Work()
    session.ask("counting", on=True, machine=machine, fast_bytes=fast_bytes, python=python)
    session.counts = True
    pid, start = session.pid, _threads_seconds(session)
    try:
        yield work
    finally:
        session.counts = False
        end = _threads_seconds(session) if session.pid == pid else None
        counted = None
        if session.connection is not None:
            counted = session.ask("counting", on=False, machine=None, fast_bytes=None, python=False)
    _in_one_thread(start, end)
    if not isinstance(counted, dict) or any(type(counted.get(name)) is not int for name in vars(work)):
        raise session.nonsense("counts that are not numbers")
    vars(work).update({name: counted[name] for name in vars(work)})


def _threads_seconds(session: WorkerSession) -> tuple[float, float] | None:
    """Return the processor seconds so far of (all of the worker's threads, the called thread); None if the kernel reports none."""
    everything, main = cpu_seconds(session.pid), main_thread_seconds(session.pid)
    return None if everything is None or main is None else (everything, main)
