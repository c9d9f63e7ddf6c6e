"""Fingerprints of every floating tensor that a piece of code made or read, in order.

A fingerprint is [entries, sum, sum of squares, sum of magnitudes], in float64: the same for the same numbers in any order, so heads before
or after tokens, a table or its transpose give the same fingerprint. `checking/helpers/stages.py` searches them for the stages of a known
computation. Like `op_counter.py` this intercepts each operation as torch hands it to its kernel, and sees no names.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

MAX_FINGERPRINTS = 4096
MAX_ENTRIES = 1 << 24
"""Maximum number of entries of a tensor: a larger one is ignored."""

Fingerprint = list[float]


def fingerprint_of(values: Tensor) -> Fingerprint:
    exact = values.detach().to(torch.float64)
    return [float(exact.numel()), float(exact.sum()), float(exact.square().sum()), float(exact.abs().sum())]


def is_fingerprint(value: Any) -> bool:
    """Return whether a value that a worker sent is a fingerprint."""
    return isinstance(value, list) and len(value) == 4 and all(type(number) is float for number in value)


class watching(TorchDispatchMode):
    """Mode that records fingerprints of tensors. `with watching() as fingerprints:` appends them to the list `fingerprints`."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: see `op_counter.counting`."""
        return False

    def __init__(self) -> None:
        super().__init__()
        self.fingerprints: list[Fingerprint] = []
        self._seen: dict[int, set[tuple[int, int, int]]] = {}  # by the address of the memory

    def __enter__(self) -> list[Fingerprint]:
        super().__enter__()
        return self.fingerprints

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = _floating((args, kwargs))
        for tensor in given:  # a tensor written piece by piece is complete only when it is read
            self._note(tensor)
        out = function(*args, **(kwargs or {}))
        places = {tensor.untyped_storage().data_ptr() for tensor in given}
        for tensor in _floating(out):
            address = tensor.untyped_storage().data_ptr()
            if address not in places:
                self._seen.pop(address, None)  # new, maybe in the memory of a freed tensor and its views
            self._note(tensor)
        return out

    def _note(self, tensor: Tensor) -> None:
        address, state = _state(tensor)
        seen = self._seen.setdefault(address, set())
        if state not in seen and len(self.fingerprints) < MAX_FINGERPRINTS:
            seen.add(state)
            self.fingerprints.append(fingerprint_of(tensor))


def _floating(values: Any) -> list[Tensor]:
    """Return the tensors with floating values among arguments or results."""
    leaves = (leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor))
    return [leaf for leaf in leaves if leaf.is_floating_point() and not leaf.is_meta and 0 < leaf.numel() <= MAX_ENTRIES]


def _state(tensor: Tensor) -> tuple[int, tuple[int, int, int]]:
    """Return a tensor's address, and a key of its state there: the same in another order of its entries, another after a write in place."""
    version = 0 if tensor.is_inference() else tensor._version
    return tensor.untyped_storage().data_ptr(), (int(tensor.storage_offset()), tensor.numel(), version)
