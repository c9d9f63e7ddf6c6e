"""Checks of the KV cache that students may read."""

from __future__ import annotations

import torch

from autograder.authoring import CheckFailed, checks, close, equal, raises, that
from autograder.checks.cached import (
    ALIGNED,
    ENDED,
    LENGTH,
    NOTHING,
    OWN_COUNT,
    PROMPTS,
    ROOMY,
    SLIDE,
    SPLIT,
    START,
    Twin,
    believing,
    generated,
    in_chunks,
    least_flops,
    small,
    sure_after,
    tiny_config,
    tiny_ids,
    unrolled,
    whole,
    written,
)
from autograder.checks.test_generation import FOUR, frequencies, probabilities
from autograder.checks.test_transformer import small_config
from autograder.grading.work import counting
from course.kit import Config

SEED = 1  # of the long prompt: there the best token is ahead by 0.028 or more at each of 64 steps, so that rounding picks no other

# ---- the ladder ----------------------------------------------------------------------------------------------------


@checks("generate_cached", weight=3)
def test_same_tokens_as_without_a_cache(student):
    """the ladder: greedy, four prompts of unequal lengths, the tokens of the loop without a cache"""
    for prompt in PROMPTS:
        idx = tiny_ids(prompt)
        got = generated(student, student.model("tiny", dtype=torch.float64), idx, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
        want = unrolled(whole(), idx, 12, ROOMY)
        equal(got, want, what=f"other tokens after a prompt of {idx.shape[1]}", cause=f"{SPLIT} {START}")


# ---- KVCache -------------------------------------------------------------------------------------------------------


@checks("KVCache", weight=2)
def test_append_gives_all_so_far(student, rng):
    """two appends to one layer: everything so far, keys and values apart"""
    twin = Twin(student, rng, small_config(num_hidden_layers=1), 2, 8)
    for t in (3, 1, 2):
        twin.append(0, t)
    equal(twin.cache.length, 6, what="wrong length after 3 + 1 + 2 tokens", cause=OWN_COUNT)


@checks("KVCache", weight=2)
def test_layers_count_for_themselves(student, rng, hand):
    """two layers in turn: each its own tokens, its own count"""
    case = hand["two_layers"]
    twin = Twin(student, rng, small_config(num_hidden_layers=2), 1, case["max_len"])
    equal(twin.cache.length, 0, what="a new cache is not empty")
    for layer, t, length in zip(case["layers"], case["tokens"], case["lengths"], strict=True):
        twin.append(layer, t)
        equal(twin.cache.length, length, what=f"wrong length after an append to layer {layer}", cause=f"{LENGTH} {OWN_COUNT}")


@checks("KVCache")
def test_bytes_by_hand(student, rng, hand):
    """SmolLM2 in 16 bits: 23,040 bytes for each token of room"""
    smollm2 = Config("SmolLM2", 49152, 576, 1536, 30, 9, 3, 64, 1e5, 1e-5, 8192, True, 1, 2)
    cause = "Keys and values, L layers, K key/value heads (not H), Dh wide, room for max_len tokens in each row, filled or not."
    for dtype, name in ((torch.bfloat16, "bytes_per_token"), (torch.float32, "bytes_per_token_float32")):
        for batch, max_len in ((1, 64), (3, 20)):
            cache = student.KVCache(smollm2, batch, max_len, dtype=dtype)
            want = batch * max_len * hand["smollm2"][name]
            equal(cache.nbytes, want, what=f"wrong nbytes for {batch} rows of {max_len} tokens in {dtype}", cause=cause)
    k = torch.zeros(3, 3, 5, 64)
    cache.append(0, k, k)
    equal(cache.nbytes, want, what="nbytes has changed with an append", cause="It is what was allocated, filled or not.")


@checks("KVCache", weight=2)
def test_full_means_nothing_written(student, rng):
    """too many tokens: CacheFull, and the cache is as it was"""
    twin = Twin(student, rng, small_config(), 1, 5)
    twin.append(0, 3)
    twin.append(1, 3)
    for kind in ("CacheFull", "ValueError"):
        raises(kind, lambda: twin.cache.append(0, twin.draw(3), twin.draw(3)), naming=5, cause=f"{NOTHING} CacheFull is a ValueError.")
    equal(twin.cache.length, 3, what="wrong length after a refused append", cause=NOTHING)
    twin.append(0, 2)
    twin.append(1, 2)
    equal(twin.cache.length, 5, what="a cache of max_len 5 holds 5 tokens", cause="n + t may be max_len; only more is too much.")
    raises("CacheFull", lambda: twin.cache.append(1, twin.draw(1), twin.draw(1)), naming=5, cause=NOTHING)


@checks("KVCache")
def test_reset_empties(student, rng):
    """reset: empty again, every layer, with all of its room"""
    twin = Twin(student, rng, small_config(num_hidden_layers=3), 2, 4)
    before = twin.cache.nbytes
    for _ in range(2):
        for layer in range(3):
            twin.append(layer, 3)
        twin.cache.reset()
        twin.reset()
        equal(twin.cache.length, 0, what="wrong length after reset", cause="Every layer's count goes back to 0.")
    twin.append(2, 4)
    equal(twin.cache.nbytes, before, what="nbytes has changed with reset", cause="The memory stays, to be written over.")


@checks("KVCache")
def test_dtype_and_device(student, rng):
    """dtype and device are those that were asked for"""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for device in ("cpu", torch.device("cpu")):
            twin = Twin(student, rng, small_config(), 1, 4, dtype=dtype, device=device)
            twin.append(0, 2)
            twin.append(0, 1)
    cause = "Give `device=device` to torch where the memory is allocated."
    try:
        student.KVCache(small_config(), 1, 4, torch.float32, "nowhere")
    except (CheckFailed, NotImplementedError):
        raise
    except Exception:
        return
    that(False, "a cache on the device 'nowhere' was made", expected="torch's own error", cause=cause)


@checks("KVCache", weight=2)
def test_append_writes_the_new_tokens_only(student):
    """work: an append behind 1,000 tokens writes no more than one behind 4"""
    config = small_config(num_hidden_layers=2, num_key_value_heads=4, head_dim=16)
    bytes_written = {}
    for n in (4, 1000):
        cache = student.KVCache(config, 2, 1024)
        old, new = torch.ones(2, 4, n, 16), torch.full((2, 4, 1, 16), 2.0)
        cache.append(0, old, old)
        with student.counting() as work:
            k_all, v_all = cache.append(0, new, new)
        want = torch.cat((old, new), dim=2)
        equal(k_all, want, what="wrong keys")
        equal(v_all, want, what="wrong values")
        bytes_written[n] = work.written_bytes
    cause = (
        "torch.cat copies all that is old. Allocate max_len slots once, write into the next ones, and give back a view of the filled part."
    )
    that(
        bytes_written[1000] <= 2 * bytes_written[4] + 4096,
        "an append copies what is old",
        expected=f"about {bytes_written[4]:,} bytes written, as behind 4 tokens",
        got=f"{bytes_written[1000]:,}",
        cause=cause,
    )


# ---- forward_cached ------------------------------------------------------------------------------------------------


@checks("forward_cached", weight=2)
def test_whole_prompt(student):
    """a prompt in one go: the logits of the model without a cache"""
    written(student.forward_cached)
    ids = tiny_ids(PROMPTS[2])
    for dtype in (torch.float32, torch.float64):
        model = student.model("tiny", dtype=dtype)
        cache = student.KVCache(tiny_config(), 1, ids.shape[1], dtype=dtype)
        got = in_chunks(student, model, ids, [ids.shape[1]], cache)
        close(got, whole()(ids), atol=1e-3, dtype=dtype, cause="The layers are those of Day 4; k and v take a detour through the cache.")


@checks("forward_cached", weight=2)
def test_token_by_token(student):
    """one token at a time: the same logits"""
    ids = tiny_ids(PROMPTS[2])[:, :12]
    cache = student.KVCache(tiny_config(), 1, 12, dtype=torch.float64)
    got = in_chunks(student, student.model("tiny", dtype=torch.float64), ids, [1] * 12, cache)
    close(got, whole()(ids), atol=1e-3, cause=f"{START} Every layer reads its own keys and values, the first token's too.")


@checks("forward_cached", weight=2)
def test_any_chunks(student):
    """three rows in chunks of 3, 1, 4 and 2: the same logits"""
    ids = torch.randint(3, 1000, (3, 10), generator=torch.Generator().manual_seed(1))
    for sizes in ([3, 1, 4, 2], [1, 9], [9, 1]):
        cache = student.KVCache(tiny_config(), 3, 16, dtype=torch.float64)
        got = in_chunks(student, student.model("tiny", dtype=torch.float64), ids, sizes, cache)
        close(got, whole()(ids), atol=1e-3, what=f"wrong logits in chunks of {sizes}", cause=f"{ALIGNED} {START}")


@checks("forward_cached")
def test_two_texts_do_not_mix(student):
    """two caches side by side, and one that is reset: nothing of another text is left"""
    model = student.model("tiny", dtype=torch.float64)
    one, two = tiny_ids(PROMPTS[0])[:, :4], tiny_ids(PROMPTS[2])[:, :6]
    caches = [student.KVCache(tiny_config(), 1, 8, dtype=torch.float64) for _ in range(2)]
    cause = "All that is remembered lies in the cache that was given: nothing in a global, nothing from an earlier text."
    for cache, ids in ((caches[0], one), (caches[1], two)):
        close(in_chunks(student, model, ids[:, :2], [2], cache), whole()(ids[:, :2]), atol=1e-3, cause=cause)
    for cache, ids in ((caches[0], one), (caches[1], two)):
        rest = in_chunks(student, model, ids[:, 2:], [ids.shape[1] - 2], cache)
        close(rest, whole()(ids)[:, 2:], atol=1e-3, cause=cause)
    caches[0].reset()
    close(in_chunks(student, model, two, [5, 1], caches[0]), whole()(two), atol=1e-3, what="wrong logits after reset", cause=cause)


@checks("forward_cached")
def test_only_new_tokens_are_computed(student, reference):
    """work: one token behind 64 costs one position"""
    ids = torch.randint(3, 1000, (1, 65), generator=torch.Generator().manual_seed(2))
    model = student.model("tiny")
    cache = student.KVCache(tiny_config(), 1, 80)
    student.forward_cached(model, ids[:, :64], cache)
    with student.counting() as work:
        got = student.forward_cached(model, ids[:, 64:], cache)
    close(got, whole()(ids)[:, 64:], atol=1e-3, cause=START)
    cause = "The old tokens are in the cache as keys and values; only the new ones go through the layers."
    equal(work.positions, 1, what="wrong number of positions for one new token", cause=cause)
    ours = reference.KVCache(tiny_config(), 1, 80)
    reference.forward_cached(whole(torch.float32), ids[:, :64], ours)
    with counting() as least:
        reference.forward_cached(whole(torch.float32), ids[:, 64:], ours)
    that(
        work.flops <= 1.5 * least.flops, "too much arithmetic for one token", expected=f"about {least.flops:,} FLOPs", got=f"{work.flops:,}"
    )


# ---- prefill and decode_step ---------------------------------------------------------------------------------------


@checks("prefill", weight=2)
def test_prefill_in_two_chunks(student):
    """the logits behind the last token, of a prompt and of its next chunk"""
    written(student.prefill)
    ids = tiny_ids(PROMPTS[2])
    cache = student.KVCache(tiny_config(), 1, 64, dtype=torch.float64)
    for stop, chunk in ((6, ids[:, :6]), (ids.shape[1], ids[:, 6:])):
        got = student.prefill(student.model("tiny", dtype=torch.float64), chunk, cache, _unchanged=True)
        cause = "forward_cached over all ids; of its logits the last position, [:, -1]. What the cache holds already stays in it."
        close(got, whole()(ids[:, :stop])[:, -1], atol=1e-3, cause=cause)
        equal(cache.length, stop, what="wrong length of the cache", cause="Every token of the prompt is stored, once.")


@checks("prefill")
def test_prefill_fills_the_cache(student):
    """what a prefill stored serves the next token"""
    ids = torch.randint(3, 1000, (2, 7), generator=torch.Generator().manual_seed(3))
    cache = student.KVCache(tiny_config(), 2, 9, dtype=torch.float64)
    model = student.model("tiny", dtype=torch.float64)
    close(student.prefill(model, ids[:, :6], cache), whole()(ids[:, :6])[:, -1], atol=1e-3)
    got = student.forward_cached(model, ids[:, 6:], cache)
    close(got, whole()(ids)[:, 6:], atol=1e-3, what="wrong logits behind the prefill", cause="The whole prompt goes into the cache.")


@checks("decode_step", weight=2)
def test_decode_step_by_step(student):
    """five steps behind a prompt, two rows"""
    written(student.decode_step)
    ids = torch.randint(3, 1000, (2, 9), generator=torch.Generator().manual_seed(4))
    model = student.model("tiny", dtype=torch.float64)
    cache = student.KVCache(tiny_config(), 2, 9, dtype=torch.float64)
    student.forward_cached(model, ids[:, :4], cache)
    want = whole()(ids)
    for i in range(4, 9):
        got = student.decode_step(model, ids[:, i : i + 1], cache, _unchanged=True)
        close(got, want[:, i], atol=1e-3, what=f"wrong logits behind token {i}", cause=f"One token in, (B, V) out. {START}")
        equal(cache.length, i + 1, what="wrong length of the cache", cause="The token is stored once.")


@checks("decode_step")
def test_decode_step_from_nothing(student):
    """a first token into an empty cache"""
    model = student.model("tiny", dtype=torch.float64)
    cache = student.KVCache(tiny_config(), 1, 2, dtype=torch.float64)
    ids = torch.tensor([[5, 80]])
    for i in range(2):
        close(
            student.decode_step(model, ids[:, i : i + 1], cache), whole()(ids)[:, i], atol=1e-3, cause="An empty cache is no special case."
        )


# ---- generate_cached -----------------------------------------------------------------------------------------------


@checks("generate_cached", weight=2)
def test_every_token_passes_once(student, reference, hand):
    """work: 100 tokens of prompt and 20 new ones are 119 positions; no gradient"""
    case = hand["positions"]
    t0, g, positions = (case[name][0] for name in ("t0", "g", "cached"))
    idx = torch.randint(3, 1000, (1, t0), generator=torch.Generator().manual_seed(5))
    with student.counting() as work:
        got = student.generate_cached(student.model("tiny"), idx, max_new_tokens=g, block_size=ROOMY, temperature=0.0)
    equal(tuple(got.shape), (1, t0 + g), what="wrong shape")
    cause = f"{SPLIT} That is T0 + G - 1, as long as the text fits into block_size."
    equal(work.positions, positions, what=f"wrong number of positions for T0 = {t0}, G = {g}", cause=cause)
    least = least_flops(reference, t0, g)
    that(work.flops <= 1.5 * least, "too much arithmetic", expected=f"about {least:,} FLOPs", got=f"{work.flops:,}", cause=SPLIT)
    cause = "Put the whole loop under `with torch.no_grad():`. Gradients keep every step's numbers in memory, for nothing."
    equal(work.grad_flops, 0, what="products that ran with gradients on", cause=cause)


@checks("generate_cached", weight=2)
def test_the_window_slides(student, hand):
    """past block_size: still the tokens of the loop without a cache"""
    case = hand["window"]
    model = student.model("tiny", dtype=torch.float64)
    for t0, block_size in ((case["t0"], case["block_size"]), (8, 8), (12, 8)):
        idx = tiny_ids(PROMPTS[3])[:, :t0]
        got = generated(student, model, idx, max_new_tokens=case["g"], block_size=block_size, temperature=0.0)
        want = unrolled(whole(), idx, case["g"], block_size)
        equal(got, want, what=f"other tokens for a prompt of {t0} and block_size {block_size}", cause=SLIDE)


@checks("generate_cached", weight=2)
def test_rows_of_a_batch(student, rng):
    """a batch: each row as it would be alone"""
    model, kit = small(student, rng, vocab_size=61, num_hidden_layers=3)
    idx = torch.randint(61, (4, 5), generator=rng)
    got = generated(student, model, idx, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
    equal(got, unrolled(kit, idx, 12, ROOMY), cause="The cache has a row for each row of idx, all heads and layers as config says.")


@checks("generate_cached")
def test_rows_end_for_themselves(student):
    """EOS: rows end at different steps, EOS in the prompt is no end, id 0 can be EOS"""
    idx = torch.tensor([[2, 0, 1], [1, 0, 3], [0, 1, 0]])
    got = generated(student, sure_after(student, [1, 2, 3, 0]), idx, max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=0)
    equal(got, torch.tensor([[2, 3, 0, 0], [0, 0, 0, 0], [1, 2, 3, 0]]), cause=ENDED)


@checks("generate_cached")
def test_stops_where_it_should(student):
    """max_new_tokens is the limit, 0 gives the prompt back"""
    model, idx = sure_after(student, [1, 2, 3, 0]), torch.tensor([[1, 2, 3]])
    for steps, want in ((7, [[0, 1, 2, 3, 0, 1, 2]]), (1, [[0]])):
        got = generated(student, model, idx, max_new_tokens=steps, block_size=ROOMY, temperature=0.0)
        equal(got, torch.tensor(want), cause="Without an eos_token_id every row gets all of max_new_tokens.")
    got = generated(student, model, idx, max_new_tokens=0, block_size=ROOMY, temperature=0.0)
    equal(tuple(got.shape), (1, 0), what="wrong number of new tokens", cause="No new token was asked for.")


@checks("generate_cached")
def test_settings_reach_the_sampler(student):
    """temperature, top_k and top_p reach the sampler, in both phases"""
    # False alarm: at most 1e-10 for each setting (see autograder/checks/test_generation.py).
    model, idx = believing(student, [FOUR] * 4), torch.zeros(1_000, 1, dtype=torch.int64)
    best = [1.0, 0.0, 0.0, 0.0]
    for options, want in (
        ({}, probabilities(FOUR)),
        ({"temperature": 2.0}, probabilities(FOUR, 2.0)),
        ({"temperature": 3.0, "top_k": 1}, best),
        ({"top_p": 0.05}, best),
    ):
        got = generated(student, model, idx, max_new_tokens=2, block_size=ROOMY, generator=student.generator(2), **options)
        equal(tuple(got.shape), (1_000, 2), what="wrong shape of the new tokens")
        for step, place in enumerate(("behind the prefill", "in a decode step")):
            frequencies(got[:, step], want, cause=f"Hand all settings to sample_next_token by name. Here: {options}, {place}.")


# ---- speed, and a GPU ----------------------------------------------------------------------------------------------

# The same tokens, each step a pass over everything: the loop of the day before, in the words of this one.
NAIVE = """
def generate_cached(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    with torch.no_grad():
        for _ in range(max_new_tokens):
            window = idx[:, -block_size:]
            cache = KVCache(model.config, len(idx), window.shape[1], model.weights.embed_tokens.dtype)
            token = sample_next_token(prefill(model, window, cache), temperature=temperature)
            idx = torch.cat((idx, token), dim=1)
    return idx
"""


def long_prompt(length: int) -> torch.Tensor:
    return torch.randint(3, 1000, (1, length), generator=torch.Generator().manual_seed(SEED))


@checks("generate_cached", weight=2, timing=True)
def test_faster_than_without_a_cache(race):
    """speed: 64 tokens behind a prompt of 512, against the loop without a cache"""

    def answer(s):
        return s.generate_cached(s.model("tiny"), long_prompt(512), max_new_tokens=64, block_size=2048, temperature=0.0)

    race.against(NAIVE, answer, cause=f"{SPLIT} What else is done in every step, and need not be?")


@checks("forward_cached", timing=True)
def test_a_step_hardly_grows(race):
    """speed: a step behind 1,024 tokens against one behind 128"""

    def filled_cache(s, size):
        cache = s.KVCache(tiny_config(), 1, size + 32)
        s.forward_cached(s.model("tiny"), long_prompt(size), cache)
        return cache

    def sixteen_steps(s, state):
        for token in range(16):
            logits = s.forward_cached(s.model("tiny"), torch.tensor([[50 + token]]), state)
        return logits

    cause = "Old tokens are read and nothing else: not turned again, not copied, not passed through a layer."
    race.growth(filled_cache, sixteen_steps, short=128, long=1024, limit=2.0, cause=cause)


@checks("KVCache", gpu=True)
def test_memory_on_a_gpu(student):
    """GPU: the memory lies on the device that was asked for"""
    cache = student.KVCache(small_config(), 1, 4, torch.bfloat16, "cuda")
    new = torch.ones(1, 2, 3, 6, dtype=torch.bfloat16, device="cuda")
    for got in cache.append(0, new, new):
        equal(got.cpu(), new.cpu(), cause="What was appended comes back.")
        equal(got.device.type, "cuda", what="wrong device", cause="Give `device=device` to torch where the memory is allocated.")


@checks("generate_cached", gpu=True)
def test_same_tokens_on_a_gpu(student):
    """GPU: the tokens of the loop without a cache on the CPU"""
    idx = tiny_ids(PROMPTS[2])
    model = student.model("tiny", dtype=torch.float64, device="cuda")
    for block_size in (ROOMY, 16):
        got = student.generate_cached(model, idx.to("cuda"), max_new_tokens=12, block_size=block_size, temperature=0.0)
        cause = "Positions, masks, the cache and who has ended live on the device of idx."
        equal(got[:, idx.shape[1] :].cpu(), unrolled(whole(), idx, 12, block_size), cause=cause)
