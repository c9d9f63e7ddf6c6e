"""Counted work: what a piece of code had torch do, whatever its functions are called.

The counter stands where torch hands each operation to its kernel, so it sees what is done and no names. It counts in the
process that does the work: a submission that tears it out of torch is still held against a clock it cannot reach
(`timing.py`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, ValuesView
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

from .given import embedding_tables

aten = torch.ops.aten


@dataclass
class Work:
    """flops: of matrix products, two for each multiply and add. written_bytes: of every result that is no view, and of every
    write in place. positions: rows read out of the embedding tables of named models, which is one for each token fed.
    grad_flops: those of the flops that ran while gradients were on. waits: how often Python asked a tensor for its value, or for
    all of them at once: each time it would wait for a GPU. clock_reads: looks at the clock of a made-up machine (`stand_in.py`)."""

    flops: int = 0
    written_bytes: int = 0
    positions: int = 0
    grad_flops: int = 0
    waits: int = 0
    clock_reads: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def _mv_flops(matrix: Any, vector: Any, *rest: Any, **ignored: Any) -> int:
    return 2 * matrix.numel()


def _addmv_flops(start: Any, matrix: Any, vector: Any, **ignored: Any) -> int:
    return 2 * matrix.numel()


def _dot_flops(x: Any, y: Any, **ignored: Any) -> int:
    return 2 * x.numel()


def _sdpa_flops(query: Any, key: Any, value: Any, *rest: Any, **ignored: Any) -> int:
    return int(sdpa_flop_count(query.shape, key.shape, value.shape))


# What torch's own counter leaves out: products with a vector, and its attention on the CPU.
MORE_FLOPS: dict[Any, Callable[..., int]] = {
    aten.mv: _mv_flops,
    aten.addmv: _addmv_flops,
    aten.dot: _dot_flops,
    aten.vdot: _dot_flops,
    aten._scaled_dot_product_flash_attention_for_cpu: _sdpa_flops,
}


def _put_values(target: Any, indices: Any, *rest: Any, **ignored: Any) -> int:
    given = {axis: index for axis, index in enumerate(indices) if index is not None}
    if any(index.dtype in (torch.bool, torch.uint8) for index in given.values()):
        return int(target.numel())  # how many a mask names is a matter of values
    indexed = math.prod(target.shape[axis] for axis in given)
    return int(target.numel() // max(indexed, 1) * torch.broadcast_shapes(*(i.shape for i in given.values())).numel())


def _copied_values(target: Any, axis: int, index: Any, *rest: Any, **ignored: Any) -> int:
    return int(target.numel() // max(target.shape[axis], 1) * index.numel()) if target.dim() else 1


def _scattered_values(target: Any, axis: int, index: Any, *rest: Any, **ignored: Any) -> int:
    return int(index.numel())


# Writes in place that give back the whole tensor and touch a part of it.
PARTIAL_WRITES: dict[Any, Callable[..., int]] = {
    aten.index_put_: _put_values,
    aten._index_put_impl_: _put_values,
    aten.index_copy_: _copied_values,
    aten.index_add_: _copied_values,
    aten.index_fill_: _copied_values,
    aten.scatter_: _scattered_values,
    aten.scatter_add_: _scattered_values,
}
ROW_READS = (aten.index, aten.embedding, aten.index_select, aten.gather, aten.take)


@functools.cache
def is_made_of_others(function: Any) -> bool:
    packet = function._overloadpacket
    return packet not in flop_registry and packet not in MORE_FLOPS and function._can_decompose()


class counting(TorchDispatchMode):
    """Counts while it is entered; may be entered again and goes on. `with counting() as work:` gives the Work.

    Shapes alone are looked at, never values.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing here is compiled: torch would load its compiler at the first call to say so, which takes seconds."""
        return False

    def __init__(self) -> None:
        super().__init__()
        self.work = Work()
        self._asked = _Asked(self.work)
        self._depth = 0

    def __enter__(self) -> Work:
        super().__enter__()
        self._depth += 1
        if self._depth == 1:
            self._asked.__enter__()
        return self.work

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._asked.__exit__(*error)
        super().__exit__(*error)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = function._overloadpacket
        if is_made_of_others(function):
            with self:  # linear, matmul and their like: count what they are made of
                return function.decompose(*args, **kwargs)
        out = function(*args, **kwargs)
        if packet in MORE_FLOPS:
            self._note_flops(MORE_FLOPS[packet](*args, **kwargs))
        elif packet in flop_registry:
            self._note_flops(int(flop_registry[packet](*args, **kwargs, out_val=out)))
        elif packet is aten._local_scalar_dense:
            self.work.waits += 1
        elif packet in ROW_READS:
            self._note_rows(args, out)
        self._note_results(function, args, kwargs, out)
        return out

    def _note_flops(self, flops: int) -> None:
        self.work.flops += flops
        self.work.grad_flops += flops * torch.is_grad_enabled()

    def _note_rows(self, args: Any, out: Any) -> None:
        table = args[0]
        if isinstance(table, Tensor) and table.dim() == 2 and table.untyped_storage().data_ptr() in embedding_tables():
            self.work.positions += math.ceil(out.numel() / table.shape[1])

    def _note_results(self, function: Any, args: Any, kwargs: Any, out: Any) -> None:
        in_place = function._schema.is_mutable
        if function._overloadpacket in PARTIAL_WRITES:
            self.work.written_bytes += PARTIAL_WRITES[function._overloadpacket](*args, **kwargs) * out.element_size()
            return
        given = set() if in_place else {place_of(x) for x in tensors_in((args, kwargs.values()))}
        for tensor in tensors_in((out,)):
            if place_of(tensor) not in given:
                self.work.written_bytes += tensor.numel() * tensor.element_size()


class _Asked(TorchFunctionMode):
    """Counts tensors that are asked for all of their values: no kernel is asked on the CPU, so the dispatcher sees nothing of it."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__name__", "") in ("tolist", "numpy", "__array__"):
            self.work.waits += 1
        return function(*args, **(kwargs or {}))


def tensors_in(values: Any) -> Iterator[Tensor]:
    """The tensors among arguments or results, also those in lists and tuples."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple | ValuesView):
            yield from tensors_in(value)


def place_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
