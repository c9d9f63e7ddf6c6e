"""A CUDA emulator on a CPU, for whole programs: the course's emulator, and rules for random numbers and reports.

`autograder/sandbox/measure/cuda_emulator.py` records, replays, counts, and refuses errors of memory, streams and devices. Added
here: a generator is made for a device and refused on another one; inside a recording only the default generator and those registered
with the graph draw; `torch.cuda.set_sync_debug_mode("error")` makes every wait an error; `x.cuda()` is `x.to("cuda")`; a GPU has a name.
No time that is measured in here means anything.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.sandbox.measure.cuda_emulator import CUDA, ON, EmulatedCuda, Graph

OTHER_GENERATOR = "Expected a '{}' device type for generator but found '{}'"
UNREGISTERED = "a generator draws inside a recording and is not registered with it (CUDAGraph.register_generator_state)"
SYNCHRONIZES = "called a synchronizing CUDA operation"
NAME = "a stand-in, on the CPU"


class Generator(torch.Generator):
    """A torch.Generator with a device that is only a label."""

    said: torch.device

    def __new__(cls, device: str | torch.device = "cpu") -> Generator:
        made = super().__new__(cls, "cpu")
        made.said = CUDA if torch.device(device).type == "cuda" else torch.device("cpu")
        return made

    def __init__(self, device: str | torch.device = "cpu") -> None:
        super().__init__()

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.said


class StrictGraph(Graph):
    """A torch.cuda.CUDAGraph that can register the generators whose random numbers it draws."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.registered: list[torch.Generator] = []

    def register_generator_state(self, generator: torch.Generator) -> None:
        self.registered.append(generator)


class StrictlyEmulatedCuda(EmulatedCuda):
    """The stricter emulator of this module. Made like `EmulatedCuda`: `with StrictlyEmulatedCuda() as gpu: there = gpu.on_gpu(tensors)`."""

    graph_made: StrictGraph | None = None
    sync_debug_mode: str = "default"

    def __enter__(self) -> StrictlyEmulatedCuda:
        super().__enter__()
        for place, name, stand_in in (
            (torch, "Generator", Generator), (torch.cuda, "CUDAGraph", StrictGraph), (torch.cuda, "get_device_name", lambda *a: NAME),
            (torch.cuda, "set_sync_debug_mode", self._set_sync_debug_mode),
        ):  # fmt: skip
            self._patches.enter_context(mock.patch.object(place, name, stand_in))
        return self

    def _set_sync_debug_mode(self, mode: str) -> None:
        self.sync_debug_mode = mode

    def graph(self, graph: Any, *args: Any, **kwargs: Any) -> Any:
        self.graph_made = graph
        return super().graph(graph, *args, **kwargs)

    def wait(self, *args: Any) -> None:
        if self.sync_debug_mode == "error":
            raise RuntimeError(SYNCHRONIZES)
        super().wait(*args)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is Tensor.cuda:
            function, args, kwargs = Tensor.to, (args[0], "cuda"), None
        given = tree_leaves((args, kwargs or {}))
        generator = next((leaf for leaf in given if isinstance(leaf, torch._C.Generator)), None)
        if generator is not None:
            here = any(getattr(leaf, ON, False) for leaf in given if isinstance(leaf, Tensor))
            asked = (kwargs or {}).get("device")
            place = "cuda" if (torch.device(asked).type == "cuda" if asked is not None else here) else "cpu"
            if generator.device.type != place:
                raise RuntimeError(OTHER_GENERATOR.format(place, generator.device.type))
            if self.recording is not None and generator not in (self.graph_made.registered if self.graph_made else ()):
                raise RuntimeError(UNREGISTERED)
        return super().__torch_function__(function, types, args, kwargs)
