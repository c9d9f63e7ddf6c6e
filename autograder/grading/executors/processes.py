"""Grading on this machine with several graders: processes, each with a fork server of its own.

A check is Python, and Python runs one thread at a time: in one process the checks of two submissions wait for each other although their
workers do not. For a class it pays to start more graders; for a handful of submissions it does not.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

import torch

from ...base.errors import InfrastructureFault
from ...lessons import Day
from ...sandbox.confine.confine import die_with_parent
from ...sandbox.submitted_file import collect
from ..grade import Options
from ..records import Record, record_of
from ..tasks import Task
from . import dask_worker
from .base import Keep, lost
from .local import Local

WORTH_IT = 100
"""The number of submissions above which more graders pay; for fewer the second grader's start, a few seconds, costs more than it saves."""
AHEAD = 2
"""The number of jobs for each grader that are sent ahead."""


class Processes:
    """An executor with several grading processes; small classes are graded in this process. level: the required isolation level."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.days: tuple[Day, ...] = ()

    def prepare(self, days: Iterable[Day], options: Options) -> None:
        """Store the days. Their canaries run later, in the grading processes, whose number depends on the size of the class."""
        self.days = tuple(days)

    def graded(self, tasks: Mapping[int, Task], options: Options, keep: Keep) -> Generator[tuple[int, Record]]:
        graders = options.jobs or os.cpu_count() or 1
        if len(tasks) < WORTH_IT or graders < 2:
            here = Local()
            here.prepare(self.days, options)
            yield from here.graded(tasks, options, keep)
            return
        handshakes = {task.day.slug: dask_worker.handshake(task.day, options, self.level) for task in tasks.values()}
        left = iter(tasks.items())
        under_way: dict[Future[dask_worker.Message], int] = {}
        begin_with = (os.getpid(), self.level, dask_worker.own_checks())
        pool = ProcessPoolExecutor(graders, multiprocessing.get_context("spawn"), initializer=begin, initargs=begin_with)
        try:
            while True:
                for number, task in left:
                    try:
                        file = collect(task.path)
                    except OSError as error:
                        record = lost(task, options, f"{type(error).__name__}: {error}")
                        keep(record)
                        yield number, record
                        continue
                    under_way[pool.submit(dask_worker.grade, dask_worker.job(task, file, handshakes[task.day.slug]))] = number
                    if len(under_way) >= AHEAD * graders:
                        break
                if not under_way:
                    return
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    number = under_way.pop(future)
                    answer = future.result()
                    dask_worker.raise_for_refusal(answer, "a grader of this machine")
                    record = record_of(answer["record"])
                    keep(record)
                    yield number, record
        except BrokenProcessPool:
            raise InfrastructureFault("a grader's process ended (killed, or out of memory): --resume continues with the others") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        pass


def begin(parent: int, level: str, folder: str) -> None:
    """Set up a new grading process, which ignores Ctrl-C, ends with the run, and has its fork server ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform.startswith("linux"):
        die_with_parent()
        if os.getppid() != parent:  # it had ended before the line above
            os._exit(1)
    torch.set_num_threads(1)  # as many graders as cores: threads of theirs would only wait for each other, at full speed
    dask_worker.warm_up(level, folder)
