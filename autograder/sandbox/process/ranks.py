"""Ranks of a parallel computation: each is a worker of its own, and the grader passes the messages between them.

Ranks share no socket and no memory, so every message passes through this module and is counted. One rank runs at a time, so a run is the
same every time, and a deadlock is noticed at once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from course.kit.ranks import Switch, Traffic, in_threads

from ...authoring import CheckFailed
from ...base.errors import InfrastructureFault
from ..measure.op_counter import Work
from ..measure.op_counting import counting_on
from ..protocol.comparing import snapshot
from ..protocol.handles import RemoteFunction
from ..protocol.worker_errors import compare_arguments
from .session import WorkerSession

POLL_SECONDS = 0.1


class Ranks:
    """The student's functions on several ranks.

    `results, traffic = student.ranks(4).each("ring_all_reduce", [(x,) for x in xs])`.
    """

    def __init__(self, sessions: Sequence[WorkerSession]) -> None:
        self._sessions = sessions

    def counting(self, rank: int) -> AbstractContextManager[Work]:
        """Count the work of one rank in the calls inside `with ranks.counting(0) as work:`."""
        return counting_on(self._sessions[rank])

    def each(
        self, name: str, args_of_rank: Sequence[Sequence[Any]], *, _unchanged: bool = False, _arguments: bool = False
    ) -> tuple[list[Any], Traffic]:
        """Call a function on every rank, with that rank's arguments followed by a `Communicator`.

        _unchanged: whether to fail if a rank changed an argument in place. _arguments: whether each result is (result, the arguments after
        the call). Raises CheckFailed if no rank can continue or a message is never received, and the exception that a rank raised by
        itself.
        """
        world = len(self._sessions)
        if len(args_of_rank) != world:
            raise ValueError(f"arguments for {len(args_of_rank)} ranks, but world is {world}")
        switch = Switch(world)
        results: list[Any] = [None] * world
        errors: dict[int, BaseException] = {}

        def run(rank: int) -> None:
            switch.enter(rank)
            before = [snapshot(value) for value in args_of_rank[rank]]
            try:
                call = RemoteFunction(self._sessions[rank], name)
                if not (_unchanged or _arguments):
                    results[rank] = call(*args_of_rank[rank], switch.communicator(rank))
                    return
                result, after = call(*args_of_rank[rank], switch.communicator(rank), _arguments=True)
                if _unchanged:
                    compare_arguments(name, before, after[:-1])
                results[rank] = (result, after[:-1]) if _arguments else result
            except BaseException as error:
                errors[rank] = error
            finally:
                switch.leave(rank)

        def look(rank: int, thread: threading.Thread) -> None:
            self._sessions[rank].look_from_outside(thread)

        in_threads([functools.partial(run, rank) for rank in range(world)], look, POLL_SECONDS)
        for ours in (error for error in errors.values() if isinstance(error, InfrastructureFault)):
            raise ours
        switch.raise_what_went_wrong(errors, CheckFailed)
        return results, switch.traffic
