"""Visible checks of the KV cache."""

from __future__ import annotations

import contextlib
import dataclasses
import math

import torch

from autograder.authoring import CheckFailed, checks, close, equal, raises, that
from autograder.base.wording import counted
from autograder.checking.checks.test_generation import FOUR, frequencies, probabilities
from autograder.checking.checks.test_transformer import kit_model, small_config, small_weights
from autograder.checking.helpers.batches import head_only
from autograder.checking.helpers.cached import (
    PROMPTS,
    ROOMY,
    Twin,
    answers_of_two_texts,
    believing,
    ended,
    fills_at_once,
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
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.randomness import draws_from_the_global_state
from autograder.checking.helpers.stages import close_by_stages, forward_stages
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradient_mode_stays, gradients_stay_on, products_of_layers
from autograder.sandbox.measure.op_counter import counting
from autograder.sandbox.protocol.worker_errors import StudentRaised
from course.kit import Config


def cause_of_exception(exercise: str, name: str, message: str) -> str | None:
    """Return the cause that an exception proves here, beyond what it proves everywhere."""
    if name == "RuntimeError" and "must match the size of tensor" in message and message.rstrip().endswith("dimension 3"):
        return "Scores and mask do not fit each other: t queries after n cached tokens see n + t keys, so their mask is n + t wide."
    return None


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# ---- the ladder ----------------------------------------------------------------------------------------------------


@checks("generate_cached", weight=3)
def test_same_tokens_as_without_a_cache(student):
    """greedy, four prompts of unequal lengths and two nearly tied logits: the same tokens as without a cache"""
    for prompt in PROMPTS:
        idx = tiny_ids(prompt)
        got = generated(student, student.model("tiny", dtype=torch.float64), idx, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
        want = unrolled(whole(), idx, 12, ROOMY)
        equal(got, want, what=f"other tokens after a prompt of {idx.shape[1]}")
    nearly_tied = head_only(student, torch.float64, 1.0, {3: [1.0], 5: [1.0 + 1e-9]}).there
    got = generated(student, nearly_tied, torch.tensor([[1]]), max_new_tokens=2, block_size=ROOMY, temperature=0.0)
    equal(got, torch.tensor([[5, 5]]), what="logits in float64, of which token 5 leads by a billionth: wrong tokens")


# ---- KVCache -------------------------------------------------------------------------------------------------------


@checks("KVCache", weight=2)
def test_append_gives_all_so_far(student, rng):
    """three appends to one layer: append returns all keys and values stored so far, and length is an int"""
    twin = Twin(student, rng, small_config(num_hidden_layers=1), 2, 8)
    for t in (3, 1, 2):
        twin.append(0, t)
    equal(twin.cache.length, 6, what="wrong length after 3 + 1 + 2 tokens")
    kind = type(twin.cache.length).__name__
    that(kind == "int", "length is not an int: on a GPU, reading another kind of number may wait for it", expected="int", got=kind)


@checks("KVCache", weight=2)
def test_layers_count_for_themselves(student, rng, hand):
    """appends to two layers in turn: every layer has its own tokens, and length is the count of the last layer"""
    case = hand["two_layers"]
    twin = Twin(student, rng, small_config(num_hidden_layers=2), 1, case["max_len"])
    equal(twin.cache.length, 0, what="a new cache is not empty")
    for layer, t, length in zip(case["layers"], case["tokens"], case["lengths"], strict=True):
        twin.append(layer, t)
        equal(twin.cache.length, length, what=f"wrong length after an append to layer {layer}")


@checks("KVCache")
def test_bytes_by_hand(student, rng, hand):
    """SmolLM2 in 16 bits: nbytes is 23,040 for each token of room, also after an append"""
    smollm2 = Config("SmolLM2", 49152, 576, 1536, 30, 9, 3, 64, 1e5, 1e-5, 8192, True, 1, 2)
    for dtype, name in ((torch.bfloat16, "bytes_per_token"), (torch.float32, "bytes_per_token_float32")):
        for batch, max_len in ((1, 64), (3, 20)):
            cache = student.KVCache(smollm2, batch, max_len, dtype=dtype)
            want = batch * max_len * hand["smollm2"][name]
            equal(cache.nbytes, want, what=f"wrong nbytes for {counted(batch, 'row')} of {max_len} tokens in {dtype}")
    k = torch.zeros(3, 3, 5, 64)
    cache.append(0, k, k)
    equal(cache.nbytes, want, what="nbytes has changed with an append")


@checks("KVCache", weight=2)
def test_full_means_nothing_written(student, rng):
    """an append that does not fit raises CacheFull, writes nothing and changes no count"""
    twin = Twin(student, rng, small_config(), 1, 5)
    twin.append(0, 3)
    twin.append(1, 3)
    for kind in ("CacheFull", "ValueError"):
        raises(
            kind,
            lambda: twin.cache.append(0, twin.draw(3), twin.draw(3)),
            naming=5,
        )
    equal(twin.cache.length, 3, what="wrong length after a refused append")
    k, v = twin.draw(3), twin.draw(3)
    with student.counting() as work:
        raises("CacheFull", lambda: twin.cache.append(0, k, v), naming=5)
    got = f"{work.written_bytes:,} bytes written"
    that(work.written_bytes < k[:, :, :1].nbytes, "an append has written before it raised CacheFull", expected="nothing written", got=got)
    twin.append(0, 2)
    raises("CacheFull", lambda: twin.cache.append(0, twin.draw(1), twin.draw(1)), naming=5)  # layer 0 is full, layer 1 is not
    twin.append(1, 2)
    equal(twin.cache.length, 5, what="a cache of max_len 5 holds 5 tokens")
    raises("CacheFull", lambda: twin.cache.append(1, twin.draw(1), twin.draw(1)), naming=5)


@checks("KVCache")
def test_reset_empties(student, rng):
    """after reset, every layer is empty and has all its room, and no new memory is allocated"""
    twin = Twin(student, rng, small_config(num_hidden_layers=3), 2, 4)
    before = twin.cache.nbytes
    for _ in range(2):
        for layer in range(3):
            twin.append(layer, 3)
        twin.cache.reset()
        twin.reset()
        equal(twin.cache.length, 0, what="wrong length after reset")
    twin.append(2, 4)
    equal(twin.cache.nbytes, before, what="nbytes has changed with reset")
    cache = student.KVCache(small_config(num_key_value_heads=2, head_dim=6), 2, 300)
    old, new = torch.ones(2, 2, 200, 6), torch.full((2, 2, 1, 6), 2.0)
    for layer in range(2):
        cache.append(layer, old, old)
    with student.counting() as work:
        cache.reset()
        k_all, v_all = cache.append(0, new, new)
    equal(k_all, new, what="wrong keys after reset")
    equal(v_all, new, what="wrong values after reset")
    that(
        work.largest_bytes < old.nbytes,
        "reset, or the append after it, has allocated memory again",
        expected=f"less than {old.nbytes:,} bytes at once",
        got=f"{work.largest_bytes:,} bytes",
    )


@checks("KVCache")
def test_dtype_and_device(student, rng):
    """the cache has the given dtype and device, and stores numbers near the largest of each dtype"""
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        twins = [Twin(student, rng, small_config(), 1, 4, dtype=dtype, device=device) for device in ("cpu", torch.device("cpu"))]
        for t in (2, 1):
            for twin in twins:
                twin.append(0, t)
        large = torch.full((1, 2, 1, 6), 0.75 * torch.finfo(dtype).max, dtype=dtype)
        for name, got in zip(("keys", "values"), twins[0].cache.append(0, large, large), strict=True):
            equal(got[:, :, 3:], large, what=f"numbers near the largest of {dtype}: wrong {name}")
    cause = "Give `device=device` to torch where the memory is allocated."
    try:
        student.KVCache(small_config(), 1, 4, torch.float32, "nowhere")
    except (CheckFailed, NotImplementedError):
        raise
    except Exception:
        return
    that(False, "a cache on the device 'nowhere' was made", expected="torch's own error", cause=cause)


@checks("KVCache")
def test_memory_lies_where_it_was_asked_for(student):
    """a cache on the meta device: append returns keys and values on the meta device"""
    config = small_config(num_hidden_layers=2)
    for device in ("meta", torch.device("meta")):
        cache = student.KVCache(config, 2, 6, torch.float64, device)
        new = torch.ones(2, config.num_key_value_heads, 3, config.head_dim, dtype=torch.float64)
        for layer in range(2):
            rehearsal = cache.append.on_meta(layer, new, new)
            on_one_device(rehearsal)
        equal(cache.length, 3, what="wrong length after an append")


@checks("KVCache", weight=2)
def test_append_writes_the_new_tokens_only(student):
    """work: an append writes only its new tokens: after 4, after 1,000, 40 times in turn, and 40,000 tokens in one append"""
    bytes_written = {}
    for layers, max_len, n in ((1, 8, 4), (6, 1024, 1000)):
        config = small_config(num_hidden_layers=layers, num_key_value_heads=4, head_dim=16)
        cache = student.KVCache(config, 2, max_len)
        old, new = torch.ones(2, 4, n, 16), torch.full((2, 4, 1, 16), 2.0)
        cache.append(0, old, old)
        with student.counting() as work:
            k_all, v_all = cache.append(0, new, new)
        want = torch.cat((old, new), dim=2)
        equal(k_all, want, what="wrong keys")
        equal(v_all, want, what="wrong values")
        bytes_written[n] = work.written_bytes
    cause = "Old keys and values were written again, as torch.cat does. Allocate max_len slots once, write into the next, return a view."
    that(
        bytes_written[1000] <= 2 * bytes_written[4] + 4096,
        "an append copies what is old",
        expected=f"about {bytes_written[4]:,} bytes written, as after 4 tokens",
        got=f"{bytes_written[1000]:,}",
        cause=cause,
    )
    for written_bytes in bytes_written.values():
        between(written_bytes, 2 * new.nbytes, math.inf, "bytes written")
    cache, one_by_one = student.KVCache(config, 2, 100), []
    for _ in range(40):
        with student.counting() as work:
            k_all, v_all = cache.append(0, new, new)
        one_by_one.append(work.written_bytes)
    equal(k_all, new.expand(2, 4, 40, 16), what="wrong keys after 40 appends of one token")
    equal(v_all, new.expand(2, 4, 40, 16), what="wrong values after 40 appends of one token")
    least, most = min(one_by_one), max(one_by_one[1:])  # memory may be allocated with the first append
    place = one_by_one.index(most) + 1
    that(most <= 2 * least + 4096, f"append {place} of 40 writes more than another", expected=f"{least:,} bytes", got=f"{most:,}")
    # The whole room at once tempts to keep the caller's tensors, and its count needs more than 16 bits.
    cache = student.KVCache(small_config(num_hidden_layers=1, num_key_value_heads=1, head_dim=2), 1, 40_000)
    fills_at_once(student, cache, torch.ones(1, 1, 40_000, 2))


# ---- forward_cached ------------------------------------------------------------------------------------------------


@checks("forward_cached", weight=2)
def test_whole_prompt(student):
    """a prompt in one call gives the logits of the model without a cache; one more token raises CacheFull"""
    written(student.forward_cached)
    ids = tiny_ids(PROMPTS[2])
    for dtype in (torch.float32, torch.float64):
        model = student.model("tiny", dtype=dtype)
        cache = student.KVCache(tiny_config(), 1, ids.shape[1], dtype=dtype)
        got = in_chunks(student, model, ids, [ids.shape[1]], cache)
        close(got, whole()(ids), atol=1e-3, dtype=dtype)
    raises("CacheFull", lambda: student.forward_cached(model, ids[:, :1], cache))
    equal(cache.length, ids.shape[1], what="wrong length of the cache after CacheFull")


def chunks_by_stages(student, ids, sizes):
    """The logits of ids fed in chunks of these sizes; where they are wrong, the first stage that the last chunk does not reach is named."""
    model = student.model("tiny", dtype=torch.float64)

    def logits():
        return in_chunks(student, model, ids, sizes, student.KVCache(tiny_config(), *ids.shape, dtype=torch.float64))

    def stages():
        return forward_stages(whole(), ids, last=sizes[-1])

    close_by_stages(student, logits, whole()(ids), stages, atol=1e-3, what=f"wrong logits in chunks of {sizes}")


@checks("forward_cached", weight=2)
def test_token_by_token(student):
    """one token per call gives the logits of the model without a cache"""
    chunks_by_stages(student, tiny_ids(PROMPTS[2])[:, :8], [1] * 8)  # of more calls not every number is recorded


@checks("forward_cached", weight=2)
def test_any_chunks(student):
    """three rows in chunks of different sizes give the logits of the model without a cache"""
    ids = torch.randint(3, 1000, (3, 11), generator=torch.Generator().manual_seed(1))
    for sizes in ([3, 1, 5, 2], [1, 10], [10, 1]):
        chunks_by_stages(student, ids, sizes)


@checks("forward_cached")
def test_models_of_other_settings(student):
    """models with an untied head, another rope_theta and another rms_norm_eps: the logits are right"""
    for changes in ({"tie_word_embeddings": False}, {"tie_word_embeddings": False, "rope_theta": 1_000.0, "rms_norm_eps": 0.5}):
        model, kit = small(student, seeded(10), vocab_size=29, **changes)
        ids = torch.randint(29, (2, 9), generator=seeded(11))
        got = in_chunks(student, model, ids, [4, 1, 4], student.KVCache(kit.config, 2, 9, dtype=torch.float64))
        settings = f"rope_theta {kit.config.rope_theta:g}, rms_norm_eps {kit.config.rms_norm_eps:g}, a head of its own"
        close(got, kit(ids), atol=1e-3, what=f"wrong logits of a model with {settings}")


@checks("forward_cached")
def test_far_into_a_text(student):
    """positions above 256 in bfloat16 and above 2,048 in float64: the logits are right; a long chunk that does not fit is refused"""
    ids = torch.randint(3, 1000, (1, 320), generator=seeded(12))
    cache = student.KVCache(tiny_config(), 1, 320, dtype=torch.bfloat16)
    got = in_chunks(student, student.model("tiny", dtype=torch.bfloat16), ids, [280, 39, 1], cache)
    equal(str(got.dtype), "torch.bfloat16", what="wrong dtype")
    exact = whole(torch.float32)(ids)
    yours, usual = ((each.float() - exact)[:, -40:].square().mean().sqrt().item() for each in (got, whole(torch.bfloat16)(ids)))
    that(
        yours <= 2 * usual,
        "in bfloat16 the logits of tokens 280 to 319 are further from the exact ones than rounding explains",
        expected=f"an error of about {usual:.4f}",
        got=f"{yours:.4f}",
        values=False,
    )
    config = small_config(num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1, head_dim=4, max_position_embeddings=5_000)
    weights = small_weights(seeded(13), config).to(device="cpu", dtype=torch.float64)
    ids = torch.randint(config.vocab_size, (1, 2_103), generator=seeded(14))
    cache = student.KVCache(config, 1, 2_103, dtype=torch.float64)
    model = student.WeightsOnly(config, weights, None)
    in_chunks(student, model, ids[:, :1_050], [1_050], cache)
    raises("CacheFull", lambda: student.forward_cached(model, ids[:, :1_060], cache))
    equal(cache.length, 1_050, what="1,060 tokens after 1,050 do not fit into 2,103: wrong length of the cache after CacheFull")
    got = in_chunks(student, model, ids[:, 1_050:], [1_050, 3], cache)
    close(got[:, -3:], kit_model(config, weights)(ids)[:, -3:], atol=1e-6, what="wrong logits of the last three of 2,103 tokens")


@checks("forward_cached")
def test_forward_leaves_the_caller_alone(student):
    """a later call does not change earlier logits; gradient mode stays as it was, also after CacheFull"""
    answers_of_two_texts(student, seeded(20), student.forward_cached, stored=3, t=2, every_logit=True)
    model, ids = student.model("tiny", dtype=torch.float64), tiny_ids(PROMPTS[0])
    want = whole()(ids)

    def forward():
        cache = student.KVCache(tiny_config(), 1, ids.shape[1], dtype=torch.float64)
        close(student.forward_cached(model, ids, cache), want, atol=1e-3)

    def refused():
        full = student.KVCache(tiny_config(), 1, ids.shape[1] - 1, dtype=torch.float64)
        raises("CacheFull", lambda: student.forward_cached(model, ids, full))

    for call in (forward, refused):
        gradient_mode_stays(student, call)


@checks("forward_cached")
def test_two_texts_do_not_mix(student):
    """two caches used in turn, and a cache after reset: no token of another text has an effect"""
    model = student.model("tiny", dtype=torch.float64)
    one, two = tiny_ids(PROMPTS[0])[:, :4], tiny_ids(PROMPTS[2])[:, :6]
    caches = [student.KVCache(tiny_config(), 1, 8, dtype=torch.float64) for _ in range(2)]
    for cache, ids in ((caches[0], one), (caches[1], two)):
        close(in_chunks(student, model, ids[:, :2], [2], cache), whole()(ids[:, :2]), atol=1e-3)
    for cache, ids in ((caches[0], one), (caches[1], two)):
        rest = in_chunks(student, model, ids[:, 2:], [ids.shape[1] - 2], cache)
        close(rest, whole()(ids)[:, 2:], atol=1e-3)
    caches[0].reset()
    close(in_chunks(student, model, two, [5, 1], caches[0]), whole()(two), atol=1e-3, what="wrong logits after reset")


@checks("forward_cached")
def test_only_new_tokens_are_computed(student, reference):
    """work: one token after 64 tokens costs one position"""
    ids = torch.randint(3, 1000, (1, 65), generator=torch.Generator().manual_seed(2))
    model = student.model("tiny")
    cache = student.KVCache(tiny_config(), 1, 80)
    student.forward_cached(model, ids[:, :64], cache)
    with student.counting() as work:
        got = student.forward_cached(model, ids[:, 64:], cache)
    close(got, whole()(ids)[:, 64:], atol=1e-3)
    equal(work.positions, 1, what="wrong number of positions for one new token")
    ours = reference.KVCache(tiny_config(), 1, 80)
    reference.forward_cached(whole(torch.float32), ids[:, :64], ours)
    with counting() as least:
        reference.forward_cached(whole(torch.float32), ids[:, 64:], ours)
    between(work.flops, fewest_flops(tiny_config(), [1]), 1.5 * least.flops, "FLOPs for one token")


@checks("forward_cached")
def test_forward_on_another_device(student):
    """ids on the meta device: every new tensor is on the meta device"""
    cache = student.KVCache(tiny_config(), 2, 8, device="meta")
    for t in (3, 1):
        on_one_device(student.forward_cached.on_meta(student.model("tiny", device="meta"), torch.ones(2, t, dtype=torch.int64), cache))


# ---- prefill and decode_step ---------------------------------------------------------------------------------------


@checks("prefill", weight=2)
def test_prefill_in_two_chunks(student):
    """a prompt and its next chunk: each call returns the logits after its last token, in the model's dtype"""
    written(student.prefill)
    ids = tiny_ids(PROMPTS[2])
    cache = student.KVCache(tiny_config(), 1, 64, dtype=torch.float64)
    for stop, chunk in ((6, ids[:, :6]), (ids.shape[1], ids[:, 6:])):
        got = student.prefill(student.model("tiny", dtype=torch.float64), chunk, cache, _unchanged=True)
        close(got, whole()(ids[:, :stop])[:, -1], atol=1e-3, dtype=torch.float64)
        equal(cache.length, stop, what="wrong length of the cache")


@checks("prefill")
def test_prefill_fills_the_cache(student):
    """seven rows: after a prefill, the next token gets the right logits; a chunk that does not fit raises CacheFull"""
    ids = torch.randint(3, 1000, (7, 7), generator=torch.Generator().manual_seed(3))
    cache = student.KVCache(tiny_config(), 7, 9, dtype=torch.float64)
    model = student.model("tiny", dtype=torch.float64)
    close(student.prefill(model, ids[:, :6], cache), whole()(ids[:, :6])[:, -1], atol=1e-3)
    got = student.forward_cached(model, ids[:, 6:], cache)
    close(got, whole()(ids)[:, 6:], atol=1e-3, what="wrong logits after the prefill")
    raises("CacheFull", lambda: student.prefill(model, ids[:, :3], cache))


@checks("prefill")
def test_prefill_passes_once(student):
    """work: a prompt of 30 tokens costs 30 positions"""
    ids = torch.randint(3, 1000, (1, 30), generator=seeded(15))
    cache = student.KVCache(tiny_config(), 1, 32)
    with student.counting() as work:
        got = student.prefill(student.model("tiny"), ids, cache)
    close(got, whole()(ids)[:, -1], atol=1e-3, dtype=torch.float32)
    equal(work.positions, 30, what="wrong number of positions for a prompt of 30 tokens")
    between(work.flops, fewest_flops(tiny_config(), [30]), math.inf, "FLOPs")


@checks("prefill")
def test_prefill_on_another_device(student):
    """ids on the meta device, a prompt and its next chunk: every new tensor is on the meta device"""
    cache = student.KVCache(tiny_config(), 2, 8, device="meta")
    for t in (3, 2):
        on_one_device(student.prefill.on_meta(student.model("tiny", device="meta"), torch.ones(2, t, dtype=torch.int64), cache))


@checks("prefill")
def test_prefill_of_two_prompts_and_two_models(student):
    """two prompts in turn, and a long prompt through a tied and an untied model: each result is right and stays the same"""
    answers_of_two_texts(student, seeded(20), student.prefill, stored=0, t=5)
    ids = torch.randint(17, (2, 389), generator=seeded(16))
    for number, tied in ((1, True), (2, False)):
        model, kit = small(student, seeded(16 + number), vocab_size=17, tie_word_embeddings=tied)
        got = student.prefill(model, ids, student.KVCache(kit.config, 2, 389, dtype=torch.float64))
        head = "the embedding as its head" if tied else "a head of its own"
        close(got, kit(ids)[:, -1], atol=1e-3, what=f"the same 389 tokens through two models: wrong logits of model {number}, with {head}")


@checks("decode_step", weight=2)
def test_decode_step_by_step(student):
    """two rows, five steps after a prompt, then three steps after another prompt in the reset cache: the logits are right"""
    written(student.decode_step)
    ids = torch.randint(3, 1000, (2, 9), generator=torch.Generator().manual_seed(4))
    model = student.model("tiny", dtype=torch.float64)
    cache = student.KVCache(tiny_config(), 2, 9, dtype=torch.float64)
    for start, text, when in ((4, ids, ""), (6, ids.flip(0), " in a cache that was reset")):
        student.forward_cached(model, text[:, :start], cache)
        want = whole()(text)
        for i in range(start, 9):
            got = student.decode_step(model, text[:, i : i + 1], cache, _unchanged=True)
            close(got, want[:, i], atol=1e-3, dtype=torch.float64, what=f"wrong logits after token {i}{when}")
            equal(cache.length, i + 1, what=f"wrong length of the cache{when}")
        cache.reset()


@checks("decode_step")
def test_decode_step_from_nothing(student):
    """an empty cache and an untied model: the first token gets the right logits; a full cache raises CacheFull"""
    model, kit = small(student, seeded(19), vocab_size=90, tie_word_embeddings=False)
    cache = student.KVCache(kit.config, 1, 2, dtype=torch.float64)
    ids = torch.tensor([[5, 80]])
    for i in range(2):
        close(student.decode_step(model, ids[:, i : i + 1], cache), kit(ids)[:, i], atol=1e-3)
    raises("CacheFull", lambda: student.decode_step(model, ids[:, :1], cache))


@checks("decode_step")
def test_decode_costs_one_position(student):
    """work: a step after 150 tokens costs one position per row and uses all 150 tokens"""
    ids = torch.randint(3, 1000, (2, 151), generator=seeded(22))
    model, cache = student.model("tiny"), student.KVCache(tiny_config(), 2, 160)
    student.forward_cached(model, ids[:, :150], cache)
    with student.counting() as work:
        got = student.decode_step(model, ids[:, 150:], cache)
    close(got, whole()(ids)[:, -1], atol=1e-3, dtype=torch.float32, what="wrong logits for the step after 150 tokens")
    equal(work.positions, 2, what="wrong number of positions for one step of two rows")
    between(work.flops, fewest_flops(tiny_config(), [1], 2), math.inf, "FLOPs")


@checks("decode_step")
def test_decode_tells_two_texts_apart(student):
    """two texts with the same newest token: each text gets its own logits, and the first logits stay the same"""
    answers_of_two_texts(student, seeded(20), student.decode_step, stored=4, t=1)


# ---- generate_cached -----------------------------------------------------------------------------------------------


@checks("generate_cached", weight=2)
def test_every_token_passes_once(student, reference, hand):
    """work: 100 prompt tokens and 20 new tokens cost 119 positions, without gradients; a text that just fits is not recomputed"""
    case = hand["positions"]
    t0, g, positions = (case[name][0] for name in ("t0", "g", "cached"))
    idx = torch.randint(3, 1000, (1, t0), generator=torch.Generator().manual_seed(5))
    with student.counting() as work:
        got = student.generate_cached(student.model("tiny"), idx, max_new_tokens=g, block_size=ROOMY, temperature=0.0)
    equal(tuple(got.shape), (1, t0 + g), what="wrong shape")
    equal(work.positions, positions, what=f"wrong number of positions for T0 = {t0}, G = {g}")
    fewest = fewest_flops(tiny_config(), [t0] + [1] * (g - 1))
    between(work.flops, fewest, 1.5 * least_flops(reference, t0, g), "FLOPs")
    equal(work.grad_flops, 0, what="products that ran with gradients on")
    model, kit = small(student, seeded(28), num_hidden_layers=1, intermediate_size=200)
    ids = torch.ones(1, 12, dtype=torch.int64)
    with student.counting() as work:  # 12 + 34 - 1 positions: the last new token never passes through the model, so nothing slides
        got = student.generate_cached(model, ids, max_new_tokens=34, block_size=45, temperature=0.0)
    equal(got[:, 12:], unrolled(kit, ids, 34, 45))
    fewest, most = fewest_flops(kit.config, [12] + [1] * 33), 1.5 * products_of_layers(kit.config, 45, 45)
    between(work.flops, fewest, most, "FLOPs for the 45 positions of T0 = 12, G = 34 and block_size 45")


@checks("generate_cached")
def test_work_ends_with_the_rows(student):
    """work: no step after the last row has ended, and no recomputed text when only one of two rows has ended"""
    idx = torch.randint(3, 1000, (2, 4), generator=seeded(24))
    options = {"max_new_tokens": 5, "block_size": ROOMY, "temperature": 0.0}
    free = unrolled(whole(), idx, 5, ROOMY)  # the first row's third new token is EOS below; the second row never has it
    eos = int(free[0, 2])
    for rows in (1, 2):
        want = ended(free[:rows], eos)
        with student.counting() as work:
            got = generated(student, student.model("tiny", dtype=torch.float64), idx[:rows], eos_token_id=eos, **options)
        equal(got, want, what=f"{rows} rows, EOS {eos}: wrong tokens")
        own = [row.index(eos) + 1 if eos in row else len(row) for row in want.tolist()]  # new tokens of each row
        least, most = sum(4 + n - 1 for n in own), rows * (4 + max(own) - 1)
        between(work.positions, least, most, f"positions for new tokens {own}")


@checks("generate_cached")
def test_draws_from_the_generator_that_is_given(student):
    """all draws come from the given generator, which moves on, or else from torch's global state"""
    # Two unrelated runs of 48 tokens over 8 equal ones agree with probability 2 ** -144.
    model, idx = believing(student, [[0.0] * 8] * 8), torch.zeros(2, 1, dtype=torch.int64)
    options, generator = {"max_new_tokens": 24, "block_size": ROOMY}, student.generator(24)
    first, second = (generated(student, model, idx, generator=generator, **options) for _ in range(2))
    equal(tuple(first.shape), (2, 24), what="wrong shape of the new tokens")
    that(not torch.equal(first, second), "two runs in turn with one generator drew the same tokens: the generator has not moved on")
    that(len(set(map(tuple, first.T.tolist()))) > 1, "every step drew the same tokens")
    again = generated(student, model, idx, generator=student.generator(24), **options)
    equal(again, first, what="a generator in the same state gave other tokens")
    generator = student.generator(24)
    parts = [generated(student, model, idx, generator=generator, max_new_tokens=12, block_size=ROOMY) for _ in range(2)]
    equal(torch.cat(parts, dim=1), first, what="12 tokens and 12 more from one generator are not the tokens of one run of 24")
    draws_from_the_global_state(lambda **watched: student.generate_cached(model, idx, **options, **watched))


@checks("generate_cached")
def test_runs_know_nothing_of_each_other(student):
    """a run is not affected by an earlier run, even one that ended early or failed, and earlier results stay the same"""
    model, kit = small(student, seeded(25), vocab_size=23)
    one = torch.randint(23, (2, 7), generator=seeded(26))
    other = torch.stack((one[0], one[1].flip(0)))
    options = {"max_new_tokens": 5, "block_size": ROOMY, "temperature": 0.0}
    for number, idx in enumerate((one, other), start=1):
        got = generated(student, model, idx, **options)
        equal(got, unrolled(kit, idx, 5, ROOMY), what=f"two prompts with the same first row: wrong tokens of run {number}")
    both = student.generate_cached.again([model, one], [model, other], **options)
    for number, (idx, got) in enumerate(zip((one, other), both, strict=True), start=1):
        want = torch.cat((idx, unrolled(kit, idx, 5, ROOMY)), dim=1)
        equal(got, want, what=f"two runs, both answers compared after the second: wrong ids of run {number}")
    model, kit = small(student, seeded(31), vocab_size=23)
    eos = int(unrolled(kit, one[1:], 2, ROOMY)[0, 1])
    for how, more in (("ended with EOS", {"eos_token_id": eos}), ("the sampler refused", {"temperature": -1.0})):
        with contextlib.suppress(StudentRaised):
            student.generate_cached(model, one[1:], **{**options, **more})
        got = generated(student, model, other[1:], **options)
        equal(got, unrolled(kit, other[1:], 5, ROOMY), what=f"wrong tokens of a run that follows one that {how}")


@checks("generate_cached", weight=2)
def test_the_window_slides(student, hand):
    """texts longer than block_size, which is 8 or in the hundreds: the same tokens as without a cache"""
    case = hand["window"]
    model = student.model("tiny", dtype=torch.float64)
    for t0, block_size in ((case["t0"], case["block_size"]), (8, 8), (12, 8)):
        idx = tiny_ids(PROMPTS[3])[:, :t0]
        got = generated(student, model, idx, max_new_tokens=case["g"], block_size=block_size, temperature=0.0)
        want = unrolled(whole(), idx, case["g"], block_size)
        equal(got, want, what=f"other tokens for a prompt of {t0} and block_size {block_size}")
    model, kit = small(student, seeded(29), num_hidden_layers=1, vocab_size=43)
    idx = torch.randint(43, (1, 411), generator=seeded(30))
    got = generated(student, model, idx, max_new_tokens=6, block_size=414, temperature=0.0)
    equal(got, unrolled(kit, idx, 6, 414), what="other tokens for a prompt of 411 and block_size 414")


@checks("generate_cached", weight=2)
def test_rows_of_a_batch(student, rng):
    """every row of a batch gets the tokens that it gets alone"""
    model, kit = small(student, rng, vocab_size=61, num_hidden_layers=3)
    idx = torch.randint(61, (5, 4), generator=rng).T  # in memory it lies column by column
    got = generated(student, model, idx, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
    equal(got, unrolled(kit, idx, 12, ROOMY))


@checks("generate_cached")
def test_rows_end_for_themselves(student):
    """rows end at different steps; an EOS in the prompt does not end a row; token 0 can be EOS"""
    idx = torch.tensor([[2, 0, 1], [1, 0, 3], [0, 1, 0]])
    got = generated(student, sure_after(student, [1, 2, 3, 0]), idx, max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=0)
    equal(got, torch.tensor([[2, 3, 0, 0], [0, 0, 0, 0], [1, 2, 3, 0]]))
    wide = head_only(student, torch.float32, 1.0, {33_000: [1.0]}, V=34_000).there
    got = generated(student, wide, torch.tensor([[7, 33_500]]), max_new_tokens=3, block_size=ROOMY, temperature=0.0)
    equal(got, torch.full((1, 3), 33_000), what="wrong tokens of a vocabulary of 34,000")


@checks("generate_cached")
def test_stops_where_it_should(student):
    """max_new_tokens tokens follow, and 0 returns the prompt; the EOS in the model's config does not end a row"""
    model, idx = sure_after(student, [1, 2, 3, 0]), torch.tensor([[1, 2, 3]])
    for steps, want in ((7, [[0, 1, 2, 3, 0, 1, 2]]), (1, [[0]])):
        got = generated(student, model, idx, max_new_tokens=steps, block_size=ROOMY, temperature=0.0)
        equal(got, torch.tensor(want))
    got = generated(student, model, idx, max_new_tokens=0, block_size=ROOMY, temperature=0.0)
    equal(tuple(got.shape), (1, 0), what="wrong number of new tokens")
    _, kit = small(student, seeded(27), vocab_size=23)
    want = unrolled(kit, idx, 6, ROOMY)
    model = student.WeightsOnly(dataclasses.replace(kit.config, eos_token_id=int(want[0, 0])), kit.weights, None)
    got = generated(student, model, idx, max_new_tokens=6, block_size=ROOMY, temperature=0.0)
    equal(got, want, what="no eos_token_id is given, the EOS of the model's config is the first new token: wrong tokens")


@checks("generate_cached")
def test_settings_reach_the_sampler(student):
    """temperature, top_k and top_p, alone and combined, reach the sampler after the prefill and after a decode step"""
    # False alarm: at most 1e-10 for each setting (see autograder/checking/checks/test_generation.py).
    model, idx = believing(student, [FOUR] * 4), torch.zeros(1_000, 1, dtype=torch.int64)
    best = [1.0, 0.0, 0.0, 0.0]
    for options, want in (
        ({}, probabilities(FOUR)),
        ({"temperature": 2.0}, probabilities(FOUR, 2.0)),
        ({"temperature": 3.0, "top_k": 1}, best),
        ({"top_p": 0.05}, best),
        ({"top_k": 5_000}, probabilities(FOUR)),  # more than there are keeps all
        ({"top_k": 2, "top_p": 0.7}, best),  # of all four the best has 0.64, of the two that top_k leaves 0.73
    ):
        got = generated(student, model, idx, max_new_tokens=2, block_size=ROOMY, generator=student.generator(2), **options)
        equal(tuple(got.shape), (1_000, 2), what="wrong shape of the new tokens")
        for step, place in enumerate(("after the prefill", "in a decode step")):
            frequencies(got[:, step], want, under=f", {place}, with {options}")
    level = believing(student, [[0.0] * 4] * 4)
    got = generated(student, level, idx[:400], max_new_tokens=1, block_size=ROOMY, top_p=0.5, generator=student.generator(2))
    equal(len(got.unique()), 2, what="four equal tokens, top_p = 0.5: wrong number of different tokens in 400 draws")


@checks("generate_cached")
def test_generate_on_another_device(student):
    """idx on the meta device: the cache and every other new tensor are on the meta device"""
    model, idx = student.model("tiny", device="meta"), torch.ones(2, 3, dtype=torch.int64)
    for block_size in (16, 3):
        for eos in (None, 5):
            options = {"max_new_tokens": 3, "block_size": block_size, "temperature": 0.0, "eos_token_id": eos}
            on_one_device(student.generate_cached.on_meta(model, idx, **options))


@checks("generate_cached", weight=2)
def test_defaults_of_the_loop(student):
    """the defaults are temperature 1.0, no top_k, no top_p and no EOS"""
    # Of 24,000 draws 1 in 1,000 falls to the tokens that even top_p = 0.999 would cut: none with probability 4e-11.
    model, idx = believing(student, [[-0.1 * v for v in range(64)]] * 64), torch.zeros(1_000, 1, dtype=torch.int64)
    given = {"temperature": 1.0, "top_k": None, "top_p": None, "eos_token_id": None}
    drawn = [
        generated(student, model, idx, max_new_tokens=24, block_size=ROOMY, generator=student.generator(3), **options)
        for options in ({}, given)
    ]
    equal(drawn[0], drawn[1], what="the defaults give other tokens than temperature=1.0 alone")


@checks("generate_cached")
def test_gradient_mode_is_given_back(student):
    """the caller's gradient mode is restored after a run, and after a run in which the sampler raised an error"""
    ids = torch.ones(1, 3, dtype=torch.int64)
    options = {"max_new_tokens": 2, "block_size": ROOMY}

    def refused():
        with contextlib.suppress(StudentRaised):
            student.generate_cached(student.model("tiny"), ids, temperature=-1.0, **options)

    def product():
        student.attention(*torch.ones(3, 1, 1, 2, 4))

    gradients_stay_on(student, lambda: student.generate_cached(student.model("tiny"), ids, temperature=0.0, **options), product)
    gradients_stay_on(student, refused, product)


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


def random_prompt(rng: torch.Generator, length: int) -> torch.Tensor:
    return torch.randint(3, 1000, (1, length), generator=rng)


def best_of_all(prompt: torch.Tensor, got: torch.Tensor, wanted: torch.Tensor) -> None:
    """The tokens of the reference; where rounding may have picked another of two that are nearly tied, the best ones as the kit sees it."""
    equal(tuple(got.shape), tuple(wanted.shape), what="wrong shape")
    equal(got[:, : prompt.shape[1]], prompt, what="the result does not begin with the prompt")
    if not torch.equal(got, wanted):
        logits = whole()(got[:, :-1])[:, prompt.shape[1] - 1 :]
        chosen = logits.gather(2, got[:, prompt.shape[1] :, None])[..., 0]
        behind = float((logits.amax(dim=-1) - chosen).max())
        that(behind <= 1e-3, "a token is not the most probable one", expected="the largest logit", got=f"one that is {behind:.3f} below")


@checks("generate_cached", weight=2, timing=True)
def test_faster_than_without_a_cache(race):
    """speed: 64 tokens after a prompt of 512, compared with the loop without a cache"""

    def prompt(rng):
        return random_prompt(rng, 512)

    def answer(s, inputs):
        return s.generate_cached(s.model("tiny"), inputs, max_new_tokens=64, block_size=2048, temperature=0.0)

    race.against(NAIVE, prompt, answer, agree=best_of_all, cause="What is done in every step, and need not be?")


@checks("forward_cached", timing=True)
def test_a_step_hardly_grows(race):
    """speed: a step after 1,024 tokens, compared with a step after 128 tokens"""

    def text(rng, size):
        return random_prompt(rng, size + 16)

    def filled_cache(s, inputs):
        cache = s.KVCache(tiny_config(), 1, inputs.shape[1])
        s.forward_cached(s.model("tiny"), inputs[:, :-16], cache)
        return cache

    def sixteen_steps(s, inputs, state):
        return torch.cat([s.forward_cached(s.model("tiny"), ids, state) for ids in inputs[:, -16:].split(1, dim=1)], dim=1)

    cause = "A step reads the old keys and values and does nothing else with old tokens: no turning, no copy, no pass through a layer."
    race.growth(text, filled_cache, sixteen_steps, short=128, long=1024, limit=2.0, slow=4.0, cause=cause)


@checks("KVCache", gpu=True)
def test_memory_on_a_gpu(student):
    """GPU: the cache's memory is on the given device"""
    cache = student.KVCache(small_config(), 1, 4, torch.bfloat16, "cuda")
    new = torch.ones(1, 2, 3, 6, dtype=torch.bfloat16, device="cuda")
    for got in cache.append(0, new, new):
        equal(got.cpu(), new.cpu())
        equal(got.device.type, "cuda", what="wrong device")


@checks("generate_cached", gpu=True)
def test_same_tokens_on_a_gpu(student):
    """GPU: the same tokens as the loop without a cache gives on the CPU"""
    idx = tiny_ids(PROMPTS[2])
    model = student.model("tiny", dtype=torch.float64, device="cuda")
    for block_size in (ROOMY, 16):
        got = student.generate_cached(model, idx.to("cuda"), max_new_tokens=12, block_size=block_size, temperature=0.0)
        equal(got[:, idx.shape[1] :].cpu(), unrolled(whole(), idx, 12, block_size))
