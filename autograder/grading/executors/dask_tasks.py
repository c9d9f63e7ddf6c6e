"""The tasks of a dask cluster. The scheduler reads this module too, so it imports nothing heavy until a worker runs it."""

from __future__ import annotations

import asyncio
from typing import Any

from distributed import WorkerPlugin, get_worker

from ...base import gc_tuning

Message = dict[str, Any]
"""Plain data between a run and its workers: a handshake, a job or an answer."""


class ForkServers(WorkerPlugin):
    """A fork server in each worker, even in a worker that joins later. It starts before the first job and ends with the run."""

    def __init__(self, level: str, folder: str) -> None:
        self.level, self.folder = level, folder

    async def setup(self, worker: Any) -> None:
        await asyncio.to_thread(warm_up, self.level, self.folder)

    async def teardown(self, worker: Any) -> None:
        await asyncio.to_thread(put_out)


async def agreement(handshakes: list[Message]) -> Message:
    """Return the first refusal of this worker, or {}.

    The function runs beside the worker's tasks and does not block the connection to the scheduler.
    """
    return await asyncio.to_thread(agree, handshakes)


def agree(handshakes: list[Message]) -> Message:
    from . import dask_worker

    return next(filter(None, map(dask_worker.agree, handshakes)), {})


def warm_up(level: str, folder: str) -> None:
    gc_tuning.relax()
    from . import dask_worker

    dask_worker.warm_up(level, folder)


def put_out() -> None:
    from . import dask_worker

    dask_worker.put_out()


def grade_there(job: Message) -> Message:
    """Grade a job as a task of a worker. Return the answer of `dask_worker.grade`, with the worker's address."""
    from . import dask_worker

    return {"worker": get_worker().address, **dask_worker.grade(job)}
