"""Batches of calls that are sent together and judged afterwards; each call may use the result of an earlier one.

    batch = CallBatch()
    pool = batch.call("BlockPool", 6)
    row = batch.call("PagedSequence", pool, 4)
    batch.method(row, "grow", 6)
    blocks = batch.get(row, "blocks")
    outcomes = student.play(batch)
    outcomes[blocks.step].value

Every outcome has the value right after its step; later steps do not change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """The result of a step, for use in later steps."""

    step: int

    @property
    def wire_tree(self) -> dict[str, Any]:
        return {"$": "result", "id": self.step}


@dataclass
class Outcome:
    """The outcome of a step: a value, a handle, an exception of the student's code, or "skipped"."""

    value: Any = None
    error: Exception | None = None
    played: bool = True


@dataclass
class CallBatch:
    """A list of steps. A target is a `Result` or a handle. Arguments may contain both, data, and functions that stay with the check."""

    steps: list[dict[str, Any]] = field(default_factory=list)

    def call(self, function: str, *args: Any, **kwargs: Any) -> Result:
        """Add a call of a function or a class by its name."""
        request = {"op": "call", "name": function, "args": list(args), "kwargs": kwargs, "unchanged": False, "rng_unchanged": False}
        return self._step(request)

    def method(self, target: Any, name: str, *args: Any, **kwargs: Any) -> Result:
        return self._step({"op": "method", "target": target, "name": name, "args": list(args), "kwargs": kwargs})

    def get(self, target: Any, name: str) -> Result:
        """Add a read of an attribute. The step's outcome is the value at that moment."""
        return self._step({"op": "attr", "target": target, "name": name})

    def set(self, target: Any, name: str, value: Any) -> Result:
        return self._step({"op": "setattr", "target": target, "name": name, "value": value})

    def _step(self, request: dict[str, Any]) -> Result:
        self.steps.append(request)
        return Result(len(self.steps) - 1)

    def leans_on(self, step: int) -> Set[int]:
        """Return the steps whose results a step uses."""
        return {each.step for each in leaves(self.steps[step]) if isinstance(each, Result)}


def leaves(value: Any) -> Iterator[Any]:
    """Yield the entries of nested lists, tuples and dicts, however deep."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value
