"""Checks of flash attention that students do not see: fresh tiles, shapes and models, and rules in combination."""

from __future__ import annotations

import math

import torch
from torch.nn.functional import scaled_dot_product_attention

from autograder.authoring import checks, close, equal, raises, that
from autograder.checks.cached import small, tiny_config, whole, written
from autograder.checks.counted import between
from autograder.checks.devices import on_one_device
from autograder.checks.tiles import (
    absorbed,
    dense,
    draw_heads,
    fields,
    keys_read,
    least_bytes,
    least_flops,
    pair,
    same_plan,
    same_state,
    state_of,
)
from autograder.hidden.test_kv_cache import SHAPES, integer, random_ids, random_sizes


@checks("absorb", weight=2)
def test_random_tiles_in_any_order(student, rng):
    """random scores with masks, any leading axes, any cuts, any order of keys; the dtype stays"""
    for shape in ((3,), (2, 4), (2, 3, 5)):
        for dtype, atol in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
            n = integer(rng, 5, 9)
            scores = (6 * torch.randn(*shape, n, generator=rng, dtype=torch.float64)).to(dtype)
            scores = scores.masked_fill(torch.rand(scores.shape, generator=rng) < 0.4, -math.inf)
            values = torch.randn(*shape[:-1], n, 3, generator=rng, dtype=torch.float64).to(dtype)
            want = state_of(scores, values)
            for order in (torch.arange(n), torch.randperm(n, generator=rng)):
                got = absorbed(student, scores[..., order], values[..., order, :], random_sizes(rng, n))
                for mine, due in zip(fields(got), want, strict=True):
                    close(mine, due, atol=atol, rtol=1e-5, dtype=dtype)


@checks("finish", weight=2)
def test_finish_keeps_the_state(student, rng):
    """random states: out and lse; the state is as before and absorbs on"""
    scores, values = 9 * torch.randn(4, 6, generator=rng, dtype=torch.float64), torch.randn(6, 2, generator=rng, dtype=torch.float64)
    state = absorbed(student, scores[:, :4], values[:4], [1, 3])
    out, lse = pair(student.finish(state))
    close(out, scores[:, :4].softmax(dim=-1) @ values[:4], atol=1e-9, dtype=torch.float64)
    close(lse, scores[:, :4].logsumexp(dim=-1), atol=1e-9, dtype=torch.float64)
    same_state(state, state_of(scores[:, :4], values[:4]), what=" after finish")
    same_state(student.absorb(state, scores[:, 4:], values[4:]), state_of(scores, values), what=" behind finish")


@checks("tile_plan", weight=2)
def test_random_plans(student, rng):
    """plans of random sizes, by counting pairs"""
    for _ in range(60):
        t_k = integer(rng, 1, 20)
        t_q = integer(rng, 1, t_k)
        blocks = integer(rng, 1, 9), integer(rng, 1, 9)
        for causal in (True, False):
            same_plan(student, t_q, t_k, *blocks, causal)


@checks("flash_attention", weight=2)
def test_random_attention(student, rng):
    """random shapes and tiles, small and 40 times as large scores, values of another width"""
    for large in (1.0, 40.0):
        for _ in range(6):
            K, group, Tk = integer(rng, 1, 3), integer(rng, 1, 3), integer(rng, 1, 15)
            q, k, v = draw_heads(rng, integer(rng, 1, 2), K * group, K, integer(rng, 1, Tk), Tk, 4, wide=integer(rng, 1, 7))
            tiles = {"q_block": integer(rng, 1, 8), "k_block": integer(rng, 1, 8)}
            for causal in (True, False):
                got = pair(student.flash_attention(large * q, k, v, causal=causal, **tiles, _unchanged=True))
                for mine, due in zip(got, dense(large * q, k, v, causal=causal), strict=True):
                    close(mine, due, atol=1e-9, rtol=1e-9, dtype=torch.float64)


@checks("flash_attention")
def test_low_precision(student, rng):
    """16 bits: out of q's dtype, lse in float32, an error of at most twice that of torch's attention"""
    for dtype in (torch.bfloat16, torch.float16):
        q, k, v = draw_heads(rng, 1, 4, 2, 96, 96, 16, dtype=dtype)
        out, lse = pair(student.flash_attention(q, k, v, causal=True, q_block=16, k_block=32))
        exact, exact_lse = dense(q, k, v, causal=True)
        theirs = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        equal(str(out.dtype), str(dtype), what="wrong dtype of out")
        allowed, error = 2 * float((theirs.double() - exact).norm()), float((out.double() - exact).norm())
        that(error <= allowed, "out is further off than the precision makes it", expected=f"an error norm of {allowed:.4g}", got=error)
        close(lse, exact_lse, atol=1e-4, dtype=torch.float32, what="wrong lse")


@checks("flash_attention", weight=2)
def test_bytes_of_other_tiles(student, rng):
    """work: tiles of 32 by 64, with and without a mask: as planned"""
    q, k, v = draw_heads(rng, 1, 4, 2, 768, 768, 32, dtype=torch.float32)
    for causal in (True, False):
        with student.counting(fast_bytes=128 * 1024) as work:
            out, _ = pair(student.flash_attention(q, k, v, causal=causal, q_block=32, k_block=64))
        close(out, dense(q, k, v, causal=causal)[0], atol=1e-5, what="wrong out")
        between(work.flops, least_flops(q, k, 1, 1, causal), 1.05 * least_flops(q, k, 32, 64, causal), "FLOPs")
        most = 1.4 * least_bytes(q, k, 32, 64, causal)
        between(work.slow_bytes, least_bytes(q, k, 768, 768, causal), most, "bytes read from and written to slow memory")
        between(work.peak_bytes, out.nbytes, 4 * out.nbytes, "bytes of memory at one time")


@checks("standard_bytes")
def test_standard_bytes_of_random_sizes(student, rng):
    """random sizes"""
    for _ in range(6):
        t_q, t_k, Dh, size = integer(rng, 1, 50), integer(rng, 1, 50), integer(rng, 1, 9), integer(rng, 1, 8)
        equal(student.standard_bytes(t_q, t_k, Dh, size), size * (2 * (t_q + t_k) * Dh + 4 * t_q * t_k))


@checks("flash_bytes", weight=2)
def test_flash_bytes_of_random_sizes(student, rng):
    """random sizes and groups, and too many queries"""
    for _ in range(20):
        t_k = integer(rng, 1, 30)
        t_q, Dh, size, group = integer(rng, 1, t_k), integer(rng, 1, 9), integer(rng, 1, 8), integer(rng, 1, 4)
        tiles = {"q_block": integer(rng, 1, 9), "k_block": integer(rng, 1, 9)}
        for causal in (True, False):
            want = (2 * group * t_q + 2 * keys_read(t_q, t_k, *tiles.values(), causal)) * Dh * size
            equal(student.flash_bytes(t_q, t_k, Dh, size, group=group, causal=causal, **tiles), want)
    raises(ValueError, lambda: student.flash_bytes(7, 3, 2, 4, q_block=2, k_block=2, causal=True), naming=7)


@checks("combine", weight=2)
def test_any_partition(student, rng):
    """random parts of random keys, one part too: attention over all of them"""
    for sizes in ([7], [1, 6], [2, 2, 3], [1] * 7):
        scores = 5 * torch.randn(2, 3, 7, generator=rng, dtype=torch.float64)
        values = torch.randn(2, 7, 4, generator=rng, dtype=torch.float64)
        parts = list(zip(scores.split(sizes, dim=-1), values.split(sizes, dim=-2), strict=True))
        outs, lses = torch.stack([s.softmax(dim=-1) @ x for s, x in parts]), torch.stack([s.logsumexp(dim=-1) for s, _ in parts])
        out, lse = pair(student.combine(outs, lses, _unchanged=True))
        close(out, scores.softmax(dim=-1) @ values, atol=1e-9, dtype=torch.float64)
        close(lse, scores.logsumexp(dim=-1), atol=1e-9, dtype=torch.float64)


@checks("decode_splits", weight=2)
def test_random_splits(student, rng):
    """random caches and parts, values of another width, 16 bits, the meta device"""
    for _ in range(8):
        K, group = integer(rng, 1, 3), integer(rng, 1, 3)
        q, k, v = draw_heads(rng, integer(rng, 1, 2), K * group, K, 1, integer(rng, 1, 90), 4, wide=integer(rng, 1, 6))
        for splits in (integer(rng, 1, 12), integer(rng, 1, 100)):
            close(student.decode_splits(q, k, v, splits), dense(q, k, v, causal=False)[0], atol=1e-9, rtol=1e-9, dtype=torch.float64)
    q, k, v = draw_heads(rng, 1, 4, 2, 1, 50, 8, dtype=torch.bfloat16)
    close(student.decode_splits(q, k, v, 4), dense(q, k, v, causal=False)[0], atol=0.02, rtol=0.02, dtype=torch.bfloat16)
    on_one_device(student.decode_splits.on_meta(q, k, v, 3))


@checks("prefill_flash", weight=2)
def test_random_models_in_random_chunks(student, rng):
    """random models, chunks and tiles; a text that is too long: CacheFull"""
    written(student.prefill_flash)
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=29, **shape)
        rows, length = integer(rng, 1, 3), integer(rng, 6, 15)
        ids = random_ids(rng, rows, length, 29)
        cache = student.KVCache(kit.config, rows, length, dtype=torch.float64)
        start = 0
        for chunk in ids.split(random_sizes(rng, length), dim=1):
            got = student.prefill_flash(model, chunk, cache, q_block=integer(rng, 1, 6), k_block=integer(rng, 1, 6))
            start += chunk.shape[1]
            close(got, kit(ids[:, :start])[:, -1], atol=1e-3, what=f"wrong logits behind {start} tokens for {shape}")
            equal(cache.length, start, what="wrong length of the cache")
        raises("CacheFull", lambda model=model, ids=ids, cache=cache: student.prefill_flash(model, ids[:, :1], cache))


@checks("prefill_flash")
def test_tiles_are_passed_on(student, rng):
    """work: small tiles make small tensors; on the meta device all lies where the ids are"""
    T, config = 320, tiny_config()
    ids = random_ids(rng, 1, T, 1000)
    model, cache = student.model("tiny"), student.KVCache(config, 1, T)
    with student.counting() as work:
        got = student.prefill_flash(model, ids, cache, q_block=16, k_block=16)
    close(got, whole(torch.float32)(ids)[:, -1], atol=1e-3)
    between(work.largest_bytes, 4 * T * config.hidden_size, 4 * T * config.vocab_size, "bytes in one tensor")
    on_one_device(
        student.prefill_flash.on_meta(student.model("tiny", device="meta"), ids[:, :9], student.KVCache(config, 1, 9, device="meta"))
    )
