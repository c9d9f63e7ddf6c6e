"""Hidden checks of the paged cache: fresh random steps, tables and models, and rules in combination."""

from __future__ import annotations

import contextlib
import math

import torch

from autograder.authoring import checks, close, equal, raises, random_steps, that
from autograder.checking.checks.test_paging import idle_pool, memory_of, table_slots
from autograder.checking.checks.test_transformer import small_config
from autograder.checking.helpers.cached import small, tiny_ids, unrolled, whole, written
from autograder.checking.helpers.paged import (
    Sequences,
    attended,
    chained,
    draw_table,
    filled,
    integer,
    many_holders,
    one_of,
    paged_logits,
    play_pool,
    pool_steps,
    sequence_steps,
    state_of,
    take_all,
)
from autograder.checking.helpers.work_bounds import between, fewest_flops, gradient_mode_stays
from autograder.checking.hidden.test_kv_cache import SHAPES, random_ids, random_sizes
from autograder.sandbox.protocol.worker_errors import StudentRaised

LARGE = 64 * 1024
"""The limit in bytes above which a tensor counts as slow memory."""

LARGER = 170 * 1024
"""The same for 53 rows, which need more in between."""

# ---- BlockPool -----------------------------------------------------------------------------------------------------


@checks("BlockPool", weight=2)
def test_long_stories_of_pools(student, rng):
    """random sequences of take, share and release, in pools of 1, 3 and 7 blocks: num_free and holders are right"""
    for num_blocks in (1, 3, 7):

        def play(steps, num_blocks=num_blocks):
            play_pool(student, steps, num_blocks, keys=False)

        random_steps(lambda: pool_steps(rng, 50, keys=False), play, count=6)


@checks("BlockPool")
def test_pools_are_apart(student):
    """two pools: blocks taken from one pool, and a take that it refuses, do not change the other pool"""
    one, two = student.BlockPool(2), student.BlockPool(5)
    taken = [one.take(), one.take()]
    raises("OutOfBlocks", one.take, naming=2)
    equal([one.num_free, two.num_free], [0, 5], what="wrong num_free of two pools")
    equal(sorted(two.take() for _ in range(5)), [0, 1, 2, 3, 4], what="five takes of a pool of five")
    one.release(taken[0])
    raises(ValueError, lambda: one.release(taken[0]), naming=taken[0])
    raises(ValueError, lambda: one.share(taken[0]), naming=taken[0])
    equal([one.num_free, one.holders(taken[0]), one.holders(taken[1])], [1, 0, 1], what="wrong num_free and holders")
    two.forget(3)
    equal([two.num_free, two.holders(3)], [0, 1], what="forget has changed a plain pool")
    take_all(student, "BlockPool", 2100)


@checks("BlockPool")
def test_any_number_of_holders(student):
    """a block with 300 holders is free only after 300 releases"""
    many_holders(student, (255, 256, 300))


# ---- PagedSequence -------------------------------------------------------------------------------------------------


@checks("PagedSequence", weight=2)
def test_long_stories_of_sequences(student, rng):
    """random grow, fork, truncate and free, with blocks of 1, 3, 4 and 5, in pools that are soon full: slots are right"""
    written(lambda *_: student.PagedSequence(None, 4).blocks_for(1))
    for num_blocks, size in ((9, 1), (5, 3), (5, 4), (4, 5)):

        def play(steps, num_blocks=num_blocks, size=size):
            Sequences(num_blocks, size).play(student, steps)

        random_steps(lambda: sequence_steps(rng, 25, prefix=False), play, count=6)


@checks("PagedSequence")
def test_random_tables(student, rng):
    """the slots of random tables, of all tokens and of ranges of tokens, are right"""
    for _ in range(8):
        size, count = integer(rng, 1, 6), integer(rng, 1, 7)
        table = torch.randperm(20, generator=rng)[:count].tolist()
        length = (count - 1) * size + integer(rng, 1, size)
        sequence = student.PagedSequence(student.BlockPool(20), size)
        sequence.blocks, sequence.length = table, length
        want = torch.tensor([table[t // size] * size + t % size for t in range(length)])
        start = integer(rng, 0, length)
        end = integer(rng, start, length)
        equal(sequence.slots(), want, what="wrong slots")
        equal(sequence.slots(start, end), want[start:end], what=f"wrong slots from {start} to {end}")
        equal(sequence.slots(start=start), want[start:], what=f"wrong slots from {start} on")
    for empty in (student.PagedSequence(student.BlockPool(2), 4).slots(), sequence.slots(length), sequence.slots(0, 0)):
        equal(empty, torch.empty(0, dtype=torch.int64), what="there is no token, and there are slots")
        equal(str(empty.dtype), "torch.int64", what="wrong dtype of no slots")


@checks("PagedSequence")
def test_a_table_of_any_size(student, rng):
    """900 tokens in blocks of 10, grown in pieces and forked twice, and blocks with large numbers: slots are right"""
    pool = student.BlockPool(200)
    a, length = student.PagedSequence(pool, 10), 0
    for n in [*random_sizes(rng, 23), 877]:
        a.grow(n)
        length += n
        equal(a.slots(), table_slots(a.blocks, 10, length), what=f"wrong slots of {length} tokens")
    a.grow(5)
    b = a.fork()
    c = b.fork()
    for name, sequence in (("b", b), ("c", c)):
        equal(sequence.slots(), table_slots(sequence.blocks, 10, 905), what=f"wrong {name}.slots() of a fork")
        sequence.truncate(903)
        sequence.grow(2)
        equal(sequence.slots(), table_slots(sequence.blocks, 10, 905), what=f"wrong {name}.slots() after its last block was replaced")
    equal(len({sequence.blocks[-1] for sequence in (a, b, c)}), 3, what="sequences that have grown apart share a last block")
    equal([len(a.blocks), pool.num_free], [91, 107], what="wrong number of blocks, and num_free")
    for size, most, count in ((10, 50_000, 70), (320, 2**17, 14)):
        b = student.PagedSequence(pool, size)
        b.blocks, b.length = torch.randint(most // 2, most, (count,), generator=rng).tolist(), count * size
        what = f"wrong slots of blocks of {size} with large numbers"
        equal(b.slots(3, b.length - 5), table_slots(b.blocks, size, count * size)[3:-5], what=what)


@checks("PagedSequence")
def test_refused_takes_nothing(student):
    """a grow that raises OutOfBlocks does not call pool.take, which would evict an idle block"""
    pool = student.BlockPool(3)
    a = student.PagedSequence(pool, 4)
    a.grow(6)
    before = state_of(a)
    taken: list[int] = []
    (free,) = {0, 1, 2} - set(a.blocks)
    pool.take = lambda: taken.append(free) or free
    with contextlib.suppress(StudentRaised):
        a.grow(7)
    that(not taken, "a.grow(7) must be refused, and it has called pool.take first", expected="no call", got=len(taken))
    raises("OutOfBlocks", lambda: a.grow(7))
    equal(state_of(a), before, what="a refused grow has changed blocks, length, num_free or holders")
    equal(a.grow(6), [], what="wrong copies of a grow that just fits")
    equal([len(taken), a.blocks, a.length], [1, [*before["blocks"], free], 12], what="wrong calls of pool.take, blocks and length")


@checks("PagedSequence")
def test_forgotten_as_it_is_written_over(student):
    """grow calls pool.forget only for a part-full last block of the sequence's own"""
    pool = student.BlockPool(9)
    calls: list[int] = []
    pool.forget = calls.append
    a = student.PagedSequence(pool, 5)
    a.grow(15)
    blocks = list(a.blocks)
    for length, n in ((12, 2), (13, 9), (11, 4), (7, 0)):
        calls.clear()
        a.truncate(length)
        that(not calls, f"a.truncate({length}) leaves the contents of the blocks as they are, yet pool.forget was called", got=calls)
        a.grow(n)
        what = f"wrong blocks forgotten, of those before, by a.grow({n}) at {length} tokens"
        equal([block for block in blocks if block in calls], blocks[2:] if n else [], what=what)
    calls.clear()
    raises("OutOfBlocks", lambda: a.grow(90))
    fork = a.fork()
    fork.grow(6)
    that(not set(calls) & set(a.blocks), "a block was forgotten by a grow that was refused, or that copied it for a fork", got=calls)
    a.grow(1)
    that(blocks[1] in calls, "a part-full block is written over, yet pool.forget was not called for it", expected=[blocks[1]], got=calls)


@checks("PagedSequence")
def test_many_forks(student, rng):
    """five sequences share a part-full block: each but the last to grow copies it; free returns all blocks to the pool"""
    pool = student.BlockPool(12)
    rows = [student.PagedSequence(pool, 4)]
    rows[0].grow(7)
    rows += [rows[0].fork() for _ in range(4)]
    last = rows[0].blocks[-1]
    order = [rows[i] for i in torch.randperm(5, generator=rng).tolist()]
    equal([row.blocks_for(1) for row in order], [1] * 5, what="wrong blocks_for(1) while all share a block")
    copies = [row.grow(1) for row in order]
    what = "wrong old blocks of the pairs to be copied, as five forks of a part-full block grow in turn"
    equal([[old for old, _ in pairs] for pairs in copies], [[last]] * 4 + [[]], what=what)
    equal(len({row.blocks[-1] for row in order}), 5, what="rows that have grown apart share a last block")
    equal([pool.num_free, pool.holders(rows[0].blocks[0])], [6, 5], what="wrong num_free and holders")
    for row in order:
        row.free()
    equal(pool.num_free, 12, what="wrong num_free when all have given their blocks back")


# ---- PagedKV -------------------------------------------------------------------------------------------------------


@checks("PagedKV", weight=2)
def test_random_memory(student, rng):
    """random shapes, layers, slots and copies, in bfloat16 and float64: keys and values are right"""
    for dtype in (torch.bfloat16, torch.float64):
        for _ in range(3):
            L, num_blocks, size, K, Dh = (integer(rng, low, 5) for low in (1, 4, 1, 1, 1))
            kv, keys, values = memory_of(student, rng, L, num_blocks, size, K, 2 * Dh, dtype)
            equal(kv.nbytes, 2 * keys.nbytes, what="wrong nbytes")
            for _ in range(4):
                layer, n = integer(rng, 0, L - 1), integer(rng, 1, num_blocks * size)
                slots = torch.randperm(num_blocks * size, generator=rng)[:n]
                drawn = torch.randn(2, K, n, 2 * Dh, generator=rng, dtype=torch.promote_types(dtype, torch.float32))
                k, v = drawn.to(dtype).transpose(1, 2)
                kv.write(layer, slots, k, v)
                keys[layer, slots], values[layer, slots] = k, v
                blocks = torch.randperm(num_blocks, generator=rng).tolist()
                pairs = list(zip(blocks[: num_blocks // 2], blocks[num_blocks // 2 :], strict=False))
                kv.copy(pairs)
                for memory in (keys, values):
                    for old, new in pairs:
                        memory[:, new * size : (new + 1) * size] = memory[:, old * size : (old + 1) * size]
                equal(kv.keys, keys, what="wrong keys in the memory")
                equal(kv.values, values, what="wrong values in the memory")
                wanted = torch.randint(num_blocks * size, (6,), generator=rng)
                for got, memory in zip(kv.read(layer, wanted), (keys, values), strict=True):
                    equal(got, memory[layer, wanted], what="what is read is not what is in the slots")
                    equal(str(got.dtype), str(dtype), what="wrong dtype of what is read")


@checks("PagedKV")
def test_one_to_many(student, rng):
    """one block copied to the first and to the last block, and four slots written out of order: keys and values are right"""
    kv, keys, values = memory_of(student, rng, num_blocks=4)
    kv.copy([(1, 0), (1, 3)])
    slots = torch.tensor([8, 10, 9, 11])
    kv.write(1, slots, 2 * keys[0, :4], 3 * values[0, :4])
    keys[1, slots], values[1, slots] = 2 * keys[0, :4], 3 * values[0, :4]
    for memory in (keys, values):
        for new in (0, 3):
            memory[:, 4 * new : 4 * new + 4] = memory[:, 4:8]
    equal(kv.keys, keys, what="wrong keys in the memory")
    equal(kv.values, values, what="wrong values in the memory")


@checks("PagedKV")
def test_large_in_every_size(student, rng):
    """work: twelve layers, heads of width 96, 40,000 slots, 15 copies: right contents; a read touches one layer only"""
    kv, keys, values = memory_of(student, rng, L=12, num_blocks=40, size=12, K=2, Dh=96)
    slots = torch.randperm(480, generator=rng)[:450]
    k, v = torch.randn(2, 450, 2, 96, generator=rng)
    kv.write(11, slots, k, v)
    keys[11, slots], values[11, slots] = k, v
    blocks = torch.randperm(40, generator=rng).tolist()
    pairs = list(zip(blocks[:15], blocks[15:30], strict=True))
    kv.copy(pairs)
    for memory in (keys, values):
        for old, new in pairs:
            memory[:, new * 12 : (new + 1) * 12] = memory[:, old * 12 : (old + 1) * 12]
    equal(kv.keys, keys, what="wrong keys in the memory")
    equal(kv.values, values, what="wrong values in the memory")
    kv, keys, values = memory_of(student, rng, L=1, num_blocks=10_000, size=4, K=1, Dh=1)
    kv.copy([(9_999, 3), (1, 8_500)])
    slots = torch.tensor([39_999, 12, 15, 34_000, 34_003])
    for name, got, memory in zip(("keys", "values"), kv.read(0, slots), (keys, values), strict=True):
        equal(got, memory[0, [39_999, 39_996, 39_999, 4, 7]], what=f"wrong {name} in slots {slots.tolist()}")
    kv, keys, values = memory_of(student, rng, L=10, num_blocks=9, size=12, K=2, Dh=40)
    slots = torch.randperm(108, generator=rng)[:11]
    with student.counting() as work:
        both = kv.read(7, slots)
    for name, got, memory in zip(("keys", "values"), both, (keys, values), strict=True):
        equal(got, memory[7, slots], what=f"wrong {name} of layer 7")
    between(work.written_bytes, 0, 4 * 11 * 2 * 40 * 4 + 4096, "bytes written by a read of 11 tokens of one layer of ten")


# ---- forward_paged -------------------------------------------------------------------------------------------------


@checks("forward_paged", weight=2)
def test_random_models_in_random_blocks(student, rng):
    """random models, chunks, block sizes and forks, in a memory that was used before: right logits"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=29, **shape)
        size, num_blocks = integer(rng, 1, 5), 40
        pool, kv = student.BlockPool(num_blocks), filled(student, num_blocks, size, config=kit.config)
        first = student.PagedSequence(pool, size)
        ids = random_ids(rng, 3, 11, 29)
        common = integer(rng, 1, 8)
        rows, texts = [first], [ids[:1]]
        close(paged_logits(student, model, ids[:1, :common], random_sizes(rng, common), first, kv), kit(ids[:1, :common]), atol=1e-3)
        for other in ids[1:].split(1):
            rows.append(one_of(rng, rows).fork())
            texts.append(torch.cat((ids[:1, :common], other[:, common:]), dim=1))
        for row, text in zip(rows, texts, strict=True):
            got = paged_logits(student, model, text[:, common:], random_sizes(rng, 11 - common), row, kv)
            close(got, kit(text)[:, common:], atol=1e-3, dtype=torch.float64, what=f"wrong logits for {shape}, blocks of {size}")
        for row in rows:
            row.truncate(common)
        again = random_ids(rng, 1, 4, 29)
        got = paged_logits(student, model, again, [4], rows[1], kv)
        want = kit(torch.cat((ids[:1, :common], again), dim=1))[:, common:]
        close(got, want, atol=1e-3, what=f"wrong logits after a truncate, blocks of {size}")
        twin, third = rows[1].fork(), random_ids(rng, 1, 4, 29)
        rows[1].truncate(common)
        for row, before, new in ((rows[1], ids[:1, :common], third), (twin, torch.cat((ids[:1, :common], again), dim=1), third[:, :1])):
            got = paged_logits(student, model, new, [new.shape[1]], row, kv)
            want = kit(torch.cat((before, new), dim=1))[:, before.shape[1] :]
            close(got, want, atol=1e-3, what=f"wrong logits after a second truncate, blocks of {size}, beside a fork that was not cut")


@checks("forward_paged")
def test_a_long_text_of_a_small_model(student, rng):
    """480 tokens in chunks of 1, 299 and 180, blocks of 5: right logits; gradient mode is as before, also after OutOfBlocks"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    model, kit = small(student, rng, vocab_size=29, num_hidden_layers=1)
    ids, kv = random_ids(rng, 1, 480, 29), filled(student, 100, 5, config=kit.config)
    sequence = student.PagedSequence(student.BlockPool(100), 5)
    got = paged_logits(student, model, ids, [1, 299, 180], sequence, kv)
    close(got, kit(ids), atol=1e-3, what="wrong logits of a text of 480 tokens")
    gradient_mode_stays(student, lambda: student.forward_paged(model, ids[:, :2], sequence, kv))
    gradient_mode_stays(student, lambda: raises("OutOfBlocks", lambda: student.forward_paged(model, ids[:, :40], sequence, kv)))


@checks("forward_paged")
def test_work_of_a_long_text(student, rng):
    """work: 24 tokens in chunks after a fork cost 24 positions, and the FLOPs of 24 tokens"""
    written(lambda *_: student.forward_paged(None, None, None, None))
    ids = random_ids(rng, 1, 64, 1000)
    model, kv = student.model("tiny"), filled(student, 20, 4, dtype=torch.float32)
    first = student.PagedSequence(student.BlockPool(20), 4)
    student.forward_paged(model, ids[:, :40], first, kv)
    sequence = first.fork()
    with student.counting() as work:
        got = torch.cat([student.forward_paged(model, chunk, sequence, kv) for chunk in ids[:, 40:].split(12, dim=1)], dim=1)
    close(got, whole()(ids)[:, 40:], atol=1e-3, dtype=torch.float32)
    equal(work.positions, 24, what="wrong number of positions")
    fewest = fewest_flops(whole().config, [12, 12], every_logit=True)
    between(work.flops, fewest, 1.5 * fewest, "FLOPs")


# ---- paged_attention -----------------------------------------------------------------------------------------------


@checks("paged_attention", weight=2)
def test_random_rows_and_tables(student, rng):
    """random rows, heads and blocks, large scores, bfloat16: the output is right"""
    for _ in range(10):
        K, group, size = integer(rng, 1, 3), integer(rng, 1, 3), integer(rng, 1, 6)
        lengths = [integer(rng, 1, 20) for _ in range(integer(rng, 1, 4))]
        q, keys, values, tables, counts = draw_table(rng, lengths, K * group, K, 4, size)
        for large in (1.0, 40.0):
            got = student.paged_attention(large * q, keys, values, tables, counts, size)
            want = attended(large * q, keys, values, tables, counts, size)
            close(got, want, atol=1e-9, rtol=1e-9, dtype=torch.float64, what=f"wrong output for lengths {lengths}, blocks of {size}")
    q, keys, values, tables, counts = draw_table(rng, [9, 30], 4, 2, 8, 4, dtype=torch.bfloat16)
    got = student.paged_attention(q, keys, values, tables, counts, 4, _unchanged=True)
    want = attended(q, keys, values, tables, counts, 4)
    close(got, want, atol=0.02, rtol=0.02, dtype=torch.bfloat16, what="wrong output in 16 bits")


@checks("paged_attention", weight=2)
def test_sixteen_bits_and_no_fewer_in_between(student, rng):
    """bfloat16 and float16: computed in float32 or better, and rounded only in the result"""
    for dtype, last_place in ((torch.bfloat16, 2**-7), (torch.float16, 2**-10)):
        q, keys, values, tables, lengths = draw_table(rng, [40, 7, 64, 273], 4, 2, 24, 8, dtype=dtype)
        for large in (1, 4):
            got = student.paged_attention(large * q, keys, values, tables, lengths, 8)
            want = attended(large * q, keys, values, tables, lengths, 8).to(dtype)
            close(got, want, atol=1e-5, rtol=last_place, dtype=dtype, what=f"wrong output in {dtype}, {large} times the query")


@checks("paged_attention")
def test_tables_of_any_size(student, rng):
    """twelve rows, 620 columns, eight query heads on one key/value head, 40,000 slots: the output is right"""
    lengths = [400, 1, 33, *(integer(rng, 1, 20) for _ in range(9))]
    for sizes, H, Dh, size, spare in ((lengths, 8, 112, 5, 3), ([620, *lengths[1:]], 2, 1, 1, 40_000)):
        q, keys, values, tables, counts = draw_table(rng, sizes, H, 1, Dh, size, spare=spare)
        want = attended(q, keys, values, tables, counts, size)
        got = student.paged_attention(q, keys, values, tables, counts, size)
        close(got, want, atol=1e-9, rtol=1e-9, what=f"wrong output for twelve rows of up to {sizes[0]} tokens, {len(keys)} slots")


@checks("paged_attention", weight=2)
def test_scores_and_memory_of_any_size(student, rng):
    """scores of several thousand, positive and negative, and huge numbers in unused slots: the output is right"""
    for shift in (-4000.0, 4000.0):
        q, keys, values, tables, lengths = draw_table(rng, [6, 1, 13], 4, 2, 4, 4)
        nobody = (keys == 50.0).all(dim=-1).all(dim=-1)
        q = q.abs() + 4  # so that a score is about shift * 2 * q
        want = attended(q, keys + shift, values, tables, lengths, 4)
        for stray in (1e30, -1e30, 1.5e308):
            keys_with, values_with = keys + shift, values.clone()
            keys_with[nobody], values_with[nobody] = stray, -stray
            got = student.paged_attention(q, keys_with, values_with, tables, lengths, 4, _unchanged=True)
            close(got, want, atol=1e-8, rtol=1e-8, what=f"wrong output with {stray:g} in slots of nobody and {shift:g} added to all keys")


@checks("paged_attention")
def test_wider_tables(student, rng):
    """work: columns of the table that no row needs do not change the output; peak memory is a few columns of blocks"""
    for dtype, atol in ((torch.float32, 1e-5), (torch.bfloat16, 0.02)):
        q, keys, values, tables, lengths = draw_table(rng, [33, 160, 96], 6, 2, 16, 8, dtype=dtype)
        tables = torch.cat((tables, torch.zeros(3, 4, dtype=torch.int64)), dim=1)
        with student.counting() as work:
            got = student.paged_attention(q, keys, values, tables, lengths, 8)
        close(got, attended(q, keys, values, tables, lengths, 8), atol=atol, dtype=dtype, what="wrong output")
        between(work.peak_bytes, 2 * q.nbytes, 8 * 3 * 8 * 2 * 2 * 16 * 4, f"bytes of memory at one time, in {dtype}")


# ---- paged_decode --------------------------------------------------------------------------------------------------


@checks("paged_decode", weight=2)
def test_random_rows_decode(student, rng):
    """random models and rows, with forks, rows that end and rows that join: right logits in every step"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    for shape in SHAPES:
        model, kit = small(student, rng, vocab_size=29, **shape)
        size = integer(rng, 1, 5)
        pool, kv = student.BlockPool(60), filled(student, 60, size, config=kit.config)
        rows, texts = [], []
        for _ in range(3):
            text = random_ids(rng, 1, integer(rng, 1, 9), 29)
            rows.append(student.PagedSequence(pool, size))
            student.forward_paged(model, text, rows[-1], kv)
            texts.append(text)
        for step in range(5):
            if step in (1, 3):
                which = integer(rng, 0, len(rows) - 1)
                rows.insert(0, rows[which].fork())
                texts.insert(0, texts[which])
            if step == 2:
                rows.pop().free()
                texts.pop()
            new = random_ids(rng, len(rows), 1, 29)
            got, (_, _, after, _) = student.paged_decode(model, new, rows, kv, _arguments=True)
            texts = [torch.cat((text, token), dim=1) for text, token in zip(texts, new.split(1), strict=True)]
            what = "the caller's list of sequences has another order, or other ones, afterwards"
            equal([row.length for row in after], [text.shape[1] for text in texts], what=what)
            want = torch.cat([kit(text)[:, -1] for text in texts])
            close(got, want, atol=1e-3, dtype=torch.float64, what=f"wrong logits in step {step} for {shape}, blocks of {size}")


@checks("paged_decode")
def test_a_large_batch(student, rng):
    """eighteen rows of a small model, one of 350 tokens, blocks of 1: right logits"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model, kit = small(student, rng, vocab_size=29, num_hidden_layers=1)
    pool, kv = student.BlockPool(480), filled(student, 480, 1, config=kit.config)
    texts = [random_ids(rng, 1, n, 29) for n in (*range(2, 14), 350, *range(2, 7))]
    rows = [student.PagedSequence(pool, 1) for _ in texts]
    for text, row in zip(texts, rows, strict=True):
        student.forward_paged(model, text[:, :-1], row, kv)
    got = student.paged_decode(model, torch.cat([text[:, -1:] for text in texts]), rows, kv)
    close(got, torch.cat([kit(text)[:, -1] for text in texts]), atol=1e-3, what="wrong logits of eighteen rows")


@checks("paged_decode")
def test_one_pass_for_all_rows(student, rng):
    """work: six rows cost six positions a step; the weights are read once for all rows, also with 53 rows"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model, kv = student.model("tiny"), filled(student, 30, 8, dtype=torch.float32)
    pool, ids = student.BlockPool(30), random_ids(rng, 6, 9, 1000)
    rows = [student.PagedSequence(pool, 8) for _ in range(6)]
    for row, text in zip(rows, ids.split(1), strict=True):
        student.forward_paged(model, text[:, :8], row, kv)
    with student.counting(fast_bytes=LARGE) as work:
        got = student.paged_decode(model, ids[:, 8:], rows, kv)
    close(got, whole()(ids)[:, -1], atol=1e-3, dtype=torch.float32)
    equal(work.positions, 6, what="wrong number of positions")
    fewest = fewest_flops(whole().config, [1], rows=6)
    between(work.flops, fewest, 1.5 * fewest, "FLOPs")
    weights = whole().weights
    sizes = [4 * t.numel() for t in (weights.lm_head, *(t for layer in weights.layers for t in vars(layer).values()))]
    once = sum(size for size in sizes if size > LARGE)
    between(work.slow_bytes, once, 2 * once, f"bytes read from tensors of more than {LARGE:,} bytes, which all weights together are once")
    kv, first = filled(student, 54, 2, dtype=torch.float32), student.PagedSequence(student.BlockPool(54), 2)
    student.forward_paged(model, ids[:1, :1], first, kv)
    new = random_ids(rng, 53, 1, 1000)
    rows = [first, *(first.fork() for _ in range(52))]
    with student.counting(fast_bytes=LARGER) as work:
        got = student.paged_decode(model, new, rows, kv)
    close(got, whole()(torch.cat((ids[:1, :1].expand(53, -1), new), dim=1))[:, -1], atol=1e-3, what="wrong logits of 53 rows")
    equal(work.positions, 53, what="wrong number of positions of 53 rows")
    once = sum(size for size in sizes if size > LARGER)
    what = f"bytes read from tensors of more than {LARGER:,} bytes by 53 rows, which the large weights together are once"
    between(work.slow_bytes, once, 1.7 * once, what)


@checks("paged_decode")
def test_rows_are_not_gathered(student, rng):
    """work: one row of 200 tokens beside seven of 9: peak memory is far below the keys and values of all rows"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model, kv = student.model("tiny"), filled(student, 40, 8, dtype=torch.float32)
    pool, texts = student.BlockPool(40), [random_ids(rng, 1, n, 1000) for n in (200, *[9] * 7)]
    rows = [student.PagedSequence(pool, 8) for _ in texts]
    for row, text in zip(rows, texts, strict=True):
        student.forward_paged(model, text[:, :-1], row, kv)
    new = torch.cat([text[:, -1:] for text in texts])
    with student.counting() as work:
        got = student.paged_decode(model, new, rows, kv)
    close(got, torch.cat([whole()(text)[:, -1] for text in texts]), atol=1e-3)
    config = whole().config
    gathered = 8 * 200 * 2 * config.num_key_value_heads * config.head_dim * 4
    what = f"bytes of memory at one time (keys and values of all rows, padded to the longest, are {gathered:,} a layer)"
    between(work.peak_bytes, got.nbytes, gathered / 4, what)


@checks("paged_decode", weight=2)
def test_forks_that_do_not_fit(student, rng):
    """two forks of a part-full block and one free block: OutOfBlocks, nothing has changed; one fork alone can grow"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.BlockPool(3), filled(student, 3, 4)
    text = random_ids(rng, 1, 7, 1000)
    first = student.PagedSequence(pool, 4)
    student.forward_paged(model, text[:, :6], first, kv)
    rows = [first, first.fork()]
    before, memory = [state_of(row) for row in rows], (kv.keys, kv.values)
    refused = text[:, 6:].expand(2, 1)
    gradient_mode_stays(student, lambda: raises("OutOfBlocks", lambda: student.paged_decode(model, refused, rows, kv)))
    equal([state_of(row) for row in rows], before, what="a refused step has changed blocks, length, num_free or holders")
    for name, now, then in zip(("keys", "values"), (kv.keys, kv.values), memory, strict=True):
        equal(now, then, what=f"a refused step has written {name}")
    got = student.paged_decode(model, text[:, 6:], rows[1:], kv)
    close(got, whole()(text)[:, -1], atol=1e-3, what="wrong logits of the fork that fits")
    first.free()
    gradient_mode_stays(student, lambda: student.paged_decode(model, text[:, :1], rows[1:], kv))


@checks("paged_decode", weight=2)
def test_greedy_rows_from_a_shared_beginning(student):
    """the ladder: rows that reuse a cached beginning: the tokens of the loop without a cache"""
    written(lambda *_: student.paged_decode(None, None, None, None))
    model = student.model("tiny", dtype=torch.float64)
    pool, kv = student.PrefixPool(60), filled(student, 60, 4)
    ids = [tiny_ids("KING RICHARD:\nNow is the winter of our" + rest) for rest in (" discontent", " war", "", " discontent")]
    rows, logits = [], []
    for idx in ids:
        text = idx[0].tolist()
        rows.append(student.start_sequence(pool, text, 4))
        logits.append(student.forward_paged(model, idx[:, rows[-1].length :], rows[-1], kv)[:, -1])
        student.publish_blocks(rows[-1], text)
    tokens = [torch.cat(logits).argmax(dim=-1, keepdim=True)]
    for _ in range(6):
        tokens.append(student.paged_decode(model, tokens[-1], rows, kv).argmax(dim=-1, keepdim=True))
    for row, idx in enumerate(ids):
        equal(torch.cat(tokens, dim=1)[row : row + 1], unrolled(whole(), idx, 7, 256), what=f"other tokens in row {row}")


# ---- block_keys ----------------------------------------------------------------------------------------------------


@checks("block_keys", weight=2)
def test_random_keys(student, rng):
    """random texts, block sizes and salts give the right keys"""
    for _ in range(12):
        tokens = torch.randint(60_000, (integer(rng, 0, 30),), generator=rng).tolist()
        size, salt = integer(rng, 1, 7), bytes(torch.randint(256, (integer(rng, 0, 9),), generator=rng).tolist())
        equal(student.block_keys(tokens, size, salt, _unchanged=True), chained(tokens, size, salt), what="wrong keys")
    tokens = torch.randint(2**50, (3300,), generator=rng).tolist()
    for size, salt in ((3, b"tenant " * 9 + b"\0"), (1600, b"\t tenant " * 9), (3, b"TENANT")):
        equal(student.block_keys(tokens, size, salt), chained(tokens, size, salt), what=f"wrong keys for 3,300 tokens, the salt {salt!r}")
    text = torch.randint(500, (24,), generator=rng).tolist()
    equal(student.block_keys(text, 4), student.block_keys([*text, 3], 4), what="a token after the whole blocks has changed a key")


# ---- PrefixPool ----------------------------------------------------------------------------------------------------


@checks("PrefixPool", weight=2)
def test_long_stories_of_prefix_pools(student, rng):
    """random publish, release, adopt and evict, in pools of 2, 3 and 6 blocks: find, num_free and holders are right"""
    for num_blocks in (2, 3, 6):

        def play(steps, num_blocks=num_blocks):
            play_pool(student, steps, num_blocks, keys=True)

        random_steps(lambda: pool_steps(rng, 50, keys=True), play, count=8)


@checks("PrefixPool")
def test_evicted_in_the_order_of_rest(student, rng):
    """five idle blocks, some of them adopted and released again: the longest idle block is evicted first"""
    keys = [b"k" * 31 + bytes([65 + i]) for i in range(5)]
    pool, blocks = idle_pool(student, keys, 5)
    order = list(range(5))
    for _ in range(4):
        which = integer(rng, 0, 4)
        equal(pool.adopt([keys[which]]), [blocks[which]], what="wrong blocks adopted")
        pool.share(blocks[which])
        pool.release(blocks[which])
        pool.release(blocks[which])
        order.remove(which)
        order.append(which)
    for place in reversed(order):
        equal(pool.find([keys[place]]), [blocks[place]], what="wrong blocks found")
    for place in order:
        equal([pool.take()], [blocks[place]], what="the block that has been idle longest was not taken")
    equal([pool.find([key]) for key in keys], [[]] * 5, what="keys of blocks that were taken are still known")
    raises("OutOfBlocks", pool.take, naming=5)


@checks("PrefixPool")
def test_known_keys_of_idle_blocks(student, rng):
    """publishing the keys of idle blocks for other blocks: idle blocks keep keys and order; another pool knows no key"""
    keys = [b"k%d" % n for n in range(280)]
    pool, blocks = idle_pool(student, keys, 282)
    other = student.PrefixPool(4)
    others = [pool.take(), pool.take()]
    for place in torch.randperm(60, generator=rng)[:10].tolist():
        pool.publish(one_of(rng, others), keys[place])
    equal([pool.find(keys), other.find(keys[:1]), pool.num_free], [blocks, [], 280], what="wrong blocks found, and num_free")
    for block in others:
        pool.release(block)
    taken = [pool.take() for _ in range(22)]
    equal(sorted(taken[:2]), sorted(others), what="two blocks without a key are free, and others were taken")
    equal(taken[2:], blocks[:20], what="the blocks that have been idle longest were not taken")
    equal(pool.find(keys[20:]), blocks[20:], what="wrong blocks found")


@checks("PrefixPool")
def test_without_a_key_before_all_that_rest(student):
    """two free blocks without a key are taken before three idle blocks, and no key is forgotten until then"""
    keys = [b"a", b"b", b"c"]
    pool, blocks = idle_pool(student, keys, 5)
    plain = [pool.take(), pool.take()]
    for block in plain:
        pool.release(block)
    equal(sorted([pool.take(), pool.take()]), sorted(plain), what="two blocks without a key are free, and others were taken")
    equal([pool.find([key]) for key in keys], [[block] for block in blocks], what="a key was forgotten although its block was not needed")
    equal([pool.take()], [blocks[0]], what="the block that has been idle longest was not taken")


@checks("PrefixPool")
def test_forgotten_while_idle(student):
    """an idle block that is forgotten still counts as free, and is taken once, before all blocks with a key"""
    keys = [b"a", b"b", b"c"]
    for num_blocks in (3, 5):
        pool, blocks = idle_pool(student, keys, num_blocks)
        pool.forget(blocks[1])
        what = "wrong num_free and holders after an idle block was forgotten"
        equal([pool.num_free, pool.holders(blocks[1])], [num_blocks, 0], what=what)
        equal([pool.find([key]) for key in keys], [blocks[:1], [], blocks[2:]], what="wrong blocks found")
        what = f"wrong blocks from {num_blocks} calls of take on a pool with as many free blocks"
        taken = [pool.take() for _ in range(num_blocks)]
        equal(sorted(taken), list(range(num_blocks)), what=what)
        equal(taken[-2:], [blocks[0], blocks[2]], what="a block with a key was taken before one that was forgotten, or never had one")
        raises("OutOfBlocks", pool.take, naming=num_blocks)


@checks("PrefixPool")
def test_without_keys_a_pool_like_any_other(student, rng):
    """a PrefixPool without keys takes, shares, releases and refuses like a BlockPool"""
    pool = student.PrefixPool(3)
    equal([pool.num_free, pool.find([b"x"]), pool.adopt([b"x"])], [3, [], []], what="wrong num_free and blocks of a new pool")
    taken = [pool.take() for _ in range(3)]
    equal(sorted(taken), [0, 1, 2], what="wrong blocks from three calls of take on a pool of three")
    pool.share(taken[0])
    pool.release(taken[0])
    equal([pool.num_free, pool.holders(taken[0])], [0, 1], what="wrong num_free and holders")
    pool.release(taken[0])
    for call in (pool.share, pool.release):
        raises(ValueError, lambda call=call: call(taken[0]), naming=taken[0])
    equal(pool.num_free, 1, what="a refused call has changed num_free")


# ---- start_sequence, publish_blocks --------------------------------------------------------------------------------


@checks("start_sequence", weight=2)
def test_long_stories_of_prefixes(student, rng):
    """random start, grow, fork, truncate, publish and free, with blocks of 4 and of 2: each slot holds its own text"""
    written(lambda *_: student.start_sequence(None, None, None))
    for num_blocks, size in ((5, 4), (8, 2)):

        def play(steps, num_blocks=num_blocks, size=size):
            Sequences(num_blocks, size, prefix=True).play(student, steps)

        random_steps(lambda: sequence_steps(rng, 25, prefix=True), play, count=12)


@checks("start_sequence")
def test_random_beginnings(student, rng):
    """random texts with a common beginning: every whole common block is reused, but never the last token of a text"""
    written(lambda *_: student.start_sequence(None, None, None))
    for _ in range(10):
        size, n = integer(rng, 1, 5), integer(rng, 2, 24)
        pool, text = student.PrefixPool(60), list(range(10, 10 + n))
        first = student.start_sequence(pool, text, size)
        first.grow(n)
        student.publish_blocks(first, text)
        same = integer(rng, 0, n)
        other = [*text[:same], *range(500, 500 + integer(rng, 1, 9))] if same < n else text
        sequence = student.start_sequence(pool, other, size)
        length = min(same, len(other) - 1) // size * size
        equal([sequence.length, sequence.blocks], [length, first.blocks[: length // size]], what="wrong length and blocks")
        that(sequence.length < len(other), "no token is left to compute")
        sequence.grow(len(other) - length)
        before = state_of(first)
        sequence.free()
        equal(first.blocks, before["blocks"], what="the blocks of the other sequence have changed")
        equal([pool.holders(block) for block in first.blocks], [1] * len(first.blocks), what="wrong holders when a sequence is freed")


@checks("start_sequence")
def test_long_texts_of_two_tenants(student, rng):
    """2,400 tokens under two salts that differ only in the last byte: blocks of the own salt are reused, up to a gap"""
    written(lambda *_: student.start_sequence(None, None, None))
    pool, text = student.PrefixPool(1610), torch.randint(900, (2400,), generator=rng).tolist()
    salts = [b"tenant" * 10 + last for last in (b"7", b"8", b"8 ")]
    firsts = []
    for salt in salts[:2]:
        sequence = student.start_sequence(pool, text, 3, salt)
        equal(sequence.length, 0, what=f"wrong length for the salt {salt!r}, under which nothing is published")
        sequence.grow(2400)
        student.publish_blocks(sequence, text, salt)
        firsts.append(sequence)
    for salt, blocks in zip(salts, (firsts[0].blocks[:799], firsts[1].blocks[:799], []), strict=True):
        equal(student.start_sequence(pool, text, 3, salt).blocks, blocks, what=f"wrong blocks for the salt {salt!r}")
    place = integer(rng, 0, 700)
    pool.forget(firsts[1].blocks[place])
    sequence = student.start_sequence(pool, text, 3, salts[1])
    what = f"wrong length and blocks: block {place} of the text is no longer known, and those after it are"
    equal([sequence.length, sequence.blocks], [3 * place, firsts[1].blocks[:place]], what=what)


@checks("publish_blocks")
def test_a_long_text_under_two_salts(student, rng):
    """2,700 tokens in blocks of 3: all 900 blocks are found under their salt, and none under a salt with another last byte"""
    written(lambda *_: student.publish_blocks(None, None, None))
    pool, text, salt = student.PrefixPool(900), torch.randint(900, (2700,), generator=rng).tolist(), b"tenant" * 10
    sequence = student.PagedSequence(pool, 3)
    sequence.grow(2700)
    student.publish_blocks(sequence, text, salt + b"7")
    found = [pool.find(chained(text, 3, salt + last)) for last in (b"7", b"8")]
    equal(found, [sequence.blocks, []], what="wrong blocks found under two salts")


@checks("publish_blocks", weight=2)
def test_published_block_by_block(student, rng):
    """a growing text is published repeatedly; a second text with the same beginning adds only its new blocks"""
    written(lambda *_: student.publish_blocks(None, None, None))
    size = integer(rng, 2, 4)
    pool, text = student.PrefixPool(40), torch.randint(900, (20,), generator=rng).tolist()
    first = student.PagedSequence(pool, size)
    for n in (1, size - 1, size, 3):
        first.grow(n)
        student.publish_blocks(first, text, b"x", _unchanged=True)
        due = first.blocks[: first.length // size]
        equal(pool.find(chained(text, size, b"x")), due, what=f"wrong blocks found at {first.length} tokens")
    second = student.PagedSequence(pool, size)
    second.grow(20)
    student.publish_blocks(second, text, b"x")
    whole_blocks = first.length // size
    want = first.blocks[:whole_blocks] + second.blocks[whole_blocks : 20 // size]
    equal(pool.find(chained(text, size, b"x")), want, what="wrong blocks found after a second sequence has published the same text")
    second.truncate(2 * size + 1)
    second.grow(3 * size - 1)
    other = text[: 2 * size + 1] + [1000 + n for n in range(3 * size - 1)]
    student.publish_blocks(second, other, b"x")
    want = pool.find(chained(text[: 2 * size], size, b"x")) + second.blocks[2:]
    equal(pool.find(chained(other, size, b"x")), want, what="wrong blocks found after a cut, other tokens and a publish")


@checks("publish_blocks")
def test_shared_blocks_and_a_part_full_one(student):
    """blocks that a fork shares are published too; a part-full block gets no key and is taken before blocks with a key"""
    written(lambda *_: student.publish_blocks(None, None, None))
    pool = student.PrefixPool(4)
    for text in ([7, 7, 7, 7], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]):
        sequence = student.PagedSequence(pool, 4)
        sequence.grow(min(len(text), 9))
        fork, blocks = sequence.fork(), sequence.blocks
        student.publish_blocks(sequence, text)
        equal(pool.find(chained(text, 4)), blocks[: len(text) // 4], what="wrong blocks found while a fork holds them too")
        fork.free()
        sequence.free()
    equal([pool.take()], [blocks[-1]], what="the part-full block has no key and is free, and another one was taken")
    equal(len(pool.find(chained([7, 7, 7, 7], 4))), 1, what="a key was forgotten although its block was not needed")


@checks("publish_blocks")
def test_rewritten_in_other_ways(student, rng):
    """after truncate, fork, free and regrowth in several orders: blocks found by a key hold the text of the key"""
    written(lambda *_: student.publish_blocks(None, None, None))
    begin = [("start", "a", "a", 0), ("publish", "a", "a", 0)]
    for rest in (
        [("truncate", "a", "a", 6), ("grow", "a", "a", 5), ("publish", "a", "a", 0), ("start", "b", "b", 0)],
        [("fork", "a", "b", 0), ("truncate", "a", "a", 3), ("grow", "a", "a", 4), ("start", "c", "c", 0), ("publish", "a", "a", 0)],
        [("free", "a", "a", 0), ("start", "b", "b", 1), ("truncate", "b", "b", 2), ("grow", "b", "b", 1), ("start", "c", "c", 0)],
    ):
        Sequences(8, 4, prefix=True).play(student, begin + rest)


@checks("PagedKV")
def test_a_step_writes_its_own_token(student, rng):
    """work: a step without a copy writes one token a layer, however large the memory is"""
    written_bytes = []
    for num_blocks in (4, 400):
        config = small_config(num_hidden_layers=1, num_key_value_heads=2, num_attention_heads=4, head_dim=8)
        kv = filled(student, num_blocks, 4, config=config, dtype=torch.float32)
        k = torch.randn(1, 2, 8, generator=rng)
        with student.counting() as work:
            kv.copy([])
            kv.write(0, torch.tensor([9]), k, -k)
        got = kv.read(0, torch.tensor([9]))
        for mine, due in zip(got, (k, -k), strict=True):
            equal(mine, due, what="what is read is not what was written")
        written_bytes.append(work.written_bytes)
    between(written_bytes[0], 2 * k.nbytes, math.inf, "bytes written")
    between(written_bytes[1], 2 * k.nbytes, written_bytes[0] + 64, "bytes written in a larger memory")
