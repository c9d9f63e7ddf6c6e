"""Checks of drawn tokens: the source of random numbers if no generator is given, and the end of a run."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from autograder.authoring import CheckFailed, equal, that


def draws_from_the_global_state(call: Callable[..., Any]) -> None:
    """Fail unless `call(_rng_unchanged=True)`, a call without a generator, moves torch's global random state."""
    try:
        call(_rng_unchanged=True)
    except CheckFailed as moved:
        if "random state" in moved.what:
            return
        raise
    raise CheckFailed("without a generator, torch's global random state did not move: the numbers came from elsewhere")


def ends_where_drawn(got: Tensor, eos: int) -> int:
    """Return the steps of a run (B, n) of drawn tokens.

    Fail unless each row is EOS from its first EOS on, and the run stopped at the last row's first EOS.
    """
    ends = []
    for row in got.tolist():
        that(eos in row, "a row without EOS although the run stopped before max_new_tokens, or never stopped")
        ends.append(row.index(eos))
        equal(set(row[ends[-1] :]), {eos}, what="something else came after EOS")
    equal(got.shape[1], max(ends) + 1, what="wrong number of steps")
    return max(ends) + 1
