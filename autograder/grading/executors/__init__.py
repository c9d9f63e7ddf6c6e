"""The places where a run's submissions are graded: this process, several processes of this machine, or a dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...base.errors import CourseError

if TYPE_CHECKING:
    from .base import Executor


def chosen(kind: str, scheduler: str | None, jobs: int, level: str, say: Callable[[str], None]) -> Executor:
    """Return the executor `local` or `dask`, at this isolation level. Raises CourseError.

    say: called with the reason for a slower choice.
    """
    if kind == "local" and scheduler is not None:
        raise CourseError("--scheduler names a dask cluster: add --executor dask, or leave it out")
    if scheduler is not None and jobs:
        raise CourseError("--jobs is for this machine only, and a cluster uses all its workers: leave --jobs out with --scheduler")
    from ...sandbox.process import forkserver_pool

    forkserver_pool.want(level)
    if kind == "local":
        from .processes import Processes

        found = forkserver_pool.require_safe()
        for better, reason in forkserver_pool.refusals.items():
            say(f"isolation level {found}, not {better}: {reason}")
        return Processes(level)
    try:
        from .cluster import Dask
    except ImportError as missing:
        raise CourseError(f"--executor dask needs the extra `cluster`: pip install -e '.[cluster]' ({missing})") from None
    return Dask(scheduler, jobs, level, say)
