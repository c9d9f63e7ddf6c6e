"""Calls on the meta device: tensors with shape and dtype but without values, which reveal a device error without a GPU.

A tensor that the code makes on the CPU by mistake (`torch.arange(n)` without `device=`) meets the meta tensors and cannot be combined with
them, just as it could not on a GPU. `rehearse` reports the line that made it. Code that asks a tensor for a value stops there, because
there is none; this is reported separately, since only some contracts forbid it.
"""

from __future__ import annotations

import dataclasses
import functools
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from ..protocol.shared_objects import kit_dataclasses

aten = torch.ops.aten
MIXING = (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_, aten.copy_, aten._to_copy)
"""Operations that take tensors of two devices, here as on a GPU: an index may be on the CPU, and a copy crosses devices."""
NO_VALUES = (
    "cannot be called on meta tensors", "meta tensor", "data-dependent", "data-independent", "_local_scalar_dense", "convert meta device",
)  # fmt: skip
"""Words in torch's errors when Python asked a tensor on the meta device for its values."""


IsStudents = Callable[[str], bool]
"""Predicate of a file's name, true for a cell of the student's."""


@functools.cache
def warm_up() -> None:
    """Make torch import what it computes shapes with, sympy among it, so that no call's time is spent on that."""
    tensor = torch.empty(1, 1, device="meta")
    with _without_compiler():
        torch.cat((tensor @ tensor, tensor))


def rehearse(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], is_students: IsStudents) -> dict[str, Any]:
    """Call a function on the meta device and return {"result", "stray", "asked"}.

    "result": the result, with shapes, dtypes and devices instead of tensors. "stray": the line that made a tensor on another device, or "".
    "asked": the line that read a value of a meta tensor, or "".

    An exception of the code that has another cause is raised.
    """
    mode = _Noting(is_students)
    arguments, named = on_meta(args), on_meta(kwargs)
    try:
        with _without_compiler(), mode:
            result = function(*arguments, **named)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        if mode.stray:
            return {"result": None, "stray": mode.stray, "asked": ""}
        if any(words in str(error) for words in NO_VALUES):
            return {"result": None, "stray": "", "asked": _line_of_error(error, is_students)}
        raise
    return {"result": _described(result), "stray": mode.stray or mode.born_elsewhere(result), "asked": ""}


class GivenByTheChecks:
    """An object that stayed with the grader and is called back. Its arguments need values, so meta tensors are sent as zeros."""

    def on_meta(self) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with _disable_current_modes():
                return on_meta(self(*map(zeros, args), **{name: zeros(value) for name, value in kwargs.items()}))  # type: ignore[operator]

        return call


def zeros(value: Any) -> Any:
    return torch.zeros(value.shape, dtype=value.dtype) if isinstance(value, Tensor) and value.is_meta else value


def on_meta(value: Any) -> Any:
    """Return the same value with every tensor in it on the meta device."""
    if isinstance(value, Tensor):
        return value.to("meta")
    if isinstance(value, list | tuple):
        return type(value)(map(on_meta, value))
    if isinstance(value, dict):
        return {key: on_meta(entry) for key, entry in value.items()}
    if isinstance(value, GivenByTheChecks):
        return value.on_meta()
    if type(value) in kit_dataclasses().values():
        fields = {field.name: on_meta(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return type(value)(**fields)
    return value


class _Noting(TorchDispatchMode):
    """Mode that remembers the line that made each tensor on another device, until one of them meets a meta tensor."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False, for the reason given in `op_counter.counting`."""
        return False

    def __init__(self, is_students: IsStudents) -> None:
        super().__init__()
        self.is_students = is_students
        self.line = ""
        self.stray = ""
        self._made: dict[int, tuple[Tensor, str]] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.line = _line_now(self.is_students) or self.line
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        strays = [tensor for tensor in given if _is_stray(tensor)]
        if strays and any(t.is_meta for t in given) and not self.stray and function._overloadpacket not in MIXING:
            self.stray = self._line_of(strays[0])
        if function._overloadpacket is aten.copy_ and _is_stray(given[0]) and given[1].is_meta:
            out = given[0]  # a GPU would send its values over: there are none
        else:
            out = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, Tensor) and _is_stray(tensor):
                line = self._line_of(strays[0]) if strays else self.line
                self._made.setdefault(id(tensor), (tensor, line))  # the tensor is stored, so that its id stays unique
        return out

    def born_elsewhere(self, result: Any) -> str:
        """Return the line that made a tensor of the result on another device, scalars included; "" without one."""
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and not tensor.is_meta:
                return self._line_of(tensor)
        return ""

    def _line_of(self, tensor: Tensor) -> str:
        return self._made.get(id(tensor), (tensor, self.line))[1]


@contextmanager
def _without_compiler() -> Iterator[None]:
    """Replace torch's compiler, if it is not loaded, by a module that does nothing.

    Torch's Python code for the meta device asks the compiler to skip that code. Without the replacement this would load the compiler, which
    takes seconds of a call's time.
    """
    if "torch._dynamo" in sys.modules:
        yield
        return
    nobody = ModuleType("torch._dynamo")
    nobody.disable = lambda function, *args, **kwargs: function  # type: ignore[attr-defined]
    sys.modules["torch._dynamo"] = nobody
    torch._dynamo = nobody
    try:
        yield
    finally:
        if sys.modules.get("torch._dynamo") is nobody:
            del sys.modules["torch._dynamo"]
        if vars(torch).get("_dynamo") is nobody:
            del torch._dynamo


def _is_stray(tensor: Tensor) -> bool:
    """Return whether a tensor is on another device than the arguments. Scalars are never stray: they combine with any device."""
    return not tensor.is_meta and tensor.dim() > 0


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return {"shape": list(value.shape), "dtype": value.dtype, "device": value.device.type}
    if isinstance(value, list | tuple):
        return [_described(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float | str) else type(value).__name__


def _line_now(is_students: IsStudents) -> str:
    """Return the student's innermost running line as "function, line 3: source", or ""."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_students(frame.f_code.co_filename):
            return _line(frame, frame.f_lineno)
        frame = frame.f_back
    return ""


def _line_of_error(error: BaseException, is_students: IsStudents) -> str:
    found = [(frame, number) for frame, number in traceback.walk_tb(error.__traceback__) if is_students(frame.f_code.co_filename)]
    return _line(*found[-1]) if found else ""


def _line(frame: FrameType, number: int) -> str:
    source = linecache.getline(frame.f_code.co_filename, number).strip()
    return f"{frame.f_code.co_name}, line {number}: {source[:200]}"
