"""Bounds of counted work: upper ones, because less work is enough, and lower ones, because every answer needs some work.

The counter sees torch's work in the thread that calls an answer. A count below the minimum of every correct version shows that
the work was done outside the count, in another thread or outside torch. In that case an upper bound proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograder.authoring import that
from course.kit import Config

SLACK = 0.9
"""The counted share of the necessary work that is accepted: room for a trick that nobody has thought of."""
UNSEEN = (
    "No right answer takes so little. Counted is what torch does in the calling thread: work in another one, or outside torch, is not seen."
)


def between(counted: int, least: float, most: float, what: str, *, cause: str | None = None) -> None:
    """Fail if more was counted than `most`, or less than 0.9 times `least`. what: "positions", "FLOPs", ..."""
    that(counted <= most, f"too many {what}", expected=f"{most:,.0f} at the most", got=f"{counted:,}", cause=cause)
    expected = f"{least:,.0f} or more"
    that(counted >= SLACK * least, f"fewer {what} than any right answer takes", expected=expected, got=f"{counted:,}", cause=UNSEEN)


def gradients_stay_on(student: Any, before: Callable[[], Any], product: Callable[[], Any]) -> None:
    """Fail if `before()` leaves gradients off: a function must restore the caller's gradient mode."""
    before()
    with student.counting() as work:
        product()
    that(work.grad_flops == work.flops, "gradients are off after the call, for the whole program", expected="on, as before", got="off")


def gradient_mode_stays(student: Any, call: Callable[[], Any]) -> None:
    """Fail if a call changes the gradient mode, on or off."""
    before = student.gradients()
    try:
        for mode in ("on", "off"):
            student.gradients(mode == "on")
            call()
            after = student.gradients()
            that(after == mode, f"gradients were {mode} before the call and are {after} after it", expected=mode, got=after)
    finally:
        student.gradients(before != "off")


def products_of_layers(config: Config, tokens: int, rows: int) -> int:
    """Return the FLOPs of all layers' products with weights for these `tokens`, and of the head for these `rows`."""
    D, kv = config.hidden_size, config.num_key_value_heads * config.head_dim
    layer = 2 * D * (config.num_attention_heads * config.head_dim + kv) + 3 * D * config.intermediate_size
    return 2 * (tokens * config.num_hidden_layers * layer + rows * config.vocab_size * D)


def fewest_flops(config: Config, chunks: Sequence[int], rows: int = 1, *, every_logit: bool = False) -> int:
    """Return the fewest FLOPs of products with weights that any version needs for a text that is fed in chunks of these sizes.

    Each token passes all layers but the last, where only its keys and values are needed. The rest of the last layer and the head are needed
    only for positions whose logits are asked for: one a chunk, or all. Scores and their products with values are left out.
    """
    D, kv = config.hidden_size, config.num_key_value_heads * config.head_dim
    layer = 2 * D * (config.num_attention_heads * config.head_dim + kv) + 3 * D * config.intermediate_size
    tokens = sum(chunks)
    asked = tokens if every_logit else len(chunks)
    each = (config.num_hidden_layers - 1) * layer + 2 * D * kv
    last = layer - 2 * D * kv + config.vocab_size * D
    return 2 * rows * (tokens * each + asked * last)
