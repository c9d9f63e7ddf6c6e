"""The communication of ranks: a rank can send to another and wait for another, and nothing else. An all-reduce is made of these.

`run_ranks` runs a function on several ranks in one process, one rank at a time, so that a run is the same every time, and a deadlock
is detected at once. Every message passes the `Switch`, which counts it.
"""

from __future__ import annotations

import functools
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")

MAX_WAITING_BYTES = 256 * 1024 * 1024
MAX_WAITING = 10_000
"""The limit of messages in a switch at one time, sent and not yet received."""


class RankError(RuntimeError):
    """An error of several ranks that cannot finish their run."""


class Deadlock(RankError):
    """The error of ranks that all wait for another rank or for an ended rank. The message lists which rank waits for which."""


@dataclass
class Communicator:
    """One rank's connection to the others.

    rank: this process's rank, 0 to world - 1. send(dst, tensor) copies the tensor and never waits. recv(src) waits for the next tensor from
    rank src.
    """

    rank: int
    world: int
    send: Callable[[int, Tensor], None]
    recv: Callable[[int], Tensor]


@dataclass
class Traffic:
    """The messages of a run. log: (source, destination, bytes) of each message, in order."""

    world: int
    log: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def messages(self) -> list[int]:
        """Return the number of messages that each rank has sent."""
        return [sum(source == rank for source, _, _ in self.log) for rank in range(self.world)]

    @property
    def sent_bytes(self) -> list[int]:
        """Return the bytes that each rank has sent."""
        return [sum(size for source, _, size in self.log if source == rank) for rank in range(self.world)]


class Switch:
    """The switch between ranks, for one run.

    deadlock: once no rank can continue, the sentence about the ranks that wait for each other. ended: the ranks that had ended at that
    moment. overfull: the sentence about a rank that sends more than the limit of waiting messages. stopped: whether ranks must not
    continue.
    """

    def __init__(self, world: int) -> None:
        self.traffic = Traffic(world)
        self.deadlock, self.ended, self.overfull, self.stopped = "", frozenset[int](), "", False
        self._world = world
        self._boxes: defaultdict[tuple[int, int], deque[Tensor]] = defaultdict(deque)
        self._waiting = self._waiting_bytes = 0
        self._waits: dict[int, int] = {}
        self._left: set[int] = set()
        self._turn = 0
        self._changed = threading.Condition()

    def communicator(self, rank: int) -> Communicator:
        return Communicator(rank, self._world, functools.partial(self.send, rank), functools.partial(self.recv, rank))

    def enter(self, rank: int) -> None:
        """Wait for this rank's first turn."""
        with self._changed:
            self._changed.wait_for(lambda: self._turn == rank)

    def leave(self, rank: int) -> None:
        with self._changed:
            self._left.add(rank)
            self._hand_on(rank)

    def send(self, rank: int, dst: int, tensor: Tensor) -> None:
        self._known(rank, dst)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"send needs a tensor, got a {type(tensor).__name__}")
        if self._waiting >= MAX_WAITING or self._waiting_bytes + tensor.nbytes > MAX_WAITING_BYTES:
            self.overfull = f"rank {rank} sends without end: {self._waiting:,} messages wait to be received"
            raise RankError(self.overfull)
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
                raise Deadlock(self.deadlock)
            tensor = box.popleft()
            self._waiting, self._waiting_bytes = self._waiting - 1, self._waiting_bytes - tensor.nbytes
            return tensor

    def unread(self) -> list[str]:
        """Return the messages that no rank has received, in words."""
        return [f"{len(box)} from rank {src} to rank {dst}" for (src, dst), box in sorted(self._boxes.items()) if box]

    def raise_what_went_wrong(self, errors: dict[int, BaseException], kind: Callable[[str], Exception] | None = None) -> None:
        """Raise a rank's own error or the reason why the ranks could not finish. Call this after all ranks have ended.

        errors: each rank's exception. kind: makes the exception from a sentence; by default it is a RankError or a Deadlock.
        """
        by_itself = [errors[rank] for rank in sorted(errors) if not self.deadlock or rank in self.ended]
        if self.overfull:
            raise (kind or RankError)(self.overfull)
        if by_itself:
            raise by_itself[0]
        if self.deadlock:
            raise (kind or Deadlock)(self.deadlock)
        if unread := self.unread():
            raise (kind or RankError)(f"messages that nobody has received: {', '.join(unread)}")

    def _known(self, rank: int, other: int) -> None:
        if self.stopped or rank in self._left:  # a communicator of an earlier run: it would wait for a turn that never comes
            raise RankError("the run_ranks call of this communicator has ended")
        if type(other) is not int or not 0 <= other < self._world or other == rank:
            raise ValueError(f"rank {rank} of {self._world} has no neighbour {other!r}")

    def _hand_on(self, rank: int) -> None:
        """Give the turn to the next rank that can continue. If no rank can, give it to the next waiting rank, which raises Deadlock."""
        others = [other for step in range(1, self._world + 1) if (other := (rank + step) % self._world) not in self._left]
        ready = [other for other in others if other not in self._waits or self._boxes[self._waits[other], other]]
        if others and not ready and not self.deadlock:
            self.ended = frozenset(self._left)
            who = [f"rank {r} waits for rank {s}{', which has ended' if s in self._left else ''}" for r, s in sorted(self._waits.items())]
            self.deadlock = f"no rank can continue: {'; '.join(who)}"
        if others:
            self._turn = (ready or others)[0]
        self._changed.notify_all()


def run_ranks(world: int, fn: Callable[[Communicator], Result]) -> tuple[list[Result], Traffic]:
    """Call fn(comm) on every rank, 0 to world - 1, in this process. Return their results, in rank order, and the traffic.

    One rank runs at a time, until it ends or waits for a message that has not been sent yet. Each message is a copy, so ranks share no
    memory through messages. Raises Deadlock if no rank can continue, RankError if a message is never received, and a rank's own exception.
    """
    if type(world) is not int or world < 1:
        raise ValueError(f"world must be a whole number of 1 or more, got {world!r}")
    switch = Switch(world)
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    gradients = torch.is_grad_enabled()  # a thread begins with its own

    def run(rank: int) -> None:
        switch.enter(rank)
        try:
            with torch.set_grad_enabled(gradients):
                results[rank] = fn(switch.communicator(rank))
        except BaseException as error:
            errors[rank] = error
        finally:
            switch.leave(rank)

    try:
        in_threads([functools.partial(run, rank) for rank in range(world)])
    except BaseException:  # a person has stopped the cell: the ranks end where they next send or receive
        switch.stopped = True
        raise
    switch.raise_what_went_wrong(errors)
    return [results[rank] for rank in range(world)], switch.traffic


def in_threads(
    work: Sequence[Callable[[], None]], look: Callable[[int, threading.Thread], None] | None = None, poll_seconds: float = 0.1
) -> None:
    """Run each function in a thread of its own and wait for all. look(index, thread) is called every poll_seconds meanwhile."""
    threads = [threading.Thread(target=each, daemon=True) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(poll_seconds)
            for index, other in enumerate(threads):
                if look is not None:
                    look(index, other)
