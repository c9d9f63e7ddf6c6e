"""What one rank of several knows of the others: it can send to one and wait for one, and nothing else. An all-reduce is made of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass
class Communicator:
    """rank: of this process, 0 to world - 1. send(dst, tensor) copies and never waits. recv(src) waits for the next tensor from there."""

    rank: int
    world: int
    send: Callable[[int, Tensor], None]
    recv: Callable[[int], Tensor]
