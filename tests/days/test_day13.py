"""The numbers of the paging day that are worked out by hand, each recomputed; what the reference promises."""

import hashlib
import math
import re
import tomllib
import zlib

import pytest
import torch

from autograder.checking.helpers.cached import whole
from autograder.lessons import find_day, lesson
from autograder.sandbox.measure.op_counter import counting
from course.kit import Config, paths
from solutions import paging
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

from ..support.demo_cells import DemoCells, public
from ..support.passages import assert_said

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["paging"]
LESSON = (paths.ROOT / "course" / "day13_paging" / "lesson.md").read_text(encoding="utf-8")


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


def test_a_beginning_may_be_evicted_before_its_end_only_where_two_texts_were_computed_side_by_side() -> None:
    pool, text = PrefixPool(3), list(range(8))
    first, second = start_sequence(pool, text[:4], 4), start_sequence(pool, text, 4)
    first.grow(4)
    second.grow(8)
    publish_blocks(first, text[:4])
    publish_blocks(second, text)  # its first block has no name: the other one has it
    keys = block_keys(text, 4)
    assert pool.find(keys) == [first.blocks[0], second.blocks[1]]
    first.free()
    pool.take()
    assert keys[1] in pool.block_of
    assert pool.find(keys) == []


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


def test_the_lesson_quotes_them() -> None:
    waste, slots, fork, keys, prefix = (HAND[name] for name in ("waste", "slots", "fork", "keys", "prefix"))
    empty = {size: round(100 * share, 2) for size, share in zip(waste["block_sizes"], waste["empty"], strict=True)}
    case = HAND["block_bytes"]
    quoted = {
        "of 8,192 slots 1,106 hold something. 86.5 %": (
            sum(waste["lengths"]) == 1106, len(waste["lengths"]) * waste["room"] == 8192, waste["reserved_empty"] == 0.865,
        ),
        "texts of 52, 114, 228 and 712 tokens": waste["lengths"] == [52, 114, 228, 712],
        "52 tokens takes 4 blocks (64 places), that of 114 takes 8": [-(-n // 16) for n in (52, 114)] == [4, 8],
        "4 + 8 + 15 + 45 = 72 blocks, 1,152 places": (waste["blocks"][2] == 72, 16 * 72 == 1152),
        "4.0 % are empty. Blocks of 8 leave 1.25 % empty, blocks of 256 leave 28.0 %": (
            round(empty[16], 1) == 4.0, empty[8] == 1.25, round(empty[256], 1) == 28.0,
        ),
        "23,040 bytes (Day 10), so a block of 16 has 368,640": (23_040 * 16 == 368_640 == case["smollm2"]),
        "For Llama-3-8B it is 2 MiB": case["llama3_8b"] == 2 * 2**20,
        "the four take 1,152 places, 288 each on average, so the same 8,192 slots hold 8,192 // 288 = 28 texts": (
            1152 / 4 == 288, 8192 // 288 == 28,
        ),
        "That is seven times the batch": 28 / len(waste["lengths"]) == 7,
        "block 12 of size 4 has the slots 48 to 51": (12 * 4 == 48, 12 * 4 + 3 == 51),
        "48 49 50 51, then 20 21 22 23, then 12 13. Token 4 is in slot 20, token 9 in slot 13": (
            slots["slots"] == [48, 49, 50, 51, 20, 21, 22, 23, 12, 13], slots["slots"][4] == 20, slots["slots"][9] == 13,
        ),
        "two blocks, 4 are free": fork["free_after_first"] == 4,
        "For 1 or 2 tokens B needs one block, which is the copy; for 3 it needs 2": fork["needed"][:3] == [1, 1, 2],
        "and 3 are free": fork["free_after_copy"] == 3,
        "4 · 11 = 44 blocks": -(-162 // 16) == 11,
        "begins e3b0c442": hashlib.sha256(b"").hexdigest().startswith("e3b0c442"),
        "SHA-256 of these 48 bytes begins 5d8bb3bb": keys["begin"][0] == "5d8bb3bb",
        "the key begins a7d08094": keys["begin"][1] == "a7d08094",
        "at about 93,000 names, for 64 bits at 6 billion": (round(math.sqrt(2**33), -3) == 93_000, round(math.sqrt(2**65) / 1e9) == 6),
        "150 // 16 = 9 blocks are whole: 144 tokens are found, 18 are to be fed": (prefix["found"] == 144, prefix["fed"] == 18),
        "160 are found and 2 fed": (prefix["again"] == 160, prefix["tokens"] - 160 == 2),
        "144. If all 160 were taken over": prefix["exactly"] == 144,
        "62 whole blocks, 992 tokens": (1000 // 16 == 62, 62 * 16 == 992),
        "33 tokens have 3 blocks and 15 places left": (-(-33 // 16) == 3, 48 - 33 == 15),
    }  # fmt: skip
    assert_said(LESSON, quoted)
    assert set(HAND) == {"slots", "fork", "full_fork", "waste", "prefix", "keys", "block_bytes"}, "every entry is recomputed"


def test_the_given_error_is_the_references() -> None:
    source = (paths.ROOT / "solutions" / "paging.py").read_text(encoding="utf-8")
    given = "class OutOfBlocks" + source.partition("class OutOfBlocks")[2].partition("\n\n\nclass BlockPool")[0]
    assert given in lesson(find_day("paging")).setup


run_cell = DemoCells(
    find_day("paging"),
    lambda: {**public(paging), "counting": counting, "hashlib": hashlib, "zlib": zlib, "PagedSequence": PagedSequence},
)


def test_the_pairs_of_one_name(capsys) -> None:
    said = run_cell("def polynomial", capsys)
    first, second = re.findall(r"polynomial: (\d+) and (\d+)", said)[0]
    assert first == second
    digests = re.findall(r"SHA-256 of the two: (\w+) and (\w+)", said)[0]
    assert digests[0] != digests[1]
    tried = int(re.findall(r"CRC32: after ([\d,]+) blocks", said)[0].replace(",", ""))
    assert tried == 18_120
    sooner = 100 * -math.expm1(-(tried**2) / 2**33)  # percent
    half = round(math.sqrt(2**33 * math.log(2)), -3)
    seeds = f"only about {sooner:.0f} seeds in 100 find a pair so early"
    assert_said(LESSON, [seeds, f"half of all seeds need more than {half:,.0f} blocks"])


SHARED = """    B, H, _, Dh = q.shape
    K = keys.shape[1]
    queries = q.reshape(B, K, H // K, Dh) * Dh**-0.5
    places = torch.arange(block_size)
    k, v = (memory[(shared[:, None] * block_size + places).flatten()].transpose(0, 1) for memory in (keys, values))
    state = State.empty((K, B * (H // K)), Dh, q.dtype)
    state = absorb(state, queries.transpose(0, 1).flatten(1, 2) @ k.transpose(-2, -1), v)
    m, l, acc = (part.unflatten(1, (B, H // K)).transpose(0, 1) for part in (state.m, state.l, state.acc))
    state = State(m, l, acc)
    for column, blocks in enumerate(tables.unbind(dim=1)):
        k, v = (memory[blocks[:, None] * block_size + places].transpose(1, 2) for memory in (keys, values))
        scores = queries @ k.transpose(-2, -1)
        hidden = column * block_size + places >= lengths[:, None]
        state = absorb(state, scores.masked_fill(hidden[:, None, None], -torch.inf), v)
    return finish(state)[0].reshape(B, H, 1, Dh)
"""
ROW_BY_ROW = """    tables = torch.cat((shared.expand(len(tables), -1), tables), dim=1)
    return paged_attention(q, keys, values, tables, lengths + len(shared) * block_size, block_size)
"""


@pytest.mark.parametrize(("answer", "said"), [
    ('    raise NotImplementedError("shared_attention")\n', "not written yet"),
    (SHARED, "right, and every block is read once"),
    (ROW_BY_ROW, "the output is right, and 5.0 times the bytes"),
    (SHARED.replace(">= lengths", "> lengths"), "the output is another one"),
    (SHARED.replace("State(m, l, acc)", "State.empty((B, K, H // K), Dh, q.dtype)"), "the output is another one"),
], ids=["not written", "right", "row by row", "one key too many", "the beginning is lost"])  # fmt: skip
def test_the_challenge_tells_right_from_wrong(answer: str, said: str, capsys) -> None:
    assert said in run_cell("def shared_attention", capsys, ('    raise NotImplementedError("shared_attention")\n', answer))


def test_four_forks_of_a_prompt_hold_what_the_lesson_bets_on(capsys) -> None:
    said = run_cell("answers = [prompt", capsys)
    assert "forked: 11 blocks are held" in said
    assert "14 blocks, copies [1, 1, 1, 0]" in said


def test_the_table_of_what_is_found(capsys) -> None:
    said = run_cell('"150 alike"', capsys)
    assert re.findall(r"(\d+) of (\d+) are found", said) == [("144", "162"), ("160", "162"), ("144", "160"), ("0", "162")]


def test_only_the_peak_tells_columns_from_all_at_once() -> None:
    """8 rows of 1,024 tokens: a little more than two columns in hand, against about a hundred. The lesson's cell prints the same two."""
    B, T, size, K, Dh = 8, 1024, 16, 2, 32
    keys, values = torch.randn(2, B * T, K, Dh)
    tables = torch.randperm(B * T // size).view(B, -1)
    with counting() as work:
        paged_attention(torch.randn(B, 4, 1, Dh), keys, values, tables, torch.full((B,), T), size)
    assert 2 < work.peak_bytes / (B * size * 2 * K * Dh * 4) < 3
