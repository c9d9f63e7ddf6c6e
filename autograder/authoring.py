"""The names that checks import: `checks`, `close`, `equal`, `that`, `raises`, `random_steps`.

A check is a function that fails by raising `CheckFailed`. The parts of this exception (what is wrong, expected, got, cause) are separate,
so that a notebook can show them in a table and a terminal can print them in a line.

A cause is reported only with evidence of one of four kinds: facts that the values show (`evidence.py`), the values of a mistake that the
check names (`suspects`), a condition that proves the cause (`cause` of `that` and `raises`), or values in all of the exercise's checks
that equal those of a known mistake (`mistakes.py`). Without evidence, only expected and got are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from .base import evidence
from .base.wording import agreeing

Suspects = Sequence[tuple[Any, str]]
"""The known mistakes of a check: (the values that a mistake gives, a sentence that is true of all code that gives them)."""


class Student(Protocol):
    """The `student` of a check: the student's functions, in this process (`local.py`) or in a worker (`remote_student.py`).

    `student.f(x)` calls a function. Its arguments and results are copied as data. A result that is not data stays with the student's code,
    and the check gets a handle. A handle's attributes and items can be read and set, and its methods can be called. `len`, `in`, `for`,
    `next`, `bool` and `with` work on handles. `==` of two handles is True if they are one object; values are compared as data.
    A `with` never swallows an exception of the check.
    """

    def __getattr__(self, name: str) -> Any: ...

    def value(self, name: str) -> Any:
        """Return the value of a name in the student's code that is not a function: data, or a handle of a class or an object."""
        ...

    def play(self, batch: Any, *, stop: bool = True) -> list[Any]:
        """Return the outcomes of the steps of a `CallBatch` (`sandbox/protocol/batch.py`), which are sent together."""
        ...

    def scenario(self, name: str, *given: Any) -> Any:
        """Play a scenario of `async_harness.py` with functions or classes of the student."""
        ...

    def ranks(self, world: int) -> Any:
        """Return `world` ranks that can send to each other: see `Ranks` (`sandbox/process/ranks.py`)."""
        ...

    def generator(self, seed: int) -> Any:
        """Return a handle of a torch.Generator."""
        ...

    def gradients(self, on: bool | None = None) -> str: ...

    def forget(self, thing: Any) -> None: ...

    def model(self, name: str, *, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Any: ...

    def tokenizer(self, name: str) -> Any: ...

    def counting(self, *, fast_bytes: int | None = None, python: bool = False) -> AbstractContextManager[Any]: ...

    def simulated_machine(self, *, peak_flops: float, bandwidth: float) -> AbstractContextManager[Any]: ...

    def watching(self) -> AbstractContextManager[Any]: ...

    def clock(self) -> float:
        """Return the processor seconds of the process that runs the student's code."""
        ...

    def begin_check(self) -> None:
        """Reset the time limit for the next check."""
        ...


@dataclass(frozen=True)
class CheckInfo:
    exercise: str
    weight: float
    timing: bool = False
    gpu: bool = False


class CheckFailed(AssertionError):
    """A check's verdict that an answer is wrong.

    what: one sentence; expected, got: short texts or None; cause: a sentence that the evidence shows, or None.
    fact: True if the cause only describes the values. values: all compared values (by default `got`), by which a known mistake is
    recognised. Pass False for values that differ between machines, such as a time, or the rounding of a product in bfloat16.
    """

    def __init__(
        self, what: str, *, expected: Any = None, got: Any = None, cause: str | None = None, fact: bool = False, values: Any = None
    ) -> None:
        self.what = what
        self.expected, self.got = shown_apart(expected, got)
        self.cause = cause
        self.fact = fact
        self.values = got if values is None else values
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
    """Mark a function as a check of `exercise`; its docstring's first line is the title.

    timing: the check measures speed, uses `race`, and never runs beside others.
    gpu: the check needs a CUDA device. Without one the check is skipped, with the reason.
    """

    def mark(function: Callable[..., None]) -> Callable[..., None]:
        if not (function.__doc__ or "").strip():
            raise TypeError(f"check {function.__name__} has no docstring: add one, whose first line is the title that students see")
        function.check = CheckInfo(exercise, weight, timing, gpu)  # type: ignore[attr-defined]
        return function

    return mark


def that(
    condition: object, what: str, *, expected: Any = None, got: Any = None, cause: str | None = None, values: Any = None
) -> None:
    """Fail with `what` unless `condition` is true. cause: only a cause that the failed condition proves. values: see `CheckFailed`."""
    if not condition:
        raise CheckFailed(what, expected=expected, got=got, cause=cause, values=values)


def equal(got: Any, want: Any, *, suspects: Suspects = (), what: str = "wrong value") -> None:
    """Fail unless `got` is `want`: same values, and for tensors the same shape. Integer tensors of any width count as the same kind.

    suspects: see `Suspects`.
    """
    if isinstance(want, Tensor) or isinstance(got, Tensor):
        got_tensor, want_tensor = _as_tensor(got), torch.as_tensor(want)
        _as_real_as(got_tensor, want_tensor)
        _same_shape(got_tensor, want_tensor)
        if not torch.equal(got_tensor.to(torch.float64), want_tensor.to(torch.float64)):
            known = _suspected(got_tensor, suspects)
            fact = evidence.of_values(got_tensor, want_tensor)
            raise CheckFailed(what, expected=want_tensor, got=got_tensor, cause=known or fact, fact=not known)
        return
    plain_got, plain_want = _plain(got), _plain(want)
    if plain_got == plain_want:
        return
    known = next((cause for values, cause in suspects if plain_got == _plain(values)), None)
    raise CheckFailed(what, expected=want, got=got, cause=known or _evidence_of(plain_got, plain_want), fact=not known)


def close(
    got: Any,
    want: Any,
    *,
    atol: float = 1e-6,
    rtol: float = 1e-5,
    dtype: torch.dtype | None = None,
    what: str | None = None,
    suspects: Suspects = (),
) -> None:
    """Fail unless `got` equals `want` within atol + rtol * |want|, elementwise; infinities must match exactly.

    want: a tensor, a number, or nested lists of numbers. If it is a number, `got` may be a Python
    number or a tensor of shape (). dtype: the required dtype; None accepts any floating one. suspects: see `Suspects`.
    """
    if isinstance(want, int | float) and isinstance(got, int | float) and not isinstance(got, bool):
        if not _number_close(float(got), float(want), atol, rtol):
            known = _suspected(torch.tensor(float(got), dtype=torch.float64), suspects)
            fact = evidence.of_numbers(float(got), float(want))
            raise CheckFailed(what or "wrong number", expected=want, got=got, cause=known or fact, fact=not known)
        return
    got_tensor = _as_tensor(got).detach()
    want_tensor = torch.as_tensor(want, dtype=None if isinstance(want, Tensor) else torch.float64).detach()
    _same_shape(got_tensor, want_tensor)
    _as_real_as(got_tensor, want_tensor)
    if dtype is not None and got_tensor.dtype != dtype:
        raise CheckFailed("wrong dtype", expected=str(dtype), got=str(got_tensor.dtype), values=got_tensor)
    g, w = got_tensor.to(torch.float64), want_tensor.to(torch.float64)
    if g.numel() and float(((g - w).abs() - rtol * w.abs()).max()) <= atol:
        return  # the usual case, and cheap; infinities and nan end here as nan, and are looked at below
    ok = torch.isclose(g, w, atol=atol, rtol=rtol, equal_nan=True)
    if bool(ok.all()):
        return
    known = _suspected(g, suspects)
    if g.isnan().any() and not w.isnan().any():
        nans = int(g.isnan().sum())
        fact = f"{nans:,} of {g.numel():,} numbers {agreeing(nans, 'is', 'are')} nan." if g.numel() > 1 else None
        raise CheckFailed("the result holds nan", expected=want_tensor, got=got_tensor, cause=known or fact, fact=not known)
    cause, is_fact = known or evidence.of_values(g, w, ok), not known
    worst = _worst_place(g, w, ok)
    place = f" at index {list(worst)}" if len(worst) > 0 and g.numel() > 8 else ""
    if place:
        wrong = int((~ok).sum())
        raise CheckFailed(
            (what or "wrong values") + place + f" ({wrong} of {ok.numel()} {agreeing(wrong, 'differs', 'differ')})",
            expected=float(w[worst]),
            got=float(g[worst]),
            cause=cause,
            fact=is_fact,
            values=got_tensor,
        )
    raise CheckFailed(what or "wrong values", expected=want_tensor, got=got_tensor, cause=cause, fact=is_fact)


def raises(
    kind: type[BaseException] | str, call: Callable[[], Any], *, naming: Any = None, cause: str | None = None
) -> None:
    """Fail unless call() raises `kind` (a class, or the name of a class of the student's own).

    naming: a value that the message must contain, e.g. the argument that was refused. cause: only a cause that a missing or different
    exception proves.
    """
    name = kind if isinstance(kind, str) else kind.__name__
    try:
        result = call()
    except Exception as error:
        if isinstance(error, CheckFailed):
            raise
        if name not in exception_names(error):
            if isinstance(error, NotImplementedError) or _never_came_to_it(error):
                raise
            raise CheckFailed(
                f"an exception other than {name} was raised", got=f"{exception_names(error)[0]}: {error}", cause=cause
            ) from None
        if naming is not None and not _names(str(error), naming):
            raise CheckFailed(
                "the message does not name the value", expected=f"{name} with {naming!r} in its message", got=str(error), cause=cause
            ) from None
        return
    raise CheckFailed(f"no {name} was raised", got=result, cause=cause)


def _never_came_to_it(error: Exception) -> bool:
    """Return True if the call hit a limit, or if there is nothing to call. In these cases the expected exception could not be raised."""
    return "WorkerDied" in exception_names(error) or (isinstance(error, NameError) and getattr(error, "lines", None) == [])


def because(error: Exception, cause: str) -> Exception:
    """Return an exception of the student's code, or a CheckFailed, with a cause that the check has proved."""
    if isinstance(error, CheckFailed):
        return CheckFailed(error.what, expected=error.expected, got=error.got, cause=cause, values=error.values)
    error.proved_cause = cause  # type: ignore[attr-defined]
    return error


def random_steps(draw: Callable[[], list[Any]], play: Callable[[list[Any]], Any], *, count: int) -> None:
    """Play `count` random lists of steps. If one fails, fail with the shortest list that still fails.

    `play(steps)` raises CheckFailed. It must accept a list from which any steps were removed, and skip a step that no longer applies,
    for example because the step names something that was never made.
    """
    for _ in range(count):
        steps = draw()
        failed = _failure(play, steps)
        if failed is not None:
            raise _shortest(play, steps, failed)


def _failure(play: Callable[[list[Any]], Any], steps: list[Any]) -> CheckFailed | None:
    try:
        play(steps)
    except CheckFailed as failed:
        return failed
    return None


def _shortest(play: Callable[[list[Any]], Any], steps: list[Any], failed: CheckFailed) -> CheckFailed:
    """Remove steps from a failing list, the last steps first, until none can be removed. Return the failure of the shortest list."""
    again = True
    while again:
        again = False
        for place in reversed(range(len(steps))):
            shorter = steps[:place] + steps[place + 1 :]
            if (still := _failure(play, shorter)) is not None:
                steps, failed, again = shorter, still, True
    return failed


def exception_names(error: BaseException) -> list[str]:
    """Return the class names of `error`, most derived first; for an exception from the student's process, its names there."""
    return list(getattr(error, "names", None) or [c.__name__ for c in type(error).__mro__])


def show(value: Any, limit: int = 160, digits: int = 4) -> str:
    """Return a short text for a value: tensors as lists, numbers with `digits` decimals."""
    if isinstance(value, str):
        return value if len(value) <= limit else value[: limit - 1] + "…"
    if isinstance(value, Tensor):
        if math.prod(max(size, 1) for size in value.shape) > 24:  # an empty one has as many empty lists as its other sizes make
            return f"tensor of shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
        return show(value.detach().cpu().tolist(), limit, digits)
    if isinstance(value, float) and 0 < abs(value) < 0.1:
        return f"{value:.{digits}g}"
    text = _show_plain(value[:limit] if isinstance(value, list | tuple) else value, digits)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shown_apart(expected: Any, got: Any) -> tuple[str | None, str | None]:
    """Return both as short texts, with as many digits as it takes to tell them apart; (None, None) if the texts are always equal."""
    if expected is None or got is None:
        return (None if expected is None else show(expected), None if got is None else show(got))
    for digits in (4, 6, 9, 17):
        texts = show(expected, digits=digits), show(got, digits=digits)
        if texts[0] != texts[1]:
            return texts
    return None, None


def _show_plain(value: Any, digits: int) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return str(value)
        return f"{value:.{digits}f}" if 1e-4 <= abs(value) < 1e5 or value == 0 else f"{value:.{digits}g}"
    if isinstance(value, list):
        return "[" + ", ".join(_show_plain(v, digits) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(_show_plain(v, digits) for v in value) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


def _suspected(got: Tensor, suspects: Suspects) -> str | None:
    """Return the name of the known mistake that gives these values, or None."""
    values = got.detach().to(torch.float64)
    for mistaken, cause in suspects:
        other = torch.as_tensor(mistaken).to(torch.float64)
        if values.shape == other.shape and torch.allclose(values, other, rtol=1e-4, atol=1e-5, equal_nan=True):
            return cause
    return None


def _evidence_of(got: Any, want: Any) -> str | None:
    if isinstance(want, list) and isinstance(got, list):
        return evidence.of_lists(got, want)
    if isinstance(want, str) and isinstance(got, str):
        return evidence.of_texts(got, want)
    if isinstance(want, int | float) and isinstance(got, int | float) and not isinstance(want, bool) and not isinstance(got, bool):
        return evidence.of_numbers(float(got), float(want))
    return evidence.of_type(got) if got is None or isinstance(got, tuple) else None


def _as_tensor(got: Any) -> Tensor:
    if isinstance(got, Tensor):
        return got
    if isinstance(got, int | float) and not isinstance(got, bool):
        return torch.tensor(got, dtype=torch.float64)
    raise CheckFailed("the result is not a tensor", expected="a torch.Tensor", got=_describe(got), cause=evidence.of_type(got), fact=True)


def _as_real_as(got: Tensor, want: Tensor) -> None:
    """Fail for complex numbers if real ones are expected, because a cast would drop the imaginary part and hide the mistake."""
    if got.is_complex() and not want.is_complex():
        raise CheckFailed("complex numbers instead of real ones", expected="real numbers", got=got)


def _describe(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, list | tuple | dict | str):
        return f"{type(value).__name__}: {show(value, 80)}"
    return getattr(value, "type_name", type(value).__name__)


def _same_shape(got: Tensor, want: Tensor) -> None:
    if got.shape != want.shape:
        fact = evidence.of_shape(got, want)
        raise CheckFailed("wrong shape", expected=str(tuple(want.shape)), got=str(tuple(got.shape)), cause=fact, fact=True, values=got)


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
    """Return True if a message names a value, in any form of the number (1.5, 1.50, -1, 0, 0.0)."""
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
    """Return lists, tuples and tensors as lists, because the rules rarely distinguish them."""
    if isinstance(value, list | tuple) or (isinstance(value, Sequence) and not isinstance(value, str | bytes)):
        return [_plain(v) for v in value]
    if isinstance(value, Tensor):
        return value.tolist()
    return value
