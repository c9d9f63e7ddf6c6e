"""Visible checks of tensor parallelism."""

from __future__ import annotations

import re

import torch
from torch.nn.functional import silu

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.helpers.devices import stays_on_its_device
from autograder.checking.helpers.ranked import (
    a_view,
    alike,
    around_a_ring,
    attended,
    attended_wrongly,
    causal,
    config_of,
    cut,
    cut_layer,
    cut_model,
    everywhere,
    exact,
    fed,
    idle_share,
    layer_of,
    logits_of,
    normal,
    of_one_rank,
    on_all,
    one_rank_again,
    reduce_traffic,
    ring_traffic,
    same_layer,
    scattered_wrongly,
    some,
    unchanged,
    weights_of,
    whole,
    with_other_rows,
)


def cause_of_exception(exercise: str, name: str, message: str) -> str | None:
    """Return the cause that an exception proves here, beyond what it proves everywhere."""
    if exercise != "parallel_attention":
        return None
    part = "A rank's part has H / world query heads and the key/value heads of `kv_heads_of`, each of head_dim numbers."
    if name == "RuntimeError" and re.search(r"sizes \[0,|shape '?\[(\d+, )*0, ", message):
        return f"Nothing can be split into 0 heads, and K // world is 0 for more ranks than key/value heads. {part}"
    if name == "RuntimeError" and re.search(r"Provided sizes|shape '\[.*\]' is invalid|first two dimensions of batch2", message):
        return f"Sizes do not fit each other. {part}"
    if name == "ZeroDivisionError" and "negative power" in message:  # a width of 0, in 1 / sqrt(Dh)
        return f"A head is too narrow to be turned or compared. {part}"
    return None


def rows(case):
    return [torch.tensor(row, dtype=torch.float64) for row in case["rows"]]


# ---- column_shard, row_shard -----------------------------------------------------------------------------------------


@checks("column_shard", weight=2)
def test_columns_by_hand(student, hand):
    """four outputs on two ranks: rank 0 has the first two, rank 1 the last two"""
    case = hand["two_matrices"]
    W, x = torch.tensor(case["W"]), torch.tensor(case["x"])
    for rank in range(2):
        part = student.column_shard(W, rank, 2, _unchanged=True)
        close(part, W[2 * rank : 2 * rank + 2], atol=0.0)
        equal((part @ x).tolist(), case["y"][2 * rank : 2 * rank + 2], what="wrong outputs of the part")


@checks("column_shard")
def test_columns_joined(student, rng):
    """1 to 4 ranks: the parts, one below the other, are the whole matrix"""
    for world in (1, 2, 3, 4, 3):  # three ranks again, with another matrix
        weight = normal(rng, 12, 5)
        parts = [student.column_shard(weight, rank, world) for rank in range(world)]
        for rank, part in enumerate(parts):
            close(part, cut(weight, rank, world, 0), atol=0.0, dtype=torch.float64, what=f"wrong part of rank {rank} of {world}")


@checks("column_shard")
def test_columns_that_do_not_divide(student):
    """7 outputs on 2 ranks, or 6 on 4: ValueError that names the number; an odd number of inputs is allowed"""
    for out, rank, world in ((7, 0, 2), (7, 1, 2), (6, 0, 4)):
        raises(ValueError, lambda out=out, r=rank, w=world: student.column_shard(torch.ones(out, 4), r, w), naming=out)
    weight = torch.arange(20.0).view(4, 5)
    close(student.column_shard(weight, 1, 2), weight[2:], atol=0.0)


@checks("column_shard")
def test_columns_are_a_view(student):
    """the part is a view, also of a transposed matrix: a later change of the matrix shows in the part"""
    for weight in (torch.arange(32.0).view(8, 4), torch.arange(32.0).view(4, 8).T):
        a_view(student.column_shard, weight, weight.square() + 40, 1, 2, 0)  # no number of both is the same


@checks("row_shard", weight=2)
def test_rows_by_hand(student, hand):
    """four inputs on two ranks: two for each rank, and the partial sums are 3 and 11"""
    case = hand["two_matrices"]
    W2, y = torch.tensor(case["W2"]), torch.tensor(case["y"])
    for rank, want in enumerate(case["parts"]):
        part = student.row_shard(W2, rank, 2, _unchanged=True)
        close(part, W2[:, 2 * rank : 2 * rank + 2], atol=0.0)
        equal((part @ y[2 * rank : 2 * rank + 2]).tolist(), [want], what="wrong part of the sum")


@checks("row_shard")
def test_rows_joined(student, rng):
    """1 to 4 ranks: the parts, side by side, are the whole matrix"""
    for world in (1, 2, 3, 4, 3):  # three ranks again, with another matrix
        weight = normal(rng, 5, 12)
        for rank in range(world):
            part = student.row_shard(weight, rank, world)
            close(part, cut(weight, rank, world, 1), atol=0.0, dtype=torch.float64, what=f"wrong part of rank {rank} of {world}")


@checks("row_shard")
def test_rows_that_do_not_divide(student):
    """5 inputs on 2 ranks, or 2 on 3: ValueError that names the number; an odd number of outputs is allowed"""
    for size, rank, world in ((5, 0, 2), (5, 1, 2), (2, 0, 3)):
        raises(ValueError, lambda n=size, r=rank, w=world: student.row_shard(torch.ones(4, n), r, w), naming=size)
    weight = torch.arange(28.0).view(7, 4)
    close(student.row_shard(weight, 1, 2), weight[:, 2:], atol=0.0)


@checks("row_shard")
def test_rows_are_a_view(student):
    """the part is a view, also of a transposed matrix: a later change of the matrix shows in the part"""
    for weight in (torch.arange(32.0).view(4, 8), torch.arange(32.0).view(8, 4).T):
        a_view(student.row_shard, weight, weight.square() + 40, 1, 2, 1)  # no number of both is the same


# ---- kv_heads_of -----------------------------------------------------------------------------------------------------


def heads_of(student, config, rank, world):
    got = student.kv_heads_of(config, rank, world)
    name = getattr(got, "type_name", type(got).__name__)
    that(name == "range", "the result is no range", expected="a range", got=name)
    return list(range(got.start, got.stop, got.step))


@checks("kv_heads_of", weight=2)
def test_heads_by_hand(student, hand):
    """8 query heads and 2 key/value heads on 2, 4 and 8 ranks: 4 ranks have key/value heads 0, 0, 1, 1"""
    case = hand["heads"]
    config = config_of(case["num_attention_heads"], case["num_key_value_heads"])
    for world in (2, 4, 8):
        got = [heads_of(student, config, rank, world) for rank in range(world)]
        equal(got, case[f"heads_of_{world}"], what=f"wrong heads of {world} ranks")


@checks("kv_heads_of")
def test_heads_of_one_rank_and_of_few(student):
    """6 key/value heads: 1 rank has all 6, 2 ranks have 3 each, 3 ranks have 2 each, 6 ranks have 1 each"""
    config = config_of(12, 6)
    for world in (1, 2, 3, 6):
        got = [heads_of(student, config, rank, world) for rank in range(world)]
        equal(got, [list(range(6))[rank * (6 // world) : (rank + 1) * (6 // world)] for rank in range(world)])


@checks("kv_heads_of")
def test_heads_that_do_not_divide(student):
    """9 query heads on 2 ranks, 6 key/value heads on 4 or 9: ValueError that names the number; 3 heads on 9 are copied"""
    raises(ValueError, lambda: student.kv_heads_of(config_of(9, 1), 0, 2), naming=9)
    raises(ValueError, lambda: student.kv_heads_of(config_of(12, 6), 0, 4), naming=6)
    raises(ValueError, lambda: student.kv_heads_of(config_of(18, 6), 0, 9), naming=6)
    equal([heads_of(student, config_of(9, 3), rank, 9) for rank in range(9)], [[0]] * 3 + [[1]] * 3 + [[2]] * 3)


@checks("kv_heads_of")
def test_many_heads_and_ranks(student):
    """128 query heads and 16 key/value heads on 32 and on 64 ranks: every rank has a copy of one key/value head"""
    for world in (32, 64):
        got = [heads_of(student, config_of(128, 16), rank, world) for rank in range(world)]
        equal(got, [[rank // (world // 16)] for rank in range(world)], what=f"wrong heads of {world} ranks")


# ---- shard_layer -----------------------------------------------------------------------------------------------------


@checks("shard_layer", weight=2)
def test_a_layer_for_two(student, rng):
    """4 query and 2 key/value heads on two ranks, then 8 and 4: every matrix is cut right; the layer is not changed"""
    for config in (config_of(4, 2), config_of(8, 4)):
        layer = layer_of(rng, config)
        for rank in range(2):
            got, after = student.shard_layer(layer, config, rank, 2, _arguments=True)
            same_layer(got, cut_layer(layer, config, rank, 2), f" of rank {rank}")
            unchanged(layer, after[0])


@checks("shard_layer")
def test_copied_heads(student, rng):
    """two key/value heads on four ranks: neighbouring ranks have copies of one head, also for a second layer"""
    config = config_of(8, 2)
    for layer in (layer_of(rng, config), layer_of(rng, config)):
        for rank in range(4):
            same_layer(student.shard_layer(layer, config, rank, 4), cut_layer(layer, config, rank, 4), f" of rank {rank}")


@checks("shard_layer")
def test_half_a_head_is_refused(student, rng):
    """3 query heads of 4 rows each on 2 ranks, or a feed-forward width of 21: ValueError that names the number"""
    config = config_of(3, 1)
    layer = layer_of(rng, config)
    raises(ValueError, lambda: student.shard_layer(layer, config, 0, 2), naming=3)
    config = config_of(4, 2, F=21)
    layer = layer_of(rng, config)
    raises(ValueError, lambda: student.shard_layer(layer, config, 0, 2), naming=21)


# ---- the ring --------------------------------------------------------------------------------------------------------


@checks("ring_reduce_scatter", weight=2)
def test_scattered_by_hand(student, hand):
    """four ranks, four numbers on each: rank r ends with entry r of the sum"""
    case = hand["ring"]
    parts, traffic = everywhere(student, 4, "ring_reduce_scatter", rows(case))
    for rank, (part, suspects) in enumerate(zip(parts, scattered_wrongly(parts, rows(case)), strict=True)):
        close(part, [case["total"][rank]], atol=0.0, what=f"wrong part of the sum at rank {rank}", suspects=suspects)
    ring_traffic(traffic, 3, 24)


@checks("ring_reduce_scatter")
def test_scattered_parts(student, rng):
    """two and three ranks, float32 and bfloat16: the right parts, messages and bytes; x is not changed"""
    for world, dtype in ((2, torch.float32), (3, torch.bfloat16), (3, torch.float32), (2, torch.float32)):
        xs = [whole(rng, 3 * world, dtype=dtype) for _ in range(world)]
        parts, traffic = everywhere(student, world, "ring_reduce_scatter", xs, _unchanged=True)
        for rank, (part, suspects) in enumerate(zip(parts, scattered_wrongly(parts, xs), strict=True)):
            due, what = cut(sum(xs), rank, world, 0), f"wrong part of the sum at rank {rank} of {world}"
            close(part, due, atol=0.0, dtype=dtype, what=what, suspects=suspects)
        ring_traffic(traffic, world - 1, (world - 1) * 3 * dtype.itemsize)


@checks("ring_reduce_scatter")
def test_scattered_alone(student):
    """a single rank: the result is x, and nothing is sent"""
    parts, traffic = everywhere(student, 1, "ring_reduce_scatter", torch.tensor([3.0, 1.0, 2.0]), _unchanged=True)
    close(parts[0], [3.0, 1.0, 2.0], atol=0.0)
    ring_traffic(traffic, 0, 0)


@checks("ring_reduce_scatter")
def test_scattered_among_five(student, rng):
    """five ranks, parts of 2,000 whole numbers beyond 2^24: exact sums; a single rank keeps the dtype"""
    # Both signs: of numbers that are nearly equal, a part of their sum would look like a fifth of it.
    xs = [whole(rng, 10_000, dtype=torch.int64) + 2**24 * whole(rng, 10_000, dtype=torch.int64) for _ in range(5)]
    parts, traffic = everywhere(student, 5, "ring_reduce_scatter", xs, _unchanged=True)
    for rank, (part, suspects) in enumerate(zip(parts, scattered_wrongly(parts, xs), strict=True)):
        equal(str(part.dtype), "torch.int64", what="wrong dtype of a sum of int64")
        equal(part, cut(sum(xs), rank, 5, 0), what=f"wrong part of the sum at rank {rank} of 5", suspects=suspects)
    ring_traffic(traffic, 4, 4 * 2_000 * 8)
    for dtype in (torch.float64, torch.bfloat16, torch.int64):
        alone, _ = everywhere(student, 1, "ring_reduce_scatter", whole(rng, 4, dtype=dtype))
        equal(str(alone[0].dtype), str(dtype), what="wrong dtype of the sum of one rank alone")


def listed(chunks):
    name = getattr(chunks, "type_name", type(chunks).__name__)
    that(isinstance(chunks, list | tuple), "the chunks do not come in a list", expected="a list", got=name)


@checks("ring_all_gather", weight=2)
def test_gathered_by_hand(student):
    """four ranks, one number on each: every rank ends with 60, 64, 68, 72 in this order"""
    chunks = [torch.tensor([value]) for value in (60.0, 64.0, 68.0, 72.0)]
    gathered, traffic = everywhere(student, 4, "ring_all_gather", chunks, _unchanged=True)
    for rank, got in enumerate(gathered):
        listed(got)
        that(len(got) == 4, f"rank {rank} has another number of chunks", expected=4, got=len(got))
        close(torch.cat(list(got)), [60.0, 64.0, 68.0, 72.0], atol=0.0, what=f"wrong chunks at rank {rank}")
    ring_traffic(traffic, 3, 12)


@checks("ring_all_gather")
def test_gathered_shapes(student, rng):
    """chunks with 0, 2 and 3 dimensions, not contiguous in memory: every rank ends with all chunks unchanged"""
    for world, shape in ((2, (2, 3)), (3, (2, 1, 2)), (2, ())):
        chunks = [normal(rng, *shape).permute([*reversed(range(len(shape)))]) for _ in range(world)]
        gathered, traffic = everywhere(student, world, "ring_all_gather", chunks)
        for got in gathered:
            for chunk, want in zip(got, chunks, strict=True):
                close(chunk, want, atol=0.0, rtol=0.0, dtype=torch.float64)
        ring_traffic(traffic, world - 1, (world - 1) * chunks[0].nbytes)


@checks("ring_all_gather")
def test_gathered_alone(student):
    """a single rank: the list has that rank's chunk only, and nothing is sent"""
    gathered, traffic = everywhere(student, 1, "ring_all_gather", torch.tensor([[3.0, 1.0]]))
    that(len(gathered[0]) == 1, "one rank has one chunk", expected=1, got=len(gathered[0]))
    close(gathered[0][0], [[3.0, 1.0]], atol=0.0)
    ring_traffic(traffic, 0, 0)


@checks("ring_all_gather")
def test_gathered_from_five(student, rng):
    """five ranks, chunks of 6,000 numbers in five dimensions: all chunks unchanged; a single rank keeps the dtype"""
    chunks = [normal(rng, 2, 3, 10, 10, 10) for _ in range(5)]
    gathered, traffic = everywhere(student, 5, "ring_all_gather", chunks, _unchanged=True)
    for rank, got in enumerate(gathered):
        listed(got)
        that(len(got) == 5, f"rank {rank} has another number of chunks", expected=5, got=len(got))
        for chunk, want in zip(got, chunks, strict=True):
            close(chunk, want, atol=0.0, rtol=0.0, dtype=torch.float64)
    ring_traffic(traffic, 4, 4 * chunks[0].nbytes)
    for dtype in (torch.float64, torch.bfloat16, torch.int64):
        alone, _ = everywhere(student, 1, "ring_all_gather", whole(rng, 4, dtype=dtype))
        equal(str(alone[0][0].dtype), str(dtype), what="wrong dtype of the chunk of one rank alone")


@checks("ring_all_reduce", weight=2)
def test_reduced_by_hand(student, hand):
    """four ranks, four numbers on each: every rank ends with the sum and sends six messages of one number"""
    case = hand["ring"]
    sums, traffic = everywhere(student, 4, "ring_all_reduce", rows(case))
    on_all(sums, torch.tensor(case["total"], dtype=torch.float64))
    ring_traffic(traffic, case["messages"], case["sent_bytes"])


@checks("ring_all_reduce")
def test_padded(student, rng, hand):
    """7 numbers on 3 ranks: padded with two zeros for the messages; the result has 7 numbers again"""
    case = hand["padded"]
    xs = [whole(rng, case["values"]) for _ in range(3)]
    sums, traffic = everywhere(student, 3, "ring_all_reduce", xs, _unchanged=True)
    on_all(sums, sum(xs), dtype=torch.float32)
    ring_traffic(traffic, case["messages"], case["sent_bytes"])


@checks("ring_all_reduce")
def test_reduced_shapes(student, rng):
    """1 to 4 ranks, several shapes and dtypes, also fewer numbers than ranks: the sum has x's shape and dtype"""
    shapes = ((1, (2, 3)), (2, (3, 2, 2)), (3, (2, 4)), (4, (3,)), (2, ()))
    for (world, shape), dtype in zip(shapes, (torch.float32, torch.float32, torch.float64, torch.float32, torch.bfloat16), strict=True):
        xs = [whole(rng, *shape, dtype=dtype) for _ in range(world)]
        sums, traffic = everywhere(student, world, "ring_all_reduce", xs, _unchanged=True)
        on_all(sums, sum(xs), dtype=dtype)
        reduce_traffic(traffic, xs[0])


@checks("ring_all_reduce")
def test_the_same_bits(student, rng):
    """sums that have to be rounded: every rank has the same bits"""
    xs = [10.0**rank * normal(rng, 40, dtype=torch.float32) for rank in range(3)]
    sums, _ = everywhere(student, 3, "ring_all_reduce", xs)
    want = sum(x.double() for x in xs)
    for got in sums:
        close(got, want, atol=1e-4, rtol=1e-5)
    alike(sums)


@checks("ring_all_reduce")
def test_reduced_by_five(student, rng):
    """five and nine ranks, 12,002 numbers in five dimensions, two memory orders, int64 beyond 2^24: exact sums"""
    xs = [whole(rng, 4, 5) for _ in range(9)]
    sums, traffic = everywhere(student, 9, "ring_all_reduce", xs)
    on_all(sums, sum(xs), dtype=torch.float32)
    reduce_traffic(traffic, xs[0])
    xs = [whole(rng, 1, 2, 1, 17, 353) for _ in range(5)]
    xs[1] = xs[1].transpose(3, 4).contiguous().transpose(3, 4)
    sums, traffic = everywhere(student, 5, "ring_all_reduce", xs, _unchanged=True)
    on_all(sums, sum(xs), dtype=torch.float32)
    reduce_traffic(traffic, xs[0])
    for world in (1, 2):
        xs = [whole(rng, 3, 2, dtype=torch.int64) + 2**24 for _ in range(world)]
        sums, _ = everywhere(student, world, "ring_all_reduce", xs)
        for got in sums:
            equal(str(got.dtype), "torch.int64", what="wrong dtype of a sum of int64")
            equal(got, sum(xs), what="wrong sum of whole numbers")
    alone, _ = everywhere(student, 1, "ring_all_reduce", normal(rng, 3))
    equal(str(alone[0].dtype), "torch.float64", what="wrong dtype of the sum of one rank alone")


# ---- parallel_attention ----------------------------------------------------------------------------------------------


def attend(student, world, x, layer, config, positions, mask, **options):
    shards = [cut_layer(layer, config, rank, world) for rank in range(world)]
    return everywhere(student, world, "parallel_attention", x, shards, config, positions, mask, **options)


@checks("parallel_attention", weight=2)
def test_attention_of_two(student, rng):
    """two ranks: the whole layer's result, with one all-reduce; neither x nor the layer is changed"""
    config, T = config_of(4, 2), 5
    layer, x = layer_of(rng, config), normal(rng, T, 2, 20).transpose(0, 1)
    got, traffic = attend(student, 2, x, layer, config, torch.arange(T), causal(T), _unchanged=True, _arguments=True)
    suspects = attended_wrongly(x, layer, config, torch.arange(T), causal(T), 2)
    on_all([result for result, _ in got], attended(x, layer, config, torch.arange(T), causal(T)), atol=1e-9, suspects=suspects)
    reduce_traffic(traffic, x)
    for rank, (_, after) in enumerate(got):
        unchanged(cut_layer(layer, config, rank, 2), after[1])


@checks("parallel_attention")
def test_attention_with_copies(student, rng):
    """two key/value heads on four ranks: the whole layer's result; a rank computes only the heads it has"""
    config, T = config_of(8, 2), 3
    layer, x = layer_of(rng, config), normal(rng, 1, T, 20)
    shards, ranks = [cut_layer(layer, config, rank, 4) for rank in range(4)], student.ranks(4)
    with ranks.counting(2) as work:
        got, traffic = ranks.each("parallel_attention", [(x, shard, config, torch.arange(T), causal(T)) for shard in shards])
    on_all(got, attended(x, layer, config, torch.arange(T), causal(T)), atol=1e-9)
    products = 2 * T * 20 * sum(part.shape[0] for part in (shards[2].q_proj, shards[2].k_proj, shards[2].v_proj, shards[2].o_proj.T))
    # A loop over query heads may compute keys and values of a shared head once for each.
    that(0.95 * products <= work.flops <= 1.6 * products, "a rank of four does another share of the FLOPs",
         expected=f"about {products:,}", got=f"{work.flops:,}")  # fmt: skip
    reduce_traffic(traffic, x)


@checks("parallel_attention")
def test_attention_positions_and_mask(student, rng):
    """positions and mask are used as given, on one rank and on two, also if every text of the batch has its own"""
    config, T = config_of(4, 2), 4
    layer, x = layer_of(rng, config), normal(rng, 2, T, 20)
    positions, mask = torch.tensor([3, 4, 9, 11]), torch.tensor([[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 1, 1]]).bool()
    own_positions, own_mask = torch.stack((positions, torch.tensor([7, 2, 0, 30]))), torch.stack((mask, mask.flip(0))).unsqueeze(1)
    for world, places, seen in ((1, positions, mask), (2, positions, mask), (2, own_positions, own_mask)):
        got, traffic = attend(student, world, x, layer, config, places, seen)
        on_all(got, attended(x, layer, config, places, seen), atol=1e-9)
        reduce_traffic(traffic, x)


@checks("parallel_attention")
def test_attention_far_into_a_text(student, rng):
    """bfloat16, positions above 2,048: the positions are not rounded; a second call computes with the second x"""
    config, positions = config_of(4, 2, max_position_embeddings=4096), torch.tensor([2_049, 2_051, 2_056, 2_063])
    layer, x = layer_of(rng, config, torch.bfloat16), normal(rng, 2, 4, 20, dtype=torch.bfloat16)
    got, _ = attend(student, 2, x, layer, config, positions, causal(4))
    on_all(got, attended(x, layer, config, positions, causal(4)), atol=0.2, rtol=0.05, dtype=torch.bfloat16)
    layer, x, other = layer_of(rng, config), normal(rng, 1, 4, 20), normal(rng, 1, 4, 20)
    given = [[each, layer, config, positions, causal(4)] for each in (x, other)]
    for result, each in zip(one_rank_again(student, "parallel_attention", *given), (x, other), strict=True):
        close(result, attended(each, layer, config, positions, causal(4)), atol=1e-9)


@checks("parallel_attention")
def test_attention_of_five(student, rng):
    """five ranks, heads of 64 numbers, eight query heads per key/value head, 40 tokens: the whole layer's result"""
    config, T = config_of(80, 10, Dh=64), 40
    layer, x = layer_of(rng, config), normal(rng, 1, T, 20)
    got, traffic = attend(student, 5, x, layer, config, torch.arange(T), causal(T))
    on_all(got, attended(x, layer, config, torch.arange(T), causal(T)), atol=1e-7, rtol=1e-7)
    reduce_traffic(traffic, x)


# ---- parallel_feed_forward -------------------------------------------------------------------------------------------


def feed(student, world, x, layer, config, **options):
    shards = [cut_layer(layer, config, rank, world) for rank in range(world)]
    return everywhere(student, world, "parallel_feed_forward", x, shards, **options)


@checks("parallel_feed_forward", weight=2)
def test_feed_forward_of_ranks(student, rng):
    """one, two and four ranks: the whole layer's result, with one all-reduce; neither x nor the layer is changed"""
    config = config_of(4, 2)
    layer, x = layer_of(rng, config), normal(rng, 3, 2, 20).transpose(0, 1)
    for world in (1, 2, 4):
        got, traffic = feed(student, world, x, layer, config, _unchanged=True, _arguments=True)
        on_all([result for result, _ in got], fed(x, layer), atol=1e-9)
        reduce_traffic(traffic, x)
        for rank, (_, after) in enumerate(got):
            unchanged(cut_layer(layer, config, rank, world), after[1])


def feed_gates(student, gates, dtype):
    """Feed one token whose two gates are the given numbers, one on each of two ranks. Its ups are 1 and its result is their sum."""
    D = 2
    config = config_of(2, 2, F=2, D=D)
    layer = layer_of(torch.Generator().manual_seed(0), config, dtype)
    layer.gate_proj, layer.up_proj = torch.tensor([[gate, 0.0] for gate in gates], dtype=dtype), torch.tensor([[0.0, 1.0]] * 2, dtype=dtype)
    layer.down_proj = torch.ones(D, 2, dtype=dtype)
    got, _ = feed(student, 2, torch.ones(1, 1, D, dtype=dtype), layer, config)
    want = float(silu(torch.tensor(gates, dtype=torch.float64)).sum())
    on_all(got, torch.full((1, 1, D), want, dtype=torch.float64), atol=1e-9, dtype=dtype)
    return want


@checks("parallel_feed_forward")
def test_feed_forward_of_large_numbers(student, hand):
    """gates 3 and 11: silu is applied before the parts are summed; a gate whose exponential overflows gives no inf or nan"""
    want = feed_gates(student, hand["two_matrices"]["parts"], torch.float64)
    close(want, hand["nonlinearity"]["sum_of_parts"], atol=1e-6)
    for gates, dtype in (([-800.0, 800.0], torch.float64), ([100.0, -150.0], torch.float32)):
        feed_gates(student, gates, dtype)


@checks("parallel_feed_forward")
def test_feed_forward_work(student, rng):
    """one of two ranks does half of the FLOPs"""
    config = config_of(4, 2, F=64, D=32)
    layer, x = layer_of(rng, config), normal(rng, 1, 8, 32)
    shards, ranks = [cut_layer(layer, config, rank, 2) for rank in range(2)], student.ranks(2)
    with ranks.counting(1) as work:
        got, _ = ranks.each("parallel_feed_forward", [(x, shard) for shard in shards])
    on_all(got, fed(x, layer), atol=1e-9)
    due = 2 * 8 * 3 * 64 * 32
    that(0.45 * due <= work.flops <= 0.51 * due, "a rank of two does another share of the FLOPs", expected=due // 2, got=work.flops)


@checks("parallel_feed_forward")
def test_feed_forward_of_five(student, rng):
    """five ranks, 100 tokens: the whole layer's result; a second call computes with the second x"""
    config = config_of(5, 5, F=60)
    layer, x, other = layer_of(rng, config), normal(rng, 1, 100, 20), normal(rng, 1, 100, 20)
    got, traffic = feed(student, 5, x, layer, config)
    on_all(got, fed(x, layer), atol=1e-8)
    reduce_traffic(traffic, x)
    for result, each in zip(one_rank_again(student, "parallel_feed_forward", [x, layer], [other, layer]), (x, other), strict=True):
        close(result, fed(each, layer), atol=1e-8)


# ---- the vocabulary --------------------------------------------------------------------------------------------------


def split(table, world):
    return [cut(table, rank, world, 0) for rank in range(world)]


@checks("vocab_parallel_embedding", weight=2)
def test_embedding_of_ranks(student, rng):
    """one, two and four ranks: every token's row of the table, with one all-reduce"""
    table = normal(rng, 12, 5)
    ids = torch.tensor([[0, 11, 5, 6, 2], [3, 8, 9, 2, 6]])
    for world in (1, 2, 4):
        got, traffic = everywhere(student, world, "vocab_parallel_embedding", split(table, world), ids, _unchanged=True)
        on_all(got, table[ids], dtype=torch.float64, suspects=with_other_rows(table, ids, world))
        reduce_traffic(traffic, table[ids])


@checks("vocab_parallel_embedding")
def test_embedding_of_one_rank_only(student, rng):
    """all ids belong to one of three ranks, or each of six ranks has a single row: the right rows of every new table"""
    for world, tokens in ((3, [0, 1, 0]), (3, [2, 3, 3]), (3, [5, 5, 4]), (6, [4, 0, 5])):
        table, ids = normal(rng, 6, 4), torch.tensor([tokens])
        got, _ = everywhere(student, world, "vocab_parallel_embedding", split(table, world), ids)
        on_all(got, table[ids], suspects=with_other_rows(table, ids, world))
    ids, other = torch.tensor([[3, 0, 1, 5]]), torch.tensor([[2, 2, 4, 1]])
    for result, each in zip(one_rank_again(student, "vocab_parallel_embedding", [table, ids], [table, other]), (ids, other), strict=True):
        close(result, table[each], atol=0.0)


@checks("vocab_parallel_embedding")
def test_embedding_of_five(student, rng):
    """five ranks, a vocabulary of 66,000: the right rows, also for large ids"""
    table, ids = normal(rng, 66_000, 2), torch.tensor([[0, 13_199, 13_200, 32_767, 32_768, 65_536, 65_999]])
    got, traffic = everywhere(student, 5, "vocab_parallel_embedding", split(table, 5), ids)
    on_all(got, table[ids])
    reduce_traffic(traffic, table[ids])


@checks("vocab_parallel_embedding")
def test_embedding_beside_infinite_rows(student):
    """inf and nan in rows that no id names do not spoil the sum; -inf in a row that an id names is kept"""
    table = torch.tensor([[torch.inf, torch.nan], [1.0, 2.0], [3.0, 4.0], [torch.nan, -torch.inf]])
    ids = torch.tensor([[1, 2, 1]])
    got, _ = everywhere(student, 2, "vocab_parallel_embedding", split(table, 2), ids)
    on_all(got, table[ids])
    table[1] = torch.tensor([-torch.inf, 2.0])
    got, _ = everywhere(student, 2, "vocab_parallel_embedding", split(table, 2), ids)
    on_all(got, table[ids])


@checks("vocab_parallel_logits", weight=2)
def test_logits_of_ranks(student, rng):
    """one, two and three ranks: the scores of all tokens in the order of the ids, with one all-gather"""
    head, x = normal(rng, 12, 5), normal(rng, 2, 5)
    for world in (1, 2, 3):
        got, traffic = everywhere(student, world, "vocab_parallel_logits", x, split(head, world), _unchanged=True)
        on_all(got, x @ head.T, atol=1e-9)
        ring_traffic(traffic, world - 1, (world - 1) * 2 * 12 // world * 8)


@checks("vocab_parallel_logits")
def test_logits_of_positions(student, rng):
    """x of shape (B, T, D): scores for every position of every text"""
    head, x = normal(rng, 8, 3), normal(rng, 2, 3, 3)
    got, traffic = everywhere(student, 2, "vocab_parallel_logits", x, split(head, 2))
    on_all(got, x @ head.T, atol=1e-9)
    ring_traffic(traffic, 1, 2 * 3 * 4 * 8)


@checks("vocab_parallel_logits")
def test_logits_of_five(student, rng):
    """five ranks, 4,800 scores from each, x with four dimensions: the scores in the order of the ids"""
    head, x = normal(rng, 2_000, 3), normal(rng, 2, 2, 3, 3)
    got, traffic = everywhere(student, 5, "vocab_parallel_logits", x, split(head, 5))
    on_all(got, x @ head.T, atol=1e-9)
    ring_traffic(traffic, 4, 4 * 12 * 400 * 8)


@checks("vocab_parallel_argmax", weight=2)
def test_argmax_of_ranks(student, rng):
    """one to four ranks: every rank has the best token of all; a message has at most two numbers for each row"""
    head, x = normal(rng, 12, 5), normal(rng, 6, 5)
    for world in (1, 2, 3, 4):
        got, traffic = everywhere(student, world, "vocab_parallel_argmax", x, split(head, world), _unchanged=True)
        on_all(got, (x @ head.T).argmax(-1, keepdim=True), dtype=torch.int64)
        ring_traffic(traffic, world - 1, min(traffic.sent_bytes[0], 16 * 6 * (world - 1)))


@checks("vocab_parallel_argmax")
def test_argmax_of_five(student, rng):
    """five ranks, 100 rows: the best token of every row, with four messages from each rank"""
    head, x = normal(rng, 50, 5), normal(rng, 100, 5)
    got, traffic = everywhere(student, 5, "vocab_parallel_argmax", x, split(head, 5))
    on_all(got, (x @ head.T).argmax(-1, keepdim=True), dtype=torch.int64)
    ring_traffic(traffic, 4, min(traffic.sent_bytes[0], 16 * 100 * 4))


@checks("vocab_parallel_argmax")
def test_argmax_of_low_scores(student):
    """all scores negative, or a best token with a small softmax share within its rank: the best token of all"""
    head = torch.tensor([[-5.0], [-9.0], [-4.0], [-3.5], [-8.0], [-9.0]])
    got, _ = everywhere(student, 2, "vocab_parallel_argmax", torch.tensor([[1.0], [2.0]]), split(head, 2))
    on_all(got, torch.tensor([[3], [3]]), dtype=torch.int64)
    head = torch.tensor([[9.0], [8.9], [8.8], [5.0], [0.0], [0.0]])
    got, _ = everywhere(student, 2, "vocab_parallel_argmax", torch.tensor([[1.0]]), split(head, 2))
    on_all(got, torch.tensor([[0]]), dtype=torch.int64)


@checks("vocab_parallel_argmax")
def test_argmax_rounds_nothing(student):
    """an id above 66,000 with 16-bit scores is not rounded; float64 scores that differ by 1e-10 are not equal"""
    for dtype in (torch.bfloat16, torch.float16):
        head = torch.zeros(67_000, 1, dtype=dtype)
        head[66_003] = 2.0
        got, _ = everywhere(student, 2, "vocab_parallel_argmax", torch.ones(1, 1, dtype=dtype), split(head, 2))
        on_all(got, torch.tensor([[66_003]]), dtype=torch.int64)
    head = torch.tensor([[3.0], [3.0 + 1e-10], [3.0 + 4e-10], [3.0 + 2e-10], [1.0], [3.0 + 3e-10]], dtype=torch.float64)
    for rows_of_head in (head, 1e9 * (head - 4.0)):
        got, _ = everywhere(student, 3, "vocab_parallel_argmax", torch.ones(1, 1, dtype=torch.float64), split(rows_of_head, 3))
        on_all(got, torch.tensor([[2]]), dtype=torch.int64)


@checks("vocab_parallel_argmax")
def test_argmax_of_a_tie(student):
    """the best score occurs on all three ranks: any of the tied tokens, but the same token on every rank"""
    head = torch.tensor([[1.0], [4.0], [4.0], [2.0], [4.0], [0.0]])
    got, _ = everywhere(student, 3, "vocab_parallel_argmax", torch.tensor([[1.0]]), split(head, 3))
    alike(got)
    equal(list(got[0].shape), [1, 1], what="wrong shape")
    that(int(got[0]) in (1, 2, 4), "a token that is not among the best", expected="1, 2 or 4", got=int(got[0]))


# ---- parallel_forward ------------------------------------------------------------------------------------------------


@checks("parallel_forward", weight=2)
def test_forward_of_ranks(student, rng):
    """one and two ranks: the whole model's logits, with 2L + 1 all-reduces and one all-gather"""
    config = config_of(4, 2)
    weights, ids = weights_of(rng, config), some(config, rng, 2, 3)
    for world in (1, 2):
        shards = [cut_model(weights, config, rank, world) for rank in range(world)]
        got, traffic = everywhere(student, world, "parallel_forward", shards, config, ids)
        on_all(got, logits_of(weights, config, ids), atol=1e-8)
        reduced, gathered = 5 * 2 * 3 * 20 * 8, 2 * 3 * 36 * 8
        ring_traffic(traffic, 11 * (world - 1), (world - 1) * (2 * reduced + gathered) // world)


@checks("parallel_forward")
def test_forward_of_five(student, rng):
    """five ranks, six layers, 70 tokens: the whole model's logits"""
    config = config_of(5, 5, F=15, D=6, vocab_size=40, num_hidden_layers=6)
    weights, ids = weights_of(rng, config), some(config, rng, 1, 70)
    got, _ = everywhere(student, 5, "parallel_forward", [cut_model(weights, config, rank, 5) for rank in range(5)], config, ids)
    on_all(got, logits_of(weights, config, ids), atol=1e-6, rtol=1e-6)


@checks("parallel_forward")
def test_forward_with_copies(student, rng):
    """two key/value heads on four ranks, and an lm_head that is not the embedding: the whole model's logits"""
    config = config_of(4, 2, num_hidden_layers=1, tie_word_embeddings=False)
    weights, ids = weights_of(rng, config), some(config, rng, 1, 4)
    got, _ = everywhere(student, 4, "parallel_forward", [cut_model(weights, config, rank, 4) for rank in range(4)], config, ids)
    on_all(got, logits_of(weights, config, ids), atol=1e-8)


@checks("parallel_forward")
def test_forward_of_another_text(student, rng):
    """a single rank, two texts of 3 tokens and two of 600: the right logits; positions and mask on the ids' device"""
    config = config_of(2, 1, D=6, F=4, num_hidden_layers=1, max_position_embeddings=4096)
    weights = weights_of(rng, config)
    for T in (3, 600):
        texts = some(config, rng, 1, T), some(config, rng, 1, T)
        given = [[weights, config, ids] for ids in texts]
        for logits, ids in zip(one_rank_again(student, "parallel_forward", *given), texts, strict=True):
            close(logits, logits_of(weights, config, ids), atol=1e-8)
    stays_on_its_device(student.parallel_forward, weights, config, texts[0], of_one_rank(), shape=(1, 600, 36), dtype=torch.float64)


@checks("parallel_forward")
def test_forward_changes_nothing(student, rng):
    """the weights are not changed"""
    config = config_of(4, 2, num_hidden_layers=1)
    weights, ids = weights_of(rng, config), some(config, rng, 1, 2)
    shards = [cut_model(weights, config, rank, 2) for rank in range(2)]
    got, _ = everywhere(student, 2, "parallel_forward", shards, config, ids, _unchanged=True, _arguments=True)
    on_all([logits for logits, _ in got], logits_of(weights, config, ids), atol=1e-8)
    for shard, (_, after) in zip(shards, got, strict=True):
        unchanged(shard, after[0])


# ---- seconds ---------------------------------------------------------------------------------------------------------


def wires(case):
    return list(zip(case["link_bandwidths"], case["latencies"], strict=True))


@checks("all_reduce_seconds", weight=2)
def test_ring_seconds_by_hand(student, hand):
    """16,384 bytes on 8 GPUs over three kinds of link, worked out by hand"""
    case = hand["seventy_b"]
    once = "The latency is paid in each of the 2 (world - 1) steps; here it is paid once."
    for wire, want in zip(wires(case), case["ring_us"], strict=True):
        paid_once = 1e6 * (around_a_ring(16384, 8, wire[0], 0.0) + wire[1])
        close(1e6 * student.all_reduce_seconds(16384, 8, *wire), want, atol=1e-3, suspects=[(torch.tensor(paid_once), once)])


@checks("all_reduce_seconds")
def test_ring_seconds_of_few(student):
    """2, 3 and 7 ranks: the sum over all steps; a single rank takes no time; 0 bytes still cost the latencies"""
    for size, world in ((1200, 1), (1200, 2), (1200, 3), (1200, 7), (5, 2), (0, 3)):
        got = student.all_reduce_seconds(size, world, 100.0, 0.5)
        exact(got, around_a_ring(size, world, 100.0, 0.5), f"wrong seconds of {world} ranks for {size} bytes")


@checks("one_shot_seconds", weight=2)
def test_one_shot_seconds_by_hand(student, hand):
    """160 all-reduces of 16,384 bytes on 8 GPUs over three kinds of link, worked out by hand"""
    case = hand["seventy_b"]
    for wire, want in zip(wires(case), case["one_shots_ms"], strict=True):
        close(160e3 * student.one_shot_seconds(16384, 8, *wire), want, atol=1e-3)


@checks("one_shot_seconds")
def test_one_shot_seconds_of_few(student):
    """2 and 3 ranks, worked out by hand; a single rank takes no time; 0 bytes still cost the latency"""
    for size, world, want in ((1200, 1, 0.0), (1200, 2, 0.5 + 12.0), (1200, 3, 0.5 + 24.0), (0, 3, 0.5)):
        exact(student.one_shot_seconds(size, world, 100.0, 0.5), want, f"wrong seconds of {world} ranks for {size} bytes")


@checks("one_shot_seconds")
def test_where_they_cross(student, hand):
    """8 GPUs with NVLink, 2.23 MB: a one-shot all-reduce takes as long as a ring all-reduce"""
    case, wire = hand["crossing"], wires(hand["seventy_b"])[0]
    close(student.one_shot_seconds(case["num_bytes"], 8, *wire), around_a_ring(case["num_bytes"], 8, *wire), atol=1e-11)


@checks("tensor_parallel_seconds", weight=2)
def test_step_by_hand(student, hand):
    """a 70B model on 8 GPUs, one token, three kinds of link, worked out by hand"""
    case = hand["seventy_b"]
    for wire, want in zip(wires(case), case["step_ms"], strict=True):
        got = student.tensor_parallel_seconds(case["weight_bytes"], case["layers"], case["width"], 1, 2, 8, case["bandwidth"], *wire)
        close(1e3 * got, want, atol=1e-3)


@checks("tensor_parallel_seconds")
def test_step_of_one_and_of_rows(student):
    """a single rank only reads weights; on two ranks, the messages grow with the rows and the bytes per value"""
    exact(student.tensor_parallel_seconds(6000, 3, 4, 5, 2, 1, 100.0, 10.0, 0.25), 60.0)
    for size in (2, 4, 0.75):
        want = 6000 / 2 / 100 + 6 * around_a_ring(5 * 4 * size, 2, 10.0, 0.25)
        exact(student.tensor_parallel_seconds(6000, 3, 4, 5, size, 2, 100.0, 10.0, 0.25), want, f"wrong seconds for {size} bytes a value")


@checks("pipeline_bubble", weight=2)
def test_bubble_by_hand(student, hand):
    """8 stages with 1 to 64 microbatches, worked out by hand"""
    case = hand["pipeline"]
    over_busy = "The idle turns are divided by the m turns of work; the whole time is longer, from the first start to the last end."
    for m, want in zip(case["microbatches"], case["bubbles"], strict=True):
        suspects = [(torch.tensor((case["stages"] - 1) / m), over_busy)]
        close(student.pipeline_bubble(case["stages"], m), want, atol=1e-6, suspects=suspects)


@checks("pipeline_bubble")
def test_bubble_of_few(student):
    """a single stage is never idle; 2 and 4 stages are idle as in a timetable"""
    for stages, m in ((1, 1), (1, 5), (2, 1), (2, 3), (4, 2)):
        exact(student.pipeline_bubble(stages, m), idle_share(stages, m), f"wrong share for {stages} stages and {m} microbatches")
