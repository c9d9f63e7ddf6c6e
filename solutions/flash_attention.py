"""FlashAttention: exact attention in tiles, without the matrix of scores ever being written down."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from course.kit import WeightsOnly
from solutions.kv_cache import KVCache
from solutions.transformer import run_layers


@dataclass
class State:
    """State of some queries' attention after some of the keys; float32 or better.

    m (..., Tq): the largest score so far, -inf before any. l (..., Tq): the sum of exp(score - m).
    acc (..., Tq, Dv): the sum of exp(score - m) * value.
    """

    m: Tensor
    l: Tensor  # noqa: E741 - the paper's name
    acc: Tensor

    @classmethod
    def empty(cls, shape: tuple[int, ...], width: int, dtype: torch.dtype, device: str | torch.device = "cpu") -> State:
        """Return the state of queries (*shape) that have seen no key, for values of this width."""
        l, acc = (torch.zeros(size, dtype=dtype, device=device) for size in (shape, (*shape, width)))  # noqa: E741
        return cls(torch.full_like(l, -torch.inf), l, acc)


def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    """Return the state after one more tile of keys.

    scores (..., Tq, n), scaled and masked already: -inf where a query may not see a key. values (..., n, Dv). Both have the state's
    dtype, and need not be contiguous. A query that has seen no key so far, in this tile or before it, stays as in State.empty: -inf, 0 and
    0. The arguments are not changed. Milakov and Gimelshein 2018, section 3; Dao et al. 2022, algorithm 1.
    """
    ### BEGIN SOLUTION
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = m.masked_fill(m == -torch.inf, 0.0)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (state.m - shift).exp()  # what all that came before is worth under the new maximum
    return State(m, state.l * fade + weights.sum(dim=-1), state.acc * fade.unsqueeze(-1) + weights @ values)
    ### END SOLUTION


def finish(state: State) -> tuple[Tensor, Tensor]:
    """Return attention over all keys that were absorbed, and the logarithm of the sum of exp(score) over them.

    -> out (..., Tq, Dv), lse (..., Tq), both of the state's dtype. A query that has seen no key gets 0 and -inf. The state is not
    changed and may absorb more tiles.
    """
    ### BEGIN SOLUTION
    out = state.acc / state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1)
    return out, state.m + state.l.log()
    ### END SOLUTION


def tile_plan(t_q: int, t_k: int, q_block: int, k_block: int, causal: bool) -> list[list[tuple[int, int, bool]]]:
    """Return for each tile of queries the tiles of keys that it reads, in order: (first key, one past the last, needs a mask).

    Tiles of queries begin at 0, q_block, 2 * q_block, ..., those of keys at 0, k_block, ...; the last one may be short.
    The queries are the last t_q of t_k positions: query i is at t_k - t_q + i. If causal, a tile of keys that no query of the tile
    may see is left out, and it needs a mask only if some query of the tile may not see some key of it. If not causal, every tile is
    read, and none needs a mask. Raises ValueError if causal and t_q > t_k; the message names both.
    """
    ### BEGIN SOLUTION
    if causal and t_q > t_k:
        raise ValueError(f"{t_q} queries cannot be the last of {t_k} keys: a causal query has a key of its own")
    plan = []
    for q_start in range(0, t_q, q_block):
        first = t_k - t_q + q_start  # positions of the tile's first and last query
        last = t_k - t_q + min(q_start + q_block, t_q) - 1
        seen = last + 1 if causal else t_k
        tiles = [(k_start, min(k_start + k_block, t_k)) for k_start in range(0, seen, k_block)]
        plan.append([(start, end, causal and end - 1 > first) for start, end in tiles])
    return plan
    ### END SOLUTION


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool, q_block: int = 64, k_block: int = 64
) -> tuple[Tensor, Tensor]:
    """Compute attention tile by tile: queries outside, keys inside, as `tile_plan` has it. Any tiles give the same.

    q (B, H, Tq, Dh), k (B, K, Tk, Dh), v (B, K, Tk, Dv), K divides H, query head h uses key/value head h // (H/K) -> out (B, H, Tq,
    Dv) of q's dtype, lse (B, H, Tq), the logsumexp of each query's scores q . k / sqrt(Dh), in float32, or float64 for float64.
    Everything is computed in lse's dtype, on q's device. Causal means that query i is at Tk - Tq + i and sees the keys up to there. The
    query heads of a group read a tile of keys once. Nothing of size Tq x Tk and no copy of all keys or values is made, and the inputs are
    not changed. Raises ValueError if causal and Tq > Tk; the message names both. Dao et al. 2022, section 3; Dao 2023, section 3.1.
    """
    ### BEGIN SOLUTION
    B, H, Tq, Dh = q.shape
    K, Tk, Dv = *k.shape[1:3], v.shape[-1]
    plan = tile_plan(Tq, Tk, q_block, k_block, causal)
    precise = torch.promote_types(q.dtype, torch.float32)
    out = torch.empty(B, H, Tq, Dv, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, Tq, dtype=precise, device=q.device)
    positions = torch.arange(Tk, device=q.device)
    for q_start, tiles in zip(range(0, Tq, q_block), plan, strict=True):
        rows = slice(q_start, min(q_start + q_block, Tq))
        # The H/K query heads of a group are stacked, so that a tile of keys is read once for all of them.
        queries = (q[:, :, rows].to(precise) * Dh**-0.5).reshape(B, K, -1, Dh)  # (B, K, H/K * n, Dh)
        state = State.empty(queries.shape[:-1], Dv, precise, q.device)
        for start, end, needs_mask in tiles:
            scores = queries @ k[:, :, start:end].to(precise).transpose(-2, -1)
            if needs_mask:
                seen = positions[start:end] <= positions[Tk - Tq :][rows, None]  # (n, keys)
                scores = scores.masked_fill(~seen.repeat(H // K, 1), -torch.inf)
            state = absorb(state, scores, v[:, :, start:end].to(precise))
        tile_out, tile_lse = finish(state)
        out[:, :, rows] = tile_out.reshape(B, H, -1, Dv)
        lse[:, :, rows] = tile_lse.reshape(B, H, -1)
    return out, lse
    ### END SOLUTION


def standard_bytes(t_q: int, t_k: int, head_dim: int, value_bytes: int) -> int:
    """Return the bytes that one head's attention moves to and from slow memory if the matrix of scores is written down.

    Queries, keys and values are read, the output is written; scores are written, and read for the softmax; weights are written, and
    read for the product with the values. value_bytes: of one number. The result is an int, exact at any size. Dao et al. 2022, algorithm 0.
    """
    ### BEGIN SOLUTION
    return (2 * (t_q + t_k) * head_dim + 4 * t_q * t_k) * value_bytes
    ### END SOLUTION


def flash_bytes(
    t_q: int,
    t_k: int,
    head_dim: int,
    value_bytes: int,
    *,
    q_block: int,
    k_block: int,
    group: int = 1,
    causal: bool = False,
) -> int:
    """Return the bytes that flash attention moves to and from slow memory for one key/value head and its `group` query heads.

    Queries are read once and outputs written once. Keys and values are read again for each tile of queries, as far as `tile_plan`
    has them, and once for the whole group. The result is an int, exact at any size. Raises ValueError as `tile_plan` does.
    """
    ### BEGIN SOLUTION
    if causal and t_q > t_k:
        raise ValueError(f"{t_q} queries cannot be the last of {t_k} keys: a causal query has a key of its own")
    keys = 0  # counted without the plan, which has 122 million tiles for a million causal tokens and blocks of 64
    for q_start in range(0, t_q, q_block):
        seen = t_k - t_q + min(q_start + q_block, t_q) if causal else t_k
        keys += min(-(-seen // k_block) * k_block, t_k)  # whole tiles, but for the last one of all keys
    return (2 * group * t_q + 2 * keys) * head_dim * value_bytes
    ### END SOLUTION


def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    """Return attention over all keys from attention over S parts of them, whatever the parts.

    outs (S, ..., Dv), lses (S, ...) of one dtype: the results of the parts -> out (..., Dv), lse (...) of this dtype, on their device. A
    part without a key (lse -inf) adds nothing, whatever finite numbers its out holds; if no part has one, out is 0 and lse -inf. The
    inputs are not changed. Dao et al. 2023, flash-decoding.
    """
    ### BEGIN SOLUTION
    lse = lses.logsumexp(dim=0)
    shares = (lses - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse
    ### END SOLUTION


def decode_splits(q: Tensor, k: Tensor, v: Tensor, splits: int) -> Tensor:
    """Compute attention of one new query over a long cache in independent parts, and combine them.

    q (B, H, 1, Dh), k (B, K, Tk, Dh), v (B, K, Tk, Dv) -> (B, H, 1, Dv) of q's dtype, on its device; computed in float32 or better. The
    keys are cut into `splits` runs or a few less, never more, of about one length; more splits than keys are fine. The result does not
    depend on the cuts. Raises ValueError unless splits >= 1; the message names it. The inputs are not changed.
    """
    ### BEGIN SOLUTION
    if splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits}")
    size = -(-k.shape[2] // splits)  # rounded up
    precise = torch.promote_types(q.dtype, torch.float32)
    parts = zip(k.split(size, dim=2), v.split(size, dim=2), strict=True)
    outs, lses = zip(*(flash_attention(q.to(precise), keys, values, causal=False) for keys, values in parts), strict=True)
    return combine(torch.stack(outs), torch.stack(lses))[0].to(q.dtype)
    ### END SOLUTION


def prefill_flash(model: WeightsOnly, ids: Tensor, cache: KVCache, *, q_block: int = 64, k_block: int = 64) -> Tensor:
    """Run `prefill` with memory that grows with the text and not with its square.

    ids (B, t) int64, the tokens that follow the cache.length tokens already stored -> the logits after the last of them (B, V), of
    the model's dtype. The prompt goes through the layers once, whole; only attention is in tiles. Only the last token goes
    through the head. The result does not depend on how the prompt is cut into chunks, or on the tiles. New tensors are on the device of
    ids. Gradient mode is left as it was, after an exception too. Raises CacheFull if there is no room.
    """
    ### BEGIN SOLUTION
    start = cache.length
    positions = torch.arange(start, start + ids.shape[1], device=ids.device)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k_all, v_all = cache.append(layer, k, v)
        return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]

    return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T
    ### END SOLUTION
