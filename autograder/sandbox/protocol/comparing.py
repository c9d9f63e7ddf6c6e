"""The comparison of an argument before and after a call. It runs on the checks' side only, never in the worker."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .shared_objects import holds_tensors, kit_dataclasses


def snapshot(value: Any) -> Any:
    """Copy a value deeply enough to notice a change of tensors, lists and dicts in place."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return [snapshot(v) for v in value]
    if isinstance(value, dict):
        return {k: snapshot(v) for k, v in value.items()}
    return value


def same(old: Any, new: Any) -> bool:
    """Return whether an argument is unchanged: nan equals nan, and -inf equals only -inf.

    Objects that are not sent as data count as unchanged.
    """
    if isinstance(old, Tensor):
        if not isinstance(new, Tensor) or old.shape != new.shape or old.dtype != new.dtype:
            return False
        new = new.detach()
        return torch.equal(old, new) or bool(((old == new) | ((old != old) & (new != new))).all())
    if isinstance(old, list):
        return isinstance(new, list | tuple) and len(old) == len(new) and all(map(same, old, new))
    if isinstance(old, dict):
        return isinstance(new, dict) and old.keys() == new.keys() and all(same(old[k], new[k]) for k in old)
    if isinstance(old, float) and old != old:
        return isinstance(new, float) and new != new
    if old is None or isinstance(old, bool | int | float | str | bytes) or type(old) in kit_dataclasses().values():
        return old is new or holds_tensors(old) or (type(old) is type(new) and bool(old == new))
    return True
