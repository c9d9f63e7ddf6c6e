"""The number of torch's threads while something is checked or measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Give torch one thread in this process, as in workers.

    In parallel grading, and in a notebook on a busy machine, more threads only wait for each other. A waiting thread of torch runs a loop,
    which takes as much processor time as work.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def measuring() -> Iterator[None]:
    """Give torch one thread while a cell measures times. Afterwards print a line if other programs took the processor from the cell.

    The cell computes in this thread alone. The thread's processor time therefore equals the time that passes, unless the thread has to
    wait.
    """
    began, used = time.perf_counter(), time.thread_time()
    with one_thread():
        yield
    passed, used = time.perf_counter() - began, time.thread_time() - used
    if used < 0.8 * passed:
        print(
            f"This cell worked for {used:.1f} of {passed:.1f} seconds and waited for a processor the rest: other programs are busy."
            " Run it again when they have finished, before you believe its times."
        )


@contextmanager
def telling_load() -> Iterator[None]:
    """Measure as `measuring` does, but keep torch's number of threads. Speeds on the ladder of tokens per second are measured this way.

    Threads that wait for each other run a loop, which counts as work: the line comes later than in one thread.
    """
    threads = torch.get_num_threads()
    with measuring():
        torch.set_num_threads(threads)
        yield
