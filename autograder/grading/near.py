"""What a check calls `student` where the student's functions are in this process: a notebook, or the reference itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from .given import named
from .raised import compare_arguments, compare_random_states, student_raised
from .work import Work, counting
from .worker import snapshot


class Near:
    """The student's functions in this process: a notebook, or the reference itself."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            value = self._namespace[name]
        except KeyError:
            raise student_raised(["NameError", "Exception"], f"{name} is not defined: run its cell first", []) from None
        return NearFunction(name, value) if callable(value) and not isinstance(value, type) else value

    def generator(self, seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(seed)

    def counting(self) -> AbstractContextManager[Work]:
        """`with student.counting() as work:` counts what torch does for the calls inside."""
        return counting()

    def clock(self) -> float:
        """Processor seconds that this process has used."""
        return time.process_time()

    def model(self, name: str, *, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Any:
        return named("model", name, dtype, device)

    def tokenizer(self, name: str) -> Any:
        return named("tokenizer", name)


class NearFunction:
    """A function of the student's in this process. See FarFunction."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name, self._function = name, function

    def __call__(
        self, *args: Any, _unchanged: bool = False, _rng_unchanged: bool = False, _arguments: bool = False, **kwargs: Any
    ) -> Any:
        before = [snapshot(value) for value in [*args, *kwargs.values()]] if _unchanged else None
        state = torch.get_rng_state() if _rng_unchanged else None
        result = self._function(*args, **kwargs)
        if before is not None:
            compare_arguments(self._name, before, [*args, *kwargs.values()])
        if state is not None:
            compare_random_states(self._name, state, torch.get_rng_state())
        return (result, [*args, *kwargs.values()]) if _arguments else result

    def each(self, inputs: Iterable[Any], **options: bool) -> Iterator[tuple[Any, Any]]:
        return ((given, self(given, **options)) for given in inputs)
