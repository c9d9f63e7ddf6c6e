"""What a check is written with: `checks`, `close`, `equal`, `that`, `raises`.

A check is a function that fails by raising `CheckFailed`. Its parts (what is wrong, expected, got, likely
cause) stay apart, so that a notebook can set them in a table and a terminal can print them in a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class CheckInfo:
    exercise: str
    weight: float
    timing: bool = False
    gpu: bool = False


class CheckFailed(AssertionError):
    """A check's verdict that an answer is wrong.

    what: one sentence; expected, got: short texts or None; cause: the likely mistake, or None.
    """

    def __init__(self, what: str, *, expected: Any = None, got: Any = None, cause: str | None = None) -> None:
        self.what = what
        self.expected = None if expected is None else show(expected)
        self.got = None if got is None else show(got)
        self.cause = cause
        parts = [what]
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        if self.got is not None:
            parts.append(f"got {self.got}")
        if cause:
            parts.append(cause)
        super().__init__("; ".join(parts))


def checks(
    exercise: str, *, weight: float = 1.0, timing: bool = False, gpu: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Marks a function as a check of `exercise`; its docstring's first line is the title.

    timing: it measures speed, asks for `race`, and never runs beside others. gpu: it needs a CUDA device, and is skipped with
    the reason where there is none.
    """

    def mark(function: Callable[..., None]) -> Callable[..., None]:
        if not (function.__doc__ or "").strip():
            raise TypeError(f"check {function.__name__} has no docstring: its first line is the title students see")
        function.check = CheckInfo(exercise, weight, timing, gpu)  # type: ignore[attr-defined]
        return function

    return mark


def that(condition: object, what: str, *, expected: Any = None, got: Any = None, cause: str | None = None) -> None:
    """Fails with `what` unless `condition` is true."""
    if not condition:
        raise CheckFailed(what, expected=expected, got=got, cause=cause)


def equal(got: Any, want: Any, *, cause: str | None = None, what: str = "wrong value") -> None:
    """Fails unless `got` is `want`: same values, and for tensors the same shape. Integer tensors of any width count as the same kind."""
    if isinstance(want, Tensor) or isinstance(got, Tensor):
        got_tensor, want_tensor = _as_tensor(got, cause), torch.as_tensor(want)
        _same_shape(got_tensor, want_tensor, cause)
        if not torch.equal(got_tensor.to(torch.float64), want_tensor.to(torch.float64)):
            raise CheckFailed(what, expected=want_tensor, got=got_tensor, cause=cause)
    elif _plain(got) != _plain(want):
        raise CheckFailed(what, expected=want, got=got, cause=cause)


def close(
    got: Any,
    want: Any,
    *,
    atol: float = 1e-6,
    rtol: float = 1e-5,
    cause: str | None = None,
    dtype: torch.dtype | None = None,
    what: str | None = None,
) -> None:
    """Fails unless `got` equals `want` within atol + rtol * |want|, elementwise; infinities must match exactly.

    want: a tensor, a number, or nested lists of numbers. A number may be answered by a Python number or a
    tensor of shape (). `dtype`, if given, is demanded of the answer. Otherwise any floating dtype will do.
    """
    if isinstance(want, int | float) and isinstance(got, int | float) and not isinstance(got, bool):
        if not _number_close(float(got), float(want), atol, rtol):
            raise CheckFailed(what or "wrong number", expected=want, got=got, cause=cause)
        return
    got_tensor = _as_tensor(got, cause).detach()
    want_tensor = torch.as_tensor(want, dtype=None if isinstance(want, Tensor) else torch.float64).detach()
    _same_shape(got_tensor, want_tensor, cause)
    if dtype is not None and got_tensor.dtype != dtype:
        raise CheckFailed("wrong dtype", expected=str(dtype), got=str(got_tensor.dtype), cause=cause)
    g, w = got_tensor.to(torch.float64), want_tensor.to(torch.float64)
    if g.numel() and float(((g - w).abs() - rtol * w.abs()).max()) <= atol:
        return  # the usual case, and cheap; infinities and nan end here as nan, and are looked at below
    if g.isnan().any() and not w.isnan().any():
        raise CheckFailed("the result holds nan", expected=want_tensor, got=got_tensor, cause=cause)
    ok = torch.isclose(g, w, atol=atol, rtol=rtol, equal_nan=True)
    if bool(ok.all()):
        return
    worst = _worst_place(g, w, ok)
    place = f" at index {list(worst)}" if len(worst) > 0 and g.numel() > 8 else ""
    if place:
        raise CheckFailed(
            (what or "wrong values") + place + f" ({int((~ok).sum())} of {ok.numel()} differ)",
            expected=float(w[worst]),
            got=float(g[worst]),
            cause=cause,
        )
    raise CheckFailed(what or "wrong values", expected=want_tensor, got=got_tensor, cause=cause)


def raises(
    kind: type[BaseException] | str, call: Callable[[], Any], *, naming: Any = None, cause: str | None = None
) -> None:
    """Fails unless call() raises `kind` (a class, or the name of a class of the student's own).

    naming: a value that the message must contain, e.g. the argument that was refused.
    """
    name = kind if isinstance(kind, str) else kind.__name__
    try:
        result = call()
    except Exception as error:
        if isinstance(error, CheckFailed):
            raise
        if name not in exception_names(error):
            if isinstance(error, NotImplementedError):
                raise
            raise CheckFailed(
                f"the wrong exception: {name} was due", expected=name, got=f"{exception_names(error)[0]}: {error}", cause=cause
            ) from None
        if naming is not None and not _names(str(error), naming):
            raise CheckFailed(
                "the message does not name the value", expected=f"{name} with {naming!r} in its message", got=str(error), cause=cause
            ) from None
        return
    raise CheckFailed(f"no exception: {name} was due", expected=name, got=result, cause=cause)


def exception_names(error: BaseException) -> list[str]:
    """Class names of `error`, most derived first; for an exception from the student's process, those it had there."""
    return list(getattr(error, "names", None) or [c.__name__ for c in type(error).__mro__])


def show(value: Any, limit: int = 160) -> str:
    """A short text for a value: tensors as lists with four significant digits."""
    if isinstance(value, str):
        return value if len(value) <= limit else value[: limit - 1] + "…"
    if isinstance(value, Tensor):
        if value.numel() > 24:
            return f"tensor of shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
        return show(value.detach().cpu().tolist(), limit)
    text = _show_plain(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _show_plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return str(value)
        return f"{value:.4f}" if 1e-4 <= abs(value) < 1e5 or value == 0 else f"{value:.4g}"
    if isinstance(value, list):
        return "[" + ", ".join(_show_plain(v) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(_show_plain(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def _as_tensor(got: Any, cause: str | None) -> Tensor:
    if isinstance(got, Tensor):
        return got
    if isinstance(got, int | float) and not isinstance(got, bool):
        return torch.tensor(got, dtype=torch.float64)
    raise CheckFailed("the result is not a tensor", expected="a torch.Tensor", got=_describe(got), cause=cause)


def _describe(value: Any) -> str:
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, list | tuple | dict | str):
        return f"{type(value).__name__}: {show(value, 80)}"
    return getattr(value, "type_name", type(value).__name__)


def _same_shape(got: Tensor, want: Tensor, cause: str | None) -> None:
    if got.shape != want.shape:
        raise CheckFailed("wrong shape", expected=str(tuple(want.shape)), got=str(tuple(got.shape)), cause=cause)


def _number_close(got: float, want: float, atol: float, rtol: float) -> bool:
    if math.isnan(got) or math.isnan(want):
        return math.isnan(got) and math.isnan(want)
    if math.isinf(got) or math.isinf(want):
        return got == want
    return abs(got - want) <= atol + rtol * abs(want)


def _worst_place(got: Tensor, want: Tensor, ok: Tensor) -> tuple[int, ...]:
    distance = (got - want).abs().nan_to_num(nan=math.inf).masked_fill(ok, -1.0)
    flat = int(distance.argmax()) if distance.numel() else 0
    place: list[int] = []
    for size in reversed(distance.shape):
        place.append(flat % size)
        flat //= size
    return tuple(reversed(place))


def _names(message: str, value: Any) -> bool:
    """Whether a message names a value, however the number is written (1.5, 1.50, -1, 0, 0.0)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) in message
    import re

    for text in re.findall(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[-+]?\.\d+|[-+]?inf|nan", message):
        try:
            if math.isclose(float(text), float(value), rel_tol=1e-6, abs_tol=1e-12):
                return True
        except ValueError:
            continue
    return False


def _plain(value: Any) -> Any:
    """Lists and tuples compare alike: the rules rarely say which, and never mean it."""
    if isinstance(value, list | tuple) or (isinstance(value, Sequence) and not isinstance(value, str | bytes)):
        return [_plain(v) for v in value]
    if isinstance(value, Tensor):
        return value.tolist()
    return value
