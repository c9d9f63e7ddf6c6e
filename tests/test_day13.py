"""The numbers of the paging day that are worked out by hand, each recomputed; what the reference promises; the rungs of the ladder."""

import hashlib
import tomllib

import pytest
import torch

from autograder.checks.cached import PROMPTS, tiny_ids, unrolled, whole
from autograder.grading.work import counting
from course.kit import Config, paths
from solutions.attention import attention
from solutions.kv_cache import KVCache, decode_step, forward_cached
from solutions.paging import (
    BlockPool,
    OutOfBlocks,
    PagedKV,
    PagedSequence,
    PrefixPool,
    block_keys,
    forward_paged,
    paged_attention,
    paged_decode,
    publish_blocks,
    start_sequence,
)

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["paging"]


def test_the_slots() -> None:
    case = HAND["slots"]
    sequence = PagedSequence(BlockPool(1), case["block_size"])
    sequence.blocks, sequence.length = list(case["table"]), case["tokens"]
    assert sequence.slots().tolist() == case["slots"]
    assert [case["table"][t // 4] * 4 + t % 4 for t in range(case["tokens"])] == case["slots"]


def test_the_fork() -> None:
    case = HAND["fork"]
    pool = BlockPool(case["num_blocks"])
    a = PagedSequence(pool, case["block_size"])
    assert a.grow(case["first"]) == []
    b = a.fork()
    assert pool.num_free == case["free_after_first"]
    assert [pool.holders(block) for block in a.blocks] == [2, 2]
    assert [b.blocks_for(n) for n in case["needed_for"]] == case["needed"]
    old = a.blocks[1]
    assert b.grow(1) == [(old, b.blocks[1])]
    assert a.grow(1) == []
    assert pool.num_free == case["free_after_copy"]
    assert [pool.holders(block) for block in (a.blocks[0], a.blocks[1], b.blocks[1])] == [2, 1, 1]


def test_a_full_block_is_not_copied() -> None:
    case = HAND["full_fork"]
    a = PagedSequence(BlockPool(case["num_blocks"]), case["block_size"])
    a.grow(case["first"])
    b = a.fork()
    assert b.blocks_for(1) == case["needed"]
    assert b.grow(1) == []
    assert b.blocks[:2] == a.blocks


def test_the_waste() -> None:
    case = HAND["waste"]
    lengths, total = case["lengths"], sum(case["lengths"])
    assert 1 - total / (len(lengths) * case["room"]) == pytest.approx(case["reserved_empty"], abs=5e-4)
    for size, num_blocks, empty in zip(case["block_sizes"], case["blocks"], case["empty"], strict=True):
        pool = BlockPool(2000)
        for length in lengths:
            PagedSequence(pool, size).grow(length)
        assert 2000 - pool.num_free == num_blocks
        assert 1 - total / (size * num_blocks) == pytest.approx(empty, abs=5e-5)


def test_the_prefix() -> None:
    case = HAND["prefix"]
    size, n = case["block_size"], case["tokens"]
    pool, text = PrefixPool(64), list(range(n))
    first = start_sequence(pool, text, size)
    assert first.length == 0
    first.grow(n)
    publish_blocks(first, text)
    other = start_sequence(pool, text[: case["shared"]] + [999] * (n - case["shared"]), size)
    assert other.length == case["found"]
    assert n - other.length == case["fed"]
    assert start_sequence(pool, text, size).length == case["again"]
    assert start_sequence(pool, text[:160], size).length == case["exactly"]
    assert pool.num_free == 64 - 11


def test_the_keys() -> None:
    case = HAND["keys"]
    for salt, begin in ((b"", case["begin"]), (case["salt"].encode(), case["begin_salted"])):
        want, key = [], hashlib.sha256(salt).digest()
        for pair in ((1, 2), (3, 4)):
            key = hashlib.sha256(key + b"".join(token.to_bytes(8, "little") for token in pair)).digest()
            want.append(key)
        assert block_keys(case["tokens"], case["block_size"], salt) == want
        assert [key.hex()[:8] for key in want] == begin


def test_the_bytes_of_a_block() -> None:
    case = HAND["block_bytes"]
    smollm2 = Config("SmolLM2", 49152, 576, 1536, 30, 9, 3, 64, 1e5, 1e-5, 8192, True, 1, 2)
    llama = Config("Llama-3-8B", 128256, 4096, 14336, 32, 32, 8, 128, 5e5, 1e-5, 8192, False, 1, 2)
    for config, name in ((smollm2, "smollm2"), (llama, "llama3_8b")):
        kv = PagedKV(config, 1, case["block_size"], torch.bfloat16, "meta")
        assert kv.nbytes == kv.keys.nbytes + kv.values.nbytes == case[name]


def filled(config: Config, num_blocks: int, block_size: int) -> PagedKV:
    """Memory in which something lies everywhere: what nobody wrote must not matter."""
    kv = PagedKV(config, num_blocks, block_size, torch.float64)
    kv.keys.fill_(0.7)
    kv.values.fill_(-0.7)
    return kv


@pytest.mark.parametrize("block_size", [1, 4, 16])
def test_any_block_size_any_chunks_and_ragged_rows_with_a_fork_are_as_without_blocks(block_size: int) -> None:
    model, rng = whole().weights_only(), torch.Generator().manual_seed(1)
    pool, kv = BlockPool(320 // block_size), filled(model.config, 320 // block_size, block_size)
    for _ in range(3):
        pool.take()
    sequences, caches = [], []
    for n in (5, 33, 17):
        ids = torch.randint(1024, (1, n), generator=rng)
        sequence, cache = PagedSequence(pool, block_size), KVCache(model.config, 1, 80, torch.float64)
        chunks = [forward_paged(model, chunk, sequence, kv) for chunk in ids.split([n // 2, n - n // 2], dim=1)]
        torch.testing.assert_close(torch.cat(chunks, dim=1), forward_cached(model, ids, cache), atol=1e-9, rtol=1e-9)
        sequences.append(sequence)
        caches.append(cache)
    sequences.append(sequences[1].fork())
    caches.append(KVCache(model.config, 1, 80, torch.float64))
    caches[3].keys.copy_(caches[1].keys)
    caches[3].values.copy_(caches[1].values)
    caches[3].counts = list(caches[1].counts)
    for _ in range(6):
        ids = torch.randint(1024, (4, 1), generator=rng)
        got = paged_decode(model, ids, sequences, kv)
        alone = torch.cat([decode_step(model, row, cache) for row, cache in zip(ids.split(1), caches, strict=True)])
        torch.testing.assert_close(got, alone, atol=1e-9, rtol=1e-9)
    for sequence in sequences:
        sequence.free()
    assert pool.num_free == 320 // block_size - 3


def test_too_few_blocks_for_all_rows_change_nothing() -> None:
    model = whole().weights_only()
    pool, kv = BlockPool(3), filled(model.config, 3, 2)
    sequences = [PagedSequence(pool, 2) for _ in range(2)]
    for sequence in sequences:
        forward_paged(model, torch.ones(1, 2, dtype=torch.int64), sequence, kv)
    before = kv.keys.clone()
    with pytest.raises(OutOfBlocks):
        paged_decode(model, torch.ones(2, 1, dtype=torch.int64), sequences, kv)
    assert [sequence.length for sequence in sequences] == [2, 2]
    assert pool.num_free == 1
    assert torch.equal(kv.keys, before)


def test_rewritten() -> None:
    """A published block that is cut through and written over is no longer found."""
    pool = PrefixPool(4)
    a = start_sequence(pool, [1, 2, 3, 4, 5], 4)
    a.grow(5)
    publish_blocks(a, [1, 2, 3, 4, 5])
    a.truncate(2)
    assert pool.find(block_keys([1, 2, 3, 4], 4)) == a.blocks
    a.grow(2)
    assert pool.find(block_keys([1, 2, 3, 4], 4)) == []


def test_one_column_at_a_time() -> None:
    """Attention through the table has a few columns in hand, and not all that is gathered."""
    B, T, size, K, Dh = 8, 512, 16, 2, 32
    keys, values = torch.randn(2, B * T, K, Dh, generator=torch.Generator().manual_seed(2))
    q = torch.randn(B, 4, 1, Dh, generator=torch.Generator().manual_seed(3))
    tables, lengths = torch.randperm(B * T // size).view(B, -1), torch.full((B,), T)
    with counting() as paged:
        out = paged_attention(q, keys, values, tables, lengths, size)
    with counting() as gathered:
        slots = (tables[:, :, None] * size + torch.arange(size)).flatten(1)
        want = attention(q, keys[slots].transpose(1, 2), values[slots].transpose(1, 2))
    torch.testing.assert_close(out, want, atol=1e-5, rtol=1e-5)
    column = B * size * 2 * K * Dh * 4
    assert paged.peak_bytes < 3 * column
    assert gathered.peak_bytes > 20 * column


def test_the_rungs_paged_forked_and_with_a_shared_prefix() -> None:
    """Greedy tokens of the loop without a cache: alone in blocks, as a fork, and behind a beginning that another left in the pool."""
    model = whole().weights_only()
    size, num_blocks = 4, 60
    for prompt in PROMPTS:
        ids = tiny_ids(prompt)
        want = unrolled(whole(), ids, 8, 256)
        pool, kv = PrefixPool(num_blocks), filled(model.config, num_blocks, size)
        first = start_sequence(pool, ids[0].tolist(), size)
        logits = forward_paged(model, ids, first, kv)[:, -1]
        fork = first.fork()
        publish_blocks(first, ids[0].tolist())
        later = start_sequence(pool, ids[0].tolist(), size)
        assert later.length == (ids.shape[1] - 1) // size * size
        rows = torch.cat((logits, logits, forward_paged(model, ids[:, later.length :], later, kv)[:, -1])).argmax(dim=-1, keepdim=True)
        tokens = [rows]
        for _ in range(7):
            tokens.append(paged_decode(model, tokens[-1], [first, fork, later], kv).argmax(dim=-1, keepdim=True))
        assert torch.equal(torch.cat(tokens, dim=1), want.expand(3, -1))
