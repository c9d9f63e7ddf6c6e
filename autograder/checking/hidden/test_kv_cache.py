"""Hidden checks of the KV cache: fresh models, texts and cuts, and rules in combination."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.authoring import checks, close, equal, raises, that
from autograder.base.wording import counted
from autograder.checking.checks.test_generation import FOUR, frequencies, probabilities
from autograder.checking.checks.test_transformer import kit_model, small_config, small_weights
from autograder.checking.helpers.batches import head_only
from autograder.checking.helpers.cached import (
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
    unrolled,
    whole,
)
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.randomness import draws_from_the_global_state, ends_where_drawn
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradient_mode_stays, gradients_stay_on
from autograder.sandbox.protocol.worker_errors import StudentRaised
from course.kit import load_model

SHAPES: tuple[dict[str, Any], ...] = (
    {},
    {"num_hidden_layers": 1, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 2},
    {"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 4, "rope_theta": 10_000.0},
    {"num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "tie_word_embeddings": False},
)


def integer(rng: torch.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=rng))


def random_ids(rng: torch.Generator, rows: int, length: int, vocab: int) -> Tensor:
    return torch.randint(vocab, (rows, length), generator=rng)


def random_sizes(rng: torch.Generator, total: int) -> list[int]:
    """Sizes of chunks that add up to total."""
    sizes: list[int] = []
    while sum(sizes) < total:
        sizes.append(min(integer(rng, 1, 5), total - sum(sizes)))
    return sizes


def too_much(twin: Twin, layer: int, t: int) -> Callable[[], Any]:
    """An append of t tokens that the cache has no room for."""
    k, v = twin.draw(t), twin.draw(t)
    return lambda: twin.cache.append(layer, k, v)


# ---- KVCache -------------------------------------------------------------------------------------------------------


@checks("KVCache", weight=2)
def test_random_appends(student, rng):
    """random shapes, layers in any order, a full cache and a reset: append returns all keys and values stored so far"""
    for shape in SHAPES:
        config = small_config(**shape)
        layers, batch, max_len = config.num_hidden_layers, integer(rng, 1, 3), integer(rng, 5, 9)
        twin = Twin(student, rng, config, batch, max_len, dtype=torch.float64)
        per_token = 2 * layers * config.num_key_value_heads * config.head_dim * 8
        equal(twin.cache.nbytes, batch * max_len * per_token, what=f"wrong nbytes for {shape}")
        for _ in range(2):
            counts = [0] * layers
            for _ in range(6 * layers):
                layer, t = integer(rng, 0, layers - 1), integer(rng, 1, 3)
                if counts[layer] + t > max_len:
                    k, v = twin.draw(t), twin.draw(t)
                    raises("CacheFull", lambda layer=layer, k=k, v=v, twin=twin: twin.cache.append(layer, k, v), naming=max_len)
                    continue
                twin.append(layer, t)
                counts[layer] += t
                if counts[-1] == min(counts):  # in a forward pass the last layer is never ahead of another
                    equal(twin.cache.length, counts[-1], what="wrong length")
            twin.cache.reset()
            twin.reset()
            equal(twin.cache.length, 0, what="wrong length after reset")


@checks("KVCache")
def test_filled_to_the_brim(student, rng):
    """an append may fill the whole cache, even a cache for one token; one token more raises CacheFull"""
    for max_len in (1, 6):
        twin = Twin(student, rng, small_config(num_hidden_layers=1), 2, max_len)
        for kind in ("ValueError", "CacheFull"):
            raises(kind, too_much(twin, 0, max_len + 1), naming=max_len)
        equal(twin.cache.length, 0, what="wrong length after a refused append")
        twin.append(0, max_len)
        equal(twin.cache.length, max_len, what="wrong length of a full cache")
        raises("CacheFull", too_much(twin, 0, 1), naming=max_len)


@checks("KVCache")
def test_caches_are_apart(student, rng):
    """four caches of several shapes and dtypes, filled in turn: no cache affects another, and numbers of all magnitudes are stored"""
    twins = [
        Twin(student, rng, small_config(), 1, 7),
        Twin(student, rng, small_config(num_key_value_heads=4), 3, 5, dtype=torch.bfloat16),
        Twin(student, rng, small_config(), 1, 7),
        Twin(student, rng, small_config(), 2, 5, dtype=torch.float16),
    ]
    for _ in range(2):
        for twin in twins:
            twin.append(0, 2)
            twin.append(1, 2)
    twins[0].cache.reset()
    lengths = [int(twin.cache.length) for twin in twins]
    equal(
        lengths,
        [0, 4, 4, 4],
        what="wrong lengths after one of four caches was reset",
    )
    twins[2].append(0, 3)
    wide = torch.logspace(-30, 30, 72, dtype=torch.float64).to(torch.bfloat16).reshape(3, 4, 1, 6)
    for got, want in zip(twins[1].cache.append(0, wide, -wide), (wide, -wide), strict=True):
        equal(got[:, :, 4:], want, what="numbers from 1e-30 to 1e30 in bfloat16: wrong keys or values")


@checks("KVCache")
def test_keys_and_values_elsewhere(student):
    """a cache on the meta device: append returns keys and values on the meta device"""
    cache = student.KVCache(small_config(), 3, 9, torch.bfloat16, "meta")
    for t in (4, 1):
        new = torch.ones(3, 2, t, 6, dtype=torch.bfloat16)
        for layer in (0, 1):
            on_one_device(cache.append.on_meta(layer, new, new))


@checks("KVCache")
def test_bytes_of_the_day_before(student, rng):
    """nbytes is that of 2 L K Dh values for each token of room"""
    for shape in SHAPES:
        config, batch, max_len = small_config(**shape), integer(rng, 1, 4), integer(rng, 1, 90)
        for dtype, size in ((torch.float32, 4), (torch.float16, 2), (torch.float64, 8)):
            want = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * batch * max_len * size
            got = student.KVCache(config, batch, max_len, dtype).nbytes
            equal(got, want, what=f"wrong nbytes for {shape} in {dtype}")
    config = small_config()
    want = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    equal(student.KVCache(config, 1, 1).nbytes, want, what="wrong nbytes without a dtype")


@checks("KVCache")
def test_writes_one_layers_new_tokens(student, rng):
    """work: an append writes about as much, whatever max_len, the number of layers and the tokens already stored"""
    written = []
    for layers, max_len, n in ((1, 8, 0), (6, 700, 600)):
        config = small_config(num_hidden_layers=layers, num_key_value_heads=2, head_dim=16)
        cache = student.KVCache(config, 2, max_len)
        old, new = torch.randn(2, 2, n, 16, generator=rng), torch.randn(2, 2, 3, 16, generator=rng)
        if n:
            cache.append(0, old, -old)
        with student.counting() as work:
            k_all, v_all = cache.append(0, new, -new)
        equal(k_all, torch.cat((old, new), dim=2), what="wrong keys")
        equal(v_all, -torch.cat((old, new), dim=2), what="wrong values")
        written.append(work.written_bytes)
    least = 2 * new.nbytes
    between(written[0], least, math.inf, "bytes written")
    between(written[1], least, 2 * written[0] + 4096, "bytes written")
    cache = student.KVCache(small_config(num_hidden_layers=1, num_key_value_heads=2, head_dim=1), 1, 34_000)
    fills_at_once(student, cache, torch.randn(1, 2, 34_000, 1, generator=rng))


@checks("KVCache")
def test_memory_stays_at_a_reset(student, rng):
    """work: after a reset the same memory is used again; length is an int"""
    cache = student.KVCache(small_config(num_hidden_layers=2, num_key_value_heads=2, head_dim=16), 2, 300)
    old, new = torch.randn(2, 2, 200, 16, generator=rng), torch.randn(2, 2, 1, 16, generator=rng)
    for layer in (0, 1):
        cache.append(layer, old, -old)
    that(type(cache.length) is int, "length is not an int", got=type(cache.length).__name__)
    equal(cache.length, 200, what="wrong length")
    with student.counting() as work:
        cache.reset()
        k_all, v_all = cache.append(0, new, -new)
    equal(k_all, new, what="wrong keys after a reset")
    equal(v_all, -new, what="wrong values after a reset")
    that(
        work.largest_bytes < old.nbytes,
        "a reset, or the append after it, has allocated new memory",
        expected=f"less than {old.nbytes:,} bytes at once",
        got=f"{work.largest_bytes:,} bytes",
    )
    between(work.written_bytes, 2 * new.nbytes, math.inf, "bytes written")


@checks("KVCache")
def test_a_refused_append_writes_nothing(student):
    """work: an append that does not fit writes nothing, not even into the free slots"""
    cache = student.KVCache(small_config(num_hidden_layers=2, num_key_value_heads=4, head_dim=16), 2, 8)
    old, new = torch.ones(2, 4, 3, 16), torch.full((2, 4, 6, 16), 2.0)
    cache.append(0, old, old)
    with student.counting() as work:
        raises("CacheFull", lambda: cache.append(0, new, new), naming=8)
    that(
        work.written_bytes < old[:, :, :1].nbytes,
        "an append that raised CacheFull has written before it did",
        expected="nothing written",
        got=f"{work.written_bytes:,} bytes",
    )
    k_all, v_all = cache.append(0, old, old)
    close(k_all, torch.cat((old, old), dim=2), what="wrong keys after a refused append")
    close(v_all, torch.cat((old, old), dim=2), what="wrong values after a refused append")


@checks("KVCache")
def test_no_append_moves_what_is_there(student, rng):
    """work: no append of one token writes much more than another"""
    cache = student.KVCache(small_config(num_hidden_layers=6, num_key_value_heads=2, head_dim=16), 2, 100)
    written, tokens = [], []
    for _ in range(70):
        tokens.append(torch.randn(2, 2, 1, 16, generator=rng))
        with student.counting() as work:
            k_all, _ = cache.append(0, tokens[-1], -tokens[-1])
        written.append(work.written_bytes)
    equal(k_all, torch.cat(tokens, dim=2), what="wrong keys after 70 appends of one token")
    most = max(written[1:])  # who allocates at the first append allocates once
    least = min(written)
    that(most <= 2 * least + 4096, "an append writes more than another", expected=f"{least:,} bytes", got=f"{most:,}")
    between(least, 2 * tokens[0].nbytes, math.inf, "bytes written")


# ---- forward_cached ------------------------------------------------------------------------------------------------


@checks("forward_cached", weight=3)
def test_random_chunks(student, rng):
    """random models and texts, cut at random: the logits equal those of the model without a cache"""
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=29, **shape)
        rows, length = integer(rng, 1, 3), integer(rng, 6, 15)
        ids = random_ids(rng, rows, length, 29)
        cache = student.KVCache(kit.config, rows, length + integer(rng, 0, 3), dtype=torch.float64)
        for _ in range(2):
            sizes = random_sizes(rng, length)
            got = in_chunks(student, model, ids, sizes, cache)
            close(got, kit(ids), atol=1e-3, what=f"wrong logits for {shape} in chunks of {sizes}")
            cache.reset()


@checks("forward_cached", weight=2)
def test_random_chunks_of_tiny(student, rng):
    """the model tiny, 40 tokens in chunks and one by one: the logits equal those of the model without a cache"""
    ids = random_ids(rng, 2, 40, 1000)
    want = whole()(ids)
    model = student.model("tiny", dtype=torch.float64)
    for sizes in ([16, 16, 8], [33, *[1] * 7], random_sizes(rng, 40)):
        cache = student.KVCache(tiny_config(), 2, 40, dtype=torch.float64)
        got = in_chunks(student, model, ids, sizes, cache)
        close(got, want, atol=1e-3, what=f"wrong logits in chunks of {sizes}")


@checks("forward_cached")
def test_logits_of_a_chunk_stay(student, rng):
    """two texts in turn: the logits of the first text stay the same"""
    answers_of_two_texts(student, rng, student.forward_cached, stored=5, t=3, every_logit=True)


@checks("forward_cached")
def test_too_much_for_the_cache(student, rng):
    """a text that does not fit raises CacheFull; stored tokens stay usable, and gradient mode stays as it was"""
    model, kit = small(student, rng)
    ids = random_ids(rng, 1, 6, 13)
    cache = student.KVCache(kit.config, 1, 6, dtype=torch.float64)
    in_chunks(student, model, ids[:, :4], [4], cache)
    raises("CacheFull", lambda: student.forward_cached(model, ids[:, [0, 1, 2]], cache))
    equal(cache.length, 4, what="wrong length after CacheFull")
    got = in_chunks(student, model, ids[:, 4:], [2], cache)
    close(got, kit(ids)[:, 4:], atol=1e-3, what="wrong logits after CacheFull")
    # Now it is full to the last slot.
    gradient_mode_stays(student, lambda: raises("CacheFull", lambda: student.forward_cached(model, ids[:, :1], cache)))
    equal(cache.length, 6, what="wrong length of a full cache after CacheFull")
    room = integer(rng, 300, 500)
    cache, ids = student.KVCache(kit.config, 1, room, dtype=torch.float64), random_ids(rng, 1, room, 13)
    in_chunks(student, model, ids[:, :2], [2], cache)
    raises("CacheFull", lambda: student.forward_cached(model, ids[:, 1:], cache))
    equal(cache.length, 2, what=f"{room - 1} tokens after 2 do not fit into {room}: wrong length after CacheFull")


@checks("forward_cached")
def test_pieces_elsewhere(student):
    """ids on the meta device, two rows in two chunks: every new tensor is on the meta device"""
    cache = student.KVCache(tiny_config(), 2, 9, device="meta")
    for t in (5, 1):
        on_one_device(student.forward_cached.on_meta(student.model("tiny", device="meta"), torch.ones(2, t, dtype=torch.int64), cache))


@checks("forward_cached")
def test_low_precision(student, rng):
    """bfloat16: the logits are bfloat16, with at most twice the error of PyTorch's own"""
    # bfloat16 has no odd whole number above 256: positions belong in integers.
    for rows, sizes in ((2, [16, 7, 1]), (1, [280, 39, 1])):
        ids = random_ids(rng, rows, sum(sizes), 1000)
        exact = whole(torch.float32)(ids)
        cache = student.KVCache(tiny_config(), rows, sum(sizes), dtype=torch.bfloat16)
        got = in_chunks(student, student.model("tiny", dtype=torch.bfloat16), ids, sizes, cache)
        equal(str(got.dtype), "torch.bfloat16", what="wrong dtype")
        ours = (load_model("tiny", dtype=torch.bfloat16)(ids).float() - exact)[:, -40:].square().mean().sqrt()
        yours = (got.float() - exact)[:, -40:].square().mean().sqrt()
        that(
            float(yours) <= 2 * float(ours),
            f"in bfloat16 the logits of {sum(sizes)} tokens are further from the exact ones than twice PyTorch's own",
            expected=f"an error of at most {2 * float(ours):.4f}",
            got=float(yours),
            values=False,
        )


@checks("forward_cached")
def test_step_behind_a_long_text(student, reference, rng):
    """a chunk after 2,100 tokens gets the right logits; the caller's gradient mode is restored"""
    config = small_config(max_position_embeddings=5_000, head_dim=4)
    weights = small_weights(rng, config).to(device="cpu", dtype=torch.float64)
    ids = random_ids(rng, 1, 2_103, config.vocab_size)
    model, kit = student.WeightsOnly(config, weights, None), kit_model(config, weights)
    mine, due = (made.KVCache(config, 1, 2_103, torch.float64) for made in (student, reference))
    with torch.no_grad():
        for chunk in ids.split([700] * 3 + [3], dim=1):
            got, want = student.forward_cached(model, chunk, mine), reference.forward_cached(kit, chunk, due)
    close(got, want, atol=1e-6)
    gradients_stay_on(student, lambda: None, lambda: student.attention(*torch.ones(3, 1, 1, 2, 4)))


@checks("forward_cached")
def test_chunk_costs_its_tokens(student, rng):
    """work: a chunk costs as many positions as it has tokens"""
    ids = random_ids(rng, 2, 12, 1000)
    model = student.model("tiny")
    cache = student.KVCache(tiny_config(), 2, 12)
    start = 0
    for t in (5, 1, 6):
        with student.counting() as work:
            got = student.forward_cached(model, ids[:, start : start + t], cache)
        start += t
        close(got, whole()(ids[:, :start])[:, -t:], atol=1e-3)
        equal(work.positions, 2 * t, what=f"wrong number of positions for 2 rows of {t} new tokens")
        between(work.flops, fewest_flops(tiny_config(), [t], 2), math.inf, "FLOPs")


# ---- prefill and decode_step ---------------------------------------------------------------------------------------


@checks("prefill", weight=2)
def test_prefill_random(student, rng):
    """random models, prompts in one, two or three chunks: the logits after each chunk are right"""
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=17, **shape)
        ids = random_ids(rng, 2, 9, 17)
        cache = student.KVCache(kit.config, 2, 9, dtype=torch.float64)
        start = 0
        for t in ([9], [4, 5], [1, 7, 1])[integer(rng, 0, 2)]:
            start += t
            got = student.prefill(model, ids[:, start - t : start], cache)
            close(got, kit(ids[:, :start])[:, -1], atol=1e-3)
            equal(cache.length, start, what="wrong length of the cache")
        raises("CacheFull", lambda model=model, ids=ids, cache=cache: student.prefill(model, ids[:, :1], cache))


@checks("prefill")
def test_prefill_of_many_rows(student, rng):
    """a dozen rows and their next chunk: the logits are right"""
    model, kit = small(student, rng, vocab_size=17)
    ids = random_ids(rng, 12, 7, 17)
    cache = student.KVCache(kit.config, 12, 7, dtype=torch.float64)
    for start, end in ((0, 5), (5, 7)):
        close(student.prefill(model, ids[:, start:end], cache), kit(ids[:, :end])[:, -1], atol=1e-3)


@checks("prefill")
def test_prefill_of_a_cache_on_another_device(student):
    """ids on the meta device, a text in three chunks: every new tensor is on the meta device"""
    cache = student.KVCache(tiny_config(), 3, 9, device="meta")
    for t in (1, 4, 1):
        on_one_device(student.prefill.on_meta(student.model("tiny", device="meta"), torch.ones(3, t, dtype=torch.int64), cache))


@checks("prefill")
def test_logits_of_a_prompt_stay(student, rng):
    """two prompts in turn: the logits of the first prompt stay the same"""
    answers_of_two_texts(student, rng, student.prefill, stored=0, t=4)


@checks("prefill")
def test_prefill_of_another_model(student, rng):
    """the same prompt, short or long, through two models of the same shape: each model gives its own logits"""
    short, long = (random_ids(rng, 2, length, 17) for length in (6, 2 * integer(rng, 140, 190) + 1))
    for ids in (short, short, long, long):
        model, kit = small(student, rng, vocab_size=17)
        cache = student.KVCache(kit.config, *ids.shape, dtype=torch.float64)
        got = student.prefill(model, ids, cache)
        close(got, kit(ids)[:, -1], atol=1e-3)


@checks("prefill")
def test_prefill_work(student, rng):
    """work: a prompt of n tokens costs n positions, and the logits have the model's dtype"""
    ids = random_ids(rng, 1, 30, 1000)
    cache = student.KVCache(tiny_config(), 1, 32)
    with student.counting() as work:
        got = student.prefill(student.model("tiny"), ids, cache)
    close(got, whole()(ids)[:, -1], atol=1e-3, dtype=torch.float32)
    equal(work.positions, 30, what="wrong number of positions for 30 tokens")
    between(work.flops, fewest_flops(tiny_config(), [30]), math.inf, "FLOPs")
    double = student.KVCache(tiny_config(), 1, 32, dtype=torch.float64)
    got = student.prefill(student.model("tiny", dtype=torch.float64), ids, double)
    close(got, whole()(ids)[:, -1], atol=1e-3, dtype=torch.float64)
    raises("CacheFull", lambda: student.prefill(student.model("tiny"), ids, student.KVCache(tiny_config(), 1, 29)))


@checks("decode_step", weight=2)
def test_decode_random(student, rng):
    """random models, three rows, steps until the cache is full: the logits are right, and one more step raises CacheFull"""
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=17, **shape)
        ids = random_ids(rng, 3, 8, 17)
        cache = student.KVCache(kit.config, 3, 8, dtype=torch.float64)
        for start in (3, 5):  # the second time in a cache that was reset
            cache.reset()
            student.forward_cached(model, ids[:, :start], cache)
            for i in range(start, 8):
                got = student.decode_step(model, ids[:, i : i + 1], cache)
                close(got, kit(ids)[:, i], atol=1e-3, dtype=torch.float64, what=f"wrong logits after token {i} for {shape}")
            equal(cache.length, 8, what="wrong length of the cache")
        raises("CacheFull", lambda model=model, ids=ids, cache=cache: student.decode_step(model, ids[:, :1], cache))


@checks("decode_step")
def test_decode_work(student, rng):
    """work: a step costs one position per row, however long the text is"""
    for rows, length in ((1, 40), (3, 150)):
        ids = random_ids(rng, rows, length + 1, 1000)
        model, cache = student.model("tiny"), student.KVCache(tiny_config(), rows, length + 8)
        student.forward_cached(model, ids[:, :length], cache)
        with student.counting() as work:
            got = student.decode_step(model, ids[:, length:], cache)
        what = f"wrong logits for the step after {length} tokens"
        close(got, whole()(ids)[:, -1], atol=1e-3, dtype=torch.float32, what=what)
        what = f"wrong number of positions for one step of {counted(rows, 'row')}"
        equal(work.positions, rows, what=what)
        between(work.flops, fewest_flops(tiny_config(), [1], rows), math.inf, "FLOPs")


@checks("decode_step")
def test_logits_of_a_step_stay(student, rng):
    """two steps in turn: the logits of the first step stay the same"""
    answers_of_two_texts(student, rng, student.decode_step, stored=6, t=1)


@checks("decode_step")
def test_decode_of_two_texts(student, rng):
    """two texts of one length with the same newest token, each in its own cache: each text gets its own logits"""
    model, kit = small(student, rng, vocab_size=17)
    ids = random_ids(rng, 2, 6, 17)
    ids[1, 5] = ids[0, 5]
    for row in ids.split(1):
        cache = student.KVCache(kit.config, 1, 8, dtype=torch.float64)
        student.forward_cached(model, row[:, :5], cache)
        got = student.decode_step(model, row[:, 5:], cache)
        close(got, kit(row)[:, -1], atol=1e-3, dtype=torch.float64)


# ---- generate_cached -----------------------------------------------------------------------------------------------


@checks("generate_cached", weight=2)
def test_random_texts(student, rng):
    """greedy, random models, batches, windows and EOS tokens: the same tokens as without a cache"""
    windows = ((1, ROOMY), (integer(rng, 2, 6), integer(rng, 6, 9)), (12, integer(rng, 3, 9)), (integer(rng, 2, 9), ROOMY))
    for shape, (length, block_size) in zip(SHAPES, windows, strict=True):
        model, kit = small(student, rng, vocab_size=41, **shape)
        idx = random_ids(rng, length, 3, 41).T  # in memory column by column
        free = unrolled(kit, idx, 14, block_size)
        # The model has an end of its own. It counts only where it is handed in.
        config = dataclasses.replace(kit.config, eos_token_id=int(free[0, 3]))
        model = student.WeightsOnly(config, kit.weights, None)
        for end in (None, int(free[integer(rng, 0, 2), integer(rng, 2, 10)])):
            got = generated(student, model, idx, max_new_tokens=14, block_size=block_size, temperature=0.0, eos_token_id=end)
            want = free if end is None else ended(free, end)
            what = f"other tokens for a prompt of {length}, block_size {block_size}, EOS {end}"
            equal(got, want, what=what)


@checks("generate_cached", weight=2)
def test_one_run_after_another(student, rng):
    """runs with different models, rows, lengths and dtypes in turn: no run affects a later run"""
    for shape in (SHAPES[2], SHAPES[3], SHAPES[2]):
        model, kit = small(student, rng, vocab_size=23, **shape)
        for rows, length in ((2, 7), (1, 3), (2, 7)):
            idx = random_ids(rng, rows, length, 23)
            got = generated(student, model, idx, max_new_tokens=6, block_size=ROOMY, temperature=0.0)
            equal(got, unrolled(kit, idx, 6, ROOMY))
    half, _ = small(student, rng, dtype=torch.bfloat16, vocab_size=23)
    idx = random_ids(rng, 2, 7, 23)
    got = generated(student, half, idx, max_new_tokens=6, block_size=ROOMY, temperature=0.0)
    equal(tuple(got.shape), (2, 6), what="wrong shape of the new tokens of a bfloat16 model")
    model, kit = small(student, rng, vocab_size=23)
    for _ in range(3):  # the first row stays, the second does not
        got = generated(student, model, idx, max_new_tokens=6, block_size=ROOMY, temperature=0.0)
        equal(got, unrolled(kit, idx, 6, ROOMY))
        idx = torch.cat((idx[:1], random_ids(rng, 1, 7, 23)))
    for idx in random_ids(rng, 2, 5, 23).split(1):  # nothing of the first is left where the second asks for one token
        got = generated(student, model, idx, max_new_tokens=1, block_size=ROOMY, temperature=0.0)
        equal(got, unrolled(kit, idx, 1, ROOMY), what="wrong single token")
    options = {"max_new_tokens": 4, "block_size": ROOMY, "temperature": 0.0}
    for refused in (True, False, False):  # otherwise both rows end with EOS
        model, kit = small(student, rng, vocab_size=23)
        twice = random_ids(rng, 1, 4, 23).expand(2, 4)
        more = {"temperature": -0.5} if refused else {"eos_token_id": int(unrolled(kit, twice, 3, ROOMY)[0, 2])}
        with contextlib.suppress(StudentRaised):
            student.generate_cached(model, twice, **{**options, **more})
        idx = random_ids(rng, 2, 4, 23)
        equal(generated(student, model, idx, **options), unrolled(kit, idx, 4, ROOMY), what="wrong tokens after a run that ended early")
    nearly_tied = head_only(student, torch.float64, 1.0, {3: [1.0], 5: [1.0 + 1e-9]})  # in float32 they are the same
    got = generated(student, nearly_tied.there, torch.tensor([[1]]), max_new_tokens=1, block_size=ROOMY, temperature=0.0)
    equal(got, [[5]], what="wrong token of a float64 model")


@checks("generate_cached")
def test_cached_answers_stay(student, rng):
    """two prompts of one shape: the second result does not overwrite the first"""
    model, kit = small(student, rng, vocab_size=23)
    prompts = [random_ids(rng, 2, 4, 23) for _ in range(2)]
    options = {"max_new_tokens": 5, "block_size": ROOMY, "temperature": 0.0}
    for idx, got in zip(prompts, student.generate_cached.again(*([model, idx] for idx in prompts), **options), strict=True):
        equal(got, torch.cat((idx, unrolled(kit, idx, 5, ROOMY)), dim=1), what="wrong ids, looked at when both answers were there")


@checks("generate_cached")
def test_edges_of_the_window(student, rng):
    """a prompt as long as the window, a window of 1, a text that just fits, a long prompt: the same tokens as without a cache"""
    model, kit = small(student, rng, vocab_size=23, num_hidden_layers=3)
    long = 2 * integer(rng, 140, 190) + 1
    for length, block_size, steps in ((6, 6, 5), (7, 6, 5), (5, 1, 4), (4, 9, 6), (4, 9, 5), (1, 2, 4), (4, 9, 7), (long, long + 1, 4)):
        idx = random_ids(rng, 2, length, 23)
        got = generated(student, model, idx, max_new_tokens=steps, block_size=block_size, temperature=0.0)
        what = f"other tokens for a prompt of {length}, block_size {block_size}, {steps} new"
        equal(got, unrolled(kit, idx, steps, block_size), what=what)


@checks("generate_cached", weight=2)
def test_work_of_random_sizes(student, reference, rng):
    """work: T0 + G - 1 positions per row, if the text just fits, for one new token and for a hundred"""
    for rows, t0, g in ((2, integer(rng, 5, 30), integer(rng, 4, 9)), (1, integer(rng, 5, 30), 1), (1, integer(rng, 5, 12), 100)):
        idx = random_ids(rng, rows, t0, 1000)
        with student.counting() as work:
            got = student.generate_cached(student.model("tiny"), idx, max_new_tokens=g, block_size=t0 + g - 1, temperature=0.0)
        equal(tuple(got.shape), (rows, t0 + g), what="wrong shape")
        what = f"wrong number of positions for {rows} rows, T0 = {t0}, G = {g}"
        equal(work.positions, rows * (t0 + g - 1), what=what)
        equal(work.grad_flops, 0, what="products that ran with gradients on")
        fewest = fewest_flops(tiny_config(), [t0] + [1] * (g - 1), rows)
        between(work.flops, fewest, 1.5 * rows * least_flops(reference, t0, g), "FLOPs")


@checks("generate_cached")
def test_work_where_rows_end(student, rng):
    """work: with EOS at most T0 + n - 1 positions per row, where n is the number of new tokens of the longest row"""
    for rows in (1, 2):
        idx = random_ids(rng, rows, integer(rng, 5, 20), 1000)
        options = {"max_new_tokens": 12, "block_size": ROOMY, "temperature": 0.0}
        free = generated(student, student.model("tiny"), idx, **options)
        equal(tuple(free.shape), (rows, 12), what="wrong shape of the new tokens")
        eos = int(free[0, 4])
        want = ended(free, eos)
        with student.counting() as work:
            got = generated(student, student.model("tiny"), idx, eos_token_id=eos, **options)
        equal(got, want, what=f"wrong tokens with EOS {eos}")
        most = rows * (idx.shape[1] + want.shape[1] - 1)
        own = [row.index(eos) + 1 if eos in row else len(row) for row in want.tolist()]
        least = sum(idx.shape[1] + n - 1 for n in own)  # who has ended need not pass any more
        between(work.positions, least, most, "positions")
        between(work.flops, sum(fewest_flops(tiny_config(), [idx.shape[1]] + [1] * (n - 1)) for n in own), math.inf, "FLOPs")


@checks("generate_cached")
def test_random_generators(student, rng):
    """equal generator states give equal tokens, other states give others; greedy decoding draws nothing"""
    # Two unrelated runs of 48 tokens over 8 equal ones agree with probability 2 ** -144.
    model, idx = believing(student, [[0.0] * 8] * 8), torch.zeros(2, 1, dtype=torch.int64)
    options = {"max_new_tokens": 24, "block_size": 16}
    one, other = torch.randint(2**31, (2,), generator=rng).tolist()
    generator = student.generator(one)
    first = student.generate_cached(model, idx, generator=generator, _rng_unchanged=True, **options)
    equal(tuple(first.shape), (2, 25), what="wrong shape")
    again = student.generate_cached(model, idx, generator=student.generator(one), **options)
    equal(again, first, what="two generators in the same state gave different tokens")
    for loose in (student.generator(other), generator):
        second = student.generate_cached(model, idx, generator=loose, **options)
        that(not torch.equal(first, second), "another generator state gave the same tokens")
    unseeded = [student.generate_cached(model, idx, **options) for _ in range(2)]
    that(not torch.equal(*unseeded), "two runs without a generator gave the same tokens", cause="Then torch's global state is drawn from.")
    draws_from_the_global_state(lambda **watched: student.generate_cached(model, idx, **options, **watched))
    that(len({tuple(column) for column in first[:, 1:].T.tolist()}) > 1, "every step drew the same tokens", cause="Each step draws again.")
    generator = student.generator(one)
    parts = [student.generate_cached(model, idx, generator=generator, max_new_tokens=n, block_size=16)[:, 1:] for n in (5, 18, 1)]
    equal(torch.cat(parts, dim=1), first[:, 1:], what="three runs in turn from one generator do not give the tokens of one run")
    before = generator.get_state()
    student.generate_cached(model, idx, temperature=0.0, generator=generator, _rng_unchanged=True, **options)
    equal(generator.get_state(), before, what="greedy moved the generator")


@checks("generate_cached")
def test_random_settings(student, rng):
    """temperature, top_k and top_p give the right frequencies after a prefill, a decode step and a slide of the window"""
    # False alarm: at most 1e-10 for each setting and step (see autograder/checking/checks/test_generation.py).
    model, idx = believing(student, [FOUR] * 4), random_ids(rng, 1_000, 2, 4)
    tau = 0.4 + 2 * float(torch.rand((), generator=rng))
    for options, want in (
        ({"temperature": tau}, probabilities(FOUR, tau)),
        ({"temperature": tau, "top_k": 5_000}, probabilities(FOUR, tau)),  # more than there are keeps all
        ({"temperature": tau, "top_k": 2}, [*probabilities(FOUR[:2], tau), 0.0, 0.0]),
        ({"temperature": 1.0, "top_k": 2, "top_p": 0.7}, [1.0, 0.0, 0.0, 0.0]),
        ({"temperature": 4.0, "top_k": 3, "top_p": 0.7}, [*probabilities(FOUR[:2], 4.0), 0.0, 0.0]),  # of all four, three reach 0.7
    ):
        generator = student.generator(integer(rng, 0, 2**31 - 1))
        got = generated(student, model, idx, max_new_tokens=3, block_size=3, generator=generator, **options)
        equal(tuple(got.shape), (1_000, 3), what="wrong shape of the new tokens")
        for step in range(3):
            frequencies(got[:, step], want, under=f", as new token {step + 1}, with {options}")
    level = believing(student, [[0.0] * 4] * 4)
    got = generated(student, level, idx[:400], max_new_tokens=1, block_size=3, top_p=0.5)
    equal(len(got.unique()), 2, what="wrong number of different tokens in 400 draws over four equal ones, with top_p 0.5")


@checks("generate_cached")
def test_drawn_ends(student, rng):
    """drawn tokens: a row is filled with EOS after its first EOS, and the run stops when the last row has ended"""
    # EOS comes with 1/4 in each step: all 6 rows have ended by step 120 but for a probability of 6 * 0.75 ** 120 < 1e-14.
    model, idx, eos = believing(student, [[0.0] * 4] * 4), random_ids(rng, 6, 2, 4), integer(rng, 0, 3)
    generator = student.generator(integer(rng, 0, 2**31 - 1))
    got = generated(student, model, idx, max_new_tokens=120, block_size=ROOMY, eos_token_id=eos, generator=generator)
    ends_where_drawn(got, eos)


@checks("generate_cached")
def test_ends_in_a_cycle(student, rng):
    """any token can be EOS, also token 0, and an EOS in the prompt ends no row"""
    order = torch.randperm(6, generator=rng).tolist()
    model = sure_after(student, [order[(order.index(token) + 1) % 6] for token in range(6)])
    for end in (0, integer(rng, 1, 5)):
        place = order.index(end) + 1
        cycle = order[place:] + order[:place]  # the tokens after `end`, and `end` as the last
        prompt = torch.tensor([[end, cycle[0]], [cycle[0], end]])
        got = generated(student, model, prompt, max_new_tokens=9, block_size=ROOMY, temperature=0.0, eos_token_id=end)
        equal(got, torch.tensor([[*cycle[1:], end], cycle]), what=f"EOS {end}, which is in each prompt: wrong tokens")
    best = integer(rng, 33_000, 49_151)
    wide = head_only(student, torch.float32, 1.0, {best: [1.0]}, V=49_152).there
    got = generated(student, wide, torch.tensor([[3], [40_000]]), max_new_tokens=2, block_size=ROOMY, temperature=0.0)
    equal(got, torch.full((2, 2), best), what="wrong tokens of a vocabulary of 49,152")


@checks("generate_cached")
def test_draws_without_settings(student, rng):
    """by default temperature is 1.0, and top_k, top_p and EOS are None: the same draws from the same state"""
    # Of 24,000 draws 1 in 1,000 falls to the tokens that even top_p = 0.999 would cut: none with probability 4e-11.
    model, idx = believing(student, [[-0.09 * v for v in range(70)]] * 70), random_ids(rng, 4_000, 1, 70)
    seed, drawn = integer(rng, 0, 2**31 - 1), []
    for options in ({}, {"temperature": 1.0, "top_k": None, "top_p": None, "eos_token_id": None}):
        generator = student.generator(seed)
        drawn.append(generated(student, model, idx, max_new_tokens=6, block_size=ROOMY, generator=generator, **options))
    equal(drawn[0], drawn[1], what="other tokens without settings than with temperature=1.0 and None for all others")


@checks("generate_cached")
def test_gradients_after_a_run(student):
    """gradient mode, on or off, is the same after the run as before, also if the window slides or an error is raised"""

    def run(temperature):
        ids = torch.ones(2, 4, dtype=torch.int64)
        student.generate_cached(student.model("tiny"), ids, max_new_tokens=3, block_size=5, temperature=temperature)

    def run_below_zero():
        with contextlib.suppress(StudentRaised):  # who draws without `sample_next_token` need not refuse it
            run(-2.0)

    gradient_mode_stays(student, lambda: run(0.5))
    gradient_mode_stays(student, run_below_zero)


@checks("generate_cached")
def test_run_elsewhere(student):
    """idx on the meta device, three rows with an EOS: every new tensor is on the meta device"""
    model, idx = student.model("tiny", device="meta"), torch.ones(3, 5, dtype=torch.int64)
    options = {"max_new_tokens": 3, "block_size": 6, "temperature": 0.0, "eos_token_id": 7}
    on_one_device(student.generate_cached.on_meta(model, idx, **options))
