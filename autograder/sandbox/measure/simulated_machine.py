"""A simulated machine: only counted work moves its clock, so a correct stopwatch gives rates that are known beforehand.

A real clock cannot show that a measurement is wrong by a factor of two, because a busy machine is off by more than that.
"""

from __future__ import annotations

import sys
import threading
import time
import timeit
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import torch
from torch import Tensor

from .op_counter import Work, counting, is_made_of_others, place_of, tensors_in

READINGS = {"perf_counter": 1, "monotonic": 1, "time": 1, "process_time": 2}
"""Python's clocks, and how many processors each adds up: the simulated machine has two."""
TICK_SECONDS = 0.0009765625
"""Seconds between two looks at the clock if no work was counted between them: numpy's work is not seen."""
SPEED = {torch.float64: 0.5, torch.float16: 2.0, torch.bfloat16: 2.0}
"""Speed of products in these types relative to float32, as on most hardware."""
DISTURBED = 3.0
"""Factor on the time of disturbed work: all work but every fourth time."""


class Clocked(counting):
    """Counter that also computes the work's time: the longer of the times for its arithmetic and its bytes.

    A sum is arithmetic, too. The machine adds a little more than bandwidth / 4 numbers a second: enough for float32 numbers at full
    bandwidth, too few for smaller types.
    """

    def __init__(self, peak_flops: float, bandwidth: float) -> None:
        super().__init__()
        self.peak_flops, self.bandwidth = peak_flops, bandwidth
        self.now = 0.0
        self.times_done = {"arithmetic": 0, "memory": 0}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        flops = self.work.flops
        out = super().__torch_dispatch__(function, types, args, kwargs)
        if not is_made_of_others(function) and not _is_view(function, args, out):
            self._pass(self.work.flops - flops, list(tensors_in((*args, *(kwargs or {}).values()))), list(tensors_in((out,))))
        return out

    def _pass(self, flops: int, given: list[Tensor], made: list[Tensor]) -> None:
        given_places = {place_of(tensor): tensor.nbytes for tensor in given}
        made_places = {place_of(tensor): tensor.nbytes for tensor in made}
        moved = sum((made_places | given_places).values())
        arithmetic = flops / (self.peak_flops * SPEED.get(made[0].dtype, 1.0))
        memory = max(moved / self.bandwidth, sum(tensor.numel() for tensor in given) / (self.bandwidth / 3.5))
        kind = "arithmetic" if arithmetic > memory else "memory"
        self.now += max(arithmetic, memory) * self._disturbance(kind, given)

    def _disturbance(self, kind: str, given: list[Tensor]) -> float:
        if not given:
            return 1.0  # making an array is not a round
        self.times_done[kind] += 1
        return 1.0 if self.times_done[kind] % 4 == 0 else DISTURBED


def _is_view(function: Any, args: Any, out: Any) -> bool:
    """Return whether an operation moved no data: its results are where the arguments are, and nothing was written."""
    given = {place_of(tensor) for tensor in tensors_in(args)}
    return not function._schema.is_mutable and all(place_of(tensor) in given for tensor in tensors_in((out,)))


class SimulatedMachine:
    """Context in which the clocks of READINGS show this thread the simulated machine's time."""

    def __init__(self, namespace: dict[str, Any], *, peak_flops: float, bandwidth: float) -> None:
        self._namespace = namespace
        self._mode = Clocked(peak_flops, bandwidth)
        self._seen = 0.0
        self._undo: list[Callable[[], None]] = []

    @property
    def work(self) -> Work:
        return self._mode.work

    def __enter__(self) -> Work:
        clocks = {getattr(time, name): self._clock(name, 1.0) for name in READINGS}
        clocks |= {getattr(time, f"{name}_ns"): self._clock(name, 1e9) for name in READINGS}
        for holder in (vars(time), vars(timeit), self._namespace):
            self._replace(holder, clocks)
        for function in (timeit.timeit, timeit.repeat, timeit.Timer.__init__):
            self._replace_default(function, clocks)
        self._mode.__enter__()
        return self.work

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
        while self._undo:
            self._undo.pop()()

    def _clock(self, name: str, unit: float) -> Callable[[], float]:
        real, thread = getattr(time, name if unit == 1.0 else f"{name}_ns"), threading.get_ident()

        def read() -> float:
            ours = str(sys._getframe(1).f_globals.get("__name__")).startswith("autograder.")  # the alarm that ends what does not end
            if ours or threading.get_ident() != thread:
                return real()
            self.work.clock_reads += 1
            if self._mode.now == self._seen:
                self._mode.now += TICK_SECONDS
            self._seen = self._mode.now
            seconds = READINGS[name] * self._seen
            return seconds if unit == 1.0 else round(seconds * unit)

        return read

    def _replace(self, holder: dict[str, Any], clocks: dict[Any, Any]) -> None:
        for name, value in list(holder.items()):
            if isinstance(value, BuiltinFunctionType) and value in clocks:
                holder[name] = clocks[value]
                self._undo.append(lambda name=name, value=value: holder.update({name: value}))  # type: ignore[misc]

    def _replace_default(self, function: Any, clocks: dict[Any, Any]) -> None:
        before = function.__defaults__
        function.__defaults__ = tuple(clocks.get(v, v) if isinstance(v, BuiltinFunctionType) else v for v in before)
        self._undo.append(lambda: setattr(function, "__defaults__", before))

