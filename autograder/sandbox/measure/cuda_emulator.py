"""A CUDA emulator on the CPU: code that records a graph and replays it runs on machines without a GPU.

Inside `with EmulatedCuda(...)`, the given tensors report that they are on `cuda:0`, and so do all tensors made from them or with
`device="cuda"`. These tensors have real values, so an emulated run gives the real result. The emulator refuses what CUDA refuses:

- tensors of two devices in one operation, and a generator of another device
- while a graph is recorded: every wait for the device, every copy from the CPU, a second recording inside the first, and a library's
  first product (it allocates memory, which a recording must not see)

Undefined behaviour in CUDA is an error in the emulator: the use of memory that another stream writes, without having waited for that
stream, and a replay on freed memory. Recording runs nothing: the recorded operations run at `replay`, on the same memory and with the
Python numbers of the recording, as on a GPU.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA = torch.device("cuda", 0)
CAPTURING = "CUDA error: operation not permitted when stream is capturing"
TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
OTHER_GENERATOR = "Expected a '{}' device type for generator but found '{}'"
UNREGISTERED = "a recorded generator is not registered with its graph (CUDAGraph.register_generator_state)"
SYNCHRONIZES = "called a synchronizing CUDA operation"
NAME = "an emulated GPU, on the CPU"
RACE = "this stream uses a tensor that another stream may still be writing: it has not waited for that one (wait_stream)"
FREED = (
    "this graph reads or writes memory that was freed after the recording: a graph knows addresses and keeps no tensor alive, so hold "
    "the tensors as long as you replay"
)
WAITS = {"item", "tolist", "__bool__", "__int__", "__float__", "__index__", "cpu", "numpy", "nonzero"}
CROSSES = {"copy_", "__getitem__", "__setitem__", "to", "cuda", "cpu", "index_put_", "index_put"}
PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.addmm, torch.ops.aten.mv)
ON = "_stands_in_for_cuda"


@dataclass
class Launches:
    """The counts of one emulated run.

    captures: the recorded graphs. replays: the replays of those graphs. launches: the operations started one by one, outside recordings and
    replays. waits: the waits for the device.
    """

    captures: int = 0
    replays: int = 0
    launches: int = 0
    waits: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def rehearse(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], then: list[list[Any]]) -> dict[str, Any]:
    """Call `function(*args, **kwargs)` with everything on the GPU, then its result with each of `then`.

    Returns {"results": the results of the later calls, read after the last one; "made": the counts of the first call; "called": the counts
    of the later calls together}. Raises the code's exceptions.
    """
    with EmulatedCuda() as gpu:
        args, kwargs, then = gpu.on_gpu(_copied(args)), gpu.on_gpu(_copied(kwargs)), gpu.on_gpu(then)
        result = function(*args, **kwargs)
        args, kwargs = [], {}  # from here on only the code itself keeps them alive
        made = replace(gpu.launches)
        results = [result(*each) for each in then]
        called = {name: count - vars(made)[name] for name, count in gpu.launches.as_dict().items()}
    return {"results": results, "made": made.as_dict(), "called": called}


class EmulatedCuda(TorchFunctionMode):
    """Mode that emulates CUDA as this module's docstring describes. `launches` counts the started operations."""

    def __init__(self) -> None:
        super().__init__()
        self.launches = Launches()
        self.recording: Recording | None = None
        self.graph_made: Graph | None = None
        self.sync_debug_mode = "default"
        self.streams = [Stream(self)]
        self.written: dict[int, Written] = {}
        self.warm = False
        self._counter = _Started(self)
        self._patches = contextlib.ExitStack()

    def on_gpu(self, value: Any) -> Any:
        """Return the same value with all its tensors, including a model's, marked as on the GPU."""
        if isinstance(value, list | tuple):
            return type(value)(map(self.on_gpu, value))
        if isinstance(value, dict):
            return {key: self.on_gpu(entry) for key, entry in value.items()}
        if dataclasses.is_dataclass(weights := getattr(value, "weights", value)):
            for field in dataclasses.fields(weights):
                self.on_gpu(getattr(weights, field.name))
        return self._mark(value)

    def __enter__(self) -> EmulatedCuda:
        super().__enter__()
        self._patches.enter_context(mock.patch.object(torch, "Generator", Generator))
        for name, emulated in (
            ("is_available", lambda: True), ("synchronize", self.wait), ("Stream", lambda *a, **k: Stream(self)),
            ("current_stream", lambda *a: self.streams[-1]), ("default_stream", lambda *a: self.streams[0]), ("stream", self.stream),
            ("CUDAGraph", Graph), ("graph", self.graph), ("is_current_stream_capturing", lambda: self.recording is not None),
            ("current_device", lambda: 0), ("device_count", lambda: 1), ("empty_cache", lambda: None),
            ("device", lambda *a: contextlib.nullcontext()), ("graph_pool_handle", lambda: (0, 0)), ("get_device_name", lambda *a: NAME),
            ("set_sync_debug_mode", lambda mode: setattr(self, "sync_debug_mode", mode)),
        ):  # fmt: skip
            self._patches.enter_context(mock.patch.object(torch.cuda, name, emulated))
        self._patches.enter_context(self._counter)
        return self

    def __exit__(self, *error: Any) -> None:
        self._patches.close()
        super().__exit__(*error)

    # Functions of torch.cuda

    @contextlib.contextmanager
    def stream(self, stream: Stream | None) -> Iterator[None]:
        self.streams.append(stream or self.streams[-1])
        try:
            yield
        finally:
            self.streams.pop()

    @contextlib.contextmanager
    def graph(self, graph: Graph, *args: Any, **kwargs: Any) -> Iterator[None]:
        if self.recording is not None:
            raise RuntimeError(CAPTURING)
        self.launches.captures += 1
        self.written.clear()  # it begins by waiting for everything
        self.graph_made = graph
        graph.recording = self.recording = Recording()
        graph.emulator = self
        try:
            with self.recording:
                yield
        finally:
            with torch._C.DisableTorchFunction(), torch.no_grad(), _quiet(self):
                graph.recording.forget()
                graph.recording.let_go()
            self.recording = None

    def wait(self, *args: Any) -> None:
        if self.sync_debug_mode == "error":
            raise RuntimeError(SYNCHRONIZES)
        if self.recording is not None:
            raise RuntimeError(CAPTURING)
        self.launches.waits += 1
        self.written.clear()  # all of it is done

    def uses(self, tensors: list[Tensor], results: list[Tensor]) -> None:
        """Put an operation that reads or writes `tensors` and returns `results` into the current stream.

        Raises RuntimeError if another stream wrote one of the tensors and the current stream did not wait for that stream.
        """
        stream = self.streams[-1]
        for tensor in tensors:
            if (last := self.written.get(_memory(tensor))) and not stream.comes_after(last):
                raise RuntimeError(RACE)
        stream.length += 1
        for tensor in results:
            self.written[_memory(tensor)] = Written(stream, stream.length, tensor.untyped_storage())

    # Operations of torch on tensors of the GPU

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is Tensor.cuda:
            function, args, kwargs = Tensor.to, (args[0], "cuda"), {}
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if name == "__get__":
            return self._attribute(function, args)
        leaves = tree_leaves((args, kwargs))
        given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        here = [tensor for tensor in given if getattr(tensor, ON, False)]
        for leaf in leaves:
            if isinstance(leaf, torch._C.Generator):
                self._check_generator(leaf, kwargs.get("device", CUDA if here else "cpu"))
        asked, args, kwargs = self._asked_device(name, args, kwargs)
        if here and name in WAITS:
            self.wait()
        if here and len(here) < len(given):
            strangers = [tensor for tensor in given if not getattr(tensor, ON, False) and tensor.dim() > 0]
            if strangers and name not in CROSSES:
                raise RuntimeError(TWO_DEVICES)
            if self.recording is not None:
                raise RuntimeError(CAPTURING)
        if asked == "cuda" and not here and self.recording is not None and name in ("tensor", "as_tensor", "to", "cuda"):
            raise RuntimeError(CAPTURING)  # its values come from the CPU
        stays = bool(here) if asked is None else asked == "cuda"
        if name in ("copy_", "__setitem__") and given and not getattr(given[0], ON, False):
            stays = False
        self._counter.counts = bool(here) or stays
        out = function(*args, **kwargs)
        self._counter.counts = False
        if asked is not None and given and out is given[0] and stays != bool(here):
            out = out.clone()  # on the other device it is another tensor
        return tree_map(self._mark, out) if stays and name not in WAITS else out

    def _check_generator(self, generator: torch._C.Generator, device: Any) -> None:
        """Refuse a generator of another device and, inside a recording, a generator that is not registered with the graph."""
        kind = torch.device(device).type
        if generator.device.type != kind:
            raise RuntimeError(OTHER_GENERATOR.format(kind, generator.device.type))
        if self.recording is not None and generator not in (self.graph_made.generators if self.graph_made else ()):
            raise RuntimeError(UNREGISTERED)

    def _attribute(self, function: Any, args: Any) -> Any:
        value = function(*args)
        if not getattr(args[0], ON, False):
            return value
        if isinstance(value, torch.device):
            return CUDA
        attribute = getattr(getattr(function, "__self__", None), "__name__", "")
        if attribute in ("is_cuda", "is_cpu"):
            return attribute == "is_cuda"
        return tree_map(self._mark, value)

    def _asked_device(self, name: str, args: Any, kwargs: dict[str, Any]) -> tuple[str | None, Any, dict[str, Any]]:
        """Return (the requested device, which is "cuda", "cpu" or None; the args for the CPU; the kwargs for the CPU)."""
        if name in ("cuda", "cpu"):
            return name, args[:1], {}
        places = [kwargs.get("device"), *(a for a in args[1:] if name == "to" and isinstance(a, str | torch.device))]
        device = next((d for d in places if d is not None), None)
        if device is None:
            return None, args, kwargs
        kind = torch.device(device).type

        def local(value: Any) -> Any:
            return torch.device("cpu") if value is device else value

        return kind, tuple(map(local, args)), {k: local(v) for k, v in kwargs.items()}

    def _mark(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            setattr(value, ON, True)
        return value


class Stream:
    """A queue of operations. Each one runs at once; the queue only records which order a program may rely on.

    `length` is the number of operations in this stream. `done` maps each other stream to the number of its operations that end before the
    next operation of this stream begins.
    """

    def __init__(self, emulator: EmulatedCuda) -> None:
        self.emulator = emulator
        self.length = 0
        self.done: dict[Stream, int] = {}

    def comes_after(self, last: Written) -> bool:
        return last.stream is self or self.done.get(last.stream, 0) >= last.place

    def wait_stream(self, other: Stream) -> None:
        self.done |= {each: max(place, self.done.get(each, 0)) for each, place in (other.done | {other: other.length}).items()}

    def wait_event(self, event: Any) -> None:
        self.emulator.written.clear()  # the event does not record which operations come before it: assume all

    def synchronize(self) -> None:
        self.emulator.wait()


@dataclass
class Written:
    """The last stream that wrote a storage. `memory` keeps the storage alive, so no other tensor gets its address."""

    stream: Stream
    place: int
    memory: torch.UntypedStorage


class _Started(TorchDispatchMode):
    """Mode that counts the operations started on the GPU, and refuses the first matrix product of a run inside a recording."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: see `op_counter.counting`."""
        return False

    def __init__(self, emulator: EmulatedCuda) -> None:
        super().__init__()
        self.emulator, self.counts = emulator, False

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if self.counts and (function._schema.is_mutable or not _is_view(out, args)):
            recording = self.emulator.recording is not None
            if function._overloadpacket in PRODUCTS:
                if recording and not self.emulator.warm:
                    raise RuntimeError(f"{CAPTURING} (a library allocates at its first product: run once before the recording)")
                self.emulator.warm = True
            if not recording:
                self.emulator.launches.launches += 1
                given, made = ([leaf for leaf in tree_leaves(each) if isinstance(leaf, Tensor)] for each in ((args, kwargs), out))
                self.emulator.uses(given, made)
        return out


class Recording(TorchDispatchMode):
    """Operations in order, with the tensors they read and wrote."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: see `op_counter.counting`."""
        return False

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[Callable[..., Any], Any, Any, list[Tensor]]] = []
        self.before: dict[int, tuple[Tensor, Tensor]] = {}
        self.made: set[int] = set()
        self.own: dict[torch.UntypedStorage, int] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        writes = function._schema.is_mutable
        if writes and (key := _memory(args[0])) not in self.made and key not in self.before:
            whole = torch.empty(0, dtype=args[0].dtype).set_(args[0].untyped_storage())
            self.before[key] = whole, whole.clone()
        out = function(*args, **kwargs)
        if writes:
            self.steps.append((function, args, kwargs, []))
        elif not _is_view(out, args):
            results = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
            self.made.update(map(_memory, results))
            self.steps.append((function, args, kwargs, results))
        return out

    def forget(self) -> None:
        """Undo the recording's operations, because CUDA runs none while it records: restore written memory, blank new tensors."""
        for whole, values in self.before.values():
            whole.copy_(values)
        for *_, results in self.steps:
            for result in results:
                result.fill_(float("nan") if result.is_floating_point() else 0)

    def let_go(self) -> None:
        """Replace the operations' tensors by their addresses, as a graph does.

        The emulator itself still references the memory, so it counts these references for `freed`.
        """
        self.before.clear()

        def address(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            storage = value.untyped_storage()
            if _memory(value) not in self.made:
                self.own[storage] = self.own.get(storage, 0) + 1
            return torch.empty(0, dtype=value.dtype).set_(storage, value.storage_offset(), value.size(), value.stride())

        self.steps = [(function, *tree_map(address, rest)) for function, *rest in self.steps]

    def freed(self) -> bool:
        """Return whether the emulator holds the only reference to some memory that the operations read or write."""
        return any(torch._C._storage_Use_Count(storage._cdata) <= own + 1 for storage, own in self.own.items())  # 1: `storage` itself

    def run(self) -> None:
        for function, args, kwargs, results in self.steps:
            out = function(*args, **kwargs)
            if results:  # else it wrote in place
                for result, value in zip(results, (leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)), strict=True):
                    result.copy_(value)


class Graph:
    """The emulated torch.cuda.CUDAGraph, with the generators that may draw inside it."""

    recording: Recording | None = None
    emulator: EmulatedCuda

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.generators: list[torch._C.Generator] = []

    def register_generator_state(self, generator: torch._C.Generator) -> None:
        self.generators.append(generator)

    def replay(self) -> None:
        if self.recording is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        if self.emulator.recording is not None:
            raise RuntimeError(CAPTURING)
        if self.recording.freed():
            raise RuntimeError(FREED)
        self.emulator.launches.replays += 1
        with torch._C.DisableTorchFunction(), torch.no_grad(), _quiet(self.emulator):
            self.recording.run()


class Generator(torch.Generator):
    """A torch.Generator with a device that is only a label."""

    label: torch.device

    def __new__(cls, device: str | torch.device = "cpu") -> Generator:
        made = super().__new__(cls, "cpu")  # type: ignore[call-arg]
        made.label = CUDA if torch.device(device).type == "cuda" else torch.device("cpu")
        return made

    def __init__(self, device: str | torch.device = "cpu") -> None:
        super().__init__()

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.label


def _copied(value: Any) -> Any:
    """Return the value with copies of its tensors; only the called function will reference these copies."""
    return tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, value)


@contextlib.contextmanager
def _quiet(emulator: EmulatedCuda) -> Iterator[None]:
    """Stop counting launches: a replay is one launch, not many."""
    counts, emulator._counter.counts = emulator._counter.counts, False
    try:
        yield
    finally:
        emulator._counter.counts = counts


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _is_view(out: Any, args: Any) -> bool:
    given = {_memory(leaf) for leaf in tree_leaves(args) if isinstance(leaf, Tensor)}
    results = [leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)]
    return bool(results) and all(_memory(leaf) in given for leaf in results)
