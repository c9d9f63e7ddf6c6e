"""Hidden checks of flash attention: fresh tiles, shapes and models, and rules in combination."""

from __future__ import annotations

import math

import torch

from autograder.authoring import checks, close, equal, raises
from autograder.checking.checks.test_flash_attention import as_planned, attention_flops, goes_whole
from autograder.checking.helpers.cached import small, tiny_config, written
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.tiles import (
    absorbed,
    cut_into_runs,
    dense,
    draw_heads,
    fields,
    keys_read,
    least_bytes,
    least_flops,
    pair,
    rounded_once,
    runs_of_one_length,
    same_plan,
    same_state,
    state_of,
)
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradient_mode_stays, gradients_stay_on, products_of_layers
from autograder.checking.hidden.test_kv_cache import SHAPES, integer, random_ids, random_sizes


@checks("absorb", weight=2)
def test_random_tiles_in_any_order(student, rng):
    """random masked scores, with any leading axes, in any tiles and any order of keys: the state and its dtype are right"""
    for shape in ((3,), (2, 1), (2, 3, 5)):
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
            turned = scores.mT.contiguous().mT  # as keys times queries, turned, would be
            same_state(absorbed(student, turned, values, [n]), want, atol=atol, what=" for scores whose rows are not contiguous")
            if len(shape) == 3:
                moved = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in (scores, values)]
                same_state(absorbed(student, *moved, [n]), want, atol=atol, what=" for scores and values whose first axes were exchanged")


@checks("absorb")
def test_nothing_and_very_much(student, rng):
    """520 queries, tiles of 200 and 330 keys: right for queries without a key, scores near -30,000, masked values of 1e35"""
    scores = 3 * torch.randn(2, 520, 530, generator=rng, dtype=torch.float64)
    scores[:, 1::7] -= 30_000.0
    scores[:, 2::7, 300:] += 900.0
    values = torch.randn(2, 530, 70, generator=rng, dtype=torch.float64)
    scores[:, ::7] = scores[..., ::5] = -math.inf
    values[:, ::5] = 1e35
    state = absorbed(student, scores, values, [200, 330])
    same_state(state, state_of(scores, values), what=" for many queries and keys")
    _, total, acc = fields(state)
    equal(total[:, ::7], torch.zeros(2, 75), what="queries that have seen no key: l is not exactly 0")
    equal(acc[:, ::7], torch.zeros(2, 75, 70), what="queries that have seen no key: acc is not exactly 0")


@checks("finish", weight=2)
def test_finish_keeps_the_state(student, rng):
    """random states: out and lse are right, and the state is unchanged and can absorb another tile"""
    scores, values = 9 * torch.randn(4, 6, generator=rng, dtype=torch.float64), torch.randn(6, 2, generator=rng, dtype=torch.float64)
    state = absorbed(student, scores[:, :4], values[:4], [1, 3])
    out, lse = pair(student.finish(state))
    close(out, scores[:, :4].softmax(dim=-1) @ values[:4], atol=1e-9, rtol=1e-9, dtype=torch.float64)
    close(lse, scores[:, :4].logsumexp(dim=-1), atol=1e-9, rtol=1e-9, dtype=torch.float64)
    same_state(state, state_of(scores[:, :4], values[:4]), what=" after finish")
    same_state(student.absorb(state, scores[:, 4:], values[4:]), state_of(scores, values), what=" after finish and another absorb")


@checks("finish")
def test_finish_of_any_state(student, rng):
    """states of two axes with very large and very small m: out and lse keep the dtype, and the state does not change"""
    low = -math.inf
    for dtype, off in ((torch.float64, 1e-9), (torch.float32, 1e-5)):
        m = torch.tensor([[2000.0, -5e12, low], [0.5, 1.0, 3.0]], dtype=dtype)
        total = torch.tensor([[1.0005, 3.0, 0.0], [2.0, 1.0, 4.0]], dtype=dtype)
        acc = torch.randn(2, 3, 4, generator=rng, dtype=torch.float64).to(dtype)
        acc[0, 2] = acc[1, 0] = 0.0
        state = student.State(m, total, acc)
        out, lse = pair(student.finish(state))
        close(out, acc / total.clamp(min=1.0).unsqueeze(-1), atol=off, rtol=off, dtype=dtype, what="wrong out")
        close(lse, m + total.log(), atol=off, rtol=off, dtype=dtype, what="wrong lse")
        for name, given, now in zip(("m", "l", "acc"), (m, total, acc), fields(state), strict=True):
            equal(now, given, what=f"finish changes {name} of the state it was given")


@checks("finish")
def test_finish_of_long_rows(student, rng):
    """3 by 513 queries: out and lse are right, and every ninth query, which has no key, gets exactly 0"""
    scores, values = torch.randn(3, 513, 4, generator=rng, dtype=torch.float64), torch.randn(4, 130, generator=rng, dtype=torch.float64)
    scores[:, ::9] = -math.inf
    m, total, acc = state_of(scores, values)
    out, lse = pair(student.finish(student.State(m, total, acc)))
    close(out, acc / total.clamp(min=0.5).unsqueeze(-1), atol=1e-9, rtol=1e-9, what="wrong out")
    close(lse, scores.logsumexp(dim=-1), atol=1e-9, rtol=1e-9, what="wrong lse")
    equal(out[:, ::9], torch.zeros(3, 57, 130), what="queries that have seen no key: out is not exactly 0")


@checks("tile_plan", weight=2)
def test_random_plans(student, rng):
    """plans of random sizes list the tiles that counting visible pairs gives; causal with T_q > T_k raises ValueError"""
    for _ in range(60):
        t_k = integer(rng, 1, 20)
        t_q = integer(rng, 1, t_k)
        blocks = integer(rng, 1, 9), integer(rng, 1, 9)
        for causal in (True, False):
            same_plan(student, t_q, t_k, *blocks, causal)
    raises(ValueError, lambda: student.tile_plan(t_k + 1, t_k, *blocks, True), naming=t_k + 1)
    for arguments in ((150, 900, 2, 9), (6, 2100, 4, 1030)):
        for causal in (True, False):
            same_plan(student, *arguments, causal)


@checks("flash_attention", weight=2)
def test_random_attention(student, rng):
    """random shapes and tiles, scores of ordinary size and much larger, values of another width: out and lse are right"""
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
def test_large_in_every_size(student, rng):
    """ten rows, eight query heads on one key/value head, keys of width 112, values of 144, 6 queries after 1,294 keys"""
    q, k, v = draw_heads(rng, 10, 8, 1, 6, 1300, 112, wide=144)
    got = pair(student.flash_attention(q, k, v, causal=True, q_block=4, k_block=96))
    for name, mine, due in zip(("out", "lse"), got, dense(q, k, v, causal=True), strict=True):
        close(mine, due, atol=1e-9, rtol=1e-9, dtype=torch.float64, what=f"wrong {name}")
    q, k, v = draw_heads(rng, 1, 2, 1, 270, 400, 3)
    got = pair(student.flash_attention(q, k, v, causal=True, q_block=260, k_block=390))
    for name, mine, due in zip(("out", "lse"), got, dense(q, k, v, causal=True), strict=True):
        close(mine, due, atol=1e-9, rtol=1e-9, dtype=torch.float64, what=f"wrong {name} in tiles of 260 by 390")


@checks("flash_attention")
def test_low_precision(student, rng):
    """bfloat16 and float16: lse in float32, out rounded once at the end, also for long texts; no copy of all keys"""
    for dtype in (torch.bfloat16, torch.float16):
        for Tq, Tk in ((96, 96), (3, 520)):  # from 256 on bfloat16 does not hold every position
            q, k, v = draw_heads(rng, 1, 4, 2, Tq, Tk, 20, dtype=dtype)  # the root of 20 is no power of 2: to scale is to round
            out, lse = pair(student.flash_attention(q, k, v, causal=True, q_block=16, k_block=32))
            exact, exact_lse = dense(q, k, v, causal=True)
            close(lse, exact_lse, atol=1e-4, dtype=torch.float32, what="wrong lse")
            rounded_once(out, exact, dtype)
    q, k, v = draw_heads(rng, 2, 6, 2, 5, 2500, 80, dtype=torch.float16)
    with student.counting() as work:
        out, _ = pair(student.flash_attention(q, k, v, causal=True, q_block=4, k_block=100))
    rounded_once(out, dense(q, k, v, causal=True)[0], torch.float16)
    between(work.peak_bytes, out.nbytes, k.nbytes, f"bytes of memory at one time (all keys have {k.nbytes:,})")


@checks("flash_attention")
def test_scores_below_any_mask(student):
    """scores of -8,000,000,000: keys that a query may not see still get no weight"""
    far = 2.0**17
    q = torch.tensor([-far, 1.0, 0.0, 0.0], dtype=torch.float64).expand(1, 2, 6, 4)
    k = torch.tensor([[far, 2.0 * (n % 3), 0.0, 0.0] for n in range(6)], dtype=torch.float64).expand(1, 1, 6, 4)  # exact in any order
    v = torch.arange(12, dtype=torch.float64).reshape(1, 1, 6, 2)
    out, lse = pair(student.flash_attention(q, k, v, causal=True, q_block=2, k_block=3))
    want_out, want_lse = dense(q, k, v, causal=True)
    close(out, want_out, atol=1e-5, what="wrong out")  # of such numbers float64 keeps six decimals
    close(lse, want_lse, what="wrong lse")


@checks("flash_attention")
def test_twice_over_the_same_memory(student, rng):
    """transposed heads; a second call over the same memory with other numbers: each call gives its own results"""
    one, other = ([x.transpose(1, 2).contiguous().transpose(1, 2) for x in draw_heads(rng, 2, 4, 2, 5, 7, 4)] for _ in range(2))
    results = student.flash_attention.again(one, other, causal=True, q_block=2, k_block=3)
    for heads, got in zip((one, other), results, strict=True):
        for mine, due in zip(pair(got), dense(*heads, causal=True), strict=True):
            close(mine, due, atol=1e-9, rtol=1e-9, dtype=torch.float64)


@checks("flash_attention")
def test_tiles_where_none_are_asked_for(student, rng):
    """work: the default tiles are 64 by 64; causal with more queries than keys raises ValueError"""
    q, k, v = draw_heads(rng, 1, 1, 1, 200, 220, 4)
    counted = []
    for tiles in ({}, {"q_block": 64, "k_block": 64}):
        with student.counting() as work:
            out, _ = pair(student.flash_attention(q, k, v, causal=True, **tiles))
        close(out, dense(q, k, v, causal=True)[0], atol=1e-9, what="wrong out")
        counted.append(work.flops)
    equal(counted[0], counted[1], what="FLOPs without q_block and k_block differ from those with tiles of 64 by 64")
    raises(ValueError, lambda: student.flash_attention(k, q, q, causal=True), naming=220)


@checks("flash_attention", weight=2)
def test_bytes_of_other_tiles(student, rng):
    """work: tiles of 32 by 64, causal or not, and of 64 by 16: bytes to and from slow memory as planned"""
    q, k, v = draw_heads(rng, 1, 8, 4, 256, 256, 32, dtype=torch.float32)
    for causal, q_block, k_block in ((True, 32, 64), (False, 32, 64), (True, 64, 16)):
        with student.counting(fast_bytes=112 * 1024) as work:
            out, _ = pair(student.flash_attention(q, k, v, causal=causal, q_block=q_block, k_block=k_block))
        close(out, dense(q, k, v, causal=causal)[0], atol=1e-5, what="wrong out")
        between(work.flops, least_flops(q, k, 1, 1, causal) / 2, 1.05 * least_flops(q, k, q_block, k_block, causal), "FLOPs")
        as_planned(work.slow_bytes, least_bytes(q, k, q_block, k_block, causal), f"tiles of {q_block} by {k_block}")
        between(work.peak_bytes, out.nbytes, 4 * out.nbytes, "bytes of memory at one time")


@checks("standard_bytes")
def test_standard_bytes_of_random_sizes(student, rng):
    """random sizes give the right bytes; a count too large for a float is exact"""
    for _ in range(6):
        t_q, t_k, Dh, size = integer(rng, 1, 50), integer(rng, 1, 50), integer(rng, 1, 9), integer(rng, 1, 8)
        equal(student.standard_bytes(t_q, t_k, Dh, size), size * (2 * (t_q + t_k) * Dh + 4 * t_q * t_k))
    for t_q, t_k, Dh, size in ((3, 5, 3**20, 3**15), (5**16, 5**13, 3, 2)):
        want = size * (2 * (t_q + t_k) * Dh + 4 * t_q * t_k)
        equal(student.standard_bytes(t_q, t_k, Dh, size), want, what="wrong bytes where there are more than float64 or 64 bits can count")


@checks("flash_bytes", weight=2)
def test_flash_bytes_of_random_sizes(student, rng):
    """random sizes, tiles and groups: right bytes, exact in any size; causal with T_q > T_k raises ValueError"""
    for size in [1, 2, 4, 8] * 5:
        t_k = integer(rng, 1, 30)
        t_q, Dh, group = integer(rng, 1, t_k), integer(rng, 1, 9), integer(rng, 1, 4)
        tiles = {"q_block": integer(rng, 1, 9), "k_block": integer(rng, 1, 9)}
        for causal in (True, False):
            want = (2 * group * t_q + 2 * keys_read(t_q, t_k, *tiles.values(), causal)) * Dh * size
            equal(student.flash_bytes(t_q, t_k, Dh, size, group=group, causal=causal, **tiles), want)
    want = (2 * 9 * 40 + 2 * keys_read(40, 700, 3, 7, True)) * 100
    equal(student.flash_bytes(40, 700, 50, 2, q_block=3, k_block=7, group=9, causal=True), want, what="wrong bytes for many tiles")
    for size in (3**15, 3**24):
        got = student.flash_bytes(3, 5, 3**20, size, q_block=2, k_block=2)
        equal(got, 26 * 3**20 * size, what="wrong bytes where there are more than float64 or 64 bits can count")
    for naming in (7, 3):
        raises(ValueError, lambda: student.flash_bytes(7, 3, 2, 4, q_block=2, k_block=2, causal=True), naming=naming)


@checks("combine", weight=2)
def test_any_partition(student, rng):
    """random keys in random parts: the result of attention over all keys, with very large and very small lse side by side"""
    levels = torch.tensor([[1000.0], [-1000.0], [0.0]], dtype=torch.float64)
    for sizes in ([7], [1, 6], [2, 2, 3], [1] * 7):
        scores = 5 * torch.randn(2, 3, 7, generator=rng, dtype=torch.float64) + levels
        values = torch.randn(2, 7, 4, generator=rng, dtype=torch.float64)
        parts = list(zip(scores.split(sizes, dim=-1), values.split(sizes, dim=-2), strict=True))
        outs = torch.stack([s.softmax(dim=-1) @ x for s, x in parts])
        lses = torch.stack([s.logsumexp(dim=-1) for s, _ in parts], dim=-1).movedim(-1, 0)
        out, lse = pair(student.combine(outs, lses, _unchanged=True))
        close(out, scores.softmax(dim=-1) @ values, atol=1e-9, rtol=1e-9, dtype=torch.float64)
        close(lse, scores.logsumexp(dim=-1), atol=1e-9, rtol=1e-9, dtype=torch.float64)
    on_one_device(student.combine.on_meta(outs, lses))
    outs, lses = (torch.randn(size, generator=rng).half() for size in ((4, 2, 3, 5), (4, 2, 3)))
    lses[1, 0, 2] = lses[3, 1, 0] = -math.inf
    out, lse = pair(student.combine(outs, lses))
    close(out, (lses.double().softmax(dim=0).unsqueeze(-1) * outs).sum(dim=0), atol=0.02, dtype=torch.float16, what="wrong out, float16")
    close(lse, lses.double().logsumexp(dim=0), atol=0.02, dtype=torch.float16, what="wrong lse, float16")


@checks("combine")
def test_many_parts_some_without_keys(student, rng):
    """33 parts, some without a key for a query: these add nothing, whatever their out is; without any key out is exactly 0"""
    outs, lses = (torch.randn(size, generator=rng, dtype=torch.float64) for size in ((33, 2, 270, 70), (33, 2, 270)))
    lses[4:7], outs[4:7] = -math.inf, 1e30
    lses[:, :, ::3] = -math.inf
    for part in (0, 20, 31):
        lses[part, :, 1::6], outs[part, :, 1::6] = -math.inf, -1e30
    lses[12, :, 2::6] += 900.0
    out, lse = pair(student.combine(outs, lses))
    want = (lses.softmax(dim=0).nan_to_num().unsqueeze(-1) * outs).sum(dim=0)
    close(out, want, atol=1e-9, what="wrong out")
    close(lse, lses.logsumexp(dim=0), atol=1e-9, what="wrong lse")
    equal(out[:, ::3], torch.zeros(2, 90, 70), what="no part has a key: out is not exactly 0")
    equal(student.combine(outs[5:6], lses[5:6])[0], torch.zeros(2, 270, 70), what="one part alone, without a key: out is not exactly 0")


@checks("combine")
def test_parts_over_the_same_memory(student, rng):
    """a second call over the same memory with other numbers: each call gives its own results"""
    one, other = ([torch.randn(size, generator=rng, dtype=torch.float64) for size in ((3, 2, 4), (3, 2))] for _ in range(2))
    for (outs, lses), got in zip((one, other), student.combine.again(one, other), strict=True):
        out, lse = pair(got)
        close(out, (lses.softmax(dim=0).unsqueeze(-1) * outs).sum(dim=0), atol=1e-9, rtol=1e-9)
        close(lse, lses.logsumexp(dim=0), atol=1e-9, rtol=1e-9)


@checks("decode_splits", weight=2)
def test_random_splits(student, rng):
    """random caches and numbers of parts, values of another width, 16 bits, the meta device: out is right"""
    for _ in range(8):
        K, group = integer(rng, 1, 3), integer(rng, 1, 3)
        q, k, v = draw_heads(rng, integer(rng, 1, 2), K * group, K, 1, integer(rng, 1, 90), 4, wide=integer(rng, 1, 6))
        for splits in (integer(rng, 1, 12), integer(rng, 1, 100)):
            close(student.decode_splits(q, k, v, splits), dense(q, k, v, causal=False)[0], atol=1e-9, rtol=1e-9, dtype=torch.float64)
    q, k, v = draw_heads(rng, 10, 8, 1, 1, 1500, 96, wide=160)
    close(student.decode_splits(q, k, v, 33), dense(q, k, v, causal=False)[0], atol=1e-9, rtol=1e-9, what="wrong out for 33 parts")
    q, k, v = draw_heads(rng, 1, 2, 1, 1, 40, 4)
    close(student.decode_splits(q, k, v, 40), dense(q, k, v, causal=False)[0], atol=1e-9, rtol=1e-9)
    for dtype in (torch.bfloat16, torch.float16):
        q, k, v = draw_heads(rng, 2, 4, 2, 1, 200, 20, dtype=dtype)
        rounded_once(student.decode_splits(q, k, v, 2), dense(q, k, v, causal=False)[0], dtype)
    on_one_device(student.decode_splits.on_meta(q, k, v, 3))


@checks("decode_splits", weight=2)
def test_runs_of_one_length(student, rng):
    """work: 57 keys in 11 parts write about 11 outputs, and no more; 45 keys in 23 parts: parts of about one length"""
    cut_into_runs(student, *draw_heads(rng, 1, 8, 1, 1, 57, 6, wide=40), 11)
    runs_of_one_length(student, rng, 23)


@checks("prefill_flash", weight=2)
def test_random_models_in_random_chunks(student, rng):
    """random models, chunks and tiles: right logits; a text that does not fit raises CacheFull"""
    written(student.prefill_flash)
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=29, **shape)
        rows, length = integer(rng, 1, 3), integer(rng, 6, 15)
        ids = random_ids(rng, rows, length, 29)
        ids[0, -1] = 0
        cache = student.KVCache(kit.config, rows, length, dtype=torch.float64)
        start = 0
        for chunk in ids.split(random_sizes(rng, length), dim=1):
            got = student.prefill_flash(model, chunk, cache, q_block=integer(rng, 1, 6), k_block=integer(rng, 1, 6))
            start += chunk.shape[1]
            want = kit(ids[:, :start])[:, -1]
            close(got, want, atol=1e-3, dtype=torch.float64, what=f"wrong logits after {start} tokens for {shape}")
            equal(cache.length, start, what="wrong length of the cache")
        raises("CacheFull", lambda model=model, ids=ids, cache=cache: student.prefill_flash(model, ids[:, :1], cache))
        equal(cache.length, length, what="wrong length of the cache after CacheFull")
        room = integer(rng, 1, length - 1)
        cache = student.KVCache(kit.config, rows, room, dtype=torch.float64)
        raises("CacheFull", lambda model=model, ids=ids, cache=cache: student.prefill_flash(model, ids, cache))


@checks("prefill_flash")
def test_a_long_prompt_and_its_head(student, rng):
    """work: 500 tokens in chunks of 80 and 420: a chunk goes through whole, the head for the last token only; gradient mode stays"""
    model, kit = small(student, rng, vocab_size=4000, num_hidden_layers=1, intermediate_size=48)  # more for a token than a tile's scores
    ids = random_ids(rng, 1, 500, 4000)
    cache = student.KVCache(kit.config, 1, 500, dtype=torch.float64)
    student.prefill_flash(model, ids[:, :80], cache)
    with student.counting() as work:
        got = student.prefill_flash(model, ids[:, 80:], cache)
    close(got, kit(ids)[:, -1], atol=1e-3, what="wrong logits after 500 tokens")
    goes_whole(work, kit.config, 420, torch.float64)
    with student.counting() as work:
        student.prefill_flash(model, ids[:, :100], student.KVCache(kit.config, 1, 100, dtype=torch.float64))
    most = products_of_layers(kit.config, 100, 1) + attention_flops(kit.config, 100, 64, 64)
    between(work.flops, fewest_flops(kit.config, [100]), 1.02 * most, "FLOPs")
    cache = student.KVCache(kit.config, 1, 20, dtype=torch.float64)
    gradient_mode_stays(student, lambda: student.prefill_flash(model, ids[:, :10], cache))
    cache = student.KVCache(kit.config, 1, 6, dtype=torch.float64)
    gradient_mode_stays(student, lambda: raises("CacheFull", lambda: student.prefill_flash(model, ids[:, :7], cache)))


@checks("prefill_flash")
def test_tiles_are_passed_on(student, rng):
    """work: other tiles change the FLOPs exactly as in flash_attention; the default is 64 by 64; all on the ids' device"""
    model, kit = small(student, rng, vocab_size=29)
    config, before, length = kit.config, 20, 200
    heads = draw_heads(rng, 1, config.num_attention_heads, config.num_key_value_heads, length, before + length, config.head_dim)
    ids = random_ids(rng, 1, before + length, 29)
    want = kit(ids)[:, -1]

    def counted(**tiles):
        """FLOPs of the second chunk, and those of its attention alone in all layers."""
        cache = student.KVCache(config, 1, before + length, dtype=torch.float64)
        student.prefill_flash(model, ids[:, :before], cache)
        with student.counting() as work:
            got = student.prefill_flash(model, ids[:, before:], cache, **tiles)
        close(got, want, atol=1e-3, what=f"wrong logits with {tiles or 'the tiles of the default'}")
        with student.counting() as alone:
            student.flash_attention(*heads, causal=True, **tiles)
        return work.flops, config.num_hidden_layers * alone.flops

    all_default, attention_default = counted(q_block=64, k_block=64)
    equal(counted()[0], all_default, what="FLOPs without q_block and k_block differ from those with tiles of 64 by 64")
    for tiles in ({"q_block": 160, "k_block": 64}, {"q_block": 64, "k_block": 100}):
        both, attention = counted(**tiles)
        equal(both - all_default, attention - attention_default, what=f"{tiles} do not change the FLOPs as in flash_attention")
    gradients_stay_on(student, lambda: counted(), lambda: student.flash_attention(*heads, causal=True))
    on_one_device(
        student.prefill_flash.on_meta(student.model("tiny", device="meta"), ids[:, :9], student.KVCache(tiny_config(), 1, 9, device="meta"))
    )
