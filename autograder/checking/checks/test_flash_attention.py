"""Visible checks of flash attention."""

from __future__ import annotations

import math

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.helpers.cached import PROMPTS, small, tiny_config, tiny_ids, unrolled, whole, written
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.tiles import (
    absorbed,
    cut_into_runs,
    dense,
    draw_heads,
    empty,
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
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradient_mode_stays, products_of_layers

KIB = 1024


def attention_flops(config, t, q_block, k_block, before=0):
    """Return the FLOPs of causal attention in tiles, in all layers, for t tokens of one text after `before` cached ones."""
    q = torch.empty(1, config.num_attention_heads, t, config.head_dim, device="meta")
    k = torch.empty(1, config.num_key_value_heads, before + t, config.head_dim, device="meta")
    return config.num_hidden_layers * least_flops(q, k, q_block, k_block, True)


def as_planned(counted, planned, what):
    """Fail unless about as many bytes were read and written as the plan of these tiles says."""
    expected = f"{0.9 * planned:,.0f} to {1.4 * planned:,.0f}"
    that(
        0.9 * planned <= counted <= 1.4 * planned,
        f"wrong number of bytes from and to slow memory for {what}",
        expected=expected,
        got=f"{counted:,}",
    )


def by_hand(case, dtype=torch.float64):
    """Scores (1, 4) and values (4, 1) of the worked example."""
    return torch.tensor([case["exponentials"]], dtype=dtype).log(), torch.tensor(case["values"], dtype=dtype)[:, None]


def numbers(row):
    return [round(float(x), 4) for part in row for x in part.flatten()]


# ---- the ladder ----------------------------------------------------------------------------------------------------


@checks("prefill_flash", weight=2)
def test_same_tokens_as_without_a_cache(student):
    """the ladder: greedy decoding of four prompts of unequal lengths gives the tokens of the loop without a cache"""
    written(student.prefill_flash)
    model = student.model("tiny", dtype=torch.float64)
    for prompt in PROMPTS:
        idx = tiny_ids(prompt)
        cache = student.KVCache(tiny_config(), 1, idx.shape[1] + 12, dtype=torch.float64)
        ids, tokens = idx, []
        for _ in range(12):
            logits = student.prefill_flash(model, ids, cache, q_block=8, k_block=4)
            equal(tuple(logits.shape), (1, tiny_config().vocab_size), what="wrong shape: logits (B, V) of the next token are expected")
            ids = logits.argmax(dim=-1, keepdim=True)
            tokens.append(ids)
        got = torch.cat(tokens, dim=1)
        equal(got, unrolled(whole(), idx, 12, 256), what=f"other tokens after a prompt of {idx.shape[1]}")


# ---- absorb --------------------------------------------------------------------------------------------------------


@checks("absorb", weight=2)
def test_two_tiles_by_hand(student, hand):
    """the worked example, four keys in two tiles: m, l and acc after each tile"""
    case = hand["two_tiles"]
    scores, values = by_hand(case)
    state = empty(student, (1,), 1)
    for step, tile in enumerate((slice(0, 2), slice(2, 4))):
        state = student.absorb(state, scores[:, tile], values[tile])
        m, total, acc = fields(state)
        what = f" after tile {step + 1}"
        close(m, torch.tensor([case["m"][step]]), atol=5e-5, what="wrong m" + what)
        sums = [([3.25], "The sum so far was not scaled to the new maximum."), ([10.0], "No maximum is taken out.")]
        close(total, torch.tensor([case["l"][step]]), atol=5e-5, what="wrong l" + what, suspects=sums)
        outs = [([[16.0]], "The outputs so far were not scaled to the new maximum.")]
        close(acc, torch.tensor([[case["acc"][step]]]), atol=5e-5, what="wrong acc" + what, suspects=outs)


@checks("absorb")
def test_the_larger_tile_first(student, hand):
    """the worked example with its two tiles in the other order: the final m, l and acc are the same"""
    case, order = hand["two_tiles"], hand["other_order"]
    scores, values = by_hand(case)
    state = empty(student, (1,), 1)
    for step, tile in enumerate((slice(2, 4), slice(0, 2))):
        state = student.absorb(state, scores[:, tile], values[tile])
        for name, got in zip(("m", "l", "acc"), fields(state), strict=True):
            close(got.flatten(), torch.tensor([order[name][step]]), atol=5e-5, what=f"wrong {name} after tile {step + 1}")


@checks("absorb")
def test_large_and_small_scores(student):
    """scores of 2,000, -2,000 or -3,000,000,000, or 800 above the tile before: the state is exact, without infinity or nan"""
    below = [-1.0, -2.0, 0.0, -3.0]
    for scores in ([2000.0, 1999.0, -2000.0, 2001.0], [x - 1999.0 for x in below], [x - 3e9 for x in below], [-17.0, -18.0, 0.0, 1.0]):
        tile, off = torch.tensor([scores], dtype=torch.float64), 1e-5 if scores[0] < -1e9 else 1e-9  # float64 rounds a logsumexp of -3e9
        values = torch.tensor([[1.0], [2.0], [3.0], [4.0]], dtype=torch.float64)
        for cuts in ([2, 2], [1, 3], [4]):
            same_state(absorbed(student, tile, values, cuts), state_of(tile, values), atol=off, what=f" with tiles of {cuts}")
    tile, values = torch.tensor([[0.0, 1.0, 800.0, 799.0]], dtype=torch.float64), torch.tensor([[1.0], [2.0], [3.0], [4.0]]).double()
    same_state(absorbed(student, tile, values, [2, 2]), state_of(tile, values), atol=1e-9, what=" where a tile is 800 above the one before")


@checks("absorb", weight=2)
def test_a_query_that_sees_no_key_of_a_tile(student):
    """a query that has seen no key has m = -inf, l = 0, acc = 0, and absorbs later keys as usual"""
    low = -math.inf
    scores = torch.tensor([[low, low, 1.0, 2.0], [0.5, low, low, low], [low, low, low, low]], dtype=torch.float64)
    values = torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [4.0, 5.0]], dtype=torch.float64)
    for cuts in ([2, 2], [1, 2, 1]):  # of the tile of keys 1 and 2 nobody sees the first
        state = absorbed(student, scores, values, cuts)
        that(not any(part.isnan().any() for part in fields(state)), "the state holds nan", expected="-inf, 0 and 0", got="nan")
        same_state(state, state_of(scores, values), what=f" with tiles of {cuts}")
    _, total, acc = fields(state)
    equal(torch.cat((total[2:], acc[2])), torch.zeros(3), what="a query that has seen no key: l and acc are not exactly 0")
    unseen = torch.tensor([[1.0], [1e40], [1e40], [1e40]], dtype=torch.float64)
    _, total, acc = fields(absorbed(student, scores[1:2], unseen, [2, 2]))
    equal(torch.cat((total, acc[0])), torch.ones(2), what="one key with a value of 1, the others masked: l and acc are not exactly 1")


@checks("absorb")
def test_a_large_tile(student, rng):
    """300 queries, tiles of 150 and 350 keys, values of width 96: the state is right"""
    scores, values = torch.randn(300, 500, generator=rng, dtype=torch.float64), torch.randn(500, 96, generator=rng, dtype=torch.float64)
    same_state(absorbed(student, 4 * scores, values, [150, 350]), state_of(4 * scores, values), what=" for many queries and keys")


@checks("absorb")
def test_tiles_in_any_layout(student, rng):
    """scores and values that are not contiguous in memory give the same state as contiguous ones"""
    for of_scores, of_values, order in (((2, 3, 5, 4), (2, 3, 6, 5), (1, 0, 3, 2)), ((5, 1, 2), (3, 5, 2), (2, 1, 0))):
        scores, values = (torch.randn(size, generator=rng, dtype=torch.float64).permute(order) for size in (of_scores, of_values))
        state = student.absorb(empty(student, scores.shape[:-1], values.shape[-1]), scores, values, _unchanged=True)
        same_state(state, state_of(scores, values), what=f" for scores {tuple(scores.shape)} that are not contiguous")


@checks("absorb")
def test_the_given_state_stays(student, rng):
    """absorb does not change the state it was given, so a second tile can start from the same state"""
    scores, values = torch.randn(3, 4, generator=rng, dtype=torch.float64), torch.randn(4, 2, generator=rng, dtype=torch.float64)
    state = student.absorb(empty(student, (3,), 2), scores[:, :2], values[:2], _unchanged=True)
    before = [part.clone() for part in fields(state)]
    student.absorb(state, scores[:, 2:] + 10.0, values[2:], _unchanged=True)
    for name, old, new in zip(("m", "l", "acc"), before, fields(state), strict=True):
        equal(new, old, what=f"absorb changes {name} of the state it was given")
    same_state(student.absorb(state, scores[:, 2:], values[2:]), state_of(scores, values), what=" from a state that was used before")


# ---- finish --------------------------------------------------------------------------------------------------------


@checks("finish", weight=2)
def test_finish_by_hand(student, hand):
    """m = ln 4, l = 2.5 and acc = 13 give out = 5.2 and lse = ln 10"""
    case = hand["two_tiles"]
    parts = [torch.tensor(part, dtype=torch.float64) for part in ([math.log(4)], [2.5], [[13.0]])]
    out, lse = pair(student.finish(student.State(*parts)))
    undivided = [([[13.0]], "The sum of the values was not divided by l.")]
    close(out, torch.tensor([[case["out"]]]), atol=5e-5, what="wrong out", suspects=undivided)
    wrong = [
        ([math.log(2.5)], "m is missing: l is the sum of exp(score - m)."),
        ([math.log2(10)], "The logarithm is the natural one, not that of base 2."),
    ]
    close(lse, torch.tensor([case["lse"]]), atol=5e-5, what="wrong lse", suspects=wrong)


@checks("finish")
def test_finish_of_a_query_without_keys(student):
    """a query that has seen no key gets out = 0 and lse = -inf; the query beside it gets its own result"""
    low = -math.inf
    parts = [torch.tensor(part, dtype=torch.float64) for part in ([low, 1.0], [0.0, 2.0], [[0.0, 0.0], [3.0, -1.0]])]
    out, lse = pair(student.finish(student.State(*parts)))
    close(out, torch.tensor([[0.0, 0.0], [1.5, -0.5]]), what="wrong out")
    close(lse, torch.tensor([low, 1.0 + math.log(2)]), what="wrong lse")
    equal(out[0], torch.zeros(2), what="a query that has seen no key: out is not exactly 0")


@checks("finish")
def test_finish_of_many_queries(student, rng):
    """400 queries, values of width 96: out and lse are right"""
    m, total = torch.randn(400, generator=rng, dtype=torch.float64), torch.arange(1, 401, dtype=torch.float64)
    acc = torch.randn(400, 96, generator=rng, dtype=torch.float64)
    out, lse = pair(student.finish(student.State(m, total, acc)))
    close(out, acc / total.unsqueeze(-1), atol=1e-9, rtol=1e-9, dtype=torch.float64, what="wrong out")
    close(lse, m + total.log(), atol=1e-9, rtol=1e-9, dtype=torch.float64, what="wrong lse")


@checks("finish", weight=2)
def test_finish_of_two_axes(student):
    """m of 3,000, -4,000,000,000 and -inf on two axes: out and lse keep the dtype, and the state does not change"""
    low = -math.inf
    for dtype, off in ((torch.float64, 1e-9), (torch.float32, 1e-5)):
        m, total = torch.tensor([[[3000.0, 0.25], [-4e9, low]], [[1.5, 2.5], [4.0, 0.0]]], dtype=dtype)
        acc = torch.tensor([[[3.0, -6.0], [0.0, 0.0]], [[8.0, 2.0], [0.0, 0.0]]], dtype=dtype)
        state = student.State(m, total, acc)
        out, lse = pair(student.finish(state))
        due = torch.tensor([[[2.0, -4.0], [0.0, 0.0]], [[2.0, 0.5], [0.0, 0.0]]])
        close(out, due, atol=off, rtol=off, dtype=dtype, what="wrong out")
        close(lse, m + total.log(), atol=off, rtol=off, dtype=dtype, what="wrong lse")
        for name, given, now in zip(("m", "l", "acc"), (m, total, acc), fields(state), strict=True):
            equal(now, given, what=f"finish changes {name} of the state it was given")


# ---- tile_plan -----------------------------------------------------------------------------------------------------


def as_tuples(plan):
    """Return a plan with tuples for tiles, as most answers have it: expected and got look alike then."""
    return [[tuple(tile) for tile in row] for row in plan]


@checks("tile_plan", weight=2)
def test_plans_by_hand(student, hand):
    """3 queries after 5 keys, and 5 queries over 5 keys: the plan lists the right tiles, and marks those that need a mask"""
    case = hand["plan"]
    got = student.tile_plan(case["t_q"], case["t_k"], case["q_block"], case["k_block"], True)
    equal(got, as_tuples(case["tiles"]), what="wrong plan for 3 queries over 8 keys, tiles of 2 by 4, causal")
    case = hand["square_plan"]
    got = student.tile_plan(case["t"], case["t"], case["block"], case["block"], True)
    equal(got, as_tuples(case["tiles"]), what="wrong plan for 5 queries over 5 keys, tiles of 2 by 2, causal")


@checks("tile_plan")
def test_plan_without_a_mask(student):
    """not causal: the plan lists every tile, none with a mask, also with more queries than keys"""
    for arguments in ((6, 6, 2, 3), (5, 7, 2, 3), (7, 3, 4, 2), (1, 9, 4, 4)):
        same_plan(student, *arguments, False)


@checks("tile_plan")
def test_wide_and_high_tiles(student):
    """causal plans are right for tiles wider than high, higher than wide, short at the end, and larger than the text"""
    for arguments in ((8, 8, 2, 4), (8, 8, 4, 2), (7, 9, 3, 4), (9, 9, 3, 8), (5, 5, 64, 64), (1, 6, 4, 4), (1, 1, 1, 1)):
        same_plan(student, *arguments, True)


@checks("tile_plan")
def test_plans_of_many_tiles(student):
    """70 tiles of queries over 71 tiles of keys, and tiles of 700 keys: the plans are right, causal or not"""
    for arguments in ((70, 1420, 1, 20), (5, 1500, 2, 700)):
        for causal in (True, False):
            same_plan(student, *arguments, causal)


@checks("tile_plan")
def test_too_many_queries_for_a_plan(student):
    """causal with more queries than keys raises a ValueError that names both numbers"""
    for naming in (7, 3):
        raises(ValueError, lambda: student.tile_plan(7, 3, 2, 2, True), naming=naming)
    same_plan(student, 3, 3, 2, 2, True)


# ---- flash_attention -----------------------------------------------------------------------------------------------


@checks("flash_attention")
def test_one_head_by_hand(student, hand):
    """the worked example as one query and four keys: out = 5.2 and lse = ln 10"""
    case = hand["two_tiles"]
    scores, values = by_hand(case)
    q, k, v = torch.ones(1, 1, 1, 1, dtype=torch.float64), scores.reshape(1, 1, 4, 1), values.reshape(1, 1, 4, 1)
    for causal in (False, True):
        out, lse = pair(student.flash_attention(q, k, v, causal=causal, q_block=2, k_block=2))
        close(out, torch.tensor([[[[case["out"]]]]]), atol=5e-5, what="wrong out")
        close(lse, torch.tensor([[[case["lse"]]]]), atol=5e-5, what="wrong lse")


def compared(student, q, k, v, causal, q_block, k_block):
    """Compare one call with all scores at once; name the known mistakes of scale and alignment."""
    out, lse = pair(student.flash_attention(q, k, v, causal=causal, q_block=q_block, k_block=k_block, _unchanged=True))
    want_out, want_lse = dense(q, k, v, causal=causal)
    Dh = q.shape[-1]
    suspects = [
        (dense(q, k, v, causal=causal, scale=1 / Dh), "The scores are divided by Dh, not by its root."),
        (dense(q, k, v, causal=causal, scale=1.0), "The scores are not scaled."),
    ]
    if causal and q.shape[2] < k.shape[2]:
        suspects.append((dense(q, k, v, causal=True, first=0), "The mask is aligned at the start: the position of query 0 is Tk - Tq."))
    what = f" for q {tuple(q.shape)}, k {tuple(k.shape)}, causal {causal}, tiles of {q_block} by {k_block}"
    outs, lses = ([(wrong[i], cause) for wrong, cause in suspects] for i in (0, 1))
    close(out, want_out, atol=1e-9, rtol=1e-9, what="wrong out" + what, dtype=q.dtype, suspects=outs)
    close(lse, want_lse, atol=1e-9, rtol=1e-9, what="wrong lse" + what, dtype=q.dtype, suspects=lses)


@checks("flash_attention", weight=2)
def test_attention_of_day_3(student, rng):
    """out and lse equal those of attention over all scores, for T_q = T_k, T_q < T_k, one query, and wide and high tiles"""
    tiles = ((6, 6, 2, 3), (7, 9, 4, 4), (1, 9, 4, 2), (9, 9, 3, 8), (10, 10, 8, 3), (5, 5, 64, 64), (290, 310, 280, 300))
    for Tq, Tk, q_block, k_block in tiles:
        q, k, v = draw_heads(rng, 2, 2, 2, Tq, Tk, 4)
        for causal in (True, False):
            compared(student, q, k, v, causal, q_block, k_block)


@checks("flash_attention")
def test_shapes_of_real_models(student, rng):
    """nine rows, seven query heads of width 128 on one key/value head, 1,100 keys: out and lse are right"""
    q, k, v = draw_heads(rng, 9, 7, 1, 12, 1100, 128)
    got = pair(student.flash_attention(q, k, v, causal=True, q_block=8, k_block=64))
    for name, mine, due in zip(("out", "lse"), got, dense(q, k, v, causal=True), strict=True):
        close(mine, due, atol=1e-9, rtol=1e-9, dtype=q.dtype, what=f"wrong {name} for q {tuple(q.shape)}, k {tuple(k.shape)}, causal")


@checks("flash_attention")
def test_sixteen_bits(student, rng):
    """bfloat16 and float16: computed in float32, out rounded once at the end, lse in float32"""
    for dtype, Tq, Tk in ((torch.bfloat16, 40, 40), (torch.bfloat16, 4, 430), (torch.float16, 40, 40)):
        q, k, v = draw_heads(rng, 1, 4, 2, Tq, Tk, 20, dtype=dtype)
        out, lse = pair(student.flash_attention(q, k, v, causal=True, q_block=8, k_block=16))
        exact, exact_lse = dense(q, k, v, causal=True)
        close(lse, exact_lse, atol=1e-4, dtype=torch.float32, what=f"wrong lse for {str(dtype)[6:]}, {Tk} keys")
        rounded_once(out, exact, dtype)


@checks("flash_attention", weight=2)
def test_groups_of_heads(student, rng):
    """3, 4 or 1 query heads for each key/value head: right for values of another width, transposed heads, and a second call"""
    for B, H, K, wide in ((2, 6, 2, 4), (1, 4, 1, 7), (1, 3, 3, 3)):
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in draw_heads(rng, B, H, K, 5, 8, 4, wide=wide))
        compared(student, q, k, v, True, 2, 3)
    one, other = (draw_heads(rng, 1, 2, 1, 3, 6, 4) for _ in range(2))
    calls = student.flash_attention.again(one, other, causal=True, q_block=2, k_block=4)
    for call, (heads, got) in enumerate(zip((one, other), calls, strict=True), 1):
        for name, mine, due in zip(("out", "lse"), pair(got), dense(*heads, causal=True), strict=True):
            close(mine, due, atol=1e-9, what=f"wrong {name} of call {call} of two over the same memory")


@checks("flash_attention")
def test_masked_keys_beside_low_scores(student):
    """scores of -2,000,000,000: keys that a query may not see still get no weight"""
    q = torch.tensor([-(2.0**16), 1.0, 0.0, 0.0], dtype=torch.float64).repeat(1, 1, 5, 1)
    k = torch.tensor([[2.0**16, 3.0 * (n % 2), 0.0, 0.0] for n in range(5)], dtype=torch.float64)[None, None]
    v = torch.tensor([[3.0, 1.0], [0.0, 5.0], [7.0, 2.0], [4.0, 4.0], [9.0, 0.0]], dtype=torch.float64)[None, None]
    got = pair(student.flash_attention(q, k, v, causal=True, q_block=3, k_block=2))
    for name, mine, due in zip(("out", "lse"), got, dense(q, k, v, causal=True), strict=True):
        close(mine, due, what=f"wrong {name} for scores near -2**31")


@checks("flash_attention")
def test_too_many_queries(student, rng):
    """more queries than keys: causal raises a ValueError that names both numbers; without a mask the result is right"""
    q, k, v = draw_heads(rng, 1, 2, 1, 7, 3, 4)
    for naming in (7, 3):
        raises(ValueError, lambda: student.flash_attention(q, k, v, causal=True), naming=naming)
    compared(student, q, k, v, False, 64, 64)


@checks("flash_attention", weight=2)
def test_bytes_and_memory(student, rng):
    """work: 640 tokens with the default tiles of 64 by 64: bytes to and from slow memory as planned, no matrix of all scores"""
    q, k, v = draw_heads(rng, 1, 4, 2, 640, 640, 32, dtype=torch.float32)
    with student.counting(fast_bytes=128 * KIB) as work:
        out, _ = pair(student.flash_attention(q, k, v, causal=True))
    close(out, dense(q, k, v, causal=True)[0], atol=1e-5, what="wrong out")
    planned, flops = least_bytes(q, k, 64, 64, True), least_flops(q, k, 64, 64, True)
    # Products of weights and values are no FLOPs to the counter where `absorb` makes them as sums of products; those of keys are.
    between(work.flops, least_flops(q, k, 1, 1, True) / 2, 1.05 * flops, "FLOPs")
    between(work.slow_bytes, least_bytes(q, k, 640, 640, True), 1.4 * planned, "bytes read from and written to slow memory")
    between(work.peak_bytes, out.nbytes, 4 * out.nbytes, "bytes of memory at one time")
    between(work.largest_bytes, 1, 0.9 * 640 * 640, "bytes in one tensor (a mask of 640 by 640 has 409,600)")
    q, k, v = draw_heads(rng, 1, 1, 1, 130, 170, 4)
    counted = []
    for tiles in ({}, {"q_block": 64, "k_block": 64}):
        with student.counting() as work:
            student.flash_attention(q, k, v, causal=True, **tiles)
        counted.append(work.flops)
    equal(counted[0], counted[1], what="other FLOPs without q_block and k_block than with tiles of 64 by 64")


@checks("flash_attention")
def test_memory_of_many_keys(student, rng):
    """work: bfloat16, 4 queries after 1,996 keys: peak memory is smaller than the keys"""
    q, k, v = draw_heads(rng, 1, 4, 2, 4, 2000, 64, dtype=torch.bfloat16)
    with student.counting() as work:
        out, _ = pair(student.flash_attention(q, k, v, causal=True))
    rounded_once(out, dense(q, k, v, causal=True)[0], torch.bfloat16)
    between(work.peak_bytes, out.nbytes, k.nbytes, f"bytes of memory at one time (all keys have {k.nbytes:,})")


@checks("flash_attention")
def test_bytes_of_low_tiles(student, rng):
    """work: tiles of 16 queries by 128 keys: slow-memory bytes as planned, with the keys read again for each tile of queries"""
    q, k, v = draw_heads(rng, 1, 4, 4, 256, 256, 32, dtype=torch.float32)
    with student.counting(fast_bytes=64 * KIB) as work:
        out, _ = pair(student.flash_attention(q, k, v, causal=True, q_block=16, k_block=128))
    close(out, dense(q, k, v, causal=True)[0], atol=1e-5, what="wrong out")
    as_planned(work.slow_bytes, least_bytes(q, k, 16, 128, True), "tiles of 16 by 128")


@checks("flash_attention")
def test_on_another_device(student, rng):
    """on the meta device: state, mask and results are created on the device of the queries"""
    q, k, v = draw_heads(rng, 1, 4, 2, 5, 7, 4, dtype=torch.float32)
    written(lambda *_: student.flash_attention(q, k, v, causal=True))
    on_one_device(student.flash_attention.on_meta(q, k, v, causal=True, q_block=2, k_block=3))


ONE_KEY_AT_A_TIME = """
in_tiles = flash_attention


def flash_attention(q, k, v, *, causal, q_block=64, k_block=64):
    return in_tiles(q, k, v, causal=causal, q_block=q_block, k_block=1)
"""


@checks("flash_attention", timing=True)
def test_faster_than_one_key_at_a_time(race):
    """speed: 512 tokens in tiles of 64 keys are faster than one key at a time"""

    def heads(rng):
        return draw_heads(rng, 1, 4, 2, 512, 512, 32, dtype=torch.float32)

    def call(s, inputs):
        return pair(s.flash_attention(*inputs, causal=True))[0]

    race.against(ONE_KEY_AT_A_TIME, heads, call, cause="The keys of a tile are taken in together, not one by one.")


# ---- bytes ---------------------------------------------------------------------------------------------------------


@checks("standard_bytes")
def test_standard_bytes_by_hand(student, hand):
    """4,096 tokens of width 128, and 8 tokens of width 2: the bytes are right"""
    for name in ("large_bytes", "small_bytes"):  # of the small one two mistakes give the same number
        case = hand[name]
        t, Dh, size = case["t"], case["head_dim"], case["value_bytes"]
        suspects = [
            ((4 * t * Dh + 2 * t * t) * size, "Scores and weights both are written, and read again: four times T * T."),
            ((4 * t * Dh + 3 * t * t) * size, "Scores and weights both are written, and read again: four times T * T."),
            (4 * t * t * size, "Queries, keys, values and outputs are missing."),
        ]
        equal(student.standard_bytes(t, t, Dh, size), case["standard"], what=f"wrong bytes for {t} tokens", suspects=suspects)


@checks("standard_bytes")
def test_standard_bytes_of_a_rectangle(student):
    """3 queries over 8 keys, and one query over 100: right bytes; a count too large for a float is exact"""
    for t_q, t_k, Dh, size in ((3, 8, 2, 4), (1, 100, 16, 2)):
        want = size * (t_q * Dh + 2 * t_k * Dh + t_q * Dh + 4 * t_q * t_k)
        equal(student.standard_bytes(t_q, t_k, Dh, size), want, what=f"wrong bytes for {t_q} queries and {t_k} keys")
    got = student.standard_bytes(3**22, 3**21, 7, 3**13)  # more than 64 bits hold
    what = "wrong bytes for 3**22 queries, 3**21 keys and numbers of 3**13 bytes: an exact int is expected"
    equal(got, 4 * 3**56 + 56 * 3**34, what=what)


@checks("flash_bytes", weight=2)
def test_flash_bytes_by_hand(student, hand):
    """8 tokens in tiles of 2: the bytes without a mask, causal, and causal with two query heads in a group"""
    case = hand["small_bytes"]
    t, Dh, size, block = (case[name] for name in ("t", "head_dim", "value_bytes", "block"))
    once = "Keys and values are read again for each tile of queries."
    got = student.flash_bytes(t, t, Dh, size, q_block=block, k_block=block)
    equal(got, case["flash"], what="wrong bytes", suspects=[(4 * t * Dh * size, once)])
    got = student.flash_bytes(t, t, Dh, size, q_block=block, k_block=block, causal=True)
    equal(got, case["causal"], what="wrong bytes, causal", suspects=[(case["flash"], "Tiles that nobody may see are not read.")])
    got = student.flash_bytes(t, t, Dh, size, q_block=block, k_block=block, group=2, causal=True)
    both = (4 * t + 4 * keys_read(t, t, block, block, True)) * Dh * size
    equal(got, case["grouped"], what="wrong bytes for two query heads", suspects=[(both, "The heads of a group read a tile of keys once.")])


@checks("flash_bytes")
def test_flash_bytes_of_a_long_text(student, hand):
    """4,096 tokens of width 128 in tiles of 128: right bytes without a mask and causal"""
    case = hand["large_bytes"]
    t, Dh, size, block = (case[name] for name in ("t", "head_dim", "value_bytes", "block"))
    for causal, want in ((False, case["flash"]), (True, case["causal"])):
        got = student.flash_bytes(t, t, Dh, size, q_block=block, k_block=block, causal=causal)
        equal(got, want, what=f"wrong bytes, causal {causal}")


@checks("flash_bytes")
def test_flash_bytes_of_many_tiles(student):
    """a group of seven query heads, 90 tiles of keys for each tile of queries: the bytes are right"""
    want = (2 * 7 * 6 + 2 * keys_read(6, 1800, 2, 20, True)) * 80 * 2
    got = student.flash_bytes(6, 1800, 80, 2, q_block=2, k_block=20, group=7, causal=True)
    equal(got, want, what="wrong bytes for 6 queries after 1,794 keys, tiles of 2 by 20, seven query heads")


@checks("flash_bytes")
def test_flash_bytes_at_the_limits(student):
    """right bytes for short last tiles and for counts too large for a float; causal with T_q > T_k: ValueError naming both"""
    for causal in (True, False):
        want = (2 * 5 + 2 * keys_read(5, 11, 2, 4, causal)) * 3 * 4
        got = student.flash_bytes(5, 11, 3, 4, q_block=2, k_block=4, causal=causal)
        equal(got, want, what=f"wrong bytes for 5 queries and 11 keys, tiles of 2 by 4, causal {causal}")
    got = student.flash_bytes(4, 4, 3**22, 3**19, q_block=2, k_block=4)  # more than 64 bits hold
    equal(got, 24 * 3**41, what="wrong bytes for a width of 3**22 and numbers of 3**19 bytes: an exact int is expected")
    for naming in (9, 4):
        raises(ValueError, lambda: student.flash_bytes(9, 4, 8, 2, q_block=4, k_block=4, causal=True), naming=naming)


# ---- combine -------------------------------------------------------------------------------------------------------


@checks("combine", weight=2)
def test_two_parts_by_hand(student, hand):
    """parts with out 4, lse ln 3 and out 40/7, lse ln 7 combine to out 5.2, lse ln 10"""
    case = hand["two_parts"]
    outs = torch.tensor([[[4.0]], [[40 / 7]]], dtype=torch.float64)
    lses = torch.tensor([[math.log(3)], [math.log(7)]], dtype=torch.float64)
    out, lse = pair(student.combine(outs, lses, _unchanged=True))
    shares = lses / lses.sum(dim=0)
    suspects = [
        (outs.mean(dim=0), "That is the plain mean: each part must be weighted by its sum of exponentials."),
        ((shares[..., None] * outs).sum(dim=0), "lse is a logarithm: the parts are weighted by exp(lse)."),
    ]
    close(out, torch.tensor([[case["out"]]]), atol=5e-5, what="wrong out", suspects=suspects)
    close(lse, torch.tensor([case["lse"]]), atol=5e-5, what="wrong lse")
    out, lse = pair(student.combine(outs.bfloat16(), lses.bfloat16(), _unchanged=True))
    close(out, torch.tensor([[case["out"]]]), atol=0.1, dtype=torch.bfloat16, what="wrong out for parts in bfloat16")
    close(lse, torch.tensor([case["lse"]]), atol=0.1, dtype=torch.bfloat16, what="wrong lse for parts in bfloat16")


@checks("combine")
def test_parts_with_large_lse(student):
    """parts with an lse of 1,000, of -1,000, or one of each: out and lse are right, without infinity or nan"""
    for near in ([1000.0], [-1000.0], [1000.0, -1000.0]):
        outs = torch.tensor([[[4.0]], [[8.0]]], dtype=torch.float64).repeat(1, len(near), 1)
        lses = torch.tensor([near, [x + math.log(3) for x in near]], dtype=torch.float64)
        out, lse = pair(student.combine(outs, lses))
        close(out, torch.full((len(near), 1), 7.0), what=f"wrong out for lse near {near}")
        close(lse, torch.tensor(near, dtype=torch.float64) + math.log(4), what=f"wrong lse for lse near {near}")
    for first, last in ((-1000.0, 1000.0), (1000.0, -1000.0)):
        out, lse = pair(student.combine(outs, torch.tensor([[first] * 2, [last] * 2], dtype=torch.float64)))
        close(out, torch.full((2, 1), 8.0 if last > first else 4.0), what=f"wrong out for a part with lse {first} and one with {last}")
        close(lse, torch.full((2,), 1000.0), what=f"wrong lse for a part with lse {first} and one with {last}")


@checks("combine")
def test_parts_without_keys(student):
    """a part in which a query sees no key adds nothing to that query; without any key: out 0, lse -inf"""
    low = -math.inf
    outs = torch.tensor([[[5.0, 1.0], [7.0, -2.0]], [[0.0, 3e5], [-4.0, 6.0]]], dtype=torch.float64)
    lses = torch.tensor([[0.5, low], [low, low]], dtype=torch.float64)
    out, lse = pair(student.combine(outs, lses))
    close(out, torch.tensor([[5.0, 1.0], [0.0, 0.0]]), what="wrong out")
    close(lse, torch.tensor([0.5, low]), what="wrong lse")
    equal(out[1], torch.zeros(2), what="no part has a key: out is not exactly 0")
    out, lse = pair(student.combine(outs[1:], lses[1:]))
    equal(out, torch.zeros(2, 2), what="one part alone, which has no key: out is not exactly 0")
    equal(lse, torch.full((2,), low), what="one part alone, which has no key: lse is not -inf")
    outs = torch.tensor([[[5.0, 1.0], [2.0, 4.0]], [[9.0, 9.0], [4.0, 8.0]]], dtype=torch.float64)
    lses = torch.tensor([[0.5, 1.0], [low, 1.0]], dtype=torch.float64)
    for order, part in (([0, 1], 1), ([1, 0], 0)):
        out, lse = pair(student.combine(outs[order], lses[order]))
        close(out, torch.tensor([[5.0, 1.0], [3.0, 6.0]]), what=f"wrong out where only the second query has a key in part {part}")
        close(lse, torch.tensor([0.5, 1.0 + math.log(2)]), what=f"wrong lse where only the second query has a key in part {part}")


@checks("combine")
def test_twenty_parts(student, rng):
    """20 parts of 300 queries, values of width 96: out and lse are right"""
    outs, lses = (torch.randn(size, generator=rng, dtype=torch.float64) for size in ((20, 300, 96), (20, 300)))
    out, lse = pair(student.combine(outs, 3 * lses))
    close(out, ((3 * lses).softmax(dim=0).unsqueeze(-1) * outs).sum(dim=0), atol=1e-9, what="wrong out for 20 parts")
    close(lse, (3 * lses).logsumexp(dim=0), atol=1e-9, what="wrong lse for 20 parts")


@checks("combine")
def test_parts_on_another_device(student):
    """on the meta device: every new tensor is created on the device of the parts"""
    on_one_device(student.combine.on_meta(torch.ones(3, 2, 4), torch.zeros(3, 2)))


# ---- decode_splits -------------------------------------------------------------------------------------------------


def in_parts(student, q, k, v, splits):
    got = student.decode_splits(q, k, v, splits, _unchanged=True)
    what = f"wrong out for {k.shape[2]} keys in {splits} parts"
    close(got, dense(q, k, v, causal=False)[0], atol=1e-9, rtol=1e-9, dtype=q.dtype, what=what)


@checks("decode_splits", weight=2)
def test_any_number_of_parts(student, rng):
    """13 keys in 1, 2, 3, 5 or 13 parts give attention over all 13 keys"""
    q, k, v = draw_heads(rng, 2, 4, 2, 1, 13, 4)
    for splits in (1, 2, 3, 5, 13):
        in_parts(student, q, k, v, splits)


@checks("decode_splits")
def test_more_parts_than_keys(student, rng):
    """3 keys in 4 or 40 parts, and one key in 2 parts, give attention over all keys"""
    for keys, splits in ((3, 4), (3, 40), (1, 2)):
        q, k, v = draw_heads(rng, 1, 2, 1, 1, keys, 4)
        in_parts(student, q, k, v, splits)


@checks("decode_splits", weight=2)
def test_the_number_of_parts(student, rng):
    """work: 24 keys in 5 parts write about 5 outputs, neither one nor more than 5; 29 keys in 15 parts of about one length"""
    cut_into_runs(student, *draw_heads(rng, 2, 48, 1, 1, 24, 4, wide=24), 5)
    runs_of_one_length(student, rng, 15)


@checks("decode_splits")
def test_many_parts_of_wide_heads(student, rng):
    """1,000 keys in 20 parts, nine rows, seven query heads of width 128 on one key/value head: out is right"""
    in_parts(student, *draw_heads(rng, 9, 7, 1, 1, 1000, 128), 20)


@checks("decode_splits")
def test_parts_in_sixteen_bits(student, rng):
    """bfloat16: computed in float32, and out is rounded once at the end"""
    q, k, v = draw_heads(rng, 2, 4, 2, 1, 150, 20, dtype=torch.bfloat16)
    for splits in (1, 3):
        rounded_once(student.decode_splits(q, k, v, splits), dense(q, k, v, causal=False)[0], torch.bfloat16)


@checks("decode_splits")
def test_no_parts(student, rng):
    """a number of splits below 1 raises a ValueError that names the number"""
    q, k, v = draw_heads(rng, 1, 2, 1, 1, 3, 4)
    for splits in (0, -2):
        raises(ValueError, lambda splits=splits: student.decode_splits(q, k, v, splits), naming=splits)
    in_parts(student, q, k, v, 1)


# ---- prefill_flash -------------------------------------------------------------------------------------------------


def fed(student, model, ids, sizes, cache, **tiles):
    """Return the logits after the last token of ids, fed in chunks; check the cache's length on the way."""
    start = int(cache.length)
    for chunk in ids.split(sizes, dim=1):
        logits = student.prefill_flash(model, chunk, cache, _unchanged=True, **tiles)
        start += chunk.shape[1]
        equal(cache.length, start, what="wrong length of the cache after a chunk")
    return logits


@checks("prefill_flash", weight=2)
def test_prefill_in_any_chunks(student):
    """two rows in chunks of 3, 1, 7 and 9 tokens, with any tiles: the logits of the model without a cache"""
    written(student.prefill_flash)
    ids = torch.randint(3, 1000, (2, 20), generator=torch.Generator().manual_seed(1))
    ids[1, -1] = 0  # a token like all others
    model = student.model("tiny", dtype=torch.float64)
    for sizes, tiles in (([20], {}), ([3, 1, 7, 9], {"q_block": 4, "k_block": 3}), ([19, 1], {"q_block": 2, "k_block": 8})):
        cache = student.KVCache(tiny_config(), 2, 20, dtype=torch.float64)
        got = fed(student, model, ids, sizes, cache, **tiles)
        close(got, whole()(ids)[:, -1], atol=1e-3, dtype=torch.float64, what=f"wrong logits in chunks of {sizes}")


def goes_whole(work, config, t, dtype):
    """Fail unless some tensor is as large as the MLP's for t tokens, of which each has config.intermediate_size numbers."""
    least = dtype.itemsize * t * config.intermediate_size
    what = f"no tensor is as large as that of the MLP for {t} tokens: the prompt does not go through the layers whole"
    that(work.largest_bytes >= least, what, expected=f"one of {least:,} bytes or more", got=f"{work.largest_bytes:,} bytes at the most")


@checks("prefill_flash")
def test_a_prompt_of_real_length(student):
    """600 tokens in chunks of 560 and 40: the logits of the model without a cache"""
    written(student.prefill_flash)
    ids = torch.randint(3, 1000, (1, 600), generator=torch.Generator().manual_seed(3))
    cache = student.KVCache(tiny_config(), 1, 600, dtype=torch.float64)
    got = fed(student, student.model("tiny", dtype=torch.float64), ids, [560, 40], cache)
    close(got, whole()(ids)[:, -1], atol=1e-3, what="wrong logits after 600 tokens")


@checks("prefill_flash")
def test_a_prompt_that_does_not_fit(student):
    """room for 4 more tokens: 5 raise CacheFull and leave the cache's length unchanged; 4 are accepted"""
    written(student.prefill_flash)
    ids = torch.randint(3, 1000, (1, 11), generator=torch.Generator().manual_seed(4))
    model, cache = student.model("tiny", dtype=torch.float64), student.KVCache(tiny_config(), 1, 10, dtype=torch.float64)
    student.prefill_flash(model, ids[:, :6], cache)
    raises("CacheFull", lambda: student.prefill_flash(model, ids[:, 6:], cache))
    equal(cache.length, 6, what="wrong length of the cache after CacheFull")
    got = student.prefill_flash(model, ids[:, 6:10], cache)
    close(got, whole()(ids[:, :10])[:, -1], atol=1e-3, what="wrong logits of a chunk that fits, after CacheFull")
    cache = student.KVCache(tiny_config(), 1, 10, dtype=torch.float64)
    got = fed(student, model, ids[:, :10], [6, 4], cache)
    close(got, whole()(ids[:, :10])[:, -1], atol=1e-3, what="wrong logits after a chunk that just fits")


@checks("prefill_flash")
def test_gradients_as_before(student):
    """gradient mode is on or off afterwards as before the call, also after CacheFull"""
    ids = torch.randint(3, 1000, (1, 3), generator=torch.Generator().manual_seed(5))
    model, cache = student.model("tiny"), student.KVCache(tiny_config(), 1, 6)
    gradient_mode_stays(student, lambda: student.prefill_flash(model, ids, cache))
    short = student.KVCache(tiny_config(), 1, 2)
    gradient_mode_stays(student, lambda: raises("CacheFull", lambda: student.prefill_flash(model, ids, short)))


@checks("prefill_flash", weight=2)
def test_prefill_without_a_matrix(student):
    """work: 272 tokens, all new or 40 cached: one pass, no matrix of all scores, the head for the last token only"""
    T, config = 272, tiny_config()
    ids = torch.randint(3, 1000, (1, T), generator=torch.Generator().manual_seed(2))
    model, want = student.model("tiny"), whole(torch.float32)(ids)[:, -1]
    for before in (0, 40):
        new, cache = T - before, student.KVCache(config, 1, T)
        if before:
            student.prefill_flash(model, ids[:, :before], cache)
        with student.counting() as work:
            got = student.prefill_flash(model, ids[:, before:], cache)
        close(got, want, atol=1e-3, dtype=torch.float32)
        equal(work.positions, new, what="wrong number of positions")
        goes_whole(work, config, new, torch.float32)
        scores = 4 * config.num_attention_heads * new * T
        least = 4 * new * config.hidden_size
        between(work.largest_bytes, least, scores / 2, f"bytes in one tensor (all scores of a layer are {scores:,})")
        most = products_of_layers(config, new, 1) + attention_flops(config, new, 64, 64, before)
        head = 2 * config.vocab_size * config.hidden_size
        between(work.flops, fewest_flops(config, [new]), 1.02 * most, f"FLOPs (those of the head for one token are {head:,})")


@checks("prefill_flash")
def test_the_tiles_of_a_prefill(student, rng):
    """work: 210 tokens: attention uses the q_block and k_block of the call, by default 64 by 64"""
    written(student.prefill_flash)
    model, kit = small(student, rng, vocab_size=31, num_hidden_layers=1, tie_word_embeddings=False)
    config, T = kit.config, 210
    ids = torch.randint(31, (1, T), generator=rng)
    heads = draw_heads(rng, 1, config.num_attention_heads, config.num_key_value_heads, T, T, config.head_dim)
    want, rest = kit(ids)[:, -1], []
    for given in ({"q_block": 64, "k_block": 64}, {}, {"q_block": 150}, {"k_block": 90}):
        cache = student.KVCache(config, 1, T, dtype=torch.float64)
        with student.counting() as work:
            got = student.prefill_flash(model, ids, cache, **given)
        close(got, want, atol=1e-3, dtype=torch.float64, what=f"wrong logits with {given or 'the default'}")
        with student.counting() as alone:
            student.flash_attention(*heads, causal=True, **{"q_block": 64, "k_block": 64, **given})
        rest.append(work.flops - config.num_hidden_layers * alone.flops)
        equal(rest[-1], rest[0], what=f"with {given or 'the default'} the FLOPs do not change as those of flash_attention do")


@checks("prefill_flash")
def test_prefill_on_another_device(student):
    """on the meta device: new tensors are created on the device of the ids"""
    written(student.prefill_flash)
    model, cache = student.model("tiny", device="meta"), student.KVCache(tiny_config(), 1, 8, device="meta")
    on_one_device(student.prefill_flash.on_meta(model, torch.ones(1, 6, dtype=torch.int64), cache))
