"""Ranks: each is a worker of its own, and the grader is the switch between them. No socket, no memory in common: what is sent passes here
and is counted here.

One rank runs at a time, so that a run is the same every time, and that nobody can go on is seen at once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

from course.kit.ranks import Switch, Traffic, in_threads

from ..authoring import CheckFailed
from ..errors import InfrastructureFault
from .handles import FarFunction
from .line import Line

POLL_SECONDS = 0.1


class Ranks:
    """The student's functions on several ranks: `results, traffic = student.ranks(4).each("ring_all_reduce", [(x,) for x in xs])`."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def each(self, name: str, args_of_rank: Sequence[Sequence[Any]]) -> tuple[list[Any], Traffic]:
        """Calls a function on every rank, with that rank's arguments and a `Communicator` behind them.

        Raises CheckFailed where nobody can go on, or a message is never received, and what a rank raised by itself.
        """
        world = len(self._lines)
        if len(args_of_rank) != world:
            raise ValueError(f"arguments for {len(args_of_rank)} ranks, and there are {world}")
        switch = Switch(world)
        results: list[Any] = [None] * world
        errors: dict[int, BaseException] = {}

        def run(rank: int) -> None:
            switch.enter(rank)
            try:
                results[rank] = FarFunction(self._lines[rank], name)(*args_of_rank[rank], switch.communicator(rank))
            except BaseException as error:
                errors[rank] = error
            finally:
                switch.leave(rank)

        def look(rank: int, thread: threading.Thread) -> None:
            self._lines[rank].look_from_outside(thread)

        in_threads([functools.partial(run, rank) for rank in range(world)], look, POLL_SECONDS)
        for ours in (error for error in errors.values() if isinstance(error, InfrastructureFault)):
            raise ours
        switch.raise_what_went_wrong(errors, CheckFailed)
        return results, switch.traffic
