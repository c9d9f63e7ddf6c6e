"""Hidden checks of the batch: fresh prompts, random models, the edge cases of the rules."""

import contextlib
import dataclasses
import math
import statistics
import time
import warnings

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.checks.test_batching import (
    batch_on_meta,
    four_replays,
    head_once,
    in_bfloat16,
    one_question_a_step,
    passes_of_rows,
)
from autograder.checking.checks.test_generation import frequencies, probabilities
from autograder.checking.helpers.batches import (  # fmt: skip
    EOS,
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
from autograder.checking.helpers.work_bounds import gradients_stay_on
from autograder.sandbox.protocol.worker_errors import StudentRaised


def integer(rng: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high, (), generator=rng))


def lengths_of(rng: torch.Generator, rows: int, longest: int) -> list[int]:
    """Random lengths, of which one is 1 and one the longest, in random order."""
    lengths = [1, longest, *torch.randint(1, longest + 1, (rows - 2,), generator=rng).tolist()]
    return [lengths[i] for i in torch.randperm(rows, generator=rng).tolist()]


# ---- left_pad ------------------------------------------------------------------------------------------------------


@checks("left_pad", weight=2)
def test_random_rows(student, rng):
    """random prompts and a random pad id: ids and num_pad are right"""
    for rows in (2, 5, 9):
        prompts = ragged(rng, lengths_of(rng, rows, integer(rng, 3, 12)), 50_000)
        pad_id = integer(rng, 0, 50_000)
        ids, num_pad = left_padded(student, prompts, pad_id)
        want_ids, want_pads = padded(prompts, pad_id)
        equal(ids, want_ids)
        equal(num_pad, want_pads)
    zeros = [[0], [0, 0, 0], [7, 0], [0], [0, 4]]
    for got, want in zip(left_padded(student, zeros, 0), padded(zeros), strict=True):
        equal(got, want, what="wrong answer for prompts of token 0")
    long = [list(range(2_100)), [5]]
    for got, want in zip(left_padded(student, long, 3), padded(long, 3), strict=True):
        equal(got, want, what="wrong answer for a prompt of 2,100 tokens")


@checks("left_pad")
def test_one_empty_among_many(student, rng):
    """an empty prompt at any place in the list, and an empty list, raise ValueError"""
    raises(ValueError, lambda: student.left_pad([], 11))
    for place in range(4):
        prompts = ragged(rng, [3, 2, 4])
        prompts.insert(place, [])
        raises(ValueError, lambda p=prompts: student.left_pad(p, 0))


# ---- positions_and_mask --------------------------------------------------------------------------------------------


@checks("positions_and_mask", weight=2)
def test_random_grids(student, rng):
    """random pads, starts and lengths: positions and mask are right"""
    for _ in range(8):
        start, q_len = integer(rng, 0, 9), integer(rng, 1, 7)
        rows = integer(rng, 1, 6)
        one, other = torch.randint(0, start + q_len, (2, rows), generator=rng).tolist()
        for num_pad in (one, other, other[::-1]):  # the same shapes, other pads
            look(student, num_pad, start, q_len)


@checks("positions_and_mask")
def test_one_query_anywhere(student, rng):
    """a single query at any slot: position and mask are right"""
    num_pad = [0, *torch.randint(0, 7, (3,), generator=rng).tolist()]
    for start in range(8):
        look(student, num_pad, start, 1)
    look(student, [2_090, 0], 2_100, 2)


@checks("positions_and_mask")
def test_other_pads_in_the_same_tensor(student):
    """a second call with other pads in the same tensor: positions and mask are those of the second call"""
    grids_again(student, [[1, 0, 3], [2, 2, 0]], 2, 3)


@checks("positions_and_mask")
def test_a_chunk_of_pads(student):
    """a chunk in which a row has only pads: positions and mask are right; on the meta device they are on num_pad's device"""
    on_one_device(student.positions_and_mask.on_meta(torch.tensor([6, 0]), 2, 3))
    look(student, [9, 4, 0], 2, 3)
    look(student, [9, 4, 0], 0, 2)


# ---- prefill_batch -------------------------------------------------------------------------------------------------


@checks("prefill_batch", weight=2)
def test_random_models(student, rng):
    """random models with grouped heads, in float64: every row gets the logits that it gets alone"""
    for rows, longest in ((2, 5), (6, 11), (4, 1)):
        small = Small(student, rng, dtype=torch.float64)
        prompts = ragged(rng, lengths_of(rng, rows, longest), 19)
        pad_id = integer(rng, 0, 19)
        prompts[0][-1], prompts[1][-1] = 0, pad_id  # tokens like any other
        got, _, _ = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, pad_id=pad_id)
        close(got, alone(small.here, prompts), atol=1e-8)


@checks("prefill_batch")
def test_any_order_of_rows(student, rng):
    """rows in another order: the logits are the same, in that order"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, lengths_of(rng, 5, 8), 19)
    first, _, _ = prefilled(student, small.there, small.config, prompts, dtype=torch.float64)
    close(first, alone(small.here, prompts), atol=1e-8)
    order = torch.randperm(5, generator=rng).tolist()
    again, _, _ = prefilled(student, small.there, small.config, [prompts[i] for i in order], dtype=torch.float64)
    close(again, first[order], atol=1e-8)


@checks("prefill_batch")
def test_keys_of_each_row(student, rng):
    """the cache holds the keys and values that every row has alone"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, lengths_of(rng, 3, 7), 19)
    got, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, cuts=(4,))
    close(got, alone(small.here, prompts), atol=1e-8)
    same_cache(cache, small.here, prompts, num_pad, atol=1e-8)


@checks("prefill_batch", weight=2)
def test_random_chunks(student, rng):
    """random chunks, and one token at a time: every row gets the logits that it gets alone"""
    small = Small(student, rng, dtype=torch.float64)
    some = tuple(sorted({integer(rng, 1, 12) for _ in range(3)}))
    for lengths in (lengths_of(rng, 4, 12), [12, 12, 12], [12]):
        prompts = ragged(rng, lengths, 19)
        want = alone(small.here, prompts)
        for cuts in (some, tuple(range(1, 12)), (11,), (7,)):
            got, _, _ = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, cuts=cuts)
            what = f"wrong logits of lengths {lengths} after chunks cut at {list(cuts)}"
            close(got, want, atol=1e-8, what=what)


@checks("prefill_batch")
def test_a_column_of_pads(student, rng):
    """every row has a pad, also with a chunk of only pads: the logits are right, also one step later"""
    small = Small(student, rng, dtype=torch.float64)
    for lengths in ([4, 2, 5], [3]):
        prompts = ragged(rng, lengths, 19)
        ids, num_pad = padded(prompts)
        ids, num_pad = torch.cat((torch.zeros(len(ids), 2, dtype=torch.int64), ids), dim=1), num_pad + 2
        cache = student.KVCache(small.config, len(ids), ids.shape[1] + 1, torch.float64)
        fed = int(len(lengths) == 1)
        if fed:
            student.prefill_batch(small.there, ids[:, :fed], num_pad, cache)
        got = student.prefill_batch(small.there, ids[:, fed:], num_pad, cache)
        close(got, alone(small.here, prompts), atol=1e-8)
        equal(cache.length, ids.shape[1], what="wrong length of the cache")
        prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1] * len(ids), 19), strict=True)]
        got = student.prefill_batch(small.there, torch.tensor([prompt[-1:] for prompt in prompts]), num_pad, cache)
        close(got, alone(small.here, prompts), atol=1e-8, what="wrong logits one step later")


@checks("prefill_batch")
def test_bfloat16_prefill(student, rng):
    """bfloat16: at most twice the error of PyTorch's own"""
    prompts = ragged(rng, [9, 20, 3, 14] * 3)
    model = student.model(TINY, dtype=torch.bfloat16)
    got, _, _ = prefilled(student, model, tiny().config, prompts, dtype=torch.bfloat16)
    as_near_as_torch(got, prompts, torch.bfloat16)


@checks("prefill_batch")
def test_long_prompts_in_bfloat16(student, rng):
    """six hundred tokens in bfloat16, exact only up to 256: at most twice the error of PyTorch's own"""
    prompts = ragged(rng, [600, 598])
    model = student.model(TINY, dtype=torch.bfloat16)
    got, _, _ = prefilled(student, model, tiny().config, prompts, dtype=torch.bfloat16)
    as_near_as_torch(got, prompts, torch.bfloat16)


@checks("prefill_batch")
def test_head_of_long_prompts(student, rng):
    """long prompts: the head is computed once per row"""
    head_once(student, ragged(rng, [29, 83]))


@checks("prefill_batch")
def test_prefill_again(student, rng):
    """a second batch in the same tensors, with another cache: the logits are those of the second batch"""
    prefills_again(student, [[2, 5, 3], [5, 1, 4]], rng, room=1)


@checks("prefill_batch")
def test_too_long_for_the_cache(student, rng):
    """a chunk that does not fit into the cache raises CacheFull"""
    small = Small(student, rng)
    prompts = ragged(rng, [3, 5], 19)
    got, num_pad, cache = prefilled(student, small.there, small.config, prompts, room=2)
    close(got, alone(small.here, prompts), atol=1e-4)
    raises("CacheFull", lambda: student.prefill_batch(small.there, torch.ones(2, 3, dtype=torch.int64), num_pad, cache))


# ---- decode_batch --------------------------------------------------------------------------------------------------


@checks("decode_batch", weight=2)
def test_random_steps(student, rng):
    """random models, six steps, also after a prompt in chunks: every row gets the logits that it gets alone"""
    for rows, longest, cuts in ((3, 7, (2, 5)), (5, 1, ()), (1, 1, ())):
        small = Small(student, rng, dtype=torch.float64)
        prompts = ragged(rng, lengths_of(rng, rows, longest) if rows > 1 else [4], 19)
        _, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, cuts=cuts, room=6)
        for _ in range(6):
            prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1] * rows, 19), strict=True)]
            got = decoded(student, small.there, prompts, small.config, num_pad, cache, dtype=torch.float64)
            close(got, alone(small.here, prompts), atol=1e-8)


@checks("decode_batch")
def test_one_pad_and_many_slots(student, rng):
    """a long text beside a row with one pad, and a longer text as the only row: the logits of a step are right"""
    small = Small(student, rng, dtype=torch.float64, longest=2_000)
    for lengths, steps in (([150, 149], 2), ([1_070], 1)):
        prompts = ragged(rng, lengths, 19)
        _, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=torch.float64, room=2)
        for _ in range(steps):
            prompts = [[*prompt, 5] for prompt in prompts]
            got = decoded(student, small.there, prompts, small.config, num_pad, cache, dtype=torch.float64)
            close(got, alone(small.here, prompts), atol=1e-8)


@checks("decode_batch")
def test_another_batch_in_the_same_cache(student, rng):
    """one row with pads, a reset cache with other pads, equal new tokens after unequal texts: the logits are right"""
    small = Small(student, rng, dtype=torch.float64)
    for rows in (1, 3):
        cache = student.KVCache(small.config, rows, 9, torch.float64)
        for pads in ([3] * rows, list(range(rows)), [2, 0, 1][:rows]):
            cache.reset()
            prompts = ragged(rng, [6 - n for n in pads], 19)
            ids = torch.tensor([[0] * n + prompt for n, prompt in zip(pads, prompts, strict=True)])
            student.prefill_batch(small.there, ids, torch.tensor(pads), cache)
            for _ in range(2):
                prompts = [[*prompt, 5] for prompt in prompts]
                got = decoded(student, small.there, prompts, small.config, torch.tensor(pads), cache, dtype=torch.float64)
                close(got, alone(small.here, prompts), atol=1e-8)


@checks("decode_batch")
def test_step_again(student, rng):
    """two batches in turn, with ids and pads in the same tensors: each batch gets its own logits, and the first ones stay"""
    decodes_again(student, Small(student, rng, dtype=torch.float64), [[2, 5, 3], [5, 1, 4]], rng)


@checks("decode_batch")
def test_step_into_an_empty_cache(student, rng):
    """steps that begin with an empty cache: the logits are right"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, [1, 1, 1], 19)
    cache = student.KVCache(small.config, 3, 4, torch.float64)
    num_pad = torch.zeros(3, dtype=torch.int64)
    for _ in range(3):
        got = decoded(student, small.there, prompts, small.config, num_pad, cache, dtype=torch.float64)
        close(got, alone(small.here, prompts), atol=1e-8)
        prompts = [prompt + new for prompt, new in zip(prompts, ragged(rng, [1, 1, 1], 19), strict=True)]


@checks("decode_batch")
def test_bfloat16_step(student, rng):
    """bfloat16: at most twice the error of PyTorch's own; a step costs one position per row"""
    prompts = ragged(rng, [4, 19, 11, 7] * 3)
    model = student.model(TINY, dtype=torch.bfloat16)
    _, num_pad, cache = prefilled(student, model, tiny().config, prompts, dtype=torch.bfloat16, room=1)
    prompts = [[*prompt, integer(rng, 0, 1024)] for prompt in prompts]
    with student.counting() as work:
        got = decoded(student, model, prompts, tiny().config, num_pad, cache, dtype=torch.bfloat16)
    as_near_as_torch(got, prompts, torch.bfloat16)
    equal(work.positions, 12, what="wrong number of positions in one step of 12 rows")


@checks("decode_batch")
def test_bfloat16_step_after_many_slots(student, rng):
    """a step after hundreds of slots in bfloat16, exact only up to 256: at most five times the error of PyTorch's own"""
    small = Small(student, rng, V=50, dtype=torch.bfloat16, longest=2_000)
    prompts = ragged(rng, [703, 29], 50)
    _, num_pad, cache = prefilled(student, small.there, small.config, prompts, dtype=torch.bfloat16, room=1)
    prompts = [[*prompt, 8] for prompt in prompts]
    got = decoded(student, small.there, prompts, small.config, num_pad, cache, dtype=torch.bfloat16)
    as_near_as_torch(got, prompts, torch.bfloat16, small=small)


@checks("decode_batch")
def test_step_into_a_full_cache(student, rng):
    """a step that does not fit into the cache raises CacheFull"""
    small = Small(student, rng)
    prompts = [[*prompt, 3] for prompt in ragged(rng, [3, 5], 19)]
    _, num_pad, cache = prefilled(student, small.there, small.config, [prompt[:-1] for prompt in prompts], room=1)
    got = decoded(student, small.there, prompts, small.config, num_pad, cache)
    close(got, alone(small.here, prompts), atol=1e-4)
    raises("CacheFull", lambda: student.decode_batch(small.there, torch.ones(2, 1, dtype=torch.int64), num_pad, cache))


# ---- generate_batch ------------------------------------------------------------------------------------------------


@checks("generate_batch", weight=3)
def test_random_ladder(student, rng):
    """greedy, random models, prompts and EOS tokens, rows in any order: every row gets the tokens that it gets alone"""
    for rows, longest in ((7, 9), (2, 1), (3, 14)):
        small = Small(student, rng, dtype=torch.float64)
        prompts = ragged(rng, lengths_of(rng, rows, longest), 19)
        free = greedy(small.here, prompts, 9)
        eos = free[integer(rng, 0, rows)][integer(rng, 0, 9)]
        # The model has an end of its own. It counts only where it is handed in.
        there = student.WeightsOnly(dataclasses.replace(small.config, eos_token_id=free[0][2]), small.weights, None)
        order = torch.randperm(rows, generator=rng).tolist()
        for end in (None, eos):
            options = {"max_new_tokens": 9, "temperature": 0.0, "eos_token_id": end, "pad_id": integer(rng, 0, 19)}
            want = [cut(row, eos) if end is not None else row for row in free]
            equal(generated(student, there, prompts, **options), want)
            got = generated(student, there, [prompts[i] for i in order], **options)
            equal(got, [want[i] for i in order], what="wrong tokens with the rows in another order")


@checks("generate_batch")
def test_a_pad_id_that_is_drawn(student, rng):
    """an answer that contains the pad id, also as its last token, is complete"""
    small = Small(student, rng, dtype=torch.float64)
    prompts = ragged(rng, [5, 2, 3], 19)
    for steps in (1, 6):
        want = greedy(small.here, prompts, steps)
        for pad_id in {row[-1] for row in want}:
            for eos in (None, 1_000_000):  # an end that never comes
                options = {"max_new_tokens": steps, "temperature": 0.0, "pad_id": pad_id, "eos_token_id": eos}
                got = generated(student, small.there, prompts, **options)
                equal(got, want, what=f"wrong tokens with pad_id {pad_id} and EOS {eos}")


@checks("generate_batch")
def test_longer_than_the_model_was_trained_on(student, rng):
    """more positions than the model's config allows: the answer is complete and uses the whole prompt"""
    small = Small(student, rng, dtype=torch.float64)
    short = dataclasses.replace(small.config, max_position_embeddings=6)
    there = student.WeightsOnly(short, small.weights, None)
    for lengths in ([4, 3], [8, 2]):
        prompts = ragged(rng, lengths, 19)
        got = generated(student, there, prompts, max_new_tokens=7, temperature=0.0)
        equal(got, greedy(small.here, prompts, 7))


@checks("generate_batch")
def test_other_weights_in_the_same_model(student, rng):
    """a second call with new weights in the same model, with and without dtype: the tokens are those of the new weights"""
    prompts = ragged(rng, [3, 5, 1], 19)
    for dtype in (None, torch.float64):
        pair = [Small(student, rng, dtype=torch.float64 if dtype is None else torch.float32) for _ in range(2)]
        results = student.generate_batch.again(*([small.there, prompts] for small in pair), max_new_tokens=6, temperature=0.0, dtype=dtype)
        for small, got in zip(pair, results, strict=True):
            want = greedy(small.here.to(dtype=dtype) if dtype else small.here, prompts, 6)
            equal(got, want, what=f"wrong tokens with dtype={dtype}")


@checks("generate_batch", weight=2)
def test_work_when_rows_end(student, rng):
    """no step runs after the last row has ended, and no gradients are recorded"""
    prompts, eos, want = all_end(tiny(torch.float64), rng)
    first = min(range(len(want)), key=lambda row: len(want[row]))
    model = student.model(TINY, dtype=torch.float64)
    for rows in ([*range(len(prompts)), 0], [first], [first]):  # the last run has the shape of one that ended early
        given, due = [prompts[row] for row in rows], [want[row] for row in rows]
        with student.counting() as work:
            got = generated(student, model, given, max_new_tokens=30, temperature=0.0, eos_token_id=eos)
        equal(got, due)
        most = len(given) * (max(map(len, given)) + max(map(len, due)) - 1)
        passes_of_rows(work, given, due, most)
        equal(work.grad_flops, 0, what="FLOPs that ran with gradients on")


@checks("generate_batch")
def test_one_question_a_step(student, rng):
    """at most one transfer per step waits for the device, also if some rows end long before the others"""
    prompts, eos, want = all_end(tiny(torch.float64), rng)
    prompts, want = ([rows[i] for i in (2, 2, 2, 0, 1)] for rows in (prompts, want))
    model, steps = student.model(TINY, dtype=torch.float64), max(map(len, want))
    with student.counting() as work:
        got = generated(student, model, prompts, max_new_tokens=30, temperature=0.0, eos_token_id=eos)
    equal(got, want)
    passes_of_rows(work, prompts, want, math.inf)
    one_question_a_step(student, model, tiny().config, prompts, steps, work.waits)


@checks("generate_batch")
def test_ends_at_the_edge(student, rng):
    """EOS as the very first or very last token, also token 0 as EOS: the answers are right; large token ids are right"""
    best = integer(rng, 33_000, 49_151)
    wide = head_only(student, torch.float32, 1.0, {best: [1.0]}, V=49_152).there
    got = generated(student, wide, [[40_000, 1], [5]], max_new_tokens=2, temperature=0.0)
    equal(got, [[best] * 2] * 2, what="wrong tokens of a vocabulary of 49,152")
    while True:
        small = Small(student, rng, dtype=torch.float64)
        prompts = ragged(rng, [5, 2], 19)
        (first, *_), other = free = greedy(small.here, prompts, 6)
        if first not in other and other[5] not in other[:5] + free[0]:
            break
    for steps, eos in ((6, first), (6, other[5]), (5, other[5])):
        got = generated(student, small.there, prompts, max_new_tokens=steps, temperature=0.0, eos_token_id=eos)
        equal(got, [cut(row[:steps], eos) for row in free])
    swapped = Small(student, rng, dtype=torch.float64)  # the same model with token `first` renamed to 0
    order = torch.arange(19)
    order[0], order[first] = first, 0
    swapped.weights.embed_tokens, swapped.weights.lm_head = small.weights.embed_tokens[order], small.weights.lm_head[order]
    swapped.weights.layers, swapped.weights.norm = small.weights.layers, small.weights.norm
    there = student.WeightsOnly(small.config, swapped.weights, None)
    renamed = [order[torch.tensor(prompt)].tolist() for prompt in prompts]
    got = generated(student, there, renamed, max_new_tokens=6, temperature=0.0, eos_token_id=0)
    equal(got, [[0], order[torch.tensor(other)].tolist()])
    for model, prompt, eos in ((small.there, prompts[0], first), (there, renamed[0], 0)):
        flops = {}
        for steps in (1, 6):
            with student.counting() as work:
                got = generated(student, model, [prompt, prompt], max_new_tokens=steps, temperature=0.0, eos_token_id=eos)
            equal(got, [[eos], [eos]], what="wrong tokens where every row ends at once")
            flops[steps] = work.flops
        what = "a pass after every row had ended"
        that(flops[6] <= 1.15 * flops[1], what, expected=f"the {flops[1]:,} FLOPs of one step", got=f"{flops[6]:,}")


@checks("generate_batch")
def test_nothing_to_generate(student, rng):
    """max_new_tokens = 0 gives empty answers; an empty list and an empty prompt raise ValueError, also with max_new_tokens = 0"""
    small = Small(student, rng)
    for eos in (None, 7):
        equal(generated(student, small.there, ragged(rng, [2, 5, 1], 19), max_new_tokens=0, eos_token_id=eos), [[], [], []])
    for wrong in ([], [[]], [[8, 2], [], [4]]):
        for n in (0, 3):
            raises(ValueError, lambda p=wrong, n=n: student.generate_batch(small.there, p, max_new_tokens=n))


@checks("generate_batch")
def test_options_left_out(student, rng):
    """the defaults are temperature 1.0, no top_k, no top_p and pad_id 0; a given generator is the only source of draws"""
    # Over 7,000 equal tokens a top_p of 0.999 moves nearly every draw by a few tokens, over 90 unequal ones a temperature or a top_k does.
    seed, given = integer(rng, 0, 2**31), {"temperature": 1.0, "top_k": None, "top_p": None, "pad_id": 0}
    steep = head_only(student, torch.float32, 1.0, {token: [-0.04 * token] for token in range(90)}, V=90).there
    for there in (uniform(student, V=7_000).there, steep):
        drawn = [
            generated(student, there, [[4], [6, 2]] * 9, max_new_tokens=20, generator=student.generator(seed), _rng_unchanged=True, **each)
            for each in ({}, given)
        ]
        equal(drawn[0], drawn[1], what="the defaults give other tokens than temperature=1.0 alone")
    loose = [generated(student, steep, [[4], [6, 2]] * 9, max_new_tokens=20) for _ in range(2)]
    that(loose[0] != loose[1], "two runs without a generator gave the same tokens")
    # No embedding but those of 0, a pad, and of 2, the answer, is a number.
    small = head_only(student, torch.float64, 1.0, {2: [1.0]}, V=6)
    small.weights.embed_tokens[[1, 3, 4, 5]] = math.nan
    there = student.WeightsOnly(small.config, small.weights, None)
    got = generated(student, there, [[2, 2, 2, 2], [2], [0, 2]], max_new_tokens=3, temperature=0.0)
    equal(got, [[2, 2, 2]] * 3, what="wrong tokens of a model that has embeddings of ids 0 and 2 only")


@checks("generate_batch")
def test_devices_and_gradients(student):
    """every tensor is on the model's device or the given device; the gradient mode is restored after a run or an error"""
    batch_on_meta(student, [[5], [2, 9, 9, 1]], 8)

    def refused():
        with contextlib.suppress(StudentRaised):
            student.generate_batch(student.model(TINY), [[2, 3]], temperature=-0.5, max_new_tokens=3)

    def product():
        student.attention(*torch.ones(3, 1, 2, 2, 4))

    run = {"temperature": 0.0, "max_new_tokens": 1}
    gradients_stay_on(student, lambda: student.generate_batch(student.model(TINY), [[2, 3], [4]], **run), product)
    gradients_stay_on(student, refused, product)


@checks("generate_batch")
def test_calls_leave_nothing_behind(student, rng):
    """calls with other shapes and dtypes in turn: no call affects a later call"""
    small, tokens = by_precision(student)
    for dtype, prompts in ((None, [[1], [2, 3]]), (torch.bfloat16, [[4, 5, 6]]), (None, [[1, 2], [2], [7]]), (torch.float64, [[6]])):
        got = generated(student, small.there, prompts, max_new_tokens=1, temperature=0.0, dtype=dtype, device="cpu")
        equal(got, [[tokens[dtype]]] * len(prompts), what=f"wrong tokens with dtype={dtype}")
    small, token = finer_than_float32(student)
    got = generated(student, small.there, [[1], [2, 3]], max_new_tokens=1, temperature=0.0)
    equal(got, [[token], [token]], what="wrong tokens of a float64 model")


FOUR = [2.0, 1.0, 0.0, -1.0]


@checks("generate_batch", weight=2)
def test_frequencies(student, rng):
    """temperature, top_k and top_p give the right frequencies, and the draws of a row are independent"""
    # False alarm: at most 1e-10 for each setting (see test_generation).
    rows = {token: [logit] for token, logit in enumerate([*FOUR, -1e4, -1e4, -1e4, -1e4])}
    there = head_only(student, torch.float32, 1.0, rows).there
    tau = 0.4 + 2 * float(torch.rand((), generator=rng))
    flat = probabilities(FOUR, 4.0)
    kept = probabilities(FOUR)[:2]  # 0.64 and 0.24: together more than 0.7
    three = [*(p / sum(flat[:3]) for p in flat[:3]), 0.0]
    for options, want in (
        ({}, probabilities(FOUR)),
        ({"temperature": tau}, probabilities(FOUR, tau)),
        ({"temperature": tau, "top_k": 5_000}, probabilities(FOUR, tau)),  # more than there are keeps all
        ({"temperature": tau, "top_k": 2}, [*probabilities(FOUR[:2], tau), 0.0, 0.0]),
        ({"temperature": 4.0, "top_p": 0.7}, three),
        ({"top_p": 0.7}, [p / sum(kept) for p in kept] + [0.0, 0.0]),
        ({"top_k": 2}, [p / sum(kept) for p in kept] + [0.0, 0.0]),
        ({"temperature": 4.0, "top_k": 3, "top_p": 0.7}, [*probabilities(FOUR[:2], 4.0), 0.0, 0.0]),  # of all four, three reach 0.7
    ):
        seed = integer(rng, 0, 2**31)
        rows = generated(student, there, [[0], [1, 2]] * 1_000, max_new_tokens=2, generator=student.generator(seed), **options)
        got = torch.tensor(rows)
        equal(tuple(got.shape), (2_000, 2), what="wrong shape of the new tokens")
        frequencies(got.flatten(), want, under=f", with {options}")
        same = sum(p * p for p in want)
        frequencies((got[:, 0] != got[:, 1]).long(), [same, 1 - same], under=": 1 is a row whose second draw is not its first")


@checks("generate_batch")
def test_drawn_ends_of_rows(student, rng):
    """drawn tokens: every row stops at its own first EOS; runs from one generator in turn equal one long run"""
    model = uniform(student, 6).there
    prompts, seed, eos = [[1], [2, 3], [4], [5, 0, 1]], integer(rng, 0, 2**31), integer(rng, 0, 6)
    free = generated(student, model, prompts, max_new_tokens=25, generator=student.generator(seed))
    got = generated(student, model, prompts, max_new_tokens=25, eos_token_id=eos, generator=student.generator(seed))
    for row, whole in zip(got, free, strict=True):
        that(eos not in row[:-1], "something came after EOS", got=row, cause=EOS)
        that(len(row) == 25 or row[-1:] == [eos], "a row stopped without EOS", got=row, cause=EOS)
        that(bool(row), "a row without a token", cause=EOS)
        equal(row[:1], whole[:1], what="the first draw changed with eos_token_id")
    generator = student.generator(seed)
    parts = [generated(student, model, prompts, max_new_tokens=n, generator=generator) for n in (7, 1, 17)]
    equal([one + two + three for one, two, three in zip(*parts, strict=True)], free, what="three runs in turn are not one run of 25 tokens")
    # Two unrelated runs of 100 tokens over 6 equal ones agree with probability 6 ** -100.
    generator = student.generator(seed)
    twice = [student.generate_batch(model, prompts, max_new_tokens=25, generator=generator) for _ in range(2)]
    that(twice[0] != twice[1], "a second run with the same generator gave the same tokens again")
    draws_from_the_global_state(lambda **watched: student.generate_batch(model, prompts, max_new_tokens=3, **watched))


@checks("generate_batch", weight=2, gpu=True)
def test_tokens_and_waits_on_a_gpu(student, rng):
    """on a GPU: the same tokens as on the CPU in float64, and at most one wait per step"""
    prompts, eos, want = all_end(tiny(torch.float64), rng)
    model = student.model(TINY, dtype=torch.float64, device="cuda")
    options = {"temperature": 0.0, "eos_token_id": eos}
    equal(generated(student, model, prompts, max_new_tokens=30, **options), want)
    there = student.model(TINY, dtype=torch.float64)
    equal(generated(student, there, prompts, max_new_tokens=30, device="cuda", **options), want)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            student.generate_batch(model, prompts, max_new_tokens=20, temperature=0.0, eos_token_id=1_000_000)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    waits = sum("synchroniz" in str(warning.message) for warning in caught)
    that(waits <= 20 + 6, "too many waits for the device in 20 steps", expected="20, and a few at both ends", got=waits, cause=ONE_WAIT)


ONE_WAIT = "One `ended.all()` a step; everything else stays on the device until the end."


@checks("generate_batch", gpu=True)
def test_rows_are_nearly_free_on_a_gpu(student, rng):
    """on a GPU: 64 rows give at least 16 times as many tokens per second as one row"""
    model = student.model(TINY, device="cuda")
    prompts = ragged(rng, [16] * 64)

    def seconds(rows):
        start = time.perf_counter()
        student.generate_batch(model, prompts[:rows], max_new_tokens=32, temperature=0.0)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    seconds(64), seconds(1)
    ratio = statistics.median(64 * seconds(1) / seconds(64) for _ in range(5))
    that(ratio >= 16, "64 rows are not much faster than 64 times one row", expected="16 times or more", got=f"{ratio:.1f} times")


@checks("prefill_batch", gpu=True)
def test_bfloat16_on_a_gpu(student, rng):
    """on a GPU, bfloat16: at most twice the error of PyTorch's own on that GPU"""
    prompts = ragged(rng, [9, 20, 3, 14] * 3)
    ids, num_pad = (tensor.cuda() for tensor in padded(prompts))
    cache = student.KVCache(tiny().config, 12, 20, torch.bfloat16, "cuda")
    got = student.prefill_batch(student.model(TINY, dtype=torch.bfloat16, device="cuda"), ids, num_pad, cache)
    as_near_as_torch(got.cpu(), prompts, torch.bfloat16, "cuda")


# ---- static_decode -------------------------------------------------------------------------------------------------


@checks("static_decode", weight=2)
def test_random_slots(student, rng):
    """random models in float64, wrong numbers in masked slots: logits, keys and values are right up to the last slot"""
    for rows, longest, room in ((4, 9, 3), (2, 1, 4), (1, 3, 1), (3, 3, 2)):
        small = Small(student, rng, dtype=torch.float64)
        lengths = lengths_of(rng, rows, longest) if rows > 1 else [longest]
        # A second batch of the same shapes, its lengths in another order.
        batches = [Slots(rng, each, room=room, garbage=30.0, small=small, dtype=torch.float64) for each in (lengths, lengths[::-1])]
        for slots in batches * room:
            before, position = (slots.keys.clone(), slots.values.clone()), slots.filled
            got = slots.step(student, rng)
            close(got, alone(small.here, slots.prompts), atol=1e-8)
            for old, new, right in zip(before, (slots.keys, slots.values), slots.due(), strict=True):
                old[..., position, :] = right
                close(new, old, atol=1e-8)


@checks("static_decode")
def test_static_step_again(student, rng):
    """a second batch in the same tensors, and huge numbers in masked slots: the logits are those of the second batch"""
    small = Small(student, rng, dtype=torch.float64)
    both = [Slots(rng, lengths, room=2, garbage=1e20, small=small, dtype=torch.float64) for lengths in ([3, 1, 2], [1, 3, 3])]
    steps_again(student, both, rng)


@checks("static_decode")
def test_slots_of_a_view(student, rng):
    """keys and values are views: only one slot is written, no value is read by Python, new tensors are on their device"""
    small = Small(student, rng, dtype=torch.float64)
    slots = Slots(rng, [2, 6, 5], room=2, garbage=9.0, small=small, dtype=torch.float64, across=True)
    before, position = (slots.keys.clone(), slots.values.clone()), slots.filled
    with student.counting() as work:
        got = slots.step(student, rng)
    close(got, alone(small.here, slots.prompts), atol=1e-8)
    equal(work.waits, 0, what="values that Python read out of tensors (`.item()`, `int()`, `if tensor`)")
    for old, new, right in zip(before, (slots.keys, slots.values), slots.due(), strict=True):
        old[..., position, :] = right
        close(new, old, atol=1e-8)
    keys = torch.zeros(tiny().config.num_hidden_layers, 3, tiny().config.num_key_value_heads, 6, tiny().config.head_dim).bfloat16()
    model = student.model(TINY, dtype=torch.bfloat16, device="meta")
    given = [torch.zeros(3, 1, dtype=torch.int64), torch.tensor([0, 3, 1]), torch.tensor(3), keys, keys.clone()]
    rehearsal = student.static_decode.on_meta(model, *given)
    in_bfloat16(rehearsal)
    that(not rehearsal.asked, "a value of a tensor was asked for", expected="tensors all the way", got=rehearsal.asked)


@checks("static_decode")
def test_many_slots(student, reference, rng):
    """a step after 2,100 slots: the logits are right"""
    small = Small(student, rng, dtype=torch.float64)
    c, num_pad, position = small.config, torch.tensor([2_090, 0]), torch.tensor(2_100)
    both = torch.randn(2, c.num_hidden_layers, 2, c.num_key_value_heads, 2_102, c.head_dim, generator=rng, dtype=torch.float64)
    ids = torch.tensor([[3], [4]])
    want = reference.static_decode(small.here, ids, num_pad, position, *both.clone())
    close(student.static_decode(small.there, ids, num_pad, position, *both.clone()), want, atol=1e-8)


@checks("static_decode")
def test_bfloat16_slots(student, rng):
    """bfloat16, also after hundreds of slots: at most twice the error of PyTorch's own"""
    for wider in (0, 851):  # bfloat16 counts to 256
        slots = Slots(rng, [12, 5, 20, 8], room=4, garbage=10.0, wider=wider, dtype=torch.bfloat16)
        got = slots.step(student, rng)
        as_near_as_torch(got, slots.prompts, torch.bfloat16)


# ---- capture_decode ------------------------------------------------------------------------------------------------


@checks("capture_decode", weight=2)
def test_random_captures(student, rng):
    """random models in float64: every step up to the last slot gives the right logits, and a further step raises ValueError"""
    for lengths, room in (([3, 8, 1], 4), ([2], 1)):
        small = Small(student, rng, dtype=torch.float64)
        slots = Slots(rng, lengths, room=room, garbage=20.0, small=small, dtype=torch.float64)
        step = student.capture_decode(small.there, slots.num_pad, slots.filled, slots.keys, slots.values)
        for _ in range(room):
            got = step(slots.grow(rng))
            same_kind(got, len(lengths), small.config.vocab_size, torch.float64)
            close(got, alone(small.here, slots.prompts), atol=1e-8)
        ids = torch.ones(len(lengths), 1, dtype=torch.int64)
        for _ in range(2):
            raises(ValueError, lambda s=step, i=ids: s(i))


@checks("capture_decode")
def test_two_captures_of_one_shape(student, rng):
    """two captures for the same keys and values, also as views: the second continues where the first stopped"""
    small = Small(student, rng, dtype=torch.float64)
    for lengths, room, across in (([4, 1, 3], 3, False), ([2, 2], 4, True)):
        captures_again(student, Slots(rng, lengths, room=room, small=small, dtype=torch.float64, across=across), rng, 2)


@checks("capture_decode")
def test_rehearsed_random_model(student, rng):
    """on a CUDA emulator: four replays of one recording, no wait; with no slot left, the first step raises ValueError"""
    small = Small(student, rng, dtype=torch.float64)
    slots = Slots(rng, [2, 7], room=4, garbage=5.0, small=small, dtype=torch.float64)
    given = [small.there, slots.num_pad, slots.filled, slots.keys, slots.values]
    fed, want = [], []
    for _ in range(4):
        fed.append([slots.grow(rng)])
        want.append(alone(small.here, slots.prompts))
    four_replays(student.capture_decode.on_gpu(*given, then=fed), want, torch.float64)
    full = [small.there, slots.num_pad, slots.filled, slots.keys, slots.values]
    raises(ValueError, lambda: student.capture_decode.on_gpu(*full, then=[[torch.tensor([[5], [1]])]]))


@checks("capture_decode")
def test_old_logits_stay(student, rng):
    """later steps do not change earlier logits"""
    small = Small(student, rng, dtype=torch.float64)
    slots = Slots(rng, [2, 4], room=3, small=small, dtype=torch.float64)
    given = [small.there, slots.num_pad, slots.filled, slots.keys, slots.values]
    fed, want = [], []
    for _ in range(3):
        fed.append([slots.grow(rng)])
        want.append(alone(small.here, slots.prompts))
    for step, (got, due) in enumerate(zip(student.capture_decode.series(*given, then=fed), want, strict=True)):
        close(got, due, atol=1e-8, what=f"wrong logits of step {step}, seen after all steps")


@checks("capture_decode")
def test_capture_of_full_slots(student, rng):
    """with no slot left from the start, the first step raises ValueError and the capture does not raise"""
    small = Small(student, rng)
    full = Slots(rng, [2, 4], room=0, small=small)
    step = student.capture_decode(small.there, full.num_pad, full.filled, full.keys, full.values)
    raises(ValueError, lambda: step(torch.ones(2, 1, dtype=torch.int64)))
    slots = Slots(rng, [2, 4], room=1, small=small)
    step = student.capture_decode(small.there, slots.num_pad, slots.filled, slots.keys, slots.values)
    close(step(slots.grow(rng)), alone(small.here, slots.prompts), atol=1e-4)
