"""Visible checks of the KV cache."""

from __future__ import annotations

import contextlib
import math

import torch

from autograder.authoring import CheckFailed, checks, close, equal, raises, that
from autograder.checking.checks.test_generation import FOUR, frequencies, probabilities
from autograder.checking.checks.test_transformer import small_config
from autograder.checking.helpers.cached import (
    PROMPTS,
    ROOMY,
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
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.stages import close_by_stages, forward_stages
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradients_stay_on
from autograder.sandbox.measure.op_counter import counting
from autograder.sandbox.protocol.worker_errors import StudentRaised
from course.kit import Config


def cause_of_exception(exercise: str, name: str, message: str) -> str | None:
    """Return the cause that an exception proves here, beyond what it proves everywhere."""
    if name == "RuntimeError" and "must match the size of tensor" in message and message.rstrip().endswith("dimension 3"):
        return "Scores and mask do not fit each other: t queries after n cached tokens see n + t keys, so their mask is n + t wide."
    return None


# ---- the ladder ----------------------------------------------------------------------------------------------------


@checks("generate_cached", weight=3)
def test_same_tokens_as_without_a_cache(student):
    """the ladder: greedy, four prompts of unequal lengths, the tokens of the loop without a cache"""
    for prompt in PROMPTS:
        idx = tiny_ids(prompt)
        got = generated(student, student.model("tiny", dtype=torch.float64), idx, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
        want = unrolled(whole(), idx, 12, ROOMY)
        equal(got, want, what=f"other tokens after a prompt of {idx.shape[1]}")


# ---- KVCache -------------------------------------------------------------------------------------------------------


@checks("KVCache", weight=2)
def test_append_gives_all_so_far(student, rng):
    """two appends to one layer: everything so far, keys and values apart"""
    twin = Twin(student, rng, small_config(num_hidden_layers=1), 2, 8)
    for t in (3, 1, 2):
        twin.append(0, t)
    equal(twin.cache.length, 6, what="wrong length after 3 + 1 + 2 tokens")


@checks("KVCache", weight=2)
def test_layers_count_for_themselves(student, rng, hand):
    """two layers in turn: each its own tokens, its own count"""
    case = hand["two_layers"]
    twin = Twin(student, rng, small_config(num_hidden_layers=2), 1, case["max_len"])
    equal(twin.cache.length, 0, what="a new cache is not empty")
    for layer, t, length in zip(case["layers"], case["tokens"], case["lengths"], strict=True):
        twin.append(layer, t)
        equal(twin.cache.length, length, what=f"wrong length after an append to layer {layer}")


@checks("KVCache")
def test_bytes_by_hand(student, rng, hand):
    """SmolLM2 in 16 bits: 23,040 bytes for each token of room"""
    smollm2 = Config("SmolLM2", 49152, 576, 1536, 30, 9, 3, 64, 1e5, 1e-5, 8192, True, 1, 2)
    for dtype, name in ((torch.bfloat16, "bytes_per_token"), (torch.float32, "bytes_per_token_float32")):
        for batch, max_len in ((1, 64), (3, 20)):
            cache = student.KVCache(smollm2, batch, max_len, dtype=dtype)
            want = batch * max_len * hand["smollm2"][name]
            equal(cache.nbytes, want, what=f"wrong nbytes for {batch} rows of {max_len} tokens in {dtype}")
    k = torch.zeros(3, 3, 5, 64)
    cache.append(0, k, k)
    equal(cache.nbytes, want, what="nbytes has changed with an append")


@checks("KVCache", weight=2)
def test_full_means_nothing_written(student, rng):
    """too many tokens: CacheFull, and the cache is as it was"""
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
    twin.append(0, 2)
    twin.append(1, 2)
    equal(twin.cache.length, 5, what="a cache of max_len 5 holds 5 tokens")
    raises("CacheFull", lambda: twin.cache.append(1, twin.draw(1), twin.draw(1)), naming=5)


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
        equal(twin.cache.length, 0, what="wrong length after reset")
    twin.append(2, 4)
    equal(twin.cache.nbytes, before, what="nbytes has changed with reset")


@checks("KVCache")
def test_dtype_and_device(student, rng):
    """dtype and device are those that were asked for"""
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
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


@checks("KVCache")
def test_memory_lies_where_it_was_asked_for(student):
    """on the meta device, which has shapes and no values: keys and values lie there, and so does what append gives"""
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
    """work: an append after 1,000 tokens writes no more than one after 4"""
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
    cause = "Old keys and values were written again, as torch.cat does. Allocate max_len slots once, write into the next, return a view."
    that(
        bytes_written[1000] <= 2 * bytes_written[4] + 4096,
        "an append copies what is old",
        expected=f"about {bytes_written[4]:,} bytes written, as after 4 tokens",
        got=f"{bytes_written[1000]:,}",
        cause=cause,
    )
    for counted in bytes_written.values():
        between(counted, 2 * new.nbytes, math.inf, "bytes written")


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
        close(got, whole()(ids), atol=1e-3, dtype=dtype)


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
    """one token at a time: the same logits"""
    chunks_by_stages(student, tiny_ids(PROMPTS[2])[:, :12], [1] * 12)


@checks("forward_cached", weight=2)
def test_any_chunks(student):
    """three rows in chunks of 3, 1, 4 and 2: the same logits"""
    ids = torch.randint(3, 1000, (3, 10), generator=torch.Generator().manual_seed(1))
    for sizes in ([3, 1, 4, 2], [1, 9], [9, 1]):
        chunks_by_stages(student, ids, sizes)


@checks("forward_cached")
def test_two_texts_do_not_mix(student):
    """two caches side by side, and one that is reset: nothing of another text is left"""
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
    """work: one token after 64 costs one position"""
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
    """on the meta device: positions and mask are made where the ids are"""
    cache = student.KVCache(tiny_config(), 2, 8, device="meta")
    for t in (3, 1):
        on_one_device(student.forward_cached.on_meta(student.model("tiny", device="meta"), torch.ones(2, t, dtype=torch.int64), cache))


# ---- prefill and decode_step ---------------------------------------------------------------------------------------


@checks("prefill", weight=2)
def test_prefill_in_two_chunks(student):
    """the logits after the last token, of a prompt and of its next chunk"""
    written(student.prefill)
    ids = tiny_ids(PROMPTS[2])
    cache = student.KVCache(tiny_config(), 1, 64, dtype=torch.float64)
    for stop, chunk in ((6, ids[:, :6]), (ids.shape[1], ids[:, 6:])):
        got = student.prefill(student.model("tiny", dtype=torch.float64), chunk, cache, _unchanged=True)
        close(got, whole()(ids[:, :stop])[:, -1], atol=1e-3)
        equal(cache.length, stop, what="wrong length of the cache")


@checks("prefill")
def test_prefill_fills_the_cache(student):
    """what a prefill stored serves the next token"""
    ids = torch.randint(3, 1000, (2, 7), generator=torch.Generator().manual_seed(3))
    cache = student.KVCache(tiny_config(), 2, 9, dtype=torch.float64)
    model = student.model("tiny", dtype=torch.float64)
    close(student.prefill(model, ids[:, :6], cache), whole()(ids[:, :6])[:, -1], atol=1e-3)
    got = student.forward_cached(model, ids[:, 6:], cache)
    close(got, whole()(ids)[:, 6:], atol=1e-3, what="wrong logits after the prefill")


@checks("decode_step", weight=2)
def test_decode_step_by_step(student):
    """five steps after a prompt, two rows"""
    written(student.decode_step)
    ids = torch.randint(3, 1000, (2, 9), generator=torch.Generator().manual_seed(4))
    model = student.model("tiny", dtype=torch.float64)
    cache = student.KVCache(tiny_config(), 2, 9, dtype=torch.float64)
    student.forward_cached(model, ids[:, :4], cache)
    want = whole()(ids)
    for i in range(4, 9):
        got = student.decode_step(model, ids[:, i : i + 1], cache, _unchanged=True)
        close(got, want[:, i], atol=1e-3, dtype=torch.float64, what=f"wrong logits after token {i}")
        equal(cache.length, i + 1, what="wrong length of the cache")


@checks("decode_step")
def test_decode_step_from_nothing(student):
    """a first token into an empty cache"""
    model = student.model("tiny", dtype=torch.float64)
    cache = student.KVCache(tiny_config(), 1, 2, dtype=torch.float64)
    ids = torch.tensor([[5, 80]])
    for i in range(2):
        close(student.decode_step(model, ids[:, i : i + 1], cache), whole()(ids)[:, i], atol=1e-3)


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
    equal(work.positions, positions, what=f"wrong number of positions for T0 = {t0}, G = {g}")
    fewest = fewest_flops(tiny_config(), [t0] + [1] * (g - 1))
    between(work.flops, fewest, 1.5 * least_flops(reference, t0, g), "FLOPs")
    equal(work.grad_flops, 0, what="products that ran with gradients on")


@checks("generate_cached", weight=2)
def test_the_window_slides(student, hand):
    """past block_size: still the tokens of the loop without a cache"""
    case = hand["window"]
    model = student.model("tiny", dtype=torch.float64)
    for t0, block_size in ((case["t0"], case["block_size"]), (8, 8), (12, 8)):
        idx = tiny_ids(PROMPTS[3])[:, :t0]
        got = generated(student, model, idx, max_new_tokens=case["g"], block_size=block_size, temperature=0.0)
        want = unrolled(whole(), idx, case["g"], block_size)
        equal(got, want, what=f"other tokens for a prompt of {t0} and block_size {block_size}")


@checks("generate_cached", weight=2)
def test_rows_of_a_batch(student, rng):
    """a batch: each row as it would be alone"""
    model, kit = small(student, rng, vocab_size=61, num_hidden_layers=3)
    idx = torch.randint(61, (5, 4), generator=rng).T  # in memory it lies column by column
    got = generated(student, model, idx, max_new_tokens=12, block_size=ROOMY, temperature=0.0)
    equal(got, unrolled(kit, idx, 12, ROOMY))


@checks("generate_cached")
def test_rows_end_for_themselves(student):
    """EOS: rows end at different steps, EOS in the prompt is no end, id 0 can be EOS"""
    idx = torch.tensor([[2, 0, 1], [1, 0, 3], [0, 1, 0]])
    got = generated(student, sure_after(student, [1, 2, 3, 0]), idx, max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=0)
    equal(got, torch.tensor([[2, 3, 0, 0], [0, 0, 0, 0], [1, 2, 3, 0]]))


@checks("generate_cached")
def test_stops_where_it_should(student):
    """max_new_tokens is the limit, 0 gives the prompt back"""
    model, idx = sure_after(student, [1, 2, 3, 0]), torch.tensor([[1, 2, 3]])
    for steps, want in ((7, [[0, 1, 2, 3, 0, 1, 2]]), (1, [[0]])):
        got = generated(student, model, idx, max_new_tokens=steps, block_size=ROOMY, temperature=0.0)
        equal(got, torch.tensor(want))
    got = generated(student, model, idx, max_new_tokens=0, block_size=ROOMY, temperature=0.0)
    equal(tuple(got.shape), (1, 0), what="wrong number of new tokens")


@checks("generate_cached")
def test_settings_reach_the_sampler(student):
    """temperature, top_k and top_p reach the sampler, in both phases"""
    # False alarm: at most 1e-10 for each setting (see autograder/checking/checks/test_generation.py).
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
        for step, place in enumerate(("after the prefill", "in a decode step")):
            frequencies(got[:, step], want, under=f", {place}, with {options}")


@checks("generate_cached")
def test_generate_on_another_device(student):
    """on the meta device: the cache, and all else that is made, lies where idx does"""
    model, idx = student.model("tiny", device="meta"), torch.ones(2, 3, dtype=torch.int64)
    for block_size in (16, 3):
        for eos in (None, 5):
            options = {"max_new_tokens": 3, "block_size": block_size, "temperature": 0.0, "eos_token_id": eos}
            on_one_device(student.generate_cached.on_meta(model, idx, **options))


@checks("generate_cached", weight=2)
def test_defaults_of_the_loop(student):
    """what is not given is temperature 1.0, no top_k, no top_p and no EOS: the same draws from the same state"""
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
    """gradients: as the caller had them, after a run and after one that the sampler refused"""
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
    """speed: 64 tokens after a prompt of 512, against the loop without a cache"""

    def prompt(rng):
        return random_prompt(rng, 512)

    def answer(s, inputs):
        return s.generate_cached(s.model("tiny"), inputs, max_new_tokens=64, block_size=2048, temperature=0.0)

    race.against(NAIVE, prompt, answer, agree=best_of_all, cause="What is done in every step, and need not be?")


@checks("forward_cached", timing=True)
def test_a_step_hardly_grows(race):
    """speed: a step after 1,024 tokens against one after 128"""

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
    """GPU: the memory lies on the device that was asked for"""
    cache = student.KVCache(small_config(), 1, 4, torch.bfloat16, "cuda")
    new = torch.ones(1, 2, 3, 6, dtype=torch.bfloat16, device="cuda")
    for got in cache.append(0, new, new):
        equal(got.cpu(), new.cpu())
        equal(got.device.type, "cuda", what="wrong device")


@checks("generate_cached", gpu=True)
def test_same_tokens_on_a_gpu(student):
    """GPU: the tokens of the loop without a cache on the CPU"""
    idx = tiny_ids(PROMPTS[2])
    model = student.model("tiny", dtype=torch.float64, device="cuda")
    for block_size in (ROOMY, 16):
        got = student.generate_cached(model, idx.to("cuda"), max_new_tokens=12, block_size=block_size, temperature=0.0)
        equal(got[:, idx.shape[1] :].cpu(), unrolled(whole(), idx, 12, block_size))
