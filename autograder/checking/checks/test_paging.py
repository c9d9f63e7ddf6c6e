"""Visible checks of the paged cache."""

from __future__ import annotations

import contextlib

import torch

from autograder.authoring import checks, close, equal, raises, random_steps, that
from autograder.base.wording import counted
from autograder.checking.checks.test_transformer import small_config
from autograder.checking.helpers.cached import PROMPTS, tiny_config, tiny_ids, unrolled, whole, written
from autograder.checking.helpers.devices import on_one_device
from autograder.checking.helpers.paged import (
    NOT_CHAINED,
    Sequences,
    attended,
    chained,
    draw_table,
    filled,
    many_holders,
    mistaken_keys,
    paged_logits,
    play_pool,
    pool_steps,
    sequence_steps,
    state_of,
    take_all,
    write_all,
)
from autograder.checking.helpers.work_bounds import between, gradient_mode_stays
from autograder.sandbox.protocol.worker_errors import StudentRaised
from course.kit import Config

# ---- BlockPool -----------------------------------------------------------------------------------------------------


@checks("BlockPool", weight=2)
def test_stories_of_a_pool(student, rng):
    """random sequences of take, share and release: num_free and holders are right, and take never returns a held block"""
    random_steps(lambda: pool_steps(rng, 30, keys=False), lambda steps: play_pool(student, steps, 4, keys=False), count=12)


@checks("BlockPool")
def test_every_block_once(student):
    """three blocks: take returns each block once, the fourth take raises OutOfBlocks, and a released block can be taken again"""
    pool = student.BlockPool(3)
    equal([pool.num_free, *map(pool.holders, range(3))], [3, 0, 0, 0], what="wrong num_free and holders of a new pool")
    taken = [pool.take() for _ in range(3)]
    equal(sorted(taken), [0, 1, 2], what="wrong blocks from three calls of take on a pool of three")
    equal(student.BlockPool(5).num_free, 5, what="wrong num_free of a second pool")
    equal(pool.num_free, 0, what="wrong num_free of a pool that is taken")
    for kind in ("OutOfBlocks", "CacheFull"):
        raises(kind, pool.take, naming=3)
    equal([pool.num_free, *map(pool.holders, taken)], [0, 1, 1, 1], what="a refused take has changed num_free or holders")
    pool.release(taken[1])
    equal([pool.num_free, pool.holders(taken[1])], [1, 0], what="wrong num_free and holders of a block that was released")
    equal([pool.take()], [taken[1]], what="the one free block was not given")


@checks("BlockPool")
def test_free_at_the_last_holder(student):
    """a block with three holders is free when the third one has released it"""
    pool = student.BlockPool(2)
    block = pool.take()
    pool.share(block)
    pool.share(block)
    for holders in (3, 2, 1, 0):
        equal(pool.holders(block), holders, what="wrong number of holders")
        equal(pool.num_free, 1 + (holders == 0), what=f"wrong num_free with {holders} holders")
        if holders:
            pool.release(block)


@checks("BlockPool")
def test_a_free_block_is_refused(student):
    """share and release of a free block raise a ValueError that names the block, and change nothing"""
    pool = student.BlockPool(8)
    block = pool.take()
    pool.release(block)
    for call in (pool.share, pool.release):
        raises(ValueError, lambda call=call: call(block), naming=block)
    equal([pool.num_free, pool.holders(block)], [8, 0], what="a refused call has changed num_free or holders")
    equal(sorted(pool.take() for _ in range(8)), list(range(8)), what="eight takes of a pool of eight")


@checks("BlockPool")
def test_a_large_pool(student):
    """1,100 blocks: each is taken once and can be released; a block may have hundreds of holders"""
    take_all(student, "BlockPool", 1100)
    many_holders(student, (130, 260, 270))


# ---- PagedSequence -------------------------------------------------------------------------------------------------


ONE_TABLE = "The fork and its origin have one table between them: give the fork a list of its own."


@checks("PagedSequence", weight=2)
def test_stories_of_sequences(student, rng):
    """random sequences of grow, fork, truncate and free: each slot holds its own text, and the pool knows every holder"""
    written(lambda *_: student.PagedSequence(None, 4).blocks_for(1))
    for num_blocks, size in ((6, 4), (8, 2)):

        def play(steps, num_blocks=num_blocks, size=size):
            Sequences(num_blocks, size).play(student, steps)

        random_steps(lambda: sequence_steps(rng, 20, prefix=False), play, count=6)


@checks("PagedSequence")
def test_slots_by_hand(student, hand):
    """table 12, 5, 3, blocks of 4, 10 tokens: the slots of all tokens and of a range of tokens"""
    written(lambda *_: student.PagedSequence(None, 4).slots())
    case = hand["slots"]
    sequence = student.PagedSequence(student.BlockPool(16), case["block_size"])
    sequence.blocks, sequence.length = case["table"], case["tokens"]
    want = torch.tensor(case["slots"])
    in_order = [4 * block + place for block in sorted(case["table"]) for place in range(4)]
    suspects = [
        (torch.arange(48, 58), "The slots run on from the first block: the next block of the table is elsewhere."),
        (torch.tensor(in_order[:10]), "The table is in the text's order, not in that of the blocks' numbers."),
    ]
    got = sequence.slots()
    equal(got, want, what="wrong slots", suspects=suspects)
    equal(str(got.dtype), "torch.int64", what="wrong dtype of the slots")
    for start, end in ((7, 10), (3, 5), (0, 1), (4, 4), (0, 0)):
        equal(sequence.slots(start, end), want[start:end], what=f"wrong slots from {start} to {end}")
    equal(sequence.slots(9), want[9:], what="wrong slots from 9 on")
    none = student.PagedSequence(student.BlockPool(1), 4).slots()
    equal([tuple(none.shape), str(none.dtype)], [(0,), "torch.int64"], what="wrong shape and dtype of the slots of no tokens")


@checks("PagedSequence")
def test_slots_after_a_copy(student):
    """slots follow the table, also after a copy has replaced a block of the table"""
    written(lambda *_: student.PagedSequence(None, 4).slots())
    a = student.PagedSequence(student.BlockPool(4), 4)
    a.grow(6)
    equal(a.slots(), table_slots(a.blocks, 4, 6), what="wrong slots of a new sequence")
    b = a.fork()
    a.truncate(5)
    a.grow(1)
    for name, sequence in (("a", a), ("b", b)):
        equal(sequence.slots(), table_slots(sequence.blocks, 4, 6), what=f"wrong {name}.slots() after a.grow(1) has replaced a block of a")
    that(a.blocks[1] != b.blocks[1], "a.grow(1) has not replaced the block that b has too", expected="another block", got=a.blocks)


def table_slots(table, size, length):
    return torch.tensor([table[t // size] * size + t % size for t in range(length)])


@checks("PagedSequence")
def test_a_long_text(student):
    """1,300 tokens in blocks of 16, and a table of blocks with large numbers: slots, length and num_free are right"""
    sequence = student.PagedSequence(student.BlockPool(100), 16)
    equal(sequence.blocks_for(1300), 82, what="wrong blocks_for(1300) of a new sequence, blocks of 16")
    sequence.grow(1300)
    table = sequence.blocks
    equal([len(set(table)), sequence.length, sequence.pool.num_free], [82, 1300, 18], what="wrong number of blocks, length and num_free")
    equal(sequence.slots(), table_slots(table, 16, 1300), what="wrong slots of 1,300 tokens")
    sequence.truncate(1100)
    equal([sequence.blocks, sequence.pool.num_free], [table[:69], 31], what="wrong blocks and num_free after truncate(1100)")
    other = student.PagedSequence(student.BlockPool(90_000), 256)
    other.blocks, other.length = [4099 * n % 90_000 for n in range(20, 32)], 3000
    equal(other.slots(), table_slots(other.blocks, 256, 3000), what="wrong slots of blocks with large numbers")


@checks("PagedSequence", weight=2)
def test_a_fork_by_hand(student, hand):
    """a fork of 6 tokens in blocks of 4: the first sequence to grow copies the shared block, the second copies nothing"""
    written(lambda *_: student.PagedSequence(None, 4).blocks_for(1))
    case = hand["fork"]
    pool = student.BlockPool(case["num_blocks"])
    a = student.PagedSequence(pool, case["block_size"])
    equal(a.grow(case["first"]), [], what="a new sequence has nothing to copy")
    b = a.fork()
    equal([b.blocks, b.length], [a.blocks, a.length], what="a fork has another table or length")
    equal([pool.num_free, *map(pool.holders, a.blocks)], [case["free_after_first"], 2, 2], what="wrong num_free and holders after a fork")
    whole_blocks = [max(0, -(-(6 + n) // 4) - 2) for n in case["needed_for"]]
    no_room = [-(-n // 4) for n in case["needed_for"]]
    suspects = [
        (whole_blocks, "The copy of the shared last block is a block too."),
        ([count + 1 for count in no_room], "The last block and its copy have room for two more tokens: the rest alone needs new blocks."),
        (no_room, "The room in the last block is not used, and the copy of this block is not counted."),
    ]
    what = f"wrong b.blocks_for(n) for n = {', '.join(map(str, case['needed_for']))}"
    equal([b.blocks_for(n) for n in case["needed_for"]], case["needed"], what=what, suspects=suspects)
    table = a.blocks
    copies = b.grow(1)
    that(a.blocks == table, "b.grow(1) has changed the blocks of a, of which b is the fork", expected=table, got=a.blocks, cause=ONE_TABLE)
    what = f"b is about to write into block {table[1]}, which a has too"
    that(b.blocks[1] != table[1], what, expected="a new block in its place in b.blocks", got=b.blocks)
    what = f"b.grow(1) gives other pairs (old block, new block) to be copied: block {table[1]} is part full, and a has it too"
    equal(copies, [(table[1], b.blocks[1])], what=what, suspects=[([(b.blocks[1], table[1])], "A pair is (old, new).")])
    equal(a.grow(1), [], what="a.grow(1) after b has its own block: nobody shares a's last block any more, and it is to be copied")
    equal(a.blocks, table, what="nobody shares the last block any more, and it was replaced")
    held = [pool.holders(block) for block in (table[0], table[1], b.blocks[1])]
    equal([pool.num_free, *held], [case["free_after_copy"], 2, 1, 1], what="wrong num_free and holders in the end")


@checks("PagedSequence")
def test_a_full_block_is_shared_for_good(student, hand):
    """a fork at 8 tokens in blocks of 4: growing copies no block, since all shared blocks are full"""
    case = hand["full_fork"]
    a = student.PagedSequence(student.BlockPool(case["num_blocks"]), case["block_size"])
    a.grow(case["first"])
    b = a.fork()
    equal(b.blocks_for(1), case["needed"], what="wrong blocks_for(1)")
    table = a.blocks
    equal(b.grow(1), [], what="b.grow(1) gives pairs (old block, new block) to be copied, and both blocks are full")
    that(a.blocks == table, "b.grow(1) has changed the blocks of a, of which b is the fork", expected=table, got=a.blocks, cause=ONE_TABLE)
    equal(b.blocks[:2], a.blocks, what="the full blocks are no longer shared")
    equal(len(b.blocks), 3, what="wrong number of blocks")


@checks("PagedSequence", weight=2)
def test_refused_means_nothing_changed(student):
    """too few free blocks: grow raises OutOfBlocks and leaves every table, length and holder unchanged"""
    pool = student.BlockPool(4)
    a = student.PagedSequence(pool, 4)
    a.grow(6)
    b = a.fork()
    for n in (7, 14):  # two blocks are free: with the copy 7 tokens need three
        before = state_of(b)
        raises("OutOfBlocks", lambda n=n: b.grow(n))
        equal(state_of(b), before, what="a refused grow has changed blocks, length, num_free or holders")
    equal(len(b.grow(6)), 1, what="wrong number of pairs (old block, new block) to be copied from b.grow(6), which just fits")
    equal(pool.num_free, 0, what="wrong num_free")
    c = a.fork()
    before = state_of(c)
    raises("OutOfBlocks", lambda: c.grow(1))
    equal(state_of(c), before, what="a refused grow has changed blocks, length, num_free or holders")
    equal([c.blocks_for(0), c.grow(0)], [0, []], what="wrong blocks_for(0) and grow(0)")
    equal(state_of(c), before, what="growing by nothing has changed something")
    b.free()
    asked: list[int] = []
    pool.take = lambda: asked.append(1) or 0
    with contextlib.suppress(StudentRaised):
        c.grow(14)  # two blocks are free, and with the copy it needs four
    that(not asked, "c.grow(14) must be refused, and it has called pool.take first", expected="no call", got=len(asked))
    raises("OutOfBlocks", lambda: c.grow(14))


@checks("PagedSequence")
def test_cut_and_freed(student):
    """truncate releases blocks without a remaining token and keeps a partly used block; free releases all blocks"""
    pool = student.BlockPool(5)
    a = student.PagedSequence(pool, 4)
    a.grow(14)
    table = a.blocks
    for length, count in ((13, 4), (12, 3), (5, 2), (5, 2), (1, 1)):
        a.truncate(length)
        what = f"wrong blocks, length and num_free after a.truncate({length})"
        equal([a.blocks, a.length, pool.num_free], [table[:count], length, 5 - count], what=what)
    a.grow(2)
    equal([a.blocks, a.length], [table[:1], 3], what="wrong blocks and length after growing into the block that was cut")
    a.free()
    equal([a.blocks, a.length, pool.num_free], [[], 0, 5], what="wrong blocks, length and num_free after free")


@checks("PagedSequence")
def test_who_writes_over_says_so(student):
    """grow calls pool.forget before it overwrites a part-full block of the sequence's own, and for no full or shared block"""
    pool = student.BlockPool(6)
    calls: list[int] = []
    pool.forget = calls.append
    a = student.PagedSequence(pool, 4)
    a.grow(8)
    calls.clear()
    a.grow(3)
    full = a.blocks[:2]
    that(not set(calls) & set(full), "a full block stays as it is, yet pool.forget was called for it", got=calls)
    for n, where in ((1, "and no new block is needed"), (5, "and a new block is taken")):
        calls.clear()
        a.truncate(6)
        that(not calls, "truncate leaves the contents of the blocks as they are, yet pool.forget was called for one", got=calls)
        a.grow(n)
        what = f"a block is written over by a.grow({n}) after a truncate, {where}, yet pool.forget was not called for it"
        that(full[1] in calls, what, expected=[full[1]], got=calls)
        that(full[0] not in calls, "a full block stays as it is, yet pool.forget was called for it", got=calls)
    a.truncate(7)
    calls.clear()
    a.fork().grow(1)
    that(not set(calls) & set(full), "a shared block is copied and not written over, yet pool.forget was called for it", got=calls)
    equal(a.blocks, full, what="the blocks of the other sequence have changed")
    calls.clear()
    a.grow(0)
    that(not calls, "grow(0) does nothing, yet pool.forget was called for a block", got=calls)
    raises("OutOfBlocks", lambda: a.grow(100))
    that(not calls, "grow was refused, yet pool.forget was called for a block", got=calls)


@checks("PagedSequence")
def test_the_end_is_released_first(student):
    """truncate releases the last block first, so the start of a text never becomes idle before its continuation"""
    pool = student.BlockPool(6)
    released: list[int] = []
    a = student.PagedSequence(pool, 2)
    a.grow(9)
    blocks = list(a.blocks)
    pool.release = released.append
    a.truncate(3)
    equal(released, blocks[:1:-1], what="wrong blocks released, or in a wrong order")


# ---- PagedKV -------------------------------------------------------------------------------------------------------


def memory_of(student, rng, L=2, num_blocks=5, size=4, K=2, Dh=3, dtype=torch.float32):
    """A PagedKV with numbers in every slot, and copies of both its tensors."""
    config = small_config(num_hidden_layers=L, num_key_value_heads=K, num_attention_heads=2 * K, head_dim=Dh)
    kv = student.PagedKV(config, num_blocks, size, dtype=dtype)
    shape = (L, num_blocks * size, K, Dh)
    wide = torch.promote_types(dtype, torch.float32)  # numbers of float64 that float32 does not have
    keys, values = (torch.randn(shape, generator=rng, dtype=wide).to(dtype) for _ in range(2))
    write_all(kv, keys, values)
    return kv, keys, values


@checks("PagedKV", weight=2)
def test_write_and_read(student, rng):
    """float64: slots can be written and read in any order; all other slots and layers stay unchanged"""
    kv, keys, values = memory_of(student, rng, dtype=torch.float64)
    written(lambda *_: kv.read(0, torch.tensor([0])))
    for slots in (torch.tensor([6, 0, 17, 5]), torch.tensor([9, 11, 10, 12])):
        k, v = torch.randn(2, 4, 2, 3, generator=rng, dtype=torch.float64)
        kv.write(1, slots, k, v)
        keys[1, slots], values[1, slots] = k, v
        equal(kv.keys, keys, what=f"wrong keys in the memory after a write to slots {slots.tolist()}")
        equal(kv.values, values, what=f"wrong values in the memory after a write to slots {slots.tolist()}")
    for layer, wanted in ((1, torch.tensor([5, 6, 1])), (0, torch.tensor([6, 8, 7, 9])), (1, torch.tensor([17, 17]))):
        for name, got, want in zip(("keys", "values"), kv.read(layer, wanted), (keys, values), strict=True):
            equal(got, want[layer, wanted], what=f"wrong {name} of layer {layer} in slots {wanted.tolist()}")


@checks("PagedKV", weight=2)
def test_copied_blocks(student, rng):
    """copying blocks, one block to two places, copies keys and values of all layers, and changes nothing else"""
    kv, keys, values = memory_of(student, rng, L=3, dtype=torch.float64)
    written(lambda *_: kv.copy([]))
    pairs = [(1, 4), (0, 2), (1, 3)]
    kv.copy(pairs)
    for memory in (keys, values):
        for old, new in pairs:
            memory[:, new * 4 : new * 4 + 4] = memory[:, old * 4 : old * 4 + 4]
    equal(kv.keys, keys, what="wrong keys in the memory")
    equal(kv.values, values, what="wrong values in the memory")
    kv.copy([])
    equal(kv.keys, keys, what="a copy of no block has changed the memory")


@checks("PagedKV")
def test_bytes_of_a_block_by_hand(student, hand):
    """a block of 16 tokens in 16 bits: 368,640 bytes for SmolLM2"""
    case = hand["block_bytes"]
    smollm2 = Config("SmolLM2", 49152, 576, 1536, 30, 9, 3, 64, 1e5, 1e-5, 8192, True, 1, 2)
    for num_blocks in (1, 3):
        kv = student.PagedKV(smollm2, num_blocks, case["block_size"], dtype=torch.bfloat16)
        equal(kv.nbytes, num_blocks * case["smollm2"], what=f"wrong nbytes of {counted(num_blocks, 'block')}")
    kv = student.PagedKV(smollm2, 1, case["block_size"])
    equal(kv.nbytes, 2 * case["smollm2"], what="wrong nbytes of a block of float32, as it is if no dtype is given")


@checks("PagedKV")
def test_bytes_that_are_moved(student, rng):
    """work: write and read move only their own tokens in one layer; copy moves only the copied blocks"""
    kv, keys, values = memory_of(student, rng, L=2, num_blocks=64, K=2, Dh=32, size=16)
    written(lambda *_: kv.copy([]))
    k, v = torch.randn(2, 8, 2, 32, generator=rng)
    slots = torch.arange(40, 48)
    with student.counting() as work:
        kv.write(1, slots, k, v)
    keys[1, slots], values[1, slots] = k, v
    equal(kv.keys, keys, what="wrong keys in the memory")
    equal(kv.values, values, what="wrong values in the memory")
    between(work.written_bytes, 2 * k.nbytes, 4 * k.nbytes + 4096, "bytes written by a write of 8 tokens")
    with student.counting() as work:
        kv.copy([(2, 9)])
    for name, got, memory in (("keys", kv.keys, keys), ("values", kv.values, values)):
        memory[:, 9 * 16 : 10 * 16] = memory[:, 2 * 16 : 3 * 16]
        equal(got, memory, what=f"wrong {name} in the memory after a copy")
    moved = 2 * 2 * 16 * 2 * 32 * 4
    between(work.written_bytes, moved, 2 * moved + 4096, "bytes written by a copy of one block")
    kv, keys, values = memory_of(student, rng, L=8, num_blocks=8, K=2, Dh=32, size=16)
    slots = torch.arange(90, 98)
    with student.counting() as work:
        got = kv.read(5, slots)
    for name, mine, memory in zip(("keys", "values"), got, (keys, values), strict=True):
        equal(mine, memory[5, slots], what=f"wrong {name} of layer 5 in slots 90 to 97")
    between(work.written_bytes, 0, 4 * k.nbytes + 4096, "bytes written by a read of 8 tokens of one layer of eight")


@checks("PagedKV")
def test_a_large_memory(student, rng):
    """ten layers, heads of width 80, a write of 300 tokens, twelve copies, 33,600 slots: keys and values are right"""
    kv, keys, values = memory_of(student, rng, L=10, num_blocks=24, size=16, K=1, Dh=80)
    slots = torch.randperm(384, generator=rng)[:300]
    k, v = torch.randn(2, 300, 1, 80, generator=rng)
    kv.write(9, slots, k, v)
    keys[9, slots], values[9, slots] = k, v
    pairs = [(block, 12 + block) for block in range(12)]
    kv.copy(pairs)
    for memory in (keys, values):
        memory[:, 192:] = memory[:, :192]
    equal(kv.keys, keys, what="wrong keys in the memory")
    equal(kv.values, values, what="wrong values in the memory")
    kv, keys, values = memory_of(student, rng, L=1, num_blocks=4200, size=8, K=1, Dh=1)
    slots = torch.tensor([33_599, 2, 32_768, 20_000])
    kv.write(0, slots, k[:4, :, :1], v[:4, :, :1])
    for name, got, due in zip(("keys", "values"), kv.read(0, slots), (k, v), strict=True):
        equal(got, due[:4, :, :1], what=f"wrong {name} in slots {slots.tolist()}")


# ---- forward_paged -------------------------------------------------------------------------------------------------


@checks("forward_paged", weight=2)
def test_blocks_of_any_size(student):
    """blocks of 1, 4 and 16, the prompt in chunks of 1, 3, 1, 6 and 9: the logits of the model without a cache, in its dtype"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    ids = torch.randint(3, 1000, (1, 20), generator=torch.Generator().manual_seed(1))
    model = student.model("tiny", dtype=torch.float64)
    for size in (1, 4, 16):
        pool, kv = student.BlockPool(40 // size + 2), filled(student, 40 // size + 2, size)
        pool.take()
        for sizes in ([1, 3, 1, 6, 9], [20]):
            sequence = student.PagedSequence(pool, size)
            got = paged_logits(student, model, ids, sizes, sequence, kv)
            what = f"wrong logits for blocks of {size}, in chunks of {sizes}"
            close(got, whole()(ids), atol=1e-3, dtype=torch.float64, what=what)
            sequence.free()


@checks("forward_paged", weight=2)
def test_a_fork_goes_its_own_way(student):
    """a text and its fork go on with other tokens, also after a cut: neither changes the logits of the other"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    common, *rests = torch.randint(3, 1000, (3, 6), generator=torch.Generator().manual_seed(2)).split(1)
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.BlockPool(12), filled(student, 12, 4)
    a = student.PagedSequence(pool, 4)
    paged_logits(student, model, common, [6], a, kv)
    rows = (a, a.fork())
    for start, end in ((0, 1), (1, 4), (4, 6)):
        for row, rest in zip(rows, rests, strict=True):
            got = paged_logits(student, model, rest[:, start:end], [end - start], row, kv)
            want = whole()(torch.cat((common, rest), dim=1))[:, 6 + start : 6 + end]
            close(got, want, atol=1e-3, what="wrong logits after a fork")
    text = torch.cat((common, rests[0]), dim=1)
    twin, new = a.fork(), torch.tensor([[50, 51]])
    a.truncate(10)
    cut = torch.cat((text[:, :10], new), dim=1)
    close(paged_logits(student, model, new, [2], a, kv), whole()(cut)[:, 10:], atol=1e-3, what="wrong logits after a cut")
    what = "wrong logits of a fork whose origin was cut and went on with other tokens"
    longer = torch.cat((text, new), dim=1)
    close(paged_logits(student, model, new, [2], twin, kv), whole()(longer)[:, 12:], atol=1e-3, what=what)


@checks("forward_paged")
def test_a_long_text_in_blocks(student):
    """340 tokens in chunks of 290 and 50, blocks of 4: the logits of the model without a cache"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    ids = torch.randint(3, 1000, (1, 340), generator=torch.Generator().manual_seed(8))
    kv, sequence = filled(student, 90, 4), student.PagedSequence(student.BlockPool(90), 4)
    got = paged_logits(student, student.model("tiny", dtype=torch.float64), ids, [290, 50], sequence, kv)
    close(got, whole()(ids), atol=1e-3, what="wrong logits of a text of 340 tokens")


@checks("forward_paged")
def test_no_room_and_nothing_changed(student):
    """too few free blocks: OutOfBlocks leaves sequence, pool, memory and gradient mode unchanged"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    ids = torch.randint(3, 1000, (1, 12), generator=torch.Generator().manual_seed(3))
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.BlockPool(2), filled(student, 2, 4)
    sequence = student.PagedSequence(pool, 4)
    close(paged_logits(student, model, ids[:, :3], [3], sequence, kv), whole()(ids[:, :3]), atol=1e-3)
    before, keys = state_of(sequence), kv.keys
    gradient_mode_stays(student, lambda: raises("OutOfBlocks", lambda: student.forward_paged(model, ids[:, 3:], sequence, kv)))
    equal(state_of(sequence), before, what="a refused call has changed blocks, length, num_free or holders")
    equal(kv.keys, keys, what="a refused call has written keys")
    close(paged_logits(student, model, ids[:, 3:8], [5], sequence, kv), whole()(ids[:, :8])[:, 3:], atol=1e-3)


@checks("forward_paged")
def test_only_new_tokens_pass(student):
    """work: four tokens after 32 cached ones cost four positions; gradient mode afterwards is as before the call"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    ids = torch.randint(3, 1000, (1, 36), generator=torch.Generator().manual_seed(4))
    model, kv = student.model("tiny"), filled(student, 8, 8, dtype=torch.float32)
    sequence = student.PagedSequence(student.BlockPool(8), 8)
    student.forward_paged(model, ids[:, :32], sequence, kv)
    with student.counting() as work:
        got = student.forward_paged(model, ids[:, 32:], sequence, kv)
    close(got, whole()(ids)[:, 32:], atol=1e-3)
    equal(work.positions, 4, what="wrong number of positions for four new tokens")
    gradient_mode_stays(student, lambda: student.forward_paged(model, ids[:, :1], sequence, kv))


@checks("forward_paged")
def test_chunk_on_another_device(student):
    """on the meta device: positions are created on the device of the ids"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    model, ids = student.model("tiny", device="meta"), torch.ones(1, 5, dtype=torch.int64)
    kv = student.PagedKV(tiny_config(), 6, 4, device="meta")
    sequence = student.PagedSequence(student.BlockPool(6), 4)
    for row in (sequence, sequence, sequence.fork()):
        on_one_device(student.forward_paged.on_meta(model, ids, row, kv))


# ---- paged_attention -----------------------------------------------------------------------------------------------


COLUMN_BY_COLUMN = "Take the table column by column and put each into the state that `absorb` keeps."


@checks("paged_attention", weight=2)
def test_attention_through_a_table(student, rng):
    """rows of 1, 4, 7 and 13 tokens in blocks of 4: attention over each row's own tokens"""
    for H, K in ((2, 2), (4, 2), (6, 3), (3, 1)):
        q, keys, values, tables, lengths = draw_table(rng, [7, 1, 13, 4], H, K, 4, 4)
        got = student.paged_attention(q, keys, values, tables, lengths, 4, _unchanged=True)
        one_less = attended(q, keys, values, tables, (lengths - 1).clamp(min=1), 4)
        one_less[lengths == 1] = 0  # such a row sees nothing then
        suspects = [
            (one_less, "The newest token of each row is left out."),
            (attended(q, keys, values, tables, -(lengths // -4) * 4, 4), "The places after a row's last token are read too."),
        ]
        want = attended(q, keys, values, tables, lengths, 4)
        close(got, want, atol=1e-9, rtol=1e-9, what=f"wrong output for {H} heads on {K}", suspects=suspects)


@checks("paged_attention")
def test_blocks_of_one_and_of_sixteen(student, rng):
    """blocks of 1, 3 and 16, with one row and with five rows: the output is right"""
    for size in (1, 3, 16):
        for sizes in ([6], [5, 17, 2, 16, 9]):
            q, keys, values, tables, lengths = draw_table(rng, sizes, 4, 2, 4, size)
            want = attended(q, keys, values, tables, lengths, size)
            got = student.paged_attention(q, keys, values, tables, lengths, size)
            close(got, want, atol=1e-9, rtol=1e-9, what=f"wrong output for blocks of {size}")


@checks("paged_attention")
def test_many_rows_columns_and_slots(student, rng):
    """nine rows, 530 columns, slots above 32,768, seven query heads on one key/value head: the output is right"""
    for lengths, H, Dh, size, spare in (([3, 300, 40, 2, 9, 1, 60, 5, 17], 7, 96, 4, 3), ([9, 530, 30, 260], 1, 2, 1, 33_200)):
        q, keys, values, tables, counts = draw_table(rng, lengths, H, 1, Dh, size, spare=spare)
        want = attended(q, keys, values, tables, counts, size)
        got = student.paged_attention(q, keys, values, tables, counts, size)
        close(
            got, want, atol=1e-9, rtol=1e-9, what=f"wrong output for {len(lengths)} rows of up to {max(lengths)} tokens, {len(keys)} slots"
        )


@checks("paged_attention")
def test_bfloat16_in_float32(student, rng):
    """bfloat16 with up to 289 tokens, and float16: computed in float32, and rounded at the end"""
    for dtype, last_place, sizes in ((torch.bfloat16, 2**-7, [289, 7, 265]), (torch.float16, 2**-10, [50, 90])):
        q, keys, values, tables, lengths = draw_table(rng, sizes, 4, 2, 20, 8, dtype=dtype)
        for large in (1, 4):
            got = student.paged_attention(large * q, keys, values, tables, lengths, 8)
            want = attended(large * q, keys, values, tables, lengths, 8).to(dtype)
            what = f"wrong output in {str(dtype)[6:]}, {large} times the query"
            close(got, want, atol=1e-5, rtol=last_place, dtype=dtype, what=what)


@checks("paged_attention")
def test_large_scores_and_large_strangers(student, rng):
    """scores of several thousand, positive and negative, and huge numbers in unused slots: the output is right"""
    for shift in (-2500.0, 2500.0):
        q, keys, values, tables, lengths = draw_table(rng, [9, 2, 14], 4, 2, 4, 4)
        q, strange = q.abs() + 4, keys == 50.0  # every score is about 2 * shift * q
        want = attended(q, keys + shift, values, tables, lengths, 4)
        for huge in (1e12, -1e12, 1e308):  # scores of the last overflow to inf
            got = student.paged_attention(q, (keys + shift).masked_fill(strange, huge), values, tables, lengths, 4)
            what = f"wrong output with {shift:g} added to all keys and {huge:g} in the keys of slots of nobody"
            close(got, want, atol=1e-8, rtol=1e-8, what=what)


@checks("paged_attention", weight=2)
def test_memory_of_a_few_columns(student, rng):
    """work: 8 rows of 512 tokens, float32 and bfloat16: peak memory is at most a few columns of blocks"""
    B, T, size, K, Dh = 8, 512, 16, 2, 32
    column = B * size * 2 * K * Dh * 4
    for dtype, atol in ((torch.float32, 1e-5), (torch.bfloat16, 0.02)):
        q, keys, values, tables, lengths = draw_table(rng, [T] * B, 4, K, Dh, size, dtype=dtype, spare=0)
        with student.counting() as work:
            got = student.paged_attention(q, keys, values, tables, lengths, size)
        close(got, attended(q, keys, values, tables, lengths, size), atol=atol, what=f"wrong output in {dtype}")
        what = f"bytes of memory at one time, in {dtype} (a column of blocks is {column:,} in float32)"
        between(work.peak_bytes, q.nbytes, 8 * column, what, cause=COLUMN_BY_COLUMN if dtype == torch.float32 else None)
        # Scores as sums of products are no FLOPs to the counter; what `absorb` does with the values is.
        between(work.flops, 2 * B * 4 * T * Dh, 2 * 4 * B * 4 * T * Dh, "FLOPs")


@checks("paged_attention")
def test_table_on_another_device(student, rng):
    """on the meta device: every new tensor is created on the device of the queries"""
    q, keys, values, tables, lengths = draw_table(rng, [5, 9], 4, 2, 4, 4, dtype=torch.float32)
    written(lambda *_: student.paged_attention(q, keys, values, tables, lengths, 4))
    on_one_device(student.paged_attention.on_meta(q, keys, values, tables, lengths, 4))


# One slot at a time: each block is taken for as many blocks of one.
SLOT_BY_SLOT = """
paged_by_columns = paged_attention

def paged_attention(q, keys, values, tables, lengths, block_size):
    slots = (tables[:, :, None] * block_size + torch.arange(block_size)).flatten(1)
    return paged_by_columns(q, keys, values, slots, lengths, 1)
"""


@checks("paged_attention", timing=True)
def test_faster_than_slot_by_slot(race):
    """speed: 2 rows of 1,024 tokens in blocks of 32 are faster than one slot at a time"""

    def rows(rng):
        return draw_table(rng, [1024] * 2, 4, 2, 16, 32, dtype=torch.float32, spare=0)

    def call(s, inputs):
        return s.paged_attention(*inputs, 32)

    race.against(SLOT_BY_SLOT, rows, call, cause="All slots of a column of blocks are read and absorbed together.")


# ---- paged_decode --------------------------------------------------------------------------------------------------


FAST = 128 * 1024
"""The limit in bytes above which a tensor counts as slow memory: the large weights do, and what 40 rows need in between does not."""


@checks("paged_decode", weight=2)
def test_same_tokens_paged_forked_and_shared(student):
    """the ladder: greedy decoding of four prompts and a fork of one prompt: the tokens of the loop without a cache"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.BlockPool(60), filled(student, 60, 4)
    ids = [tiny_ids(prompt) for prompt in PROMPTS]
    rows = [student.PagedSequence(pool, 4) for _ in ids]
    logits = [student.forward_paged(model, idx, row, kv)[:, -1] for idx, row in zip(ids, rows, strict=True)]
    rows.append(rows[2].fork())
    tokens = [torch.cat([*logits, logits[2]]).argmax(dim=-1, keepdim=True)]
    for _ in range(7):
        logits = student.paged_decode(model, tokens[-1], rows, kv)
        equal(tuple(logits.shape), (5, tiny_config().vocab_size), what="wrong shape: logits (B, V) are expected")
        tokens.append(logits.argmax(dim=-1, keepdim=True))
    got = torch.cat(tokens, dim=1)
    for row, which in enumerate((0, 1, 2, 3, 2)):
        what = f"other tokens after a prompt of {ids[which].shape[1]}" + ", by its fork" * (row == 4)
        equal(got[row : row + 1], unrolled(whole(), ids[which], 8, 256), what=what)


@checks("paged_decode", weight=2)
def test_rows_stand_where_they_stand(student):
    """rows of 2, 9 and 5 tokens and a fork: each row has the logits of its text alone; the list of rows is unchanged"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.BlockPool(20), filled(student, 20, 4)
    texts = list(torch.randint(3, 1000, (3, 9), generator=torch.Generator().manual_seed(5)).split(1))
    texts = [text[:, :n] for text, n in zip(texts, (2, 9, 5), strict=True)]
    rows = [student.PagedSequence(pool, 4) for _ in texts]
    for text, row in zip(texts, rows, strict=True):
        student.forward_paged(model, text, row, kv)
    rows, texts = [*rows, rows[2].fork()], [*texts, texts[2]]
    for step in range(3):
        new = torch.tensor([[50], [60], [70], [80]]) + step
        got, (_, _, after, _) = student.paged_decode(model, new, rows, kv, _unchanged=True, _arguments=True)
        texts = [torch.cat((text, token), dim=1) for text, token in zip(texts, new.split(1), strict=True)]
        close(got, torch.cat([whole()(text)[:, -1] for text in texts]), atol=1e-3, dtype=torch.float64, what="wrong logits")
        lengths = [text.shape[1] for text in texts]
        equal([row.length for row in rows], lengths, what="wrong lengths of the sequences")
        equal([row.length for row in after], lengths, what="the caller's list of sequences has another order, or other ones, afterwards")


@checks("paged_decode")
def test_many_rows_and_a_long_one(student):
    """ten rows, one of 300 tokens, blocks of 4: each row has the logits of its text alone; gradient mode is as before"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.BlockPool(110), filled(student, 110, 4)
    drawn = torch.Generator().manual_seed(9)
    texts = [torch.randint(3, 1000, (1, n), generator=drawn) for n in (2, 300, 3, 4, 5, 6, 7, 8, 9, 12)]
    rows = [student.PagedSequence(pool, 4) for _ in texts]
    for text, row in zip(texts, rows, strict=True):
        student.forward_paged(model, text[:, :-1], row, kv)
    got = student.paged_decode(model, torch.cat([text[:, -1:] for text in texts]), rows, kv)
    close(got, torch.cat([whole()(text)[:, -1] for text in texts]), atol=1e-3, what="wrong logits of ten rows")
    gradient_mode_stays(student, lambda: student.paged_decode(model, torch.tensor([[5]]), rows[:1], kv))


@checks("paged_decode")
def test_no_row_grows_if_not_all_can(student):
    """a free block for only one of two rows: OutOfBlocks, and no row has grown; the same for a fork and its origin"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.BlockPool(3), filled(student, 3, 4)
    ids = torch.randint(3, 1000, (2, 5), generator=torch.Generator().manual_seed(6))
    rows = [student.PagedSequence(pool, 4) for _ in range(2)]
    for row, text in zip(rows, ids.split(1), strict=True):
        student.forward_paged(model, text[:, :4], row, kv)
    before, keys = [state_of(row) for row in rows], kv.keys
    gradient_mode_stays(student, lambda: raises("OutOfBlocks", lambda: student.paged_decode(model, ids[:, 4:], rows, kv)))
    equal([state_of(row) for row in rows], before, what="a refused step has changed blocks, length, num_free or holders")
    equal(kv.keys, keys, what="a refused step has written keys")
    got = student.paged_decode(model, ids[1:, 4:], rows[1:], kv)
    close(got, whole()(ids[1:])[:, -1], atol=1e-3, what="wrong logits of the row that can grow")
    more = torch.cat((ids[1:], ids[:1, :3]), dim=1)  # no block is free now, and none is needed: the last one has room for three
    for end in (6, 7, 8):
        got = student.paged_decode(model, more[:, end - 1 : end], rows[1:], kv)
        close(got, whole()(more[:, :end])[:, -1], atol=1e-3, what="wrong logits of a row that needs no block")
    rows[0].free()
    rows[1].truncate(7)
    forks, keys = [rows[1], rows[1].fork()], kv.keys
    before = [state_of(row) for row in forks]
    cause = "The last block is part full and both forks have it: each counts a copy, and one block is free."
    raises("OutOfBlocks", lambda: student.paged_decode(model, ids[:, :1], forks, kv), cause=cause)
    equal([state_of(row) for row in forks], before, what="a refused step of two forks has changed blocks, length, num_free or holders")
    equal(kv.keys, keys, what="a refused step of two forks has written keys")
    got = student.paged_decode(model, more[:, 7:8], forks[1:], kv)
    close(got, whole()(more[:, :8])[:, -1], atol=1e-3, what="wrong logits of the fork that can grow alone")


@checks("paged_decode")
def test_the_weights_are_read_once(student):
    """work: 40 forks are 40 positions in one step, and the weights are read once for all of them"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model, kv = student.model("tiny"), filled(student, 41, 2, dtype=torch.float32)
    text, new = torch.randint(3, 1000, (41, 1), generator=torch.Generator().manual_seed(10)).split([1, 40])
    first = student.PagedSequence(student.BlockPool(41), 2)
    student.forward_paged(model, text, first, kv)
    rows = [first, *(first.fork() for _ in range(39))]
    with student.counting(fast_bytes=FAST) as work:
        got = student.paged_decode(model, new, rows, kv)
    want = whole()(torch.cat((text.expand(40, -1), new), dim=1))[:, -1]
    close(got, want, atol=1e-3, what="wrong logits of 40 forks")
    equal(work.positions, 40, what="wrong number of positions of 40 rows")
    sizes = [4 * t.numel() for t in (whole().weights.lm_head, *(t for layer in whole().weights.layers for t in vars(layer).values()))]
    once = sum(size for size in sizes if size > FAST)
    what = f"bytes read from tensors of more than {FAST:,} bytes, which the large weights together are once"
    between(work.slow_bytes, once, 1.7 * once, what)


@checks("paged_decode")
def test_a_long_row_beside_short_ones(student):
    """work: one row of 113 tokens beside seven of 5: peak memory is far below the keys and values of all rows"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model, kv, pool = student.model("tiny"), filled(student, 24, 8, dtype=torch.float32), student.BlockPool(24)
    texts = torch.randint(3, 1000, (1, 116), generator=torch.Generator().manual_seed(11)).split([112, 4], dim=1)
    rows = [student.PagedSequence(pool, 8) for _ in texts]
    for text, row in zip(texts, rows, strict=True):
        student.forward_paged(model, text, row, kv)
    rows += [rows[1].fork() for _ in range(6)]
    with student.counting() as work:
        got = student.paged_decode(model, torch.full((8, 1), 9), rows, kv)
    long, short = (whole()(torch.cat((text, torch.tensor([[9]])), dim=1))[:, -1] for text in texts)
    close(got, torch.cat((long, short.expand(7, -1))), atol=1e-3, what="wrong logits of a long row and seven short ones")
    gathered = 8 * 113 * 2 * tiny_config().num_key_value_heads * tiny_config().head_dim * 4
    what = f"bytes of memory at one time (keys and values of all rows, padded to the longest, are {gathered:,} a layer)"
    between(work.peak_bytes, got.nbytes, gathered / 2, what)


@checks("paged_decode")
def test_step_on_another_device(student):
    """on the meta device: positions, lengths and tables are created on the device of the ids"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model, pool = student.model("tiny", device="meta"), student.BlockPool(8)
    kv = student.PagedKV(tiny_config(), 8, 4, device="meta")
    rows = [student.PagedSequence(pool, 4) for _ in range(2)]
    for row, length in zip(rows, (6, 3), strict=True):
        row.grow(length)
    rows.append(rows[0].fork())
    for _ in range(2):
        on_one_device(student.paged_decode.on_meta(model, torch.ones(3, 1, dtype=torch.int64), rows, kv))


# ---- block_keys ----------------------------------------------------------------------------------------------------


@checks("block_keys", weight=2)
def test_keys_by_hand(student, hand):
    """five tokens in blocks of 2, without a salt and with a salt: the keys of the two whole blocks"""
    case = hand["keys"]
    for salt, begin in (({}, case["begin"]), ({"salt": case["salt"].encode()}, case["begin_salted"])):
        got = student.block_keys(case["tokens"], case["block_size"], **salt)
        equal(len(got), 2, what="wrong number of keys for two whole blocks and a part")
        that(all(isinstance(key, bytes) and len(key) == 32 for key in got), "a key is not 32 bytes")
        mistaken = mistaken_keys(case["tokens"], case["block_size"], salt.get("salt", b""))
        suspects = [([key.hex()[:8] for key in keys], cause) for keys, cause in mistaken]
        equal([key.hex()[:8] for key in got], begin, what="wrong keys", suspects=suspects)


@checks("block_keys", weight=2)
def test_a_key_tells_all_that_came_before(student):
    """the same block has another key after another beginning; equal beginnings have equal keys"""
    one, two, three = ([1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 7])
    keys = [student.block_keys(tokens, 2) for tokens in (one, two, three)]
    for tokens, got in zip((one, two, three), keys, strict=True):
        equal(len(got), 3, what="wrong number of keys")
        due, alone = ([tokens[j : 2 * i + 2] == one[j : 2 * i + 2] for i, j in enumerate(begins)] for begins in ((0, 0, 0), (0, 2, 4)))
        what = f"wrong places at which the keys of {tokens} and of {one} agree, in blocks of 2"
        equal([got[i] == keys[0][i] for i in range(3)], due, what=what, suspects=[(alone, NOT_CHAINED)])


@checks("block_keys")
def test_whole_blocks_only(student):
    """0 to 9 tokens in blocks of 4: one key for each whole block, also for large token ids"""
    for n in range(10):
        tokens = [2**33 + 7 * t for t in range(n)]
        equal(student.block_keys(tokens, 4, _unchanged=True), chained(tokens, 4), what=f"wrong keys for {counted(n, 'token')}")


@checks("block_keys")
def test_many_blocks_and_long_salts(student):
    """600 blocks, a block of 700 tokens, and salts that differ in one byte, such as a blank or a zero: right keys"""
    tokens = [2**40 - 3 * t for t in range(1201)]
    for size in (2, 700):
        due, got = chained(tokens, size), student.block_keys(tokens, size)
        equal(len(got), len(due), what=f"wrong number of keys for 1,201 tokens in blocks of {size}")
        equal(got, due, what=f"wrong keys for 1,201 tokens in blocks of {size}")
    for salt in (b"a customer with a long name, no. 1", b"a customer with a long name, no. 2", b"x", b" x", b"x ", b"x\0", b"\0", b"X"):
        equal(student.block_keys([1, 2, 3], 2, salt), chained([1, 2, 3], 2, salt), what=f"wrong keys for the salt {salt!r}")


# ---- PrefixPool ----------------------------------------------------------------------------------------------------


@checks("PrefixPool", weight=2)
def test_stories_of_a_prefix_pool(student, rng):
    """random publish, release, adopt and evict: find, num_free and holders are right"""
    written(lambda *_: student.PrefixPool(2).num_free)
    for num_blocks in (4, 2):  # of two blocks one with a key is soon evicted

        def play(steps, num_blocks=num_blocks):
            play_pool(student, steps, num_blocks, keys=True)

        random_steps(lambda: pool_steps(rng, 40, keys=True), play, count=12)


@checks("PrefixPool")
def test_still_findable_when_nobody_holds_it(student):
    """a published block that its last holder releases counts as free, and can still be found and adopted"""
    pool = student.PrefixPool(3)
    block = pool.take()
    pool.publish(block, b"rome")
    pool.release(block)
    equal([pool.num_free, pool.holders(block)], [3, 0], what="wrong num_free and holders of a published block that was released")
    equal(pool.find([b"rome", b"paris"]), [block], what="wrong blocks found")
    equal([pool.num_free, pool.holders(block)], [3, 0], what="find has changed num_free or holders")
    for refused in (lambda: pool.share(block), lambda: pool.release(block), lambda: pool.publish(block, b"oslo")):
        raises("ValueError", refused, naming=block)
    equal([pool.num_free, pool.holders(block)], [3, 0], what="a refused share, release or publish has changed num_free or holders")
    equal(pool.adopt([b"rome", b"paris"]), [block], what="wrong blocks adopted")
    equal([pool.num_free, pool.holders(block)], [2, 1], what="wrong num_free and holders after an adopt")
    equal(pool.adopt([b"rome"]), [block], what="wrong blocks adopted")
    equal([pool.num_free, pool.holders(block)], [2, 2], what="wrong num_free and holders after a second adopt")
    taken = [pool.take(), pool.take()]
    that(block not in taken, "take has given an adopted block", got=taken)
    raises("OutOfBlocks", pool.take, naming=3)


def idle_pool(student, keys, num_blocks):
    """A pool whose blocks with these keys are idle, the first key the longest."""
    pool = student.PrefixPool(num_blocks)
    blocks = [pool.take() for _ in keys]
    for block, key in zip(blocks, keys, strict=True):
        pool.publish(block, key)
    for block in blocks:
        pool.release(block)
    return pool, blocks


@checks("PrefixPool", weight=2)
def test_longest_idle_goes_first(student):
    """take returns blocks without a key first, then the longest idle block, whose key is forgotten only then"""
    keys = [b"a", b"b", b"c"]
    pool, blocks = idle_pool(student, keys, 4)
    never = pool.take()
    that(never not in blocks, "a block with a key was taken although one without is free", got=never)
    equal([pool.find([key]) for key in keys], [[block] for block in blocks], what="a key was forgotten although its block was not needed")
    pool.adopt([b"a"])
    pool.release(blocks[0])  # used again: now it is b that has been idle longest
    for place in (1, 2, 0):
        equal([pool.take()], [blocks[place]], what="the block that has been idle longest was not taken")
        equal(pool.find([keys[place]]), [], what="the key of a block that was taken is still known")
    raises("OutOfBlocks", pool.take, naming=4)


@checks("PrefixPool")
def test_a_gap_ends_what_is_found(student):
    """the second of three keys is unknown: find and adopt return only the first block"""
    pool, blocks = idle_pool(student, [b"a", b"c"], 4)
    equal(pool.find([b"a", b"b", b"c"]), blocks[:1], what="wrong blocks found")
    equal(pool.adopt([b"a", b"b", b"c"]), blocks[:1], what="wrong blocks adopted")
    equal([pool.holders(block) for block in blocks], [1, 0], what="wrong holders after an adopt")
    equal(pool.find([b"b", b"a"]), [], what="wrong blocks found where the first key is unknown")
    equal(pool.adopt([b"a", b"c"]), blocks, what="wrong blocks adopted where both keys are known")
    equal([pool.holders(block) for block in blocks], [2, 1], what="wrong holders where both keys are known")
    equal(pool.adopt([]), [], what="wrong blocks adopted for no key")


@checks("PrefixPool")
def test_the_first_keeps_the_key(student):
    """publishing a known key for a second block, or a second key for a block, changes nothing; a free block: ValueError"""
    pool = student.PrefixPool(3)
    one, two = pool.take(), pool.take()
    pool.publish(one, b"rome")
    pool.publish(two, b"rome")
    equal(pool.find([b"rome"]), [one], what="a second block has taken the key of the first")
    pool.publish(one, b"paris")
    equal([pool.find([b"rome"]), pool.find([b"paris"])], [[one], []], what="a block with a key has got another one")
    pool.release(two)
    for key in (b"oslo", b"rome"):
        raises(ValueError, lambda key=key: pool.publish(two, key), naming=two)
    equal([pool.find([b"oslo"]), pool.find([b"rome"])], [[], [one]], what="a refused publish has changed what is found")


@checks("PrefixPool")
def test_a_known_key_stays_with_an_idle_block(student):
    """publishing the key of an idle block for another block: the idle block keeps its key and its place in the order"""
    pool, blocks = idle_pool(student, [b"a", b"b"], 3)
    other = pool.take()
    pool.publish(other, b"a")
    equal(
        [pool.find([b"a"]), pool.num_free], [blocks[:1], 2], what="wrong block found, and num_free, after a known key was published again"
    )
    pool.release(other)
    equal([pool.take()], [other], what="another block was taken although one without a key is free")
    equal(
        [pool.take()],
        [blocks[0]],
        what="the block that has been idle longest was not taken: publishing its key again does not count as a use",
    )
    equal([pool.find([b"a"]), pool.find([b"b"])], [[], blocks[1:]], what="wrong blocks found")


@checks("PrefixPool")
def test_prefix_pools_are_apart(student):
    """two pools: a block that is published in one pool is not found in the other pool"""
    one, two = student.PrefixPool(2), student.PrefixPool(3)
    block = one.take()
    one.publish(block, b"rome")
    equal([two.find([b"rome"]), two.num_free], [[], 3], what="wrong blocks found, and num_free, in the other pool")
    two.publish(two.take(), b"paris")
    found = [one.find([b"rome"]), one.find([b"paris"]), len(two.find([b"paris"]))]
    equal(found, [[block], [], 1], what="wrong blocks found in two pools")


@checks("PrefixPool")
def test_a_hundred_keys(student):
    """300 blocks whose keys differ only at the end: all are found, and the longest idle blocks are evicted first"""
    keys = [b"rome" * 7 + b"%04d" % n for n in range(300)]
    pool, blocks = idle_pool(student, keys, 300)
    found = pool.find(keys)
    equal(len(found), 300, what="wrong number of blocks found for 300 keys")
    equal(found, blocks, what="wrong blocks found for 300 keys")
    equal([pool.take() for _ in range(3)], blocks[:3], what="the blocks that have been idle longest were not taken")
    equal([pool.find(keys[:1]), pool.find(keys[3:]), pool.num_free], [[], blocks[3:], 297], what="wrong blocks found, and num_free")


@checks("PrefixPool")
def test_forgotten(student):
    """forget: find no longer returns the block, its holders stay; an idle block that is forgotten is free without a key"""
    pool = student.PrefixPool(2)
    one, two = pool.take(), pool.take()
    pool.publish(one, b"rome")
    pool.publish(two, b"paris")
    pool.forget(one)
    equal([pool.find([b"rome"]), pool.holders(one)], [[], 1], what="wrong blocks found and holders after forget")
    pool.forget(one)
    pool.publish(one, b"oslo")
    equal(pool.find([b"oslo"]), [one], what="a block that was forgotten cannot be published again")
    pool.forget(one)
    pool.release(two)
    pool.release(one)
    raises(ValueError, lambda: pool.release(one), naming=one)
    equal([pool.take()], [one], what="another block was taken although one without a key is free")
    equal(pool.find([b"paris"]), [two], what="wrong blocks found")
    pool.release(one)
    pool.forget(two)
    equal([pool.find([b"paris"]), pool.num_free], [[], 2], what="wrong blocks found, and num_free, after an idle block was forgotten")
    equal(sorted([pool.take(), pool.take()]), [0, 1], what="wrong blocks from two calls of take, after an idle block was forgotten")
    pool, blocks = idle_pool(student, [b"oslo", b"rome"], 2)
    pool.forget(blocks[1])
    equal([pool.take()], blocks[1:], what="an idle block that was forgotten has no key: it is to be taken before one that has")


# ---- start_sequence ------------------------------------------------------------------------------------------------


def publisher(student, pool, tokens, size, **salt):
    """A sequence that has all of a text, which is published."""
    sequence = student.start_sequence(pool, tokens, size, **salt)
    sequence.grow(len(tokens) - sequence.length)
    student.publish_blocks(sequence, tokens, **salt)
    return sequence


@checks("start_sequence", weight=2)
def test_a_prefix_by_hand(student, hand):
    """162 tokens in blocks of 16, 150 of them cached: 144 are reused; the last token of a text is never reused"""
    written(lambda *_: student.start_sequence(None, None, None))
    case = hand["prefix"]
    size, n = case["block_size"], case["tokens"]
    pool, text = student.PrefixPool(64), list(range(n))
    first = publisher(student, pool, text, size)
    other = [*text[: case["shared"]], *range(900, 900 + n - case["shared"])]
    for tokens, length, what in (
        (other, case["found"], "150 of 162 known tokens"),
        (text, case["again"], "the same 162 tokens"),
        (text[:160], case["exactly"], "160 tokens, all known"),
        (text[:16], 0, "16 tokens, all known"),
        ([5, 6, 7], 0, "a text of which nothing is known"),
    ):
        free = pool.num_free
        sequence = student.start_sequence(pool, tokens, size)
        known = "Nothing is left to compute: what follows the last token has to come from somewhere."
        suspects = [(len(tokens), known)] if what.endswith("all known") else []
        equal(sequence.length, length, what=f"wrong length for {what}", suspects=suspects)
        equal(sequence.blocks, first.blocks[: length // size], what=f"wrong blocks for {what}")
        equal(pool.num_free, free, what="blocks are taken, and all of these are held already")
        equal([pool.holders(block) for block in sequence.blocks], [2] * (length // size), what=f"wrong holders for {what}")
        sequence.free()


@checks("start_sequence", weight=2)
def test_stories_of_prefixes(student, rng):
    """random start, grow, fork, truncate, publish and free with a prefix cache: each slot holds its own text"""
    written(lambda *_: student.start_sequence(None, None, None))

    def play(steps):
        Sequences(6, 4, prefix=True).play(student, steps)

    random_steps(lambda: sequence_steps(rng, 20, prefix=True), play, count=10)


@checks("start_sequence")
def test_tenants_stay_apart(student):
    """start_sequence finds blocks published under the same salt, and none published under another salt"""
    written(lambda *_: student.start_sequence(None, None, None))
    pool, text = student.PrefixPool(12), list(range(9))
    blocks = publisher(student, pool, text, 4, salt=b"tenant-7").blocks
    for salt, length in ((b"tenant-8", 0), (b"", 0), (b"tenant-7", 8)):
        sequence = student.start_sequence(pool, text, 4, salt)
        equal(sequence.length, length, what=f"wrong length for the salt {salt!r}")
        equal(sequence.blocks, blocks[: length // 4], what=f"wrong blocks for the salt {salt!r}")


@checks("start_sequence")
def test_a_long_beginning(student):
    """1,200 tokens in blocks of 2: all but the last block are reused, none under another salt or after a gap"""
    written(lambda *_: student.start_sequence(None, None, None))
    pool, text, salt = student.PrefixPool(610), list(range(1200)), b"a customer with a long name, no. "
    first = publisher(student, pool, text, 2, salt=salt + b"1")
    for last, length in ((b"1", 1198), (b"2", 0)):
        sequence = student.start_sequence(pool, text, 2, salt + last)
        equal(sequence.length, length, what=f"wrong length for the salt {salt + last!r}")
        equal(sequence.blocks, first.blocks[: length // 2], what=f"wrong blocks for the salt {salt + last!r}")
    pool.forget(first.blocks[3])
    sequence = student.start_sequence(pool, text, 2, salt + b"1")
    what = "wrong length and blocks: the fourth block is no longer known, and those after it are"
    equal([sequence.length, sequence.blocks], [6, first.blocks[:3]], what=what)


@checks("start_sequence")
def test_only_what_is_new_is_fed(student):
    """work: with 16 of 19 tokens cached, three positions are computed, with the logits of the whole text"""
    written(lambda *_: student.start_sequence(None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    ids = torch.randint(3, 1000, (1, 19), generator=torch.Generator().manual_seed(7))
    pool, kv, text = student.PrefixPool(12), filled(student, 12, 4), ids[0].tolist()
    first = student.start_sequence(pool, text, 4)
    student.forward_paged(model, ids, first, kv)
    student.publish_blocks(first, text)
    first.free()
    sequence = student.start_sequence(pool, text, 4, _unchanged=True)
    equal(sequence.length, 16, what="wrong length of a sequence whose first 16 tokens are cached")
    with student.counting() as work:
        got = student.forward_paged(model, ids[:, sequence.length :], sequence, kv)
    close(got, whole()(ids)[:, 16:], atol=1e-3, what="wrong logits after a shared beginning")
    equal(work.positions, 3, what="wrong number of positions")


# ---- publish_blocks ------------------------------------------------------------------------------------------------


@checks("publish_blocks", weight=2)
def test_whole_and_stored_blocks(student):
    """only whole blocks with stored tokens are published: two of three blocks at 9 and 11 tokens; right after a cut too"""
    written(lambda *_: student.publish_blocks(None, None, None))
    pool, text = student.PrefixPool(6), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    sequence = student.PagedSequence(pool, 4)
    sequence.grow(9)
    student.publish_blocks(sequence, text, _unchanged=True)
    equal(pool.find(chained(text, 4)), sequence.blocks[:2], what="wrong blocks found")
    sequence.grow(2)
    student.publish_blocks(sequence, text)
    equal(pool.find(chained(text, 4)), sequence.blocks[:2], what="a block is found that is full but for one token")
    sequence.grow(1)
    equal(pool.find(chained(text, 4)), sequence.blocks[:2], what="a block is found before it was published")
    student.publish_blocks(sequence, text)
    equal(pool.find(chained(text, 4)), sequence.blocks, what="wrong blocks found after the second publish")
    sequence.truncate(6)
    sequence.grow(5)
    other = [*text[:6], 7, 7, 7, 7, 7]
    student.publish_blocks(sequence, other)
    what = "wrong blocks found after a cut to 6 tokens, 5 other tokens and a publish"
    equal(pool.find(chained(other, 4)), sequence.blocks[:2], what=what)
    pool = student.PrefixPool(4)
    sequence = student.PagedSequence(pool, 4)
    sequence.grow(16)
    student.publish_blocks(sequence, [*text, 0, 0, 0, 0])
    equal(pool.find(chained([*text, 0, 0, 0, 0], 4)), sequence.blocks, what="wrong blocks found where every block of the pool is published")


@checks("publish_blocks")
def test_published_under_a_salt(student):
    """blocks that a fork shares are published too, and found only under their salt; a part-full block gets no key"""
    written(lambda *_: student.publish_blocks(None, None, None))
    pool, text = student.PrefixPool(6), [7, 7, 7, 8]
    sequence = student.PagedSequence(pool, 2)
    sequence.grow(4)
    sequence.fork()
    student.publish_blocks(sequence, text, b"tenant-7")
    equal(pool.find(chained(text, 2, b"tenant-7")), sequence.blocks, what="wrong blocks found under the salt")
    equal(pool.find(chained(text, 2)), [], what="blocks are found without the salt")
    pool, text = student.PrefixPool(3), [5, 6, 7, 8, 9]
    sequence = student.PagedSequence(pool, 2)
    sequence.grow(5)
    student.publish_blocks(sequence, text)
    last = sequence.blocks[-1]
    sequence.free()
    equal([pool.take()], [last], what="a part-full block has no key: it is to be taken before those that have one")


@checks("publish_blocks")
def test_a_long_text_is_published(student):
    """600 blocks under a salt of 34 bytes: all blocks are found"""
    written(lambda *_: student.publish_blocks(None, None, None))
    pool, text, salt = student.PrefixPool(610), list(range(300, 1500)), b"a customer with a long name, no. 1"
    sequence = student.PagedSequence(pool, 2)
    sequence.grow(1200)
    student.publish_blocks(sequence, text, salt)
    found = pool.find(chained(text, 2, salt))
    equal(len(found), 600, what="wrong number of blocks found for 600 keys")
    equal(found, sequence.blocks, what="wrong blocks found for 600 keys")


@checks("start_sequence")
def test_the_rewritten_block(student):
    """a published block that is cut and overwritten is no longer found under its old key"""
    written(lambda *_: student.start_sequence(None, None, None))
    steps = [("start", "a", "a", 0), ("publish", "a", "a", 0), ("truncate", "a", "a", 3), ("grow", "a", "a", 2), ("start", "b", "b", 0)]
    Sequences(6, 4, prefix=True).play(student, steps)
