"""Helpers of the visible and the hidden checks of flash attention.

The expected attention is computed without tiles: all scores side by side, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import close, equal, that

Plan = list[list[tuple[int, int, bool]]]

GIVEN_STATE = "State(m, l, acc) is given: make the new one of it."


def fields(state: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return m, l and acc of a student's state."""
    that(getattr(state, "type_name", None) == "State", "the result is no State", expected="a State", got=_kind(state), cause=GIVEN_STATE)
    return state.m, state.l, state.acc


def _kind(value: Any) -> str:
    return str(getattr(value, "type_name", type(value).__name__))


def pair(result: Any, what: str = "out and lse") -> tuple[Tensor, Tensor]:
    """Check that a result is a pair of tensors, and return the two."""
    ok = isinstance(result, list | tuple) and len(result) == 2 and all(isinstance(part, Tensor) for part in result)
    that(ok, f"the result is not two tensors, {what}", expected="a pair of tensors", got=_kind(result))
    return result[0], result[1]


def empty(student: Any, shape: Sequence[int], width: int, dtype: torch.dtype = torch.float64) -> Any:
    """Return a State in the student's process for queries that have seen no key."""
    return student.State(
        torch.full(tuple(shape), -torch.inf, dtype=dtype), torch.zeros(*shape, dtype=dtype), torch.zeros(*shape, width, dtype=dtype)
    )


def state_of(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return m, l and acc after all these keys, by definition: every exponential is relative to the largest score of all."""
    m = scores.amax(dim=-1)
    weights = (scores - m.nan_to_num(neginf=0.0).unsqueeze(-1)).exp()
    return m, weights.sum(dim=-1), weights @ values


def absorbed(student: Any, scores: Tensor, values: Tensor, cuts: Sequence[int]) -> Any:
    """Return the student's state after tiles of these sizes, one after the other."""
    state = empty(student, scores.shape[:-1], values.shape[-1], scores.dtype)
    for tile, part in zip(scores.split(list(cuts), dim=-1), values.split(list(cuts), dim=-2), strict=True):
        state = student.absorb(state, tile, part, _unchanged=True)
    return state


def same_state(state: Any, want: tuple[Tensor, Tensor, Tensor], *, atol: float = 1e-9, what: str = "", suspects: Any = None) -> None:
    """Fail unless a state's m, l and acc are `want`. suspects: {"l": suspects of l, "acc": suspects of acc}."""
    for name, got, due in zip(("m", "l", "acc"), fields(state), want, strict=True):
        close(got, due, atol=atol, rtol=1e-9, dtype=due.dtype, what=f"wrong {name}{what}", suspects=(suspects or {}).get(name, ()))


def draw_heads(
    rng: torch.Generator, B: int, H: int, K: int, Tq: int, Tk: int, Dh: int, *, wide: int | None = None, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    """Return q (B, H, Tq, Dh), k (B, K, Tk, Dh), v (B, K, Tk, wide or Dh)."""
    sizes = ((B, H, Tq, Dh), (B, K, Tk, Dh), (B, K, Tk, wide or Dh))
    q, k, v = (torch.randn(size, generator=rng, dtype=torch.float64).to(dtype) for size in sizes)
    return q, k, v


def dense(q: Tensor, k: Tensor, v: Tensor, *, causal: bool, scale: float | None = None, first: int | None = None) -> tuple[Tensor, Tensor]:
    """Return out (B, H, Tq, Dv) and lse (B, H, Tq) from all scores at once, in float64.

    first: the position of query 0, by default Tk - Tq.
    """
    group = q.shape[1] // k.shape[1]
    keys, values = (x.double().repeat_interleave(group, dim=1) for x in (k, v))
    scores = q.double() @ keys.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        Tq, Tk = scores.shape[-2:]
        standing = torch.arange(Tq)[:, None] + (Tk - Tq if first is None else first)
        scores = scores.masked_fill(torch.arange(Tk) > standing, -math.inf)
    return scores.softmax(dim=-1) @ values, scores.logsumexp(dim=-1)


def planned(t_q: int, t_k: int, q_block: int, k_block: int, causal: bool) -> Plan:
    """Return the expected plan, by looking at every pair of a query and a key."""
    offset = t_k - t_q
    plan = []
    for q0 in range(0, t_q, q_block):
        queries = range(q0, min(q0 + q_block, t_q))
        row = []
        for k0 in range(0, t_k, k_block):
            keys = range(k0, min(k0 + k_block, t_k))
            seen = [not causal or j <= offset + i for i in queries for j in keys]
            if any(seen):
                row.append((k0, keys[-1] + 1, not all(seen)))
        plan.append(row)
    return plan


def same_plan(student: Any, *arguments: Any) -> None:
    """Fail unless the student's plan equals `planned`."""
    got = student.tile_plan(*arguments)
    shape = "{} queries, {} keys, tiles of {} by {}, causal {}".format(*arguments)
    want = planned(*arguments)
    is_list = isinstance(got, list | tuple) and all(isinstance(row, list | tuple) for row in got)
    that(is_list, "the plan is not a list of lists", got=_kind(got))
    equal(len(got), len(want), what=f"wrong number of tiles of queries ({shape})")
    for index, (mine, due) in enumerate(zip(got, want, strict=True)):
        equal(mine, due, what=f"wrong tiles of keys for tile {index} of queries ({shape})")


def keys_read(t_q: int, t_k: int, q_block: int, k_block: int, causal: bool) -> int:
    return sum(end - start for row in planned(t_q, t_k, q_block, k_block, causal) for start, end, _ in row)


def least_bytes(q: Tensor, k: Tensor, q_block: int, k_block: int, causal: bool) -> int:
    """Return bytes that the tiles of this plan move for all heads: queries and outputs once, keys and values for each tile of queries."""
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1:3]
    return int(B * (2 * H * Tq + 2 * K * keys_read(Tq, Tk, q_block, k_block, causal)) * Dh * q.element_size())


def least_flops(q: Tensor, k: Tensor, q_block: int, k_block: int, causal: bool) -> int:
    """Return FLOPs of the two products for the tiles of this plan."""
    B, H, Tq, Dh = q.shape
    plan = planned(Tq, k.shape[2], q_block, k_block, causal)
    pairs = sum(min(q_block, Tq - i * q_block) * (end - start) for i, row in enumerate(plan) for start, end, _ in row)
    return int(4 * B * H * pairs * Dh)


def cut_into_runs(student: Any, q: Tensor, k: Tensor, v: Tensor, splits: int) -> None:
    """Fail unless decode_splits cuts the keys into at most `splits` runs, and into about as many. Pass far fewer splits than keys.

    Every run has an output of its own, so each further run writes about the same number of bytes. Two more calls, with one run and with one
    run for each key, show this number. The bytes that are written for each key are the same in all three calls.
    """
    written, keys = {}, k.shape[2]
    for parts in (1, splits, keys):
        with student.counting() as work:
            out = student.decode_splits(q, k, v, parts)
        close(out, dense(q, k, v, causal=False)[0], atol=1e-9, rtol=1e-9, what=f"wrong out for {keys} keys in {parts} parts")
        written[parts] = work.written_bytes
    least = written[1] + (splits - 1) // 2 * out.nbytes  # right answers write an output several times for each run
    that(
        written[splits] >= least,
        f"the keys are hardly cut: {keys} keys in {splits} parts write about as much as one part",
        expected=f"{least:,} bytes written or more: each part has an output",
        got=f"{written[splits]:,}",
    )
    runs = 1 + (written[splits] - written[1]) * (keys - 1) / (written[keys] - written[1])
    what = f"{keys} keys with splits = {splits}: as many bytes are written as for more runs than that"
    that(runs <= splits + 0.5, what, expected=f"as for {splits} runs at the most", got=f"as for about {runs:.0f}")


def runs_of_one_length(student: Any, rng: torch.Generator, splits: int) -> None:
    """Fail if decode_splits cuts 2 * splits - 1 keys into runs of 1 and a last one with all the rest.

    The longest run shows in the largest tensor, for the keys have 16 bits and each run's are made float32. Where one tensor holds all keys
    at once, the parts go side by side, and nothing is known of their lengths.
    """
    keys, wide = 2 * splits - 1, 64
    q, k, v = draw_heads(rng, 1, 1, 1, 1, keys, wide, wide=1, dtype=torch.bfloat16)
    with student.counting() as work:
        student.decode_splits(q, k, v, splits)
    most = work.largest_bytes / (4 * wide)
    what = f"{keys} keys with splits = {splits}: one run is much longer than the others"
    that(not 6 <= most <= 0.75 * keys, what, expected="runs of about one length: 1 or 2 keys", got=f"a tensor of {most:.0f} keys")


def rounded_once(got: Any, exact: Tensor, dtype: torch.dtype) -> None:
    """Fail unless `got` has this dtype and is hardly further off than `exact` rounded to it.

    A second rounding, of parts or of weights, adds more than a twentieth to the norm of the error. Differences that float32 leaves open add
    far less.
    """
    equal(str(got.dtype), str(dtype), what="wrong dtype of out")
    allowed, error = 1.05 * float((exact.to(dtype).double() - exact).norm()), float((got.double() - exact).norm())
    what = "out is further off than one rounding at the end makes it"
    that(error <= allowed, what, expected=f"an error norm of {allowed:.4g}", got=error)
