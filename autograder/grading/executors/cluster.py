"""Grading on a dask cluster: an existing one by its scheduler's address, or one created here for this run.

Submissions are sent as bytes, and records come back as tables; workers need the course, but no folder of this machine. If a worker dies,
nothing is lost: the scheduler gives its tasks to others. A submission that is graded twice is stored once, by the number of its task.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, LocalCluster
from distributed.comm import CommClosedError

from ...base.errors import CourseError, InfrastructureFault, first_line
from ...lessons import Day
from ...sandbox.submitted_file import collect
from ..grade import Options
from ..records import Record, record_of
from ..tasks import Task
from . import dask_tasks, dask_worker
from .base import Keep, lost

CONNECT_SECONDS = 10.0
PATIENCE_SECONDS = 10.0
"""The time in seconds without a finished job after which the run checks that the cluster has a worker at all."""
RESULT_SECONDS = 60.0
"""The time in seconds for a result to travel here; after that its worker is assumed to have ended with it."""
MAX_BYTES_UNDER_WAY = 128 * 1024**2
"""The limit in bytes of submissions that were sent and have not come back: the scheduler holds them in memory."""


class Again(Exception):
    """A result that was lost with its worker. The job is graded again."""


class GivenUp(Exception):
    """A job that the scheduler gave up because every worker that received it ended."""


class Dask:
    """An executor on a dask cluster.

    level: the isolation level that every worker must reach. say: called with a line when the run has to wait.
    """

    def __init__(self, address: str | None, jobs: int, level: str, say: Callable[[str], None]) -> None:
        self.address, self.jobs, self.level, self.say = address, jobs, level, say
        self.run = f"autograder-{uuid.uuid4().hex[:12]}"
        self.cluster: LocalCluster | None = None
        self.client: Client | None = None
        self.handshakes: dict[str, dask_worker.Message] = {}
        for name in ("distributed", *(n for n in logging.root.manager.loggerDict if n.startswith("distributed."))):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # we report lost workers and schedulers ourselves
        if address is not None:
            self.connect()

    def connect(self) -> Client:
        """Return a client of the scheduler. Raises CourseError if nobody answers."""
        if self.client is not None:
            return self.client
        where: Any = self.address
        if where is None:
            # Ctrl-C ends this process at once; Python's helper for its children would count what was left, on our standard error.
            quiet = "ignore:resource_tracker:UserWarning"
            os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), quiet)))
            with dask.config.set({f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")}):
                where = self.cluster = LocalCluster(
                    n_workers=self.jobs or None,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    security=True,  # keys of its own: else everybody on this machine could give it work
                    silence_logs=logging.CRITICAL,
                )
        try:
            self.client = Client(where, timeout=CONNECT_SECONDS, set_as_default=False, name=self.run)
        except (OSError, ValueError, TimeoutError, CommClosedError) as error:
            reason = first_line(error)
            raise CourseError(f"no dask scheduler answers at {self.address}: {reason}; give --scheduler as tcp://HOST:8786") from None
        return self.client

    def prepare(self, days: Iterable[Day], options: Options) -> None:
        """Run the canaries on every present worker; a later worker runs them with its first job."""
        client = self.connect()
        self.handshakes = {day.slug: dask_worker.handshake(day, options, self.level) for day in days}
        try:
            self.await_workers(client)
            self.agree(client)
            client.register_plugin(dask_tasks.ForkServers(self.level, dask_worker.own_checks()), name=self.run)
        except (OSError, TimeoutError, asyncio.CancelledError) as error:
            raise self.gone(str(error)) from None

    def agree(self, client: Client) -> None:
        for worker, answer in client.run(dask_tasks.agreement, list(self.handshakes.values()), on_error="return").items():
            if isinstance(answer, OSError):
                continue  # it ended meanwhile
            if isinstance(answer, BaseException):
                raise InfrastructureFault(f"worker {worker} cannot grade: {type(answer).__name__}: {answer}; {NEEDS}")
            dask_worker.raise_for_refusal(answer, f"worker {worker}")

    def gone(self, reason: str) -> InfrastructureFault:
        what = f"the scheduler at {self.address} is gone" if self.address else f"the cluster started here ended ({reason})"
        return InfrastructureFault(f"{what}; graded submissions are saved: continue with --resume")

    def await_workers(self, client: Client) -> None:
        """Wait until there is a worker. In a queueing system the first worker may take hours."""
        while not self.workers(client):
            try:
                client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
            except TimeoutError:
                self.say(f"waiting for a worker at {self.address}")

    @staticmethod
    def workers(client: Client) -> bool:
        """Return True if there are workers, or if the scheduler is too busy to answer."""
        try:
            return bool(client.nthreads())
        except (OSError, TimeoutError):
            return True

    def graded(self, tasks: Mapping[int, Task], options: Options, keep: Keep) -> Generator[tuple[int, Record]]:
        client = self.connect()
        left = deque(tasks)
        once_more: deque[int] = deque()
        tried: set[int] = set()
        finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
        under_way: dict[Any, tuple[Future, int, int]] = {}  # key -> the future, the task's number, its bytes
        bytes_under_way = 0
        try:
            while left or once_more or under_way:
                if not left and not under_way:
                    left.append(once_more.popleft())
                record: Record | None = None
                if left and bytes_under_way < MAX_BYTES_UNDER_WAY:
                    number = left.popleft()
                    task = tasks[number]
                    try:
                        file = collect(task.path)
                    except OSError as error:
                        record = lost(task, options, f"{type(error).__name__}: {error}")
                    else:
                        job = dask_worker.job(task, file, self.handshakes[task.day.slug])
                        future = self.send(client, f"{number}-{number in tried}", job)
                        under_way[future.key] = future, number, len(file.content)
                        bytes_under_way += len(file.content)
                        future.add_done_callback(finished.put)
                        continue
                else:
                    future = self.next_of(finished, client)
                    _, number, size = under_way[future.key]
                    try:
                        record = self.record(future, tasks[number], options)
                    except Again:
                        finished.put(future)
                        continue
                    except GivenUp as reason:
                        if number in tried:
                            record = lost(tasks[number], options, str(reason))
                        else:  # it may only have been beside the one that ended them: once more, with nothing beside it
                            tried.add(number)
                            once_more.append(number)
                    del under_way[future.key]
                    bytes_under_way -= size
                if record is not None:
                    keep(record)
                    yield number, record
        finally:
            for future, *_ in under_way.values():
                with contextlib.suppress(Exception):
                    future.cancel()

    def send(self, client: Client, name: str, job: dask_worker.Message) -> Future:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GiB"}):  # a notebook with pictures is not a mistake
            return client.submit(dask_tasks.grade_there, job, key=f"{self.run}-{name}", pure=False)

    def record(self, future: Future, task: Task, options: Options) -> Record:
        """Return the record of a job. Raises Again, GivenUp; and InfrastructureFault or CourseError, which end the run."""
        try:
            answer = future.result(timeout=RESULT_SECONDS)
        except KilledWorker:
            raise GivenUp("every worker that graded this submission ended: look at the workers' logs and memory") from None
        except (Exception, asyncio.CancelledError) as error:
            if future.status == "error":
                return lost(task, options, f"{type(error).__name__}: {error}")
            if isinstance(error, TimeoutError):
                raise Again from None
            raise self.gone(str(error)) from None
        dask_worker.raise_for_refusal(answer, f"worker {answer['worker']}")
        return record_of(answer["record"])

    def next_of(self, finished: queue.SimpleQueue[Future], client: Client) -> Future:
        warned = False
        while True:
            try:
                return finished.get(timeout=PATIENCE_SECONDS)
            except queue.Empty:
                if not warned and client.status == "running" and not self.workers(client):
                    self.say(f"no worker is left at {self.address}: waiting for one; graded submissions are saved")
                    warned = True

    def close(self) -> None:
        if self.client is not None:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self.client.unregister_worker_plugin(self.run)
            self.client.close()
        if self.cluster is not None:
            self.cluster.close()


NEEDS = "install this checkout there (`pip install -e '.[cluster]'`)"
