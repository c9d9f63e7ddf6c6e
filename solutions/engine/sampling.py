"""From a row of logits to its token: what Days 5, 6 and 18 say, in one thread and without sorting the vocabulary.

The days' functions are the definition, and the tests hold these to them. They cost an engine twice. They sort all V probabilities, which
takes as long as a step of a small model. And torch shares a pass over 49,152 numbers out to its threads, which wait for more in a loop
afterwards, on the cores that the next step's kernels want. numpy passes over a row in some 20 microseconds, in the thread that asks.

A filter keeps the most probable tokens. So all tokens above a cutoff are taken, and it is lowered until the ones to be kept are among them:
these few are sorted. Sums are made in float64, so the token differs from the days' only where u lies on the border between two, within
float32's rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from course.kit.errors import ModelError

Row = NDArray[Any]  # (V,), float32 or float64
Ids = NDArray[np.intp]
BLOCK = 256
CUTOFFS = (1e-2, 1e-4, 1e-8, 1e-16)
COLDEST = 1e-30
"""Below it a logit divided by the temperature leaves float32; what is drawn has long been the most probable token."""


def as_row(logits: Tensor) -> Row:
    """logits (1, V) or (V,), any floating dtype, on any device -> (V,) in float32 at least, the same memory where that is possible."""
    row = logits.reshape(-1).detach().cpu()
    return (row if row.itemsize >= 4 else row.float()).numpy()


def drawn(
    row: Row, u: float, *, temperature: float, min_p: float | None = None, top_k: int | None = None, top_p: float | None = None
) -> int:
    """The token at u, in [0, 1), on the cumulative scale of what the filters leave: temperature, then min-p, top-k, top-p.

    temperature > 0. None switches a filter off, and so does a value that keeps everything. The settings are those of `Request`, which
    refuses what means nothing. Raises ModelError for a row that is no distribution (NaN, or infinite at its highest).
    """
    require_numbers(row, row.argmax())
    with np.errstate(over="ignore", under="ignore"):
        weights = np.exp((row - row.max()) / max(temperature, COLDEST))  # the most probable has 1
    kept: Ids | None = np.flatnonzero(weights >= min_p) if min_p else None
    if top_k is not None and top_k < len(row):
        ids = above(weights, lambda found: len(found) >= top_k) if kept is None else kept
        if len(ids) > top_k:
            logits = row[ids]
            ids = ids[logits >= np.partition(logits, -top_k)[-top_k]]
        kept = ids
    if top_p is not None and top_p < 1:
        mass = top_p * float((weights if kept is None else weights[kept]).sum(dtype=np.float64))
        ids = above(weights, lambda found: weights[found].sum(dtype=np.float64) >= mass) if kept is None else kept
        ids = ids[np.argsort(-weights[ids], kind="stable")]
        before = np.cumsum(weights[ids], dtype=np.float64) - weights[ids]  # gathered by the more probable ones
        kept = np.sort(ids[before < mass])
    if kept is None:
        return _at(weights, u)
    return int(kept[_first_above(weights[kept], u)])


def require_numbers(rows: Row, best: Any) -> None:
    """Raise ModelError where the best logit is no number: argmax gives the place of a NaN wherever there is one. rows (R, V) or (V,)."""
    highest = np.take_along_axis(np.atleast_2d(rows), np.reshape(best, (-1, 1)), -1)
    if not np.isfinite(highest).all():
        found = highest[~np.isfinite(highest)][0]
        raise ModelError(f"the model's best logit is {found}: its weights are damaged, or too large for {rows.dtype}")


def token_logprobs(row: Row, token: int, k: int) -> tuple[float, list[tuple[int, float]]]:
    """What the model thought of a token, and its k best, as Day 18's function says it."""
    top = row.max()
    with np.errstate(under="ignore"):
        weights = np.exp(row - top)
    log_total = float(top) + float(np.log(weights.sum(dtype=np.float64)))
    ids = above(weights, lambda found: len(found) >= k) if k else np.arange(0)
    best = ids[np.argsort(-row[ids], kind="stable")[:k]]
    return float(row[token]) - log_total, [(int(i), float(row[i]) - log_total) for i in best]


def above(weights: Row, enough: Callable[[Ids], bool]) -> Ids:
    """The tokens whose weights reach a cutoff, in order of their ids: the first cutoff that brings enough of them, or all there are."""
    for cutoff in CUTOFFS:
        if enough(found := np.flatnonzero(weights >= cutoff)):
            return found
    return np.arange(len(weights))


def _at(weights: Row, u: float) -> int:
    """`_first_above` over a whole row: first the block in which it lies, then its place there."""
    starts = np.arange(0, len(weights), BLOCK)
    ends = np.cumsum(np.add.reduceat(weights, starts, dtype=np.float64))
    target = u * ends[-1]
    block = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
    inside = weights[starts[block] : starts[block] + BLOCK]
    before = ends[block - 1] if block else 0.0
    return int(starts[block]) + _first_above(inside, (target - before) / inside.sum(dtype=np.float64))


def _first_above(weights: Row, u: float) -> int:
    """The first whose share of the running sum exceeds u; never one of weight 0."""
    ends = np.cumsum(weights, dtype=np.float64)
    first = int(np.searchsorted(ends, u * ends[-1], side="right"))
    return min(first, int(np.flatnonzero(weights)[-1]))  # rounding may leave the whole sum at or below u
