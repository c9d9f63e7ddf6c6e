"""The default executor: threads of this process, each with a worker of its own, forked from one fork server."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed

from course.kit.threads import one_thread

from ...lessons import Day
from ..canaries import canaries
from ..grade import Options, grade_task
from ..records import Record
from ..tasks import Task
from .base import Keep


class Local:
    def prepare(self, days: Iterable[Day], options: Options) -> None:
        for day in days:
            canaries(day, options)

    def graded(self, tasks: Mapping[int, Task], options: Options, keep: Keep) -> Generator[tuple[int, Record]]:
        def one(task: Task) -> Record:
            record = grade_task(task, options)
            keep(record)  # here, because a disk takes milliseconds to promise that it has a file
            return record

        with one_thread():
            pool = ThreadPoolExecutor(options.jobs or os.cpu_count() or 1)
            try:
                futures = {pool.submit(one, task): number for number, task in tasks.items()}
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        pass
