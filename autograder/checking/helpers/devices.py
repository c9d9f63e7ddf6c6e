"""Checks on the meta device: every tensor that a function makes has to be on the device of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograder.authoring import equal, that
from autograder.sandbox.protocol.handles import Rehearsal


def on_one_device(rehearsal: Rehearsal) -> None:
    """Fail if a line of the rehearsal made a tensor on another device. Reading a value ends the rehearsal, and is not a fault."""
    that(
        not rehearsal.stray, "a tensor is made on another device than the arguments'", expected="`device=` of a tensor that is there",
        got=rehearsal.stray, cause="With the model on a GPU this line would make it on the CPU, and the two cannot be combined.",
    )  # fmt: skip
    if not rehearsal.asked:
        for tensor in _tensors(rehearsal.result):
            that(tensor["device"] == "meta", "the result is on another device than the arguments", expected="meta", got=tensor["device"])


def stays_on_its_device(function: Any, *args: Any, shape: Sequence[int], dtype: torch.dtype = torch.float32) -> None:
    """Fail if a function of the student, called with tensors on the meta device, makes a tensor on another device.

    A result of another `shape` or `dtype` fails, too. If the function reads a value, the rehearsal ends there, and the rest is not checked.
    """
    rehearsal = function.on_meta(*args)
    on_one_device(rehearsal)
    if not rehearsal.asked:
        that(isinstance(rehearsal.result, dict), "the result is not a tensor")
        got = {"shape": rehearsal.result["shape"], "dtype": str(rehearsal.result["dtype"])}
        equal(got, {"shape": list(shape), "dtype": str(dtype)}, what="the result has another shape or dtype")


def _tensors(result: Any) -> list[dict[str, Any]]:
    if isinstance(result, dict):
        return [result]
    return [tensor for entry in result for tensor in _tensors(entry)] if isinstance(result, list) else []
