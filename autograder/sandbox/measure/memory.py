"""Counted memory: how much of what was made lives at one time, and what goes to and from memory that is too large to be fast.

A storage's size decides, never a view's. A view costs nothing until something reads it; then the elements that it names count, and an
axis that is only expanded counts once.
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
"""Operations that make room and write nothing into it."""
FILLS_ANEW = (aten.zeros_like, aten.ones_like, aten.full_like, aten.rand_like, aten.randn_like, aten.randint_like)
ASKS_FOR_A_SHAPE = ALLOCATES_ONLY | frozenset((*FILLS_ANEW, aten.new_zeros, aten.new_ones, aten.new_full))
"""Operations that look at a tensor's shape and dtype and at none of its values."""
OVERWRITES = frozenset((aten.copy_, aten.fill_, aten.zero_, aten.uniform_, aten.normal_, aten.random_, aten.exponential_, aten.bernoulli_))
"""Operations in place that do not read what was there."""


class Living:
    """Storages made while counting, from their making to their end, also where that comes outside of what is counted."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}
        self._now = 0
        self.peak_bytes = 0
        self.largest_bytes = 0

    def note(self, storage: torch.UntypedStorage, grown: int) -> None:
        """`storage` is new, or has grown, by so many bytes."""
        place = storage._cdata
        if place not in self._bytes:
            self._bytes[place] = 0
            weakref.finalize(storage, self._forget, place).atexit = False
        self._bytes[place] += grown
        self._now += grown
        self.peak_bytes = max(self.peak_bytes, self._now)
        self.largest_bytes = max(self.largest_bytes, self._bytes[place])

    def known(self, storage: torch.UntypedStorage) -> int:
        """How many bytes `storage` had when it was last looked at: one made here may have grown without an operation of torch's."""
        return self._bytes.get(storage._cdata, storage.nbytes())

    def _forget(self, place: int) -> None:
        self._now -= self._bytes.pop(place)


def elements(tensor: Tensor) -> int:
    """How many different elements a view names: an expanded axis has stride 0 and is read once."""
    number = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        number *= size if stride else min(size, 1)
    return number


def is_view(function: Any, given: set[int], made: list[Tensor]) -> bool:
    """Whether nothing was moved: all that came out lies in a storage of what was given, and nothing was written."""
    return not function._schema.is_mutable and all(storage_of(tensor) in given for tensor in made)


def storage_of(tensor: Tensor) -> int:
    """One number for each storage that lives; on the meta device, where all lie at address 0, too."""
    return int(tensor.untyped_storage()._cdata)


@functools.cache
def _written_places(function: Any) -> tuple[tuple[int, str, bool], ...]:
    """Of the arguments that an operation writes: index, name, and whether it is there to take the result only (`out=`)."""
    arguments = enumerate(function._schema.arguments)
    return tuple((i, a.name, a.kwarg_only) for i, a in arguments if a.alias_info is not None and a.alias_info.is_write)


def written_arguments(function: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, bool]]:
    """The arguments that an operation writes, each with whether it reads what was there."""
    overwrites = function._overloadpacket in OVERWRITES
    for index, name, takes_result in _written_places(function):
        if index < len(args):
            yield args[index], not overwrites
        elif name in kwargs:
            yield kwargs[name], not (overwrites or takes_result)
