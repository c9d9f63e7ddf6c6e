"""Ranks: each is a worker of its own, and the grader is the switch between them. No socket, no memory in common: what is sent passes here
and is counted here.

One rank runs at a time, so that a run is the same every time, and that nobody can go on is seen at once.
"""

from __future__ import annotations

import functools
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from course.kit.ranks import Communicator

from ..authoring import CheckFailed
from ..errors import InfrastructureFault
from .handles import FarFunction
from .line import Line

POLL_SECONDS = 0.1
MAX_WAITING_BYTES = 256 * 1024 * 1024
MAX_WAITING = 10_000
"""What may lie in the switch at one time, sent and not yet received: it is the grader's memory."""


@dataclass
class Traffic:
    """log: (source, destination, bytes) of each message, in order."""

    world: int
    log: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def messages(self) -> list[int]:
        """How many each rank has sent."""
        return [sum(source == rank for source, _, _ in self.log) for rank in range(self.world)]

    @property
    def sent_bytes(self) -> list[int]:
        return [sum(size for source, _, size in self.log if source == rank) for rank in range(self.world)]


class Switch:
    """Between ranks, for one call of each. deadlock: the sentence about who waits for whom, once nobody could go on; ended: who had ended
    by then. overfull: the sentence about who has sent more than may wait."""

    def __init__(self, world: int) -> None:
        self.traffic = Traffic(world)
        self.deadlock, self.ended, self.overfull = "", frozenset[int](), ""
        self._world = world
        self._boxes: defaultdict[tuple[int, int], deque[Tensor]] = defaultdict(deque)
        self._waiting = self._waiting_bytes = 0
        self._waits: dict[int, int] = {}
        self._left: set[int] = set()
        self._turn = 0
        self._changed = threading.Condition()

    def enter(self, rank: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._turn == rank)

    def leave(self, rank: int) -> None:
        with self._changed:
            self._left.add(rank)
            self._hand_on(rank)

    def send(self, rank: int, dst: int, tensor: Tensor) -> None:
        self._known(rank, dst)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"a tensor is sent, not a {type(tensor).__name__}")
        if self._waiting >= MAX_WAITING or self._waiting_bytes + tensor.nbytes > MAX_WAITING_BYTES:
            self.overfull = f"rank {rank} sends without end: {self._waiting:,} messages wait to be received"
            raise RuntimeError(self.overfull)
        self._waiting, self._waiting_bytes = self._waiting + 1, self._waiting_bytes + tensor.nbytes
        self.traffic.log.append((rank, dst, tensor.nbytes))
        self._boxes[rank, dst].append(tensor.detach().clone())

    def recv(self, rank: int, src: int) -> Tensor:
        self._known(rank, src)
        box = self._boxes[src, rank]
        with self._changed:
            if not box:
                self._waits[rank] = src
                self._hand_on(rank)
                self._changed.wait_for(lambda: self._turn == rank)
                del self._waits[rank]
            if not box:
                raise RuntimeError(self.deadlock)
            tensor = box.popleft()
            self._waiting, self._waiting_bytes = self._waiting - 1, self._waiting_bytes - tensor.nbytes
            return tensor

    def unread(self) -> list[str]:
        return [f"{len(box)} from rank {src} to rank {dst}" for (src, dst), box in sorted(self._boxes.items()) if box]

    def _known(self, rank: int, other: int) -> None:
        if rank in self._left:  # one that was kept from an earlier call: it would wait for a turn that never comes
            raise RuntimeError("the call that this communicator was given to has ended")
        if type(other) is not int or not 0 <= other < self._world or other == rank:
            raise ValueError(f"rank {rank} of {self._world} has no neighbour {other!r}")

    def _hand_on(self, rank: int) -> None:
        """The next rank that can go on has its turn; where there is none, the next that waits, to be told so."""
        others = [other for step in range(1, self._world + 1) if (other := (rank + step) % self._world) not in self._left]
        ready = [other for other in others if other not in self._waits or self._boxes[self._waits[other], other]]
        if others and not ready and not self.deadlock:
            self.ended = frozenset(self._left)
            who = [f"rank {r} waits for rank {s}{', which has ended' if s in self._left else ''}" for r, s in sorted(self._waits.items())]
            self.deadlock = f"nobody can go on: {'; '.join(who)}"
        if others:
            self._turn = (ready or others)[0]
        self._changed.notify_all()


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
                comm = Communicator(rank, world, functools.partial(switch.send, rank), functools.partial(switch.recv, rank))
                results[rank] = FarFunction(self._lines[rank], name)(*args_of_rank[rank], comm)
            except BaseException as error:
                errors[rank] = error
            finally:
                switch.leave(rank)

        self._in_threads([functools.partial(run, rank) for rank in range(world)])
        by_itself = [errors[rank] for rank in sorted(errors) if not switch.deadlock or rank in switch.ended]
        for ours in (error for error in errors.values() if isinstance(error, InfrastructureFault)):
            raise ours
        if switch.overfull:
            raise CheckFailed(switch.overfull)
        if by_itself:
            raise by_itself[0]
        if switch.deadlock:
            raise CheckFailed(switch.deadlock)
        if unread := switch.unread():
            raise CheckFailed(f"messages that nobody has received: {', '.join(unread)}")
        return results, switch.traffic

    def _in_threads(self, work: list[Callable[[], None]]) -> None:
        threads = [threading.Thread(target=each, daemon=True) for each in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(POLL_SECONDS)
                for line, other in zip(self._lines, threads, strict=True):
                    line.look_from_outside(other)
