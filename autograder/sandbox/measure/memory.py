"""Counted memory: the most bytes alive at one time, and the bytes moved to and from memory that is too large to be fast.

The size of the storage decides whether memory is fast, never the size of a view. A view costs nothing until it is read; then the elements
that it covers count, and an axis that is only expanded counts once.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten

ALLOCATES_ONLY = frozenset(
    (aten.empty, aten.empty_like, aten.empty_strided, aten.empty_permuted, aten.new_empty, aten.new_empty_strided, aten.resize_)
)
"""Operations that allocate and write nothing."""
FILLS_ANEW = (aten.zeros_like, aten.ones_like, aten.full_like, aten.rand_like, aten.randn_like, aten.randint_like)
ASKS_FOR_A_SHAPE = ALLOCATES_ONLY | frozenset((*FILLS_ANEW, aten.new_zeros, aten.new_ones, aten.new_full))
"""Operations that look at a tensor's shape and dtype and at none of its values."""
OVERWRITES = frozenset((aten.copy_, aten.fill_, aten.zero_, aten.uniform_, aten.normal_, aten.random_, aten.exponential_, aten.bernoulli_))
"""Operations in place that do not read the old values."""


class Living:
    """Storages made while counting, each followed until it is freed, even after the counting has ended."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}
        self._now = 0
        self.peak_bytes = 0
        self.largest_bytes = 0

    def note(self, storage: torch.UntypedStorage, grown: int) -> None:
        """Record that `storage` is new or has grown. grown: the new bytes."""
        place = storage._cdata
        if place not in self._bytes:
            self._bytes[place] = 0
            weakref.finalize(storage, self._forget, place).atexit = False
        self._bytes[place] += grown
        self._now += grown
        self.peak_bytes = max(self.peak_bytes, self._now)
        self.largest_bytes = max(self.largest_bytes, self._bytes[place])

    def known(self, storage: torch.UntypedStorage) -> int:
        """Return the last recorded size of `storage` in bytes.

        A storage made while counting may since have grown outside any torch operation.
        """
        return self._bytes.get(storage._cdata, storage.nbytes())

    def _forget(self, place: int) -> None:
        self._now -= self._bytes.pop(place)


def elements(tensor: Tensor) -> int:
    """Return the number of different elements of a view. An expanded axis has stride 0 and counts once."""
    number = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        number *= size if stride else min(size, 1)
    return number


def is_view(function: Any, given: set[int], made: list[Tensor]) -> bool:
    """Return whether an operation moved no data: every result is in a storage of the arguments, and nothing was written."""
    return not function._schema.is_mutable and all(storage_of(tensor) in given for tensor in made)


def storage_of(tensor: Tensor) -> int:
    """Return a number that is unique among living storages, even on the meta device, where all addresses are 0."""
    return int(tensor.untyped_storage()._cdata)


@functools.cache
def _written_places(function: Any) -> tuple[tuple[int, str, bool], ...]:
    """Return (index, name, True if the argument only receives the result, like `out=`) of each argument that an operation writes."""
    arguments = enumerate(function._schema.arguments)
    return tuple((i, a.name, a.kwarg_only) for i, a in arguments if a.alias_info is not None and a.alias_info.is_write)


def written_arguments(function: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the arguments that an operation writes, each with whether the operation reads its old values."""
    overwrites = function._overloadpacket in OVERWRITES
    for index, name, takes_result in _written_places(function):
        if index < len(args):
            yield args[index], not overwrites
        elif name in kwargs:
            yield kwargs[name], not (overwrites or takes_result)
