"""Facts about an incorrect answer that its values show, reported beside expected and got. No guess at what a student meant.

Each function gives one true sentence, or None. A cause that the values do not show is not reported at all.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .wording import agreeing

MAX_VALUES = 200_000
"""The limit above which results are not sorted or transposed, because a check waits for this."""
FACTORS = {
    math.log(2): "ln 2",
    1 / math.log(2): "1 / ln 2",
    math.log(10): "ln 10",
    1 / math.log(10): "1 / ln 10",
}


def of_type(got: Any) -> str | None:
    """Explain a result that is not a tensor but should be one."""
    if got is None:
        return "The function returned None: is a `return` missing?"
    if isinstance(got, tuple) and len(got) == 2 and all(isinstance(part, Tensor) for part in got):
        return "The function returned two tensors. `max(dim=...)`, `min`, `sort` and `topk` return values and indices: take one of them."
    name = getattr(got, "type_name", None)
    if name in ("max", "min", "sort", "topk", "kthvalue", "mode", "median"):
        return f"`{name}` along a dimension returns values and indices together: take `.values` or `.indices`, or use `amax`, `argmax`."
    if isinstance(got, tuple):
        return f"The function returned a tuple of {len(got)}: is there an extra comma after `return`?"
    if isinstance(got, list):
        return "The function returned a list: convert it to a tensor."
    if (name or type(got).__name__) in ("ndarray", "float64", "float32", "int64"):
        return "The function returned a numpy number or array: use torch's own functions, or convert it with `torch.as_tensor`."
    return None


def of_shape(got: Tensor, want: Tensor) -> str | None:
    """Explain two tensors of different shapes, for example that the numbers are right but two dimensions are exchanged."""
    if part := _a_part(got, want):
        return part
    if got.numel() != want.numel() or not 0 < got.numel() <= MAX_VALUES:
        return None
    g, w = got.detach().double().cpu(), want.detach().double().cpu()
    if got.dim() == want.dim() <= 4:
        for order in itertools.permutations(range(got.dim())):
            turned = g.permute(order)
            if turned.shape == w.shape and _near(turned, w):
                moved = [d for d, other in enumerate(order) if d != other]
                return f"The numbers are right, with dimensions {all_of(moved)} exchanged."
    if _near(g.flatten(), w.flatten()):
        if [s for s in got.shape if s != 1] == [s for s in want.shape if s != 1]:
            return "The numbers are right; a dimension of size 1 is " + ("too many." if got.dim() > want.dim() else "missing or elsewhere.")
        return "The numbers are right and in the right order, in another shape."
    return None


def _a_part(got: Tensor, want: Tensor) -> str | None:
    """Explain one dimension that is too short or too long, if the two tensors agree in their common part."""
    differ = [d for d in range(want.dim()) if got.dim() == want.dim() and got.shape[d] != want.shape[d]]
    if len(differ) != 1 or 0 in (got.numel(), want.numel()) or max(got.numel(), want.numel()) > MAX_VALUES:
        return None
    (dim,), missing = differ, got.shape[differ[0]] < want.shape[differ[0]]
    less, more = (got, want) if missing else (want, got)
    less, more = less.detach().double().cpu(), more.detach().double().cpu()
    size, gap = less.shape[dim], more.shape[dim] - less.shape[dim]
    for start, at_end in ((0, "last"), (gap, "first")):
        if len(less.unique()) > 1 and _near(less, more.narrow(dim, start, size)):
            if missing:
                return f"The numbers that are there are right; in dimension {dim} the {at_end} {_of(gap)} missing."
            return f"The expected numbers are all there; in dimension {dim} the {at_end} {_of(gap)} too many."
    return None


def of_values(got: Tensor, want: Tensor, accepted: Tensor | None = None) -> str | None:
    """Explain two tensors of one shape whose values differ. accepted: for each value, whether the check lets it pass."""
    if not 1 < got.numel() <= MAX_VALUES or got.is_complex() or want.is_complex():
        return None
    g, w = got.detach().double().cpu(), want.detach().double().cpu()
    if _near(g, w):  # refused for its last digits: whatever is compared loosely below would be found to be so
        return None
    return _turned(g, w) or _in_wrong_places(g, w) or _by_a_factor(g, w) or _by_an_amount(g, w) or _some_rows(g, w, accepted)


def of_lists(got: list[Any], want: list[Any]) -> str | None:
    """Explain two lists that differ."""
    if got == want:
        return None
    if got and got == want[: len(got)]:
        return f"It is right as far as it goes; the last {_of(len(want) - len(got))} missing."
    if want and want == got[: len(want)]:
        return f"It is right at first, and goes on for {len(got) - len(want)} more."
    if 1 < len(got) < len(want) and got == want[-len(got) :]:  # one that is alone may be the last by chance
        return f"The end is right; the first {_of(len(want) - len(got))} missing."
    try:
        if len(got) > 1 and Counter(map(repr, got)) == Counter(map(repr, want)):
            return "These are the right ones in another order."
    except RecursionError:
        return None
    return None


def of_texts(got: str, want: str) -> str | None:
    if not got or got == want:
        return None
    if want.startswith(got):
        return f"The text is right as far as it goes; its end is missing: {want[len(got) :][:40]!r}."
    if want and got.startswith(want):
        return f"The text is right at first; after it comes {got[len(want) :][:40]!r}."
    return None


def of_numbers(got: float, want: float) -> str | None:
    if want == 0 or got == 0 or not (math.isfinite(got) and math.isfinite(want)):
        return None
    ratio = got / want
    if math.isclose(ratio, -1, rel_tol=1e-6):
        return "The number is right but for its sign."
    for factor, name in FACTORS.items():
        if math.isclose(ratio, factor, rel_tol=1e-4):
            return f"It is {name} times the expected number."
    for factor in (2, 4, 8, 1000, 1024, 1e6, 1e9):
        if math.isclose(ratio, factor, rel_tol=1e-6):
            return f"It is {factor:,g} times the expected number."
        if math.isclose(ratio, 1 / factor, rel_tol=1e-6):
            return f"The expected number is {factor:,g} times as large."
    return None


def _near(g: Tensor, w: Tensor) -> bool:
    return torch.allclose(g, w, rtol=1e-4, atol=1e-6, equal_nan=True)


def _turned(g: Tensor, w: Tensor) -> str | None:
    """Explain two exchanged dimensions of equal size."""
    for a, b in itertools.combinations(range(g.dim()), 2):
        if g.shape[a] == g.shape[b] > 1 and _near(g.transpose(a, b), w):
            return f"The numbers are right, with dimensions {a} and {b} exchanged."
    return None


def _in_wrong_places(g: Tensor, w: Tensor) -> str | None:
    if g.shape[-1:] and g.shape[-1] > 1 and len(w.unique()) > 2:
        if _near(g.sort(dim=-1).values, w.sort(dim=-1).values):
            return "The numbers of each row are right, but in the wrong places of the row."
        if _near(g.flatten().sort().values, w.flatten().sort().values):
            return "The numbers are right, but in the wrong places."
    return None


def _by_a_factor(g: Tensor, w: Tensor) -> str | None:
    usable = (w != 0) & w.isfinite()
    if not bool(usable.any()) or not bool(((g == w) | usable).all()) or len(w[usable].unique()) < 2:
        return None
    ratios = g[usable] / w[usable]
    factor = float(ratios.median())
    if not math.isfinite(factor) or factor == 0 or not torch.allclose(ratios, torch.full_like(ratios, factor), rtol=1e-4, atol=0):
        return None
    if math.isclose(factor, -1, rel_tol=1e-4):
        return "Every number is right but for its sign."
    name = next((name for value, name in FACTORS.items() if math.isclose(factor, value, rel_tol=1e-4)), f"{factor:.4g}")
    return None if name == "1" else f"Every number is {name} times the expected one."


def _by_an_amount(g: Tensor, w: Tensor) -> str | None:
    finite = w.isfinite()
    if int(finite.sum()) < 3 or not bool(((g == w) | finite).all()) or len(w[finite].unique()) < 3:
        return None
    gaps = g[finite] - w[finite]
    gap = float(gaps.median())
    noise = 1e-6 * (1 + float(w[finite].abs().max()))
    if math.isfinite(gap) and abs(gap) > noise and torch.allclose(gaps, torch.full_like(gaps, gap), rtol=1e-4, atol=noise):
        return f"Every number is {abs(gap):.4g} {'more' if gap > 0 else 'less'} than expected."
    return None


def _some_rows(g: Tensor, w: Tensor, accepted: Tensor | None) -> str | None:
    """Name the right rows and the wrong rows of the first dimension."""
    if g.dim() < 2 or not 2 <= g.shape[0] <= 16:
        return None
    right = [row for row in range(g.shape[0]) if (_near(g[row], w[row]) if accepted is None else bool(accepted[row].all()))]
    wrong = [row for row in range(g.shape[0]) if row not in right]
    if not right or not wrong:
        return None
    rows = agreeing(len(right), "Row", "Rows")
    return f"{rows} {all_of(right)} {_is(right)} right; {all_of(wrong)} {_is(wrong)} not."


def all_of(things: Sequence[object]) -> str:
    """Return the items as text, as in `0, 1 and 2`."""
    *first, last = map(str, things)
    return f"{', '.join(first)} and {last}" if first else last


def _is(numbers: list[int]) -> str:
    return agreeing(len(numbers), "is", "are")


def _of(count: int) -> str:
    return "one is" if count == 1 else f"{count} are"
