"""The stages of a decoder's computation, for the checks of composed functions: if a check fails, it names the first stage that differs.

The failed call is made once more while its tensors are recorded (`student.watching()`). A stage counts as reached if its numbers, in any
order, are in a recorded tensor, or if a later stage that is computed from it was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.authoring import CheckFailed, close
from autograder.sandbox.measure.trace_fingerprints import MAX_FINGERPRINTS, Fingerprint, fingerprint_of
from course.kit import Config, LayerWeights

TOLERANCE = 1e-4
"""A share of the sum of magnitudes: far more than float32 rounds in a few layers, far less than a mistake changes."""


@dataclass(frozen=True)
class Stage:
    """A stage of a computation.

    name: what the stage is, as a noun for a sentence. values: its numbers, in all forms in which they may be computed.
    after: the names of the stages that it is computed from.
    """

    name: str
    values: tuple[Tensor, ...]
    after: tuple[str, ...]


def close_by_stages(student: Any, call: Callable[[], Any], want: Any, stages: Callable[[], Sequence[Stage]], **options: Any) -> Any:
    """Call `close` on the result of `call()`, which calls the student and may run twice. Return the result.

    If the result is wrong and no known mistake is named, the cause also names the first of the `stages` that was not reached.
    """
    got = call()
    try:
        close(got, want, **options)
    except CheckFailed as failed:
        named = failed.cause is not None and not failed.fact
        difference = None if named else what_differs(student, call, stages(), got)
        if difference is None:
            raise
        cause = f"{failed.cause} {difference}" if failed.cause else difference
        raise CheckFailed(failed.what, expected=failed.expected, got=failed.got, cause=cause, fact=True, values=failed.values) from None
    return got


def what_differs(student: Any, call: Callable[[], Any], stages: Sequence[Stage], got: Any) -> str | None:
    """Return a sentence on the first stage that was not reached, or on a wrong last step; None if neither can be said.

    A stage is reached if its numbers appear in the computation. The last step is wrong if all stages are reached but the result differs.
    """
    try:
        with student.watching() as fingerprints:
            again = call()
    except Exception:
        return None
    if len(fingerprints) >= MAX_FINGERPRINTS:  # the last numbers may be missing
        return None
    if isinstance(again, Tensor) and again.is_floating_point():
        fingerprints.append(fingerprint_of(again))
    missing = unreached(stages, fingerprints)
    if missing is None:
        permuted = isinstance(got, Tensor) and any(_appears(fingerprint_of(form), [fingerprint_of(got)]) for form in stages[-1].values)
        return None if permuted else f"The expected numbers of {stages[-1].name} appear in your computation, but are not what comes back."
    if not missing.after:  # it is computed in some other order of things: nothing can be said
        return None
    return f"In your computation the expected numbers of {_listed(missing.after)} appear; those of {missing.name} never do."


def unreached(stages: Sequence[Stage], fingerprints: Sequence[Fingerprint]) -> Stage | None:
    """Return the first stage that was not reached although all of its inputs were; None if all stages were reached."""
    reached = {stage.name for stage in stages if any(_computed(form, fingerprints) for form in stage.values)}
    for stage in reversed(stages):  # the inputs of a reached stage were right, however they were computed
        if stage.name in reached:
            reached.update(stage.after)
    return next((stage for stage in stages if stage.name not in reached), None)


def _computed(form: Tensor, fingerprints: Sequence[Fingerprint]) -> bool:
    """Return whether the numbers appear: all at once, row by row, token by token, or both."""
    rows, tokens = form.unbind(0), form.unbind(-2)
    each = [token for row in rows for token in row.unbind(-2 if row.dim() > 1 else 0)]
    return any(all(_appears(fingerprint_of(piece), fingerprints) for piece in pieces) for pieces in ([form], rows, tokens, each))


def _appears(wanted: Fingerprint, fingerprints: Sequence[Fingerprint]) -> bool:
    entries, total, squares, size = wanted
    return any(
        p[0] == entries and abs(p[1] - total) <= TOLERANCE * size and abs(p[2] - squares) <= TOLERANCE * squares
        and abs(p[3] - size) <= TOLERANCE * size for p in fingerprints
    )  # fmt: skip


def block_stages(
    x: Tensor, layer: LayerWeights, config: Config, positions: Tensor, mask: Tensor | None = None, *, last: int | None = None, of: str = ""
) -> tuple[list[Stage], Tensor]:
    """Return the stages of one layer for tokens x (B, T, D), and its result, in float64.

    mask: bool, broadcasts to (B, H, T, T); None means the causal mask. last: compute only this many tokens at the end, for a computation
    that has the keys and values of all earlier ones. of: a suffix of each stage's name, which names the layer.
    """
    x = x.double()
    w = {name: tensor.double() for name, tensor in vars(layer).items()}
    T = x.shape[1]
    mask = torch.ones(T, T, dtype=torch.bool).tril() if mask is None else mask
    stages: list[Stage] = []

    def stage(name: str, values: Tensor, *after: str, tokens: int = 1) -> Tensor:
        """Add a stage. tokens: the dimension of the tokens."""
        stages.append(Stage(name + of, (values.narrow(tokens, T - last, last),) if last else (values,), tuple(a + of for a in after)))
        return values

    def heads(rows: Tensor) -> Tensor:
        return torch.stack(rows.split(config.head_dim, dim=-1), dim=1)

    stage("x", x)
    normed = stage("x normed by input_layernorm", _normed(x, w["input_layernorm"], config), "x")
    q = stage("the queries", heads(normed @ w["q_proj"].T), "x normed by input_layernorm", tokens=2)
    k = stage("the keys", heads(normed @ w["k_proj"].T), "x normed by input_layernorm", tokens=2)
    v = stage("the values", heads(normed @ w["v_proj"].T), "x normed by input_layernorm", tokens=2)
    q = stage("the turned queries", _turned(q, positions, config.rope_theta), "the queries", tokens=2)
    k = stage("the turned keys", _turned(k, positions, config.rope_theta), "the keys", tokens=2)
    read = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    stage("what attention gives", read, "the turned queries", "the turned keys", "the values", tokens=2)
    update = stage("its product with o_proj", torch.cat(read.unbind(1), dim=-1) @ w["o_proj"].T, "what attention gives")
    x = stage("x with the update of attention", x + update, "its product with o_proj")
    normed = stage(
        "x normed by post_attention_layernorm", _normed(x, w["post_attention_layernorm"], config), "x with the update of attention"
    )
    fed = (F.silu(normed @ w["gate_proj"].T) * (normed @ w["up_proj"].T)) @ w["down_proj"].T
    fed = stage("what feed_forward gives", fed, "x normed by post_attention_layernorm")
    x = stage("x with the update of feed_forward", x + fed, "what feed_forward gives")
    return stages, x


def forward_stages(
    model: Any, ids: Tensor, positions: Tensor | None = None, mask: Tensor | None = None, *, last: int | None = None
) -> list[Stage]:
    """Return the stages of a whole pass over ids (B, T).

    positions, mask, last: see `block_stages`. Norm and head may cover only the last position.
    """
    weights, config = model.weights, model.config
    last = last or ids.shape[1]
    positions = torch.arange(ids.shape[1]) if positions is None else positions
    x, before = weights.embed_tokens[ids].double(), "the embeddings"
    stages = [Stage(before, (x[:, -last:],), ())]
    for index, layer in enumerate(weights.layers):
        given, x = block_stages(x, layer, config, positions, mask, last=last, of=f" (layer {index})")
        stages += [Stage(s.name, s.values, s.after if s is not given[1] else (before,)) for s in given[1:]]
        before = given[-1].name
    normed = _normed(x, weights.norm.double(), config)
    logits = normed @ weights.lm_head.double().T
    for name, values, after in (("the final norm", normed, before), ("the logits", logits, "the final norm")):
        stages.append(Stage(name, (values[:, -last:], values[:, -1:]), (after,)))
    return stages


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]


def _normed(x: Tensor, weight: Tensor, config: Config) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, config.rms_norm_eps)


def _turned(states: Tensor, positions: Tensor, base: float) -> Tensor:
    half = states.shape[-1] // 2
    rates = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = (positions.double()[..., None] * rates).unsqueeze(-3)
    first, second = states[..., :half], states[..., half:]
    return torch.cat((first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()), dim=-1)
