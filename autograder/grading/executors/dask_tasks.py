"""The tasks of a dask cluster. The scheduler reads this module too, so it imports nothing heavy until a worker runs it."""

from __future__ import annotations

import asyncio
from typing import Any

from distributed import WorkerPlugin, get_worker

from ...base import gc_tuning

Table = dict[str, Any]


class ForkServers(WorkerPlugin):
    """A fork server in each worker, even in a worker that joins later. It starts before the first order and ends with the run."""

    def __init__(self, level: str, folder: str) -> None:
        self.level, self.folder = level, folder

    async def setup(self, worker: Any) -> None:
        await asyncio.to_thread(warm_up, self.level, self.folder)

    async def teardown(self, worker: Any) -> None:
        await asyncio.to_thread(put_out)


async def agreement(all_terms: list[Table]) -> Table:
    """Return the first refusal of this worker, or {}.

    The function runs beside the worker's tasks and does not block the connection to the scheduler.
    """
    return await asyncio.to_thread(agree, all_terms)


def agree(all_terms: list[Table]) -> Table:
    from . import dask_worker

    return next(filter(None, map(dask_worker.agree, all_terms)), {})


def warm_up(level: str, folder: str) -> None:
    gc_tuning.relax()
    from . import dask_worker

    dask_worker.warm_up(level, folder)


def put_out() -> None:
    from . import dask_worker

    dask_worker.put_out()


def grade_there(order: Table) -> Table:
    """Grade an order as a task of a worker. Return the answer of `dask_worker.grade`, with the worker's address."""
    from . import dask_worker

    return {"worker": get_worker().address, **dask_worker.grade(order)}
