"""Checks by a rehearsal on the meta device: every tensor has to be on the device of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograder.authoring import equal, that
from autograder.sandbox.protocol.handles import Rehearsal


def on_one_device(rehearsal: Rehearsal) -> None:
    """Fail if a line made a tensor on another device, as far as the rehearsal came. Asking for a value ends it and is not a fault."""
    that(
        not rehearsal.stray, "a tensor is made on another device than the arguments'", expected="`device=` of a tensor that is there",
        got=rehearsal.stray, cause="With the model on a GPU this line would make it on the CPU, and the two cannot be combined.",
    )  # fmt: skip
    if not rehearsal.asked:
        for tensor in _tensors(rehearsal.result):
            that(tensor["device"] == "meta", "the result lies on another device than the arguments", expected="meta", got=tensor["device"])


def stays_on_its_device(function: Any, *args: Any, shape: Sequence[int], dtype: torch.dtype = torch.float32) -> None:
    """Fail if `function`, one of the student's, called with tensors on the meta device, makes one elsewhere, or gives another
    `shape` or `dtype`, as far as the rehearsal comes."""
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
