"""The step from a row of logits to its token, in one thread and without sorting the vocabulary.

The functions of Days 5, 6 and 18 are the definition, and the tests compare this module with them. An engine pays for the days'
functions twice. They sort all V probabilities, which takes as long as a step of a small model. And torch splits a pass over 49,152 numbers
among its threads, which then wait for more work in a loop, on the cores that the next step's kernels need. numpy passes over a row in some
20 microseconds, in the calling thread.

A filter keeps the most probable tokens. The code here therefore takes all tokens above a cutoff, lowers the cutoff until it has enough of
them, and sorts only these few. Sums are in float64, so the token differs from the days' only if u is on the border between two tokens,
within float32's rounding.
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
"""Lowest temperature that logits are divided by; a lower one could overflow float32.

Far above it, the draw is already the most probable token.
"""


def as_row(logits: Tensor) -> Row:
    """Return logits (1, V) or (V,), of any floating dtype and on any device, as a numpy row (V,).

    The row is at least float32, and shares the tensor's memory if possible.
    """
    row = logits.reshape(-1).detach().cpu()
    return (row if row.itemsize >= 4 else row.float()).numpy()


def drawn(
    row: Row,
    u: float,
    *,
    temperature: float,
    min_p: float | None = None,
    top_k: int | None = None,
    typical_p: float | None = None,
    top_p: float | None = None,
) -> int:
    """Return the token at u on the cumulative scale of the filtered probabilities.

    The order is temperature, min-p, top-k, typical-p, top-p. u is in [0, 1), and temperature > 0. None switches a filter off; a value that
    filters nothing out has the same effect. The settings are those of `Request`, which rejects invalid ones. Raises ModelError for a row
    that is not a distribution: its maximum is NaN or infinite.
    """
    require_numbers(row, row.argmax())
    with np.errstate(over="ignore", under="ignore"):
        scaled = (row - row.max()) / max(temperature, COLDEST)
        weights = np.exp(scaled)  # the most probable has 1
    kept: Ids | None = np.flatnonzero(weights >= min_p) if min_p else None
    if top_k is not None and top_k < len(row):
        ids = above(weights, lambda found: len(found) >= top_k) if kept is None else kept
        if len(ids) > top_k:
            logits = row[ids]
            ids = ids[logits >= np.partition(logits, -top_k)[-top_k]]
        kept = ids
    if typical_p is not None and typical_p < 1:
        kept = typical(scaled, np.flatnonzero(weights) if kept is None else kept[weights[kept] > 0], typical_p)
    if top_p is not None and top_p < 1:
        mass = top_p * float((weights if kept is None else weights[kept]).sum(dtype=np.float64))
        ids = above(weights, lambda found: weights[found].sum(dtype=np.float64) >= mass) if kept is None else kept
        ids = ids[np.argsort(-weights[ids], kind="stable")]
        before = np.cumsum(weights[ids], dtype=np.float64) - weights[ids]  # gathered by the more probable ones
        kept = np.sort(ids[before < mass])
    if kept is None:
        return _at(weights, u)
    return int(kept[_first_above(weights[kept], u)])


def typical(logits: Row, ids: Ids, mass: float) -> Ids:
    """Return the tokens among ids that Day 6's `typical_probs` keeps if there are no other tokens, in order of their ids.

    logits (V,): at most 0, and not -inf for any of ids.
    """
    probs = np.exp(logits[ids], dtype=np.float64)
    total = probs.sum()
    probs /= total
    surprisal = np.log(total) - logits[ids]
    distance = np.abs(surprisal - probs @ surprisal)
    with np.errstate(under="ignore"):
        nearest = above(np.exp(-distance), lambda found: probs[found].sum() >= mass)
    nearest = nearest[np.argsort(distance[nearest], kind="stable")]
    before = np.cumsum(probs[nearest]) - probs[nearest]  # gathered by the nearer ones
    return np.sort(ids[nearest[before < mass]])


def require_numbers(rows: Row, best: Any) -> None:
    """Raise ModelError if the best logit of a row is not finite.

    argmax returns the position of a NaN if a row has one, so checking each row's best logit is enough. rows (R, V) or (V,).
    """
    highest = np.take_along_axis(np.atleast_2d(rows), np.reshape(best, (-1, 1)), -1)
    if not np.isfinite(highest).all():
        raise damaged(highest[~np.isfinite(highest)][0])


def damaged(highest: Any) -> ModelError:
    """Return the error for a row whose best logit is not finite."""
    return ModelError(f"the model's best logit is {highest}: its weights are damaged, or too large for {highest.dtype}")


def token_logprobs(row: Row, token: int, k: int) -> tuple[float, list[tuple[int, float]]]:
    """Return a token's log-probability and the k most probable tokens with their log-probabilities, as Day 18's function does."""
    top = row.max()
    with np.errstate(under="ignore"):
        weights = np.exp(row - top)
    log_total = float(top) + float(np.log(weights.sum(dtype=np.float64)))
    ids = above(weights, lambda found: len(found) >= k) if k else np.arange(0)
    best = ids[np.argsort(-row[ids], kind="stable")[:k]]
    return float(row[token]) - log_total, [(int(i), float(row[i]) - log_total) for i in best]


def above(weights: Row, enough: Callable[[Ids], bool]) -> Ids:
    """Return the tokens whose weights reach a cutoff, in order of their ids.

    The cutoff is the first of CUTOFFS that gives enough tokens. If no cutoff does, all tokens are returned.
    """
    for cutoff in CUTOFFS:
        if enough(found := np.flatnonzero(weights >= cutoff)):
            return found
    return np.arange(len(weights))


def _at(weights: Row, u: float) -> int:
    """Return `_first_above` of a whole row, found faster: first the block, then the place in the block."""
    starts = np.arange(0, len(weights), BLOCK)
    ends = np.cumsum(np.add.reduceat(weights, starts, dtype=np.float64))
    target = u * ends[-1]
    block = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
    inside = weights[starts[block] : starts[block] + BLOCK]
    before = ends[block - 1] if block else 0.0
    return int(starts[block]) + _first_above(inside, (target - before) / inside.sum(dtype=np.float64))


def _first_above(weights: Row, u: float) -> int:
    """Return the first index whose share of the running sum exceeds u. Its weight is never 0."""
    ends = np.cumsum(weights, dtype=np.float64)
    first = int(np.searchsorted(ends, u * ends[-1], side="right"))
    return min(first, int(np.flatnonzero(weights)[-1]))  # rounding may leave the whole sum at or below u
