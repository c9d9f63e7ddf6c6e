"""Counted work: the operations that a piece of code makes torch do.

The counter intercepts each operation as torch hands it to its kernel, so the names of the functions do not matter. It counts in the process
that does the work. A submission that removes the counter is still measured by a clock that it cannot reach (`timing.py`).
"""

from __future__ import annotations

import functools
import math
import tracemalloc
from collections.abc import Callable, Iterator, ValuesView
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, sdpa_flop_count

from ..protocol.shared_objects import embedding_tables
from .memory import ALLOCATES_ONLY, ASKS_FOR_A_SHAPE, Living, elements, is_view, storage_of, written_arguments

aten = torch.ops.aten


@dataclass
class Work:
    """The counts of one measurement.

    flops: floating-point operations of matrix products, two for each multiply and add. written_bytes: bytes of every result that is not a
    view, and of every write in place. positions: rows read from the embedding tables of named models, one for each token fed. grad_flops:
    the flops that ran while gradients were on. waits: how often Python read a tensor's value or all its values; each read would wait for a
    GPU. clock_reads: readings of a simulated machine's clock (`simulated_machine.py`).

    peak_bytes: the most bytes held at one time by storages made here; largest_bytes: the bytes of the largest such storage. slow_bytes: the
    bytes read from and written to storages larger than `fast_bytes`, if that was given. A gather counts only the entries that it reads, and
    a partial write only the entries that it changes. The work of other threads and of numpy is not counted, nor is memory that torch did
    not allocate. python_bytes: the largest growth of Python's own memory in a call, numpy's arrays included, if requested.
    """

    flops: int = 0
    written_bytes: int = 0
    positions: int = 0
    grad_flops: int = 0
    waits: int = 0
    clock_reads: int = 0
    peak_bytes: int = 0
    largest_bytes: int = 0
    slow_bytes: int = 0
    python_bytes: int = 0

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


# Operations that torch's own counter leaves out: products with a vector, and its attention on the CPU.
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
    """A mode that counts work inside `with counting() as work:`. Entered again, it continues to count.

    Only shapes are looked at, never values. fast_bytes: the size of the fast memory; reads and writes of a larger storage count as
    slow_bytes. python: whether Python's own memory is measured, which makes everything slower.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: nothing here is compiled.

        The inherited method would load torch's compiler at the first call, which takes seconds.
        """
        return False

    def __init__(self, fast_bytes: int | None = None, *, python: bool = False) -> None:
        super().__init__()
        self.work = Work()
        self.fast_bytes = fast_bytes
        self.python = python
        self._living = Living()
        self._asked = _Asked(self.work)
        self._depth = 0

    def __enter__(self) -> Work:
        super().__enter__()
        self._depth += 1
        if self._depth == 1:
            self._asked.__enter__()
            if self.python:
                tracemalloc.start()
        return self.work

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.note_python()
            self._asked.__exit__(*error)
        super().__exit__(*error)

    def note_python(self) -> None:
        """Record the peak of Python's memory and stop watching it."""
        if self.python and tracemalloc.is_tracing():
            self.work.python_bytes = max(self.work.python_bytes, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = function._overloadpacket
        if is_made_of_others(function):
            with self:  # linear, matmul and their like: count what they are made of
                return function.decompose(*args, **kwargs)
        given = list(tensors_in((args, kwargs.values())))
        self._note_storages(given, {storage_of(tensor): self._living.known(tensor.untyped_storage()) for tensor in given})
        sizes = {storage_of(tensor): tensor.untyped_storage().nbytes() for tensor in given}
        out = function(*args, **kwargs)
        made = list(tensors_in((out,)))
        if packet in MORE_FLOPS:
            self._note_flops(MORE_FLOPS[packet](*args, **kwargs))
        elif packet in flop_registry:
            self._note_flops(int(flop_registry[packet](*args, **kwargs, out_val=out)))
        elif packet in (aten._local_scalar_dense, aten.equal):
            self.work.waits += 1
        elif packet in ROW_READS:
            self._note_rows(args, out)
        self._note_results(function, args, kwargs, out)
        self._note_storages(made, {} if packet is aten.lift_fresh else sizes)  # which is what torch.tensor ends with
        if self.fast_bytes is not None and not is_view(function, set(sizes), made):
            moved = self._moved(function, args, kwargs, given, made)
            slow = ((tensor, number) for tensor, number in moved if tensor.untyped_storage().nbytes() > self.fast_bytes)
            self.work.slow_bytes += sum(number * tensor.element_size() for tensor, number in slow)
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


    def _note_storages(self, made: list[Tensor], sizes: dict[int, int]) -> None:
        """Record new and grown storages. sizes: the sizes of older storages, which an in-place operation may enlarge."""
        for tensor in made:
            storage = tensor.untyped_storage()
            grown = storage.nbytes() - sizes.get(storage_of(tensor), 0)
            if grown > 0:
                self._living.note(storage, grown)
                sizes = {**sizes, storage_of(tensor): storage.nbytes()}  # two results may share one storage
        self.work.peak_bytes, self.work.largest_bytes = self._living.peak_bytes, self._living.largest_bytes

    @staticmethod
    def _moved(function: Any, args: Any, kwargs: Any, given: list[Tensor], made: list[Tensor]) -> list[tuple[Tensor, int]]:
        """Return the tensors that an operation other than a view reads and writes, each with its number of entries moved."""
        packet = function._overloadpacket
        before = {storage_of(tensor) for tensor in given}
        written = list(written_arguments(function, args, kwargs))
        moved: list[tuple[Tensor, int]] = []
        if packet not in ASKS_FOR_A_SHAPE:
            not_read = {id(t) for each, reads in written if not reads or packet in PARTIAL_WRITES for t in tensors_in((each,))}
            for tensor in {_view_of(t): t for t in given if id(t) not in not_read}.values():  # the same twice is read once
                taken = packet in ROW_READS and tensor is args[0]
                moved.append((tensor, made[0].numel() if taken else elements(tensor)))
        if packet in PARTIAL_WRITES:
            moved.append((args[0], PARTIAL_WRITES[packet](*args, **kwargs)))
        elif packet not in ALLOCATES_ONLY:
            new = [tensor for tensor in made if storage_of(tensor) not in before]
            moved += [(tensor, elements(tensor)) for tensor in (*tensors_in(each for each, _ in written), *new)]
        return moved


def _view_of(tensor: Tensor) -> tuple[Any, ...]:
    return storage_of(tensor), tensor.storage_offset(), tensor.shape, tensor.stride()


class _Asked(TorchFunctionMode):
    """Mode that counts reads of all values of a tensor. On the CPU such a read calls no kernel, so the dispatcher misses it."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(function, "__name__", "") in ("tolist", "numpy", "__array__", "__dlpack__"):
            self.work.waits += 1
        return function(*args, **(kwargs or {}))


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among arguments or results, also those in lists and tuples."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple | ValuesView):
            yield from tensors_in(value)


def place_of(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
