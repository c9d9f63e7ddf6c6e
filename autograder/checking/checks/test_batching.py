"""Visible checks of the batch.

The expected result is always that of each row alone: the kit's own model, which has no padding and no cache, runs on each
prompt by itself. `tiny` is the trained model; `Small` are random ones of a page, for what tiny cannot show.
"""

import contextlib
import dataclasses
import math

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.helpers.batches import (  # fmt: skip
    TINY,
    Slots,
    Small,
    all_end,
    alone,
    as_near_as_torch,
    by_precision,
    captures_again,
    cut,
    decoded,
    decodes_again,
    expected_mask,
    finer_than_float32,
    generated,
    greedy,
    grids_again,
    head_only,
    left_padded,
    look,
    padded,
    prefilled,
    prefills_again,
    ragged,
    same_cache,
    same_kind,
    steps_again,
    tiny,
    uniform,
)
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.randomness import draws_from_the_global_state
from autograder.checking.helpers.stages import close_by_stages, forward_stages
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradients_stay_on
from autograder.sandbox.protocol.worker_errors import StudentRaised

# ---- left_pad ------------------------------------------------------------------------------------------------------


@checks("left_pad", weight=2)
def test_three_rows_by_hand(student, hand):
    """three prompts of lengths 3, 1 and 4: ids and num_pad are right, by hand"""
    case = hand["three_rows"]
    ids, num_pad = left_padded(student, case["prompts"], case["pad_id"])
    equal(ids, torch.tensor(case["ids"]))
    equal(num_pad, torch.tensor(case["num_pad"]))


@checks("left_pad")
def test_nothing_to_pad(student):
    """prompts of equal length, or a single prompt: no pad is added"""
    for prompts in ([[1, 2], [3, 4], [5, 6]], [[7, 8, 9]], [[4]], [[8, 3], [8, 3]]):
        ids, num_pad = left_padded(student, prompts, 0)
        equal(ids, torch.tensor(prompts))
        equal(num_pad, torch.zeros(len(prompts)))


@checks("left_pad")
def test_prompt_of_thousands(student):
    """a prompt of 3,100 tokens, with ids as large as SmolLM2's: ids and num_pad are right"""
    prompts = [[6], list(range(46_000, 49_100))]
    ids, num_pad = left_padded(student, prompts, 1)
    equal(ids, torch.tensor([[1] * 3_099 + [6], prompts[1]]))
    equal(num_pad, torch.tensor([3_099, 0]))


@checks("left_pad")
def test_pad_id_may_be_a_token(student):
    """prompts that contain the pad id, also as their first token: only added pads count in num_pad"""
    ids, num_pad = left_padded(student, [[7, 7], [1, 2, 7, 3], [7], [7, 5, 7]], 7)
    equal(ids, torch.tensor([[7, 7, 7, 7], [1, 2, 7, 3], [7, 7, 7, 7], [7, 7, 5, 7]]))
    equal(num_pad, torch.tensor([2, 0, 3, 1]))
    ids, num_pad = left_padded(student, [[0], [5, 0], [0]], 0)
    equal(ids, torch.tensor([[0, 0], [5, 0], [0, 0]]))
    equal(num_pad, torch.tensor([1, 0, 1]))


@checks("left_pad")
def test_nothing_to_continue(student):
    """an empty list of prompts, and an empty prompt, raise ValueError"""
    for prompts in ([], [[]], [[1, 2], []], [[], [3]]):
        cause = f"{prompts}: an empty prompt has no last token to go on from." if prompts else "Without a prompt there is no row to fill."
        raises(ValueError, lambda p=prompts: student.left_pad(p, 0), cause=cause)


# ---- positions_and_mask --------------------------------------------------------------------------------------------


@checks("positions_and_mask", weight=2)
def test_grid_by_hand(student, hand):
    """positions and mask of three rows, by hand"""
    case = hand["grid"]
    look(student, case["num_pad"], 0, 4)
    positions, mask = student.positions_and_mask(torch.tensor(case["num_pad"]), 0, 4)
    equal(positions, torch.tensor(case["positions"]))
    equal(mask.long(), torch.tensor(case["mask"])[:, None])


@checks("positions_and_mask")
def test_no_pads(student):
    """without pads the mask is the causal mask, and positions count from 0"""
    for B, q_len in ((1, 1), (1, 4), (3, 5)):
        look(student, [0] * B, 0, q_len)


@checks("positions_and_mask", weight=2)
def test_one_new_token(student, hand):
    """a decode step, one query after five slots: position and mask are right, by hand"""
    case = hand["decode"]
    look(student, case["num_pad"], case["start"], 1)
    positions, mask = student.positions_and_mask(torch.tensor(case["num_pad"]), case["start"], 1)
    equal(positions, torch.tensor(case["positions"]))
    equal(mask.long(), torch.tensor(case["mask"])[:, None])


@checks("positions_and_mask")
def test_chunks(student):
    """chunks that begin among the pads, after the pads, and after thousands of slots: positions and mask are right"""
    for start in range(6):
        look(student, [3, 0, 5, 1], start, 3)
        look(student, [3, 0, 5, 1], start, 1)
    look(student, [0, 1, 3, 5], 4, 3)  # the same pads in other rows
    look(student, [2_500, 7], 3_000, 2)


@checks("positions_and_mask")
def test_the_next_batch(student):
    """a second batch, with other pads in the same tensor: positions and mask are those of the second batch"""
    grids_again(student, [[4, 0, 1], [0, 3, 2]], 3, 2)


@checks("positions_and_mask")
def test_grid_on_another_device(student):
    """num_pad on the meta device: positions and mask are on the meta device"""
    for start, q_len in ((0, 4), (5, 1)):
        on_one_device(student.positions_and_mask.on_meta(torch.tensor([1, 3, 0]), start, q_len))


# ---- prefill_batch -------------------------------------------------------------------------------------------------


def in_bfloat16(rehearsal):
    """Fails where a line made a tensor elsewhere, or the logits of a bfloat16 model came in another precision."""
    on_one_device(rehearsal)
    if not rehearsal.asked:
        that(isinstance(rehearsal.result, dict), "the result is not a tensor")
        same = str(rehearsal.result["dtype"])
        that(same == "torch.bfloat16", "the logits are of another dtype than the model", expected="torch.bfloat16", got=same)


@checks("prefill_batch", weight=2)
def test_ragged_prompts(student, rng):
    """prompts of unequal lengths: every row gets the logits that it gets alone"""
    prompts = ragged(rng, [5, 12, 1, 9])
    ids, num_pad = padded(prompts)

    def stages():
        positions, mask = expected_mask(num_pad.tolist(), 0, ids.shape[1])
        return forward_stages(tiny(), ids, positions, mask)

    def logits():
        return prefilled(student, student.model(TINY), tiny().config, prompts)[0]

    close_by_stages(student, logits, alone(tiny(), prompts), stages, atol=1e-4)


@checks("prefill_batch")
def test_pads_do_not_matter(student, rng):
    """the pad id does not change the logits, even if a prompt ends with that id"""
    prompts = ragged(rng, [2, 7, 4])
    prompts[1][-1], prompts[2][-1] = 0, 2
    want, double = alone(tiny(torch.float64), prompts), torch.float64
    for pad_id in (0, 2, 1000, prompts[0][0]):
        got, _, _ = prefilled(student, student.model(TINY, dtype=double), tiny().config, prompts, dtype=double, pad_id=pad_id)
        close(got, want, atol=1e-4, what=f"wrong logits with pad_id {pad_id}")


@checks("prefill_batch")
def test_rectangles(student, rng):
    """equal lengths, a batch of one, columns of only pads, a chunk of only pads: the logits are right"""
    shapes = [([6, 6, 6], (), 0), ([8], (), 0), ([1], (), 0), ([7, 7], (3,), 0), ([5], (), 4), ([2, 6], (), 1), ([3, 5], (2,), 4)]
    for lengths, cuts, wider in shapes:
        prompts = ragged(rng, lengths)
        got, _, _ = prefilled(student, student.model(TINY), tiny().config, prompts, cuts=cuts, wider=wider)
        close(got, alone(tiny(), prompts), atol=1e-4)


@checks("prefill_batch")
def test_another_config(student, rng):
    """an untied model with another rope_theta and rms_norm_eps: the logits are right"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, [9, 2, 6], 19)
    got, _, _ = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, cuts=(6,))
    close(got, alone(small.here, prompts), atol=1e-8)


@checks("prefill_batch", weight=2)
def test_prompts_in_chunks(student, rng):
    """prompts in chunks, also cut among the pads: logits, keys and values are those of every row alone"""
    prompts = ragged(rng, [3, 10, 6])
    want = alone(tiny(), prompts)
    for cuts in ((5,), (2, 8), (9,), (1, 2, 3)):
        got, num_pad, cache = prefilled(student, student.model(TINY), tiny().config, prompts, cuts=cuts)
        close(got, want, atol=1e-4, what=f"wrong logits after chunks cut at {list(cuts)}")
    same_cache(cache, tiny(), prompts, num_pad, atol=1e-4)


@checks("prefill_batch")
def test_prompts_of_another_batch(student, rng):
    """a second batch in the same tensors, with another cache: the logits are those of the second batch"""
    prefills_again(student, [[1, 4], [4, 2]], rng)


@checks("prefill_batch")
def test_no_room_for_a_prompt(student, rng):
    """a chunk that does not fit into the cache raises CacheFull"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, [4, 7], 19)
    got, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, room=1)
    close(got, alone(small.here, prompts), atol=1e-8)
    raises("CacheFull", lambda: student.prefill_batch(small.there, torch.ones(2, 2, dtype=torch.int64), num_pad, cache))


@checks("prefill_batch")
def test_positions_in_bfloat16(student, rng):
    """hundreds of tokens in bfloat16, exact only up to 256: at most five times the error of PyTorch's own"""
    small = Small(student, rng, V=64, dtype=torch.bfloat16, longest=1_024)
    prompts = ragged(rng, [641, 37], 64)
    got, _, _ = prefilled(student, small.there, small.config, prompts, dtype=torch.bfloat16)
    as_near_as_torch(got, prompts, torch.bfloat16, small=small)


@checks("prefill_batch")
def test_head_at_the_last_column(student, rng):
    """the head is computed once per row"""
    head_once(student, ragged(rng, [64, 40]))


def head_once(student, prompts):
    """Fail unless two prompts of `tiny` cost their passes through the layers and one row of logits each."""
    ids, num_pad = padded(prompts)
    T = ids.shape[1]
    cache = student.KVCache(tiny().config, 2, T)
    with student.counting() as work:
        got = student.prefill_batch(student.model(TINY), ids, num_pad, cache)
    close(got, alone(tiny(), prompts), atol=1e-4)
    c = tiny().config
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    token = c.num_hidden_layers * (2 * c.hidden_size * (q + kv) + 3 * c.hidden_size * c.intermediate_size)
    due = 2 * (2 * T * token + c.num_hidden_layers * 2 * 2 * T * T * q + 2 * c.vocab_size * c.hidden_size)
    every_column = abs(work.flops - due - 2 * 2 * (T - 1) * c.vocab_size * c.hidden_size) < 0.02 * due
    cause = "It is as much as the logits of every column take. Take the last column before the final norm and the head."
    least = sum(fewest_flops(c, [len(prompt)]) for prompt in prompts)
    between(work.flops, least, 1.05 * due, "FLOPs for two prompts and one row of logits each", cause=cause if every_column else None)


@checks("prefill_batch")
def test_prefill_on_another_device(student):
    """ids on the meta device: every new tensor is on the meta device, and the logits have the model's dtype"""
    cache = student.KVCache(tiny().config, 2, 8, torch.bfloat16, "meta")
    for t in (3, 2):
        model, ids = student.model(TINY, dtype=torch.bfloat16, device="meta"), torch.ones(2, t, dtype=torch.int64)
        in_bfloat16(student.prefill_batch.on_meta(model, ids, torch.tensor([2, 0]), cache))


# ---- decode_batch --------------------------------------------------------------------------------------------------


@checks("decode_batch", weight=2)
def test_steps_after_ragged_prompts(student, rng):
    """three steps after prompts of unequal lengths: every row gets the logits that it gets alone"""
    prompts = ragged(rng, [4, 11, 1])
    _, num_pad, cache = prefilled(student, student.model(TINY), tiny().config, prompts, room=3)
    for _ in range(3):
        prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1, 1, 1]), strict=True)]
        got = decoded(student, student.model(TINY), prompts, tiny().config, num_pad, cache)
        close(got, alone(tiny(), prompts), atol=1e-4)


@checks("decode_batch")
def test_steps_of_rectangles(student, rng):
    """steps after prompts of equal length, and steps of a single row: the logits are right"""
    for lengths in ([6, 6], [5], [1]):
        prompts = ragged(rng, lengths)
        _, num_pad, cache = prefilled(student, student.model(TINY), tiny().config, prompts, room=2)
        for _ in range(2):
            prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1] * len(lengths)), strict=True)]
            got = decoded(student, student.model(TINY), prompts, tiny().config, num_pad, cache)
            close(got, alone(tiny(), prompts), atol=1e-4)


@checks("decode_batch")
def test_steps_of_another_batch(student, rng):
    """one row with pads, a reset cache with other pads, a second batch in the same tensors: the logits are right"""
    small = Small(student, rng, dtype=torch.float64)
    for lengths, other in (([3], [5]), ([2, 6], [6, 3])):
        cache = student.KVCache(small.config, len(lengths), 9, torch.float64)
        for each, wider in ((lengths, 2), (other, 1)):
            prompts = ragged(rng, each, 19)
            _, num_pad, _ = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, wider=wider, cache=cache)
            prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1] * len(each), 19), strict=True)]
            got = decoded(student, small.there, prompts, small.config, num_pad, cache, dtype=torch.float64)
            close(got, alone(small.here, prompts), atol=1e-8)
    decodes_again(student, small, [[1, 4], [4, 2]], rng)


@checks("decode_batch")
def test_step_after_a_long_text(student, rng):
    """a step after hundreds of slots: float64 logits are right, bfloat16 has at most five times the error of PyTorch's own"""
    for lengths, dtype in (([640, 637], torch.float64), ([641, 37], torch.bfloat16)):
        small = Small(student, rng, V=64, dtype=dtype, longest=1_024)
        prompts = ragged(rng, lengths, 64)
        _, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=dtype, room=1)
        prompts = [[*prompt, 7] for prompt in prompts]
        got = decoded(student, small.there, prompts, small.config, num_pad, cache, dtype=dtype)
        if dtype == torch.float64:
            close(got, alone(small.here, prompts), atol=1e-8)
        else:
            as_near_as_torch(got, prompts, dtype, small=small)


@checks("decode_batch")
def test_no_room_for_a_step(student, rng):
    """a step that does not fit into the cache raises CacheFull"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, [6, 4], 19)
    _, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, room=2)
    for _ in range(2):
        prompts = [[*prompt, 11] for prompt in prompts]
        got = decoded(student, small.there, prompts, small.config, num_pad, cache, dtype=torch.float64)
        close(got, alone(small.here, prompts), atol=1e-8)
    raises("CacheFull", lambda: student.decode_batch(small.there, torch.tensor([[1], [2]]), num_pad, cache))


@checks("decode_batch")
def test_one_position_a_row(student, rng):
    """a step costs one position per row, however long the text is"""
    prompts = ragged(rng, [30, 17, 8])
    model = student.model(TINY)
    _, num_pad, cache = prefilled(student, model, tiny().config, prompts, room=1)
    prompts = [[*prompt, 9] for prompt in prompts]
    with student.counting() as work:
        got = decoded(student, model, prompts, tiny().config, num_pad, cache)
    close(got, alone(tiny(), prompts), atol=1e-4)
    equal(work.positions, 3, what="wrong number of positions in one step of three rows")
    between(work.flops, fewest_flops(tiny().config, [1], 3), math.inf, "FLOPs")


@checks("decode_batch")
def test_step_on_another_device(student):
    """ids on the meta device: every new tensor is on the meta device, and the logits have the model's dtype"""
    cache = student.KVCache(tiny().config, 2, 8, torch.bfloat16, "meta")
    model, num_pad = student.model(TINY, dtype=torch.bfloat16, device="meta"), torch.tensor([2, 0])
    for _ in range(2):
        in_bfloat16(student.decode_batch.on_meta(model, torch.ones(2, 1, dtype=torch.int64), num_pad, cache))


# ---- generate_batch ------------------------------------------------------------------------------------------------


def passes_of_rows(work, prompts, rows, most):
    """Fail if more positions passed than `most`, or fewer than each token of `tiny` but the last new one. Pads and ended rows need not."""
    chunks = [[len(prompt), *[1] * (len(row) - 1)] for prompt, row in zip(prompts, rows, strict=True)]
    # A model in another precision is a copy, whose table nobody counts: less work is the wrong cause then.
    that(work.positions or not work.flops, "no id was looked up in the model's own embedding", expected=f"{sum(map(sum, chunks))}", got="0")
    between(work.positions, sum(map(sum, chunks)), most, "positions")
    between(work.flops, sum(fewest_flops(tiny().config, each) for each in chunks), math.inf, "FLOPs")


def one_question_a_step(student, model, config, prompts, steps, waits):
    """Fail if a run of so many steps, which waited so often, waited more often than its passes and once a step."""
    # The loop is not to blame for the waits of the passes. The rule says one a step; a few before and after are let through.
    ids, num_pad = padded(prompts)
    cache = student.KVCache(config, len(prompts), ids.shape[1] + steps, torch.float64)
    with student.counting() as passes:
        student.prefill_batch(model, ids, num_pad, cache)
        for _ in range(steps):
            student.decode_batch(model, ids[:, -1:], num_pad, cache)
    asked = waits - passes.waits
    cause = "One question a step is enough: whether every row has ended."
    that(asked <= steps + 4, "Python asked tensors for their values too often", expected=f"{steps}", got=asked, cause=cause)


@checks("generate_batch", weight=3)
def test_ladder(student, rng):
    """greedy, prompts of unequal lengths: every row gets the tokens that the naive loop gives for that row alone"""
    prompts = ragged(rng, [7, 2, 13, 5])
    got = generated(student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=8, temperature=0.0)
    equal(got, greedy(tiny(torch.float64), prompts, 8))


@checks("generate_batch")
def test_the_likeliest_alone(student, rng):
    """top_k = 1, or a tiny top_p, gives the most probable token, whatever temperature and the other filter are"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, [3, 6, 1], 19)
    want = greedy(small.here, prompts, 6)
    both = {"top_k": 6, "top_p": 1e-6}, {"top_k": 1, "top_p": 0.99}
    for options in ({"top_k": 1}, {"top_k": 1, "temperature": 2.5}, {"top_p": 1e-6}, {"top_p": 1e-6, "temperature": 0.8}, *both):
        got = generated(student, small.there, prompts, max_new_tokens=6, **options)
        equal(got, want, what=f"not the likeliest tokens with {options}")


@checks("generate_batch")
def test_config_ends_nothing(student, rng):
    """neither the EOS nor the maximum position in the model's config ends an answer"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, [5, 12, 9], 19)
    want = greedy(small.here, prompts, 6)
    config = dataclasses.replace(small.config, max_position_embeddings=11, eos_token_id=want[1][1])
    got = generated(student, student.WeightsOnly(config, small.weights, None), prompts, max_new_tokens=6, temperature=0.0)
    equal(got, want)


@checks("generate_batch", weight=2)
def test_rows_end_each_for_itself(student, rng):
    """an EOS ends its own row and no other row"""
    prompts = ragged(rng, [3, 9, 5])
    model = tiny(torch.float64)
    free = greedy(model, prompts, 8)
    for row, step in ((0, 1), (1, 3), (2, 0)):
        eos = free[row][step]
        got = generated(student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=8, temperature=0.0, eos_token_id=eos)
        equal(got, [cut(tokens, eos) for tokens in free])


@checks("generate_batch", weight=2)
def test_ends_when_every_row_has(student, rng):
    """no step runs after the last row has ended, and a second run gives the same tokens"""
    prompts, eos, want = all_end(tiny(torch.float64), rng)
    model = student.model(TINY, dtype=torch.float64)
    with student.counting() as work:
        got = generated(student, model, prompts, max_new_tokens=60, temperature=0.0, eos_token_id=eos)
    equal(got, want)
    T, steps = max(map(len, prompts)), max(map(len, want))
    most = len(prompts) * (T + steps - 1)
    passes_of_rows(work, prompts, want, most)
    got = generated(student, model, prompts, max_new_tokens=60, temperature=0.0, eos_token_id=eos)
    equal(got, want, what="wrong tokens of a run that follows one that ended early")


@checks("generate_batch")
def test_transfers_that_wait(student, rng):
    """at most one transfer per step waits for the device"""
    small = Small(student, rng, dtype=torch.float64)
    prompts, eos, want = all_end(small.here, rng)
    with student.counting() as work:
        got = generated(student, small.there, prompts, max_new_tokens=40, temperature=0.0, eos_token_id=eos)
    equal(got, want)
    one_question_a_step(student, small.there, small.config, prompts, max(map(len, want)), work.waits)


@checks("generate_batch")
def test_end_at_the_first_token(student):
    """every row has ended after its first token: no further pass; token 0 and large token ids can be EOS"""
    there = head_only(student, torch.float32, 1.0, {0: [1.0]}).there
    for prompts in ([[3, 1], [2]], [[4, 4]]):
        flops = []
        for steps in (1, 9):
            with student.counting() as work:
                got = generated(student, there, prompts, max_new_tokens=steps, temperature=0.0, eos_token_id=0)
            equal(got, [[0]] * len(prompts))
            flops.append(work.flops)
        one, more = flops
        that(more <= 1.15 * one, "a pass after every row had ended", expected=f"the {one:,} FLOPs of one step", got=f"{more:,}")
    wide = head_only(student, torch.float32, 1.0, {33_000: [1.0]}, V=34_000).there
    for eos, steps in ((None, 3), (33_000, 1)):
        got = generated(student, wide, [[7], [33_500, 2]], max_new_tokens=3, temperature=0.0, eos_token_id=eos)
        equal(got, [[33_000] * steps] * 2, what=f"wrong tokens of a vocabulary of 34,000 with EOS {eos}")


@checks("generate_batch")
def test_work_by_hand(student, hand):
    """3 rows, 100 slots of prompt, 5 new tokens: at most 312 positions, without gradients"""
    case = hand["work"]
    prompts = [[5] * n for n in case["lengths"]]
    with student.counting() as work:
        got = generated(student, student.model(TINY), prompts, max_new_tokens=case["t_new"], temperature=0.0)
    equal([len(row) for row in got], [case["t_new"]] * 3, what="wrong number of new tokens")
    passes_of_rows(work, prompts, got, case["positions"])
    equal(work.grad_flops, 0, what="FLOPs that ran with gradients on")


@checks("generate_batch")
def test_limits_of_a_batch(student, rng):
    """max_new_tokens = 0 gives empty answers, 1 gives one token; an empty list and an empty prompt raise ValueError"""
    prompts = ragged(rng, [3, 6])
    model = student.model(TINY, dtype=torch.float64)
    for eos in (None, 0):
        got = generated(student, model, prompts, max_new_tokens=0, temperature=0.0, eos_token_id=eos)
        equal(got, [[], []])
    got = generated(student, model, prompts, max_new_tokens=1, temperature=0.0)
    equal(got, greedy(tiny(torch.float64), prompts, 1))
    for wrong in ([], [[1], []]):
        for n in (2, 0):
            raises(ValueError, lambda p=wrong, n=n: student.generate_batch(model, p, max_new_tokens=n))


@checks("generate_batch")
def test_eos_and_pads_in_prompts(student, rng):
    """an EOS in a prompt does not end a row, and any token id can be the pad id"""
    model = tiny(torch.float64)
    first, second, third = ragged(rng, [4, 9, 2])
    (path,) = greedy(model, [first], 5)
    eos = path[2]
    prompts = [first, [*second[:4], eos, *second[4:]], [eos, *third]]
    want = [cut(row, eos) for row in greedy(model, prompts, 5)]
    for pad_id in (0, eos, first[1], first[0], second[0]):
        got = generated(
            student, student.model(TINY, dtype=torch.float64), prompts, max_new_tokens=5, temperature=0.0, eos_token_id=eos, pad_id=pad_id
        )
        equal(got, want, what=f"wrong tokens with pad_id {pad_id}")
    free = greedy(model, prompts, 3)
    for last in {row[-1] for row in free}:
        there, options = student.model(TINY, dtype=torch.float64), {"max_new_tokens": 3, "temperature": 0.0, "pad_id": last}
        got = generated(student, there, prompts, eos_token_id=5_000, **options)  # an id that tiny does not have
        equal(got, free, what=f"wrong tokens with pad_id {last}, with which an answer ends")


@checks("generate_batch")
def test_draws_from_its_generator(student):
    """all draws come from the given generator, or else from torch's global state; greedy decoding draws nothing"""
    # Two unrelated rows of 20 tokens over 8 equal ones agree with probability 2 ** -60.
    model = uniform(student).there
    prompts, options = [[1, 2], [3], [4, 5, 6], [1, 2]], {"max_new_tokens": 20}
    first = generated(student, model, prompts, generator=student.generator(5), _rng_unchanged=True, **options)
    again = generated(student, model, prompts, generator=student.generator(5), **options)
    equal(again, first, what="two generators in the same state gave different tokens")
    other = generated(student, model, prompts, generator=student.generator(6), **options)
    that(other != first, "another seed gave the same tokens")
    that(first[0] != first[1], "two rows drew the same 20 tokens", cause="Each row draws for itself.")
    that(first[0] != first[3], "two rows with the same prompt drew the same 20 tokens", cause="Each row draws for itself.")
    loose = [generated(student, model, prompts, **options) for _ in range(2)]
    that(loose[0] != loose[1], "two runs without a generator gave the same tokens", cause="Then torch's global state serves, unseeded.")
    draws_from_the_global_state(lambda **watched: student.generate_batch(model, prompts, **options, **watched))
    generator = student.generator(5)
    parts = [generated(student, model, prompts, max_new_tokens=10, generator=generator) for _ in range(2)]
    joined = [one + other for one, other in zip(*parts, strict=True)]
    equal(joined, first, what="10 tokens and 10 more from one generator are not the tokens of one run of 20")
    generator = student.generator(5)
    both = [generated(student, model, prompts, generator=generator, **options) for _ in range(2)]
    that(both[0] != both[1], "a second run with the same generator gave the same tokens again")
    before = generator.get_state()
    generated(student, model, prompts, temperature=0.0, generator=generator, _rng_unchanged=True, **options)
    equal(generator.get_state(), before, what="greedy moved the generator")


@checks("generate_batch")
def test_dtype(student):
    """the answer is computed in the given dtype, or else in the model's own dtype"""
    small, tokens = by_precision(student)
    for dtype, want in tokens.items():
        got = generated(student, small.there, [[1, 2], [3]], max_new_tokens=2, temperature=0.0, dtype=dtype)
        equal(got, [[want, want]] * 2, what=f"wrong tokens with dtype={dtype}")
    small, token = finer_than_float32(student)
    got = generated(student, small.there, [[3, 1, 2], [4]], max_new_tokens=2, temperature=0.0)
    equal(got, [[token, token]] * 2, what="wrong tokens of a float64 model without dtype")


@checks("generate_batch")
def test_weights_that_change(student, rng):
    """a second call with new weights in the same model, and with dtype given: the tokens are those of the new weights"""
    models = [Small(student, rng) for _ in range(2)]
    calls = [[small.there, [[2, 8, 1], [5, 5]]] for small in models]
    answers = student.generate_batch.again(*calls, max_new_tokens=5, temperature=0.0, dtype=torch.float64)
    for call, (small, got) in enumerate(zip(models, answers, strict=True)):
        equal(got, greedy(small.here.to(dtype=torch.float64), calls[0][1], 5), what=f"wrong tokens with the weights of call {call}")


def batch_on_meta(student, prompts, eos):
    """Fail if a tensor of a run is not where the model is, or where it must be."""
    for there, device in (("cpu", "meta"), ("meta", None)):
        options = {"max_new_tokens": 3, "temperature": 0.0, "eos_token_id": eos, "device": device}
        rehearsal = student.generate_batch.on_meta(student.model(TINY, device=there), prompts, **options)
        on_one_device(rehearsal)
        that(rehearsal.result is None, "tokens came back from the meta device, which has no values", got=rehearsal.result)


@checks("generate_batch")
def test_batch_on_another_device(student):
    """every tensor is on the model's device, or on the given device"""
    for eos in (None, 5):
        batch_on_meta(student, [[1, 2, 3], [4]], eos)


@checks("generate_batch", weight=2)
def test_defaults_of_a_batch(student):
    """the defaults are temperature 1.0, no top_k, no top_p, no EOS and pad_id 0"""
    # Over 8,192 equal tokens a top_p of 0.999 moves nearly every draw by a few tokens, over 64 unequal ones a temperature does.
    flat = uniform(student, V=8_192).there
    steep = head_only(student, torch.float32, 1.0, {token: [-0.1 * token] for token in range(64)}, V=64).there
    given = {"temperature": 1.0, "top_k": None, "top_p": None, "eos_token_id": None, "pad_id": 0}
    for there in (flat, steep):
        drawn = [
            generated(student, there, [[1], [2, 3]] * 8, max_new_tokens=24, generator=student.generator(3), **options)
            for options in ({}, given)
        ]
        equal(drawn[0], drawn[1], what="the defaults give other tokens than temperature=1.0 alone")
    only = Small(student, torch.Generator().manual_seed(3), V=1).there  # a vocabulary in which 0 is the only id
    got = generated(student, only, [[0], [0, 0, 0]], max_new_tokens=2, temperature=0.0)
    equal(got, [[0, 0], [0, 0]], what="wrong tokens of a vocabulary whose only id is 0")
    # Where no other embedding than those of the prompts' 0 and of the answer's 5 is a number, no other pad can hide.
    small = head_only(student, torch.float32, 1.0, {5: [1.0]})
    small.weights.embed_tokens[[1, 2, 3, 4, 6, 7]] = math.nan
    there = student.WeightsOnly(small.config, small.weights, None)
    got = generated(student, there, [[0], [0, 0, 0]], max_new_tokens=2, temperature=0.0)
    equal(got, [[5, 5], [5, 5]], what="wrong tokens of a model that has embeddings of ids 0 and 5 only")


@checks("generate_batch")
def test_gradient_mode_after_a_batch(student):
    """the caller's gradient mode is restored after a run, and after a run in which the sampler raised an error"""
    options = {"max_new_tokens": 2}

    def refused():
        with contextlib.suppress(StudentRaised):
            student.generate_batch(student.model(TINY), [[1]], temperature=-1.0, **options)

    def product():
        student.attention(*torch.ones(3, 1, 1, 2, 4))

    gradients_stay_on(student, lambda: student.generate_batch(student.model(TINY), [[1]], temperature=0.0, **options), product)
    gradients_stay_on(student, refused, product)


ROW_BY_ROW = """
_batch = generate_batch

def generate_batch(model, prompts, **options):
    return [_batch(model, [prompt], **options)[0] for prompt in prompts]
"""


@checks("generate_batch", timing=True)
def test_sixteen_rows_at_once(race):
    """sixteen rows in one batch, compared with sixteen rows one after the other"""

    def prompts(rng):
        return ragged(rng, [16, 9, 13, 4] * 4)

    def call(s, inputs):
        return s.generate_batch(s.model(TINY, dtype=torch.float64), inputs, max_new_tokens=12, temperature=0.0)

    race.against(ROW_BY_ROW, prompts, call, cause="One pass a step for all rows: the weights are read once, whatever B is.")


# ---- static_decode -------------------------------------------------------------------------------------------------


@checks("static_decode", weight=2)
def test_static_steps(student, rng):
    """three steps of fixed shape, a second batch of the same shape, another model: every row gets the logits that it gets alone"""
    slots = Slots(rng, [6, 2, 9], room=5)
    for _ in range(3):
        got = slots.step(student, rng)
        close(got, alone(tiny(), slots.prompts), atol=1e-4)
    small = Small(student, rng, dtype=torch.float64)
    steps_again(student, [Slots(rng, each, room=2, small=small, dtype=torch.float64) for each in ([7, 4], [2, 7])], rng)


@checks("static_decode", weight=2)
def test_one_slot_is_written(student, rng):
    """new keys and values are written into slot `position` in place, and no other slot changes"""
    slots = Slots(rng, [4, 7], room=3, garbage=5.0, across=True)
    before, position = (slots.keys.clone(), slots.values.clone()), slots.filled
    got = slots.step(student, rng)
    close(got, alone(tiny(), slots.prompts), atol=1e-4)
    want = slots.due()
    for name, old, new, right in zip(("keys", "values"), before, (slots.keys, slots.values), want, strict=True):
        others = [i for i in range(new.shape[3]) if i != position]
        equal(new[..., others, :], old[..., others, :], what=f"a slot of {name} other than {position} was changed")
        close(new[..., position, :], right, atol=1e-4, what=f"wrong {name} in slot {position}")


@checks("static_decode")
def test_other_slots_do_not_matter(student, rng):
    """numbers in the pads' slots and after `position` do not change the logits, however large the numbers are"""
    for lengths, garbage in (([3, 8], 20_000.0), ([3, 1], 1e15)):
        slots = Slots(rng, lengths, room=4, garbage=garbage)
        for _ in range(2):
            got = slots.step(student, rng)
            close(got, alone(tiny(), slots.prompts), atol=1e-4)


@checks("static_decode")
def test_slots_beyond_a_thousand(student, rng):
    """a step among 1,500 slots in bfloat16, exact only up to 256: at most twice the error of PyTorch's own"""
    slots = Slots(rng, [7, 12, 10], room=2, garbage=20.0, wider=1_491, dtype=torch.bfloat16)
    as_near_as_torch(slots.step(student, rng), slots.prompts, torch.bfloat16)


@checks("static_decode")
def test_position_stays_a_tensor(student, rng):
    """no value of a tensor is read by Python"""
    slots = Slots(rng, [5, 3], room=2)
    with student.counting() as work:
        got = slots.step(student, rng)
    close(got, alone(tiny(), slots.prompts), atol=1e-4)
    equal(work.waits, 0, what="values that Python read out of tensors (`.item()`, `int()`, `if tensor`)")
    between(work.flops, fewest_flops(tiny().config, [1], 2), math.inf, "FLOPs")


@checks("static_decode")
def test_static_step_on_another_device(student):
    """keys on the meta device: every new tensor is there as well, logits have the model's dtype, no value is read by Python"""
    c = tiny().config
    keys = torch.zeros(c.num_hidden_layers, 2, c.num_key_value_heads, 8, c.head_dim, dtype=torch.bfloat16)
    ids, num_pad, position = torch.ones(2, 1, dtype=torch.int64), torch.tensor([2, 0]), torch.tensor(4)
    model = student.model(TINY, dtype=torch.bfloat16, device="meta")
    rehearsal = student.static_decode.on_meta(model, ids, num_pad, position, keys, keys.clone())
    in_bfloat16(rehearsal)
    that(not rehearsal.asked, "a value of a tensor was asked for", expected="tensors all the way", got=rehearsal.asked)


# ---- capture_decode ------------------------------------------------------------------------------------------------


@checks("capture_decode", weight=2)
def test_captured_steps(student, rng):
    """several steps: every row gets the logits that it gets alone, and later steps do not change earlier logits"""
    slots = Slots(rng, [6, 1, 4], room=3)
    step = student.capture_decode(student.model(TINY), slots.num_pad, slots.filled, slots.keys, slots.values)
    for _ in range(3):
        ids = slots.grow(rng)
        got = step(ids)
        same_kind(got, len(ids), tiny().config.vocab_size, torch.float32)
        close(got, alone(tiny(), slots.prompts), atol=1e-4)
    slots = Slots(rng, [1, 3], room=2)
    given = [student.model(TINY), slots.num_pad, slots.filled, slots.keys, slots.values]
    fed, want = [], []
    for _ in range(2):
        fed.append([slots.grow(rng)])
        want.append(alone(tiny(), slots.prompts))
    for step, (got, due) in enumerate(zip(student.capture_decode.series(*given, then=fed), want, strict=True)):
        close(got, due, atol=1e-4, what=f"wrong logits of step {step}, seen after both steps")


@checks("capture_decode")
def test_no_slot_left(student, rng):
    """the step after the last slot raises ValueError; with no slot left from the start, the capture does not raise"""
    for room in (2, 0):
        slots = Slots(rng, [3, 2], room=room)
        step = student.capture_decode(student.model(TINY), slots.num_pad, slots.filled, slots.keys, slots.values)
        for _ in range(room):
            close(step(slots.grow(rng)), alone(tiny(), slots.prompts), atol=1e-4)
        raises(ValueError, lambda step=step: step(torch.tensor([[3], [4]])))


@checks("capture_decode")
def test_one_capture_goes_on(student, rng):
    """two captures for the same keys and values: the second continues where the first stopped"""
    captures_again(student, Slots(rng, [5, 2], room=4), rng, 2)
    captures_again(student, Slots(rng, [3, 4], room=2, across=True), rng, 1)


@checks("capture_decode")
def test_two_captures(student, rng):
    """two captures of different shape and dtype, used in turn: each capture gives the right logits"""
    both = [Slots(rng, lengths, room=2, dtype=dtype) for lengths, dtype in (([2, 5], torch.float32), ([4, 3, 1], torch.float64))]
    steps = [student.capture_decode(student.model(TINY, dtype=s.dtype), s.num_pad, s.filled, s.keys, s.values) for s in both]
    for _ in range(2):
        for slots, step in zip(both, steps, strict=True):
            got = step(slots.grow(rng))
            same_kind(got, len(slots.prompts), tiny().config.vocab_size, slots.dtype)
            close(got, alone(tiny(), slots.prompts), atol=1e-4)


def four_replays(rehearsal, want, dtype):
    """Fail unless four steps gave these logits from one recording, without a wait."""
    for step, (got, due) in enumerate(zip(rehearsal["results"], want, strict=True)):
        suspects = [(want[-1], "These are the logits of the last step: every replay writes into the same memory. Give out a copy.")]
        same_kind(got, *due.shape, dtype)
        close(got, due, atol=1e-4, what=f"wrong logits of step {step}, seen after all steps", suspects=suspects[: step < 3])
    called = rehearsal["called"]
    equal(rehearsal["made"]["captures"] + called["captures"], 1, what="wrong number of recordings")
    that(called["replays"] >= 3, "the recording is not replayed at each step", expected="4 replays in four steps", got=called["replays"])
    equal(called["waits"], 0, what="times that the steps waited for the device")
    few = f"{called['launches']} operations in four steps"
    that(called["launches"] <= 4 * 8, "steps start operations one by one", expected="a replay, and a copy in and out", got=few)


@checks("capture_decode", weight=2)
def test_rehearsed_graph(student, rng):
    """on a CUDA emulator: one recording, replayed at every step, no wait for the device, and earlier logits stay the same"""
    slots = Slots(rng, [6, 1, 4], room=4)
    given = [slots.num_pad, slots.filled, slots.keys, slots.values]
    fed, want = [], []
    for _ in range(4):
        fed.append([slots.grow(rng)])
        want.append(alone(tiny(), slots.prompts))
    four_replays(student.capture_decode.on_gpu(student.model(TINY), *given, then=fed), want, torch.float32)


@checks("capture_decode")
def test_rehearsed_end_of_the_slots(student, rng):
    """on a CUDA emulator: the step after the last slot raises ValueError, also if no slot is left from the start"""
    for room in (2, 0):
        slots = Slots(rng, [3, 2], room=room, dtype=torch.float64)
        given = [student.model(TINY, dtype=torch.float64), slots.num_pad, slots.filled, slots.keys, slots.values]
        fed, want = [], []
        for _ in range(room):
            fed.append([slots.grow(rng)])
            want.append(alone(tiny(), slots.prompts))
        rehearsal = student.capture_decode.on_gpu(*given, then=fed)
        for got, due in zip(rehearsal["results"], want, strict=True):
            same_kind(got, *due.shape, torch.float64)
            close(got, due, atol=1e-4)
        more = [*fed, [torch.ones(2, 1, dtype=torch.int64)]]
        raises(ValueError, lambda given=given, more=more: student.capture_decode.on_gpu(*given, then=more))


@checks("capture_decode", weight=2, gpu=True)
def test_graph_is_replayed(student, rng):
    """on a GPU: a graph is replayed, no step waits for the device, and earlier logits stay the same"""
    slots = Slots(rng, [6, 1, 4], room=8)
    given = [slots.num_pad.cuda(), slots.filled, slots.keys.cuda(), slots.values.cuda()]
    step = student.capture_decode(student.model(TINY, device="cuda"), *given)
    fed, want = [], []
    for _ in range(8):
        fed.append(slots.grow(rng).cuda())
        want.append(alone(tiny(), slots.prompts))
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        with student.counting() as work:
            got = [step(ids) for ids in fed]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    close(torch.stack(got).cpu(), torch.stack(want), atol=1e-3)
    equal(work.flops, 0, what="FLOPs that torch started one by one")
