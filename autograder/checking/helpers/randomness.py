"""A check of the source of random numbers if no generator is given."""

from collections.abc import Callable
from typing import Any

from autograder.authoring import CheckFailed


def draws_from_the_global_state(call: Callable[..., Any]) -> None:
    """Fail unless `call(_rng_unchanged=True)`, a call without a generator, moves torch's global random state."""
    try:
        call(_rng_unchanged=True)
    except CheckFailed as moved:
        if "random state" in moved.what:
            return
        raise
    raise CheckFailed("without a generator, torch's global random state did not move: the numbers came from elsewhere")
