"""Hidden checks of tensor parallelism: fresh numbers, other dtypes, borders, and what must not be sent."""

from __future__ import annotations

import itertools

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.checks.test_parallel import attend, feed, feed_gates, heads_of, listed, split
from autograder.checking.helpers.devices import stays_on_its_device
from autograder.checking.helpers.ranked import (
    LOW,
    a_view,
    alike,
    around_a_ring,
    attended,
    causal,
    config_of,
    cut,
    cut_layer,
    cut_model,
    everywhere,
    exact,
    fed,
    fits,
    idle_share,
    kv_heads,
    layer_of,
    logits_of,
    normal,
    on_all,
    one_rank_again,
    reduce_traffic,
    ring_traffic,
    same_layer,
    some,
    unchanged,
    weights_of,
    whole,
)
from course.kit.ranks import Communicator

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def number(rng: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high + 1, (), generator=rng))


def positive(rng: torch.Generator, low: float = 0.1, high: float = 10.0) -> float:
    return low + (high - low) * float(torch.rand((), generator=rng))


# ---- column_shard, row_shard -----------------------------------------------------------------------------------------


def shards_of_any_kind(function, rng, dim):
    for dtype, world in zip((*DTYPES, torch.int8), (3, 2, 4, 1, 3), strict=True):
        weight = (9 * normal(rng, 12, 24)).to(dtype)
        for given in (weight, weight.T.contiguous().T):
            for rank in range(world):
                part = function(given, rank, world, _unchanged=True)
                close(part, cut(given, rank, world, dim), atol=0.0, rtol=0.0, dtype=dtype, what=f"wrong part of rank {rank} of {world}")
    column, other = normal(rng, 5, 5), normal(rng, 5, 5)
    for matrix in (column, other):
        close(function(matrix, 4, 5), cut(matrix, 4, 5, dim), atol=0.0, rtol=0.0, what="wrong part of the last of five")


@checks("column_shard", weight=2)
def test_columns_of_any_kind(student, rng):
    """any dtype, any memory layout, also one row per rank: the right rows, on the matrix's device"""
    shards_of_any_kind(student.column_shard, rng, 0)
    stays_on_its_device(student.column_shard, torch.ones(6, 4), 1, 3, shape=(2, 4))


@checks("column_shard")
def test_columns_refused(student, rng):
    """more ranks than outputs, or a remainder: ValueError on the first and the last rank; inputs may have a remainder"""
    for out, world in ((3, 4), (9, 2), (10, 4), (11, 3)):
        for rank in (0, world - 1):
            raises(ValueError, lambda out=out, world=world, rank=rank: student.column_shard(torch.ones(out, 12), rank, world), naming=out)
        weight = normal(rng, 12, out)
        close(student.column_shard(weight, world - 1, world), cut(weight, world - 1, world, 0), atol=0.0, rtol=0.0)


@checks("column_shard")
def test_columns_share_memory(student, rng):
    """a transposed matrix: the part is a view for any number of ranks"""
    weight = normal(rng, 8, 12).T
    for world in (1, 2, 4):
        a_view(student.column_shard, weight, normal(rng, 8, 12).T, world - 1, world, 0)


@checks("row_shard", weight=2)
def test_rows_of_any_kind(student, rng):
    """any dtype, any memory layout, also one column per rank: the right columns, on the matrix's device"""
    shards_of_any_kind(student.row_shard, rng, 1)
    stays_on_its_device(student.row_shard, torch.ones(4, 6), 1, 3, shape=(4, 2))


@checks("row_shard")
def test_rows_refused(student, rng):
    """more ranks than inputs, or a remainder: ValueError on the first and the last rank; outputs may have a remainder"""
    for size, world in ((3, 4), (9, 2), (10, 4), (11, 3)):
        for rank in (0, world - 1):
            raises(ValueError, lambda n=size, world=world, rank=rank: student.row_shard(torch.ones(12, n), rank, world), naming=size)
        weight = normal(rng, size, 12)
        close(student.row_shard(weight, world - 1, world), cut(weight, world - 1, world, 1), atol=0.0, rtol=0.0)


@checks("row_shard")
def test_rows_share_memory(student, rng):
    """a transposed matrix: the part is a view for any number of ranks"""
    weight = normal(rng, 12, 8).T
    for world in (1, 2, 4):
        a_view(student.row_shard, weight, normal(rng, 12, 8).T, world - 1, world, 1)


# ---- kv_heads_of -----------------------------------------------------------------------------------------------------


@checks("kv_heads_of", weight=2)
def test_heads_of_every_shape(student, rng):
    """drawn numbers of heads and ranks: a rank has the key/value heads that its query heads read"""
    cases = [(H, K, world) for H in range(1, 25) for K in range(1, H + 1) if H % K == 0 for world in range(1, H + 1) if fits(H, K, world)]
    for place in torch.randperm(len(cases), generator=rng)[:15].tolist():
        H, K, world = cases[place]
        rank = number(rng, 0, world - 1)
        what = f"wrong key/value heads of rank {rank} of {world}, H = {H}, K = {K}"
        equal(heads_of(student, config_of(H, K), rank, world), kv_heads(config_of(H, K), rank, world), what=what)
    for H, K, world in ((12, 4, 12), (12, 1, 6), (16, 4, 8)):
        got = [heads_of(student, config_of(H, K), rank, world) for rank in range(world)]
        want = [kv_heads(config_of(H, K), rank, world) for rank in range(world)]
        equal(got, want, what=f"wrong heads of {world} ranks, H = {H}, K = {K}")


@checks("kv_heads_of")
def test_heads_of_large_models(student):
    """96 and 256 query heads on up to 96 ranks: a rank has the key/value heads that its query heads read"""
    for H, K, world in ((96, 24, 48), (96, 8, 96), (256, 64, 32)):
        got = [heads_of(student, config_of(H, K), rank, world) for rank in range(world)]
        want = [kv_heads(config_of(H, K), rank, world) for rank in range(world)]
        equal(got, want, what=f"wrong heads of {world} ranks, H = {H}, K = {K}")


@checks("kv_heads_of", weight=2)
def test_heads_refused(student):
    """query heads or key/value heads that do not fit the ranks, or more ranks than heads: ValueError that names the number"""
    for H, K, world, named in ((9, 3, 6, 9), (4, 2, 8, 4), (6, 2, 4, 6), (5, 5, 2, 5), (12, 4, 6, 4), (12, 6, 4, 6), (30, 10, 15, 10)):
        for rank in (0, world - 1):
            raises(ValueError, lambda H=H, K=K, w=world, r=rank: list(student.kv_heads_of(config_of(H, K), r, w)), naming=named)


# ---- shard_layer -----------------------------------------------------------------------------------------------------


@checks("shard_layer", weight=2)
def test_layers_of_any_shape(student, rng):
    """one to four ranks, drawn shapes, every dtype: each matrix is cut right, bit for bit; the layer is not changed"""
    shapes = ((4, 4, 2), (6, 3, 3), (8, 1, 4), (4, 2, 4), (6, 6, 2), (12, 4, 2), (5, 5, 1), (12, 2, 4))
    for place, (H, K, world) in enumerate(shapes):
        config = config_of(H, K, Dh=2 * number(rng, 1, 3), F=world * number(rng, 1, 5), D=number(rng, 3, 9))
        layer, rank = layer_of(rng, config, DTYPES[place % 4]), number(rng, 0, world - 1)
        got, after = student.shard_layer(layer, config, rank, world, _arguments=True)
        same_layer(got, cut_layer(layer, config, rank, world), f" of rank {rank} of {world}, H = {H}, K = {K}")
        unchanged(layer, after[0])


@checks("shard_layer")
def test_layers_refused(student, rng):
    """heads or a feed-forward width that cannot be divided among the ranks: ValueError that names the number at fault"""
    cases = ((9, 1, 24, 2, 9), (6, 2, 24, 4, 6), (12, 6, 24, 4, 6), (12, 4, 24, 6, 4), (4, 2, 30, 4, 30), (6, 3, 25, 3, 25))
    for H, K, F, world, named in cases:
        config = config_of(H, K, F=F)
        layer = layer_of(rng, config)
        for rank in (0, world - 1):
            raises(ValueError, lambda c=config, la=layer, w=world, r=rank: student.shard_layer(la, c, r, w), naming=named)


@checks("shard_layer")
def test_a_layer_twice(student, rng):
    """a second layer of the same shape: the parts are cut from the second layer"""
    config = config_of(8, 2)
    for world in (2, 4, 2):
        layer = layer_of(rng, config)
        for rank in reversed(range(world)):
            got = student.shard_layer(layer, config, rank, world)
            same_layer(got, cut_layer(layer, config, rank, world), f" of rank {rank} of {world}")


# ---- the ring --------------------------------------------------------------------------------------------------------


@checks("ring_reduce_scatter", weight=2)
def test_scattered_numbers(student, rng):
    """two to four ranks, every dtype, drawn sizes: the right parts, messages and bytes"""
    for world, dtype in ((2, torch.float16), (3, torch.bfloat16), (4, torch.float32), (3, torch.float64), (4, torch.float64)):
        n = number(rng, 1, 6)
        xs = [whole(rng, n * world, dtype=dtype) for _ in range(world)]
        parts, traffic = everywhere(student, world, "ring_reduce_scatter", xs, _unchanged=True)
        for rank, part in enumerate(parts):
            what = f"wrong part of the sum at rank {rank} of {world}"
            close(part, cut(sum(xs), rank, world, 0), atol=0.0, rtol=0.0, dtype=dtype, what=what)
        ring_traffic(traffic, world - 1, (world - 1) * n * xs[0].element_size())


@checks("ring_reduce_scatter")
def test_scattered_is_accurate(student, rng):
    """float32 sums of large and small numbers are accurate; an infinity stays in its own entry"""
    xs = [10.0**rank * normal(rng, 40, dtype=torch.float32) for rank in range(4)]
    xs[1][3], xs[2][25] = torch.inf, -torch.inf
    parts, _ = everywhere(student, 4, "ring_reduce_scatter", xs)
    want = sum(x.double() for x in xs)
    for rank, part in enumerate(parts):
        close(part, cut(want, rank, 4, 0), atol=1e-3, rtol=1e-6, what=f"wrong part of the sum at rank {rank}")


@checks("ring_reduce_scatter")
def test_scattered_again(student, rng):
    """a second call with as many numbers: the result has nothing of the first call"""
    for _ in range(2):
        xs = [whole(rng, 6) for _ in range(3)]
        parts, _ = everywhere(student, 3, "ring_reduce_scatter", xs)
        for rank, part in enumerate(parts):
            close(part, cut(sum(xs), rank, 3, 0), atol=0.0, what=f"wrong part of the sum at rank {rank}")


@checks("ring_reduce_scatter")
def test_scattered_among_eight(student, rng):
    """eight ranks, parts of 1,000 numbers, int32 and int64: exact sums; the dtype is kept, also by a single rank"""
    for world, dtype, low in ((8, torch.float64, 0), (5, torch.int32, 2**25), (3, torch.int64, 2**40)):
        xs = [whole(rng, 1_000 * world, dtype=dtype) + low for _ in range(world)]
        parts, traffic = everywhere(student, world, "ring_reduce_scatter", xs)
        for rank, part in enumerate(parts):
            equal(str(part.dtype), str(dtype), what="wrong dtype")
            equal(part, cut(sum(xs), rank, world, 0), what=f"wrong part of the sum at rank {rank} of {world}")
        ring_traffic(traffic, world - 1, (world - 1) * 1_000 * xs[0].element_size())
    for dtype in DTYPES:
        alone, _ = everywhere(student, 1, "ring_reduce_scatter", whole(rng, 5, dtype=dtype))
        equal(str(alone[0].dtype), str(dtype), what="wrong dtype of the sum of one rank alone")


@checks("ring_all_gather", weight=2)
def test_gathered_chunks(student, rng):
    """two to four ranks, float and integer chunks, not contiguous in memory: every rank ends with all chunks unchanged"""
    for world, dtype in ((2, torch.float16), (3, torch.bfloat16), (4, torch.float32), (3, torch.int64), (2, torch.bool)):
        shape = (number(rng, 1, 4), number(rng, 1, 4))
        chunks = [whole(rng, *shape, dtype=torch.float32).to(dtype).T for _ in range(world)]
        gathered, traffic = everywhere(student, world, "ring_all_gather", chunks, _unchanged=True)
        for rank, got in enumerate(gathered):
            listed(got)
            that(len(got) == world, f"rank {rank} has another number of chunks", expected=world, got=len(got))
            for source, (chunk, want) in enumerate(zip(got, chunks, strict=True)):
                where = f"chunk of rank {source} at rank {rank}"
                equal([list(chunk.shape), str(chunk.dtype)], [list(want.shape), str(dtype)], what=f"another shape or dtype: {where}")
                equal(chunk, want, what=f"wrong {where}")
        ring_traffic(traffic, world - 1, (world - 1) * chunks[0].nbytes)


@checks("ring_all_gather")
def test_gathered_single_numbers(student, rng):
    """chunks without a dimension or without a number keep their shape; nan arrives as nan"""
    chunks = [torch.tensor(float(rank)) for rank in range(3)]
    chunks[1] = torch.tensor(torch.nan)
    gathered, _ = everywhere(student, 3, "ring_all_gather", chunks)
    for got in gathered:
        for chunk, want in zip(got, chunks, strict=True):
            close(chunk, want, atol=0.0)
    gathered, traffic = everywhere(student, 2, "ring_all_gather", torch.ones(2, 0))
    for got in gathered:
        equal([list(chunk.shape) for chunk in got], [[2, 0], [2, 0]], what="wrong shapes")
    ring_traffic(traffic, 1, 0)


@checks("ring_all_gather")
def test_gathered_from_eight(student, rng):
    """eight ranks, chunks of 5,040 numbers in six dimensions: all chunks unchanged; a single rank keeps the dtype"""
    chunks = [whole(rng, 7, 2, 3, 4, 5, 6) for _ in range(8)]
    gathered, traffic = everywhere(student, 8, "ring_all_gather", chunks)
    for got in gathered:
        listed(got)
        for source, (chunk, want) in enumerate(zip(got, chunks, strict=True)):
            close(chunk, want, atol=0.0, rtol=0.0, dtype=torch.float32, what=f"wrong chunk of rank {source}")
    ring_traffic(traffic, 7, 7 * chunks[0].nbytes)
    for dtype in DTYPES:
        alone, _ = everywhere(student, 1, "ring_all_gather", whole(rng, 5, dtype=dtype))
        listed(alone[0])
        equal(str(alone[0][0].dtype), str(dtype), what="wrong dtype of the chunk of one rank alone")


@checks("ring_all_reduce", weight=2)
def test_reduced_numbers(student, rng):
    """one to four ranks, every dtype, drawn shapes, transposed: the right sum, messages and bytes"""
    for world, dtype in ((1, torch.float16), (2, torch.bfloat16), (3, torch.float16), (4, torch.float32), (3, torch.float64)):
        shape = [number(rng, 1, 5) for _ in range(number(rng, 2, 3))]
        xs = [whole(rng, *shape, dtype=dtype).transpose(0, -1) for _ in range(world)]
        sums, traffic = everywhere(student, world, "ring_all_reduce", xs, _unchanged=True)
        on_all(sums, sum(xs), dtype=dtype)
        reduce_traffic(traffic, xs[0])


@checks("ring_all_reduce")
def test_reduced_small(student, rng):
    """fewer numbers than ranks, a single number, one more or one less than a multiple of the ranks: sum and bytes"""
    for world, shape in ((4, (1,)), (3, ()), (3, (2,)), (4, (5,)), (4, (7,)), (3, (3,))):
        xs = [whole(rng, *shape) for _ in range(world)]
        sums, traffic = everywhere(student, world, "ring_all_reduce", xs)
        on_all(sums, sum(xs), dtype=torch.float32)
        reduce_traffic(traffic, xs[0])


@checks("ring_all_reduce")
def test_reduced_by_eight(student, rng):
    """eight ranks, 20,019 numbers in five dimensions, two memory orders, int32 and int64: exact sums; the dtype is kept"""
    xs = [whole(rng, 1, 3, 1, 1, 6_673) for _ in range(8)]
    for rank in (2, 5):
        xs[rank] = xs[rank].transpose(1, 4).contiguous().transpose(1, 4)
    sums, traffic = everywhere(student, 8, "ring_all_reduce", xs, _unchanged=True)
    on_all(sums, sum(xs), dtype=torch.float32)
    reduce_traffic(traffic, xs[0])
    for world, dtype, low in ((1, torch.int32, 2**25), (3, torch.int32, 2**25), (2, torch.int64, 2**40)):
        xs = [whole(rng, 2, 5, dtype=dtype) + low for _ in range(world)]
        sums, _ = everywhere(student, world, "ring_all_reduce", xs)
        for got in sums:
            equal(str(got.dtype), str(dtype), what="wrong dtype")
            equal(got, sum(xs), what="wrong sum of whole numbers")
    for dtype in DTYPES:
        alone, _ = everywhere(student, 1, "ring_all_reduce", whole(rng, 5, dtype=dtype))
        equal(str(alone[0].dtype), str(dtype), what="wrong dtype of the sum of one rank alone")


@checks("ring_all_reduce", weight=2)
def test_bits_and_accuracy(student, rng):
    """numbers of very different sizes, in three dtypes: every rank has the same bits, close to the exact sum"""
    for world, dtype in ((3, torch.float32), (4, torch.float32), (4, torch.bfloat16), (3, torch.float64)):
        xs = [(10.0 ** (rank % 3) * normal(rng, 5, 11)).to(dtype) for rank in range(world)]
        sums, _ = everywhere(student, world, "ring_all_reduce", xs)
        want = sum(x.double() for x in xs)
        room = 4 * torch.finfo(dtype).eps * sum(x.double().abs() for x in xs)
        for got in sums:
            that(bool(((got.double() - want).abs() <= room).all()), "the sum is further off than rounding explains", expected=want, got=got)
        alike(sums)


@checks("ring_all_reduce")
def test_reduced_again(student, rng):
    """several calls on the same ranks: no result has anything of an earlier call"""
    for n in (6, 6, 2, 9):
        xs = [whole(rng, n) for _ in range(3)]
        sums, traffic = everywhere(student, 3, "ring_all_reduce", xs)
        on_all(sums, sum(xs))
        reduce_traffic(traffic, xs[0])


# ---- parallel_attention ----------------------------------------------------------------------------------------------


@checks("parallel_attention", weight=2)
def test_attention_of_any_shape(student, rng):
    """two to four ranks, drawn shapes and RoPE bases, x not contiguous: the whole layer's result; nothing is changed"""
    for H, K, world in ((6, 3, 3), (4, 1, 2), (8, 2, 4)):
        config = config_of(H, K, Dh=2 * number(rng, 1, 3), D=number(rng, 5, 9), rope_theta=positive(rng, 10.0, 100.0))
        B, T = number(rng, 1, 2), number(rng, 2, 4)
        layer, x = layer_of(rng, config), normal(rng, T, B, config.hidden_size).transpose(0, 1)
        got, traffic = attend(student, world, x, layer, config, torch.arange(T), causal(T), _unchanged=True, _arguments=True)
        on_all([result for result, _ in got], attended(x, layer, config, torch.arange(T), causal(T)), atol=1e-9)
        reduce_traffic(traffic, x)
        for rank, (_, after) in enumerate(got):
            unchanged(cut_layer(layer, config, rank, world), after[1])


@checks("parallel_attention")
def test_attention_rows_of_their_own(student, rng):
    """every text of the batch has its own positions and mask: the whole layer's result, also for a second layer"""
    config, B, T = config_of(4, 2), 2, 4
    mask = torch.stack((causal(T), torch.ones(T, T, dtype=torch.bool))).unsqueeze(1)
    for positions in (torch.tensor([[0, 1, 2, 3], [5, 6, 7, 100]]), torch.tensor([[9, 8, 7, 6], [0, 2, 4, 8]])):
        layer, x = layer_of(rng, config), normal(rng, B, T, 20)
        got, _ = attend(student, 2, x, layer, config, positions, mask)
        on_all(got, attended(x, layer, config, positions, mask), atol=1e-9)
    other = normal(rng, B, T, 20)
    given = [[each, layer, config, positions, mask] for each in (x, other)]
    for result, each in zip(one_rank_again(student, "parallel_attention", *given), (x, other), strict=True):
        close(result, attended(each, layer, config, positions, mask), atol=1e-9)


@checks("parallel_attention")
def test_attention_in_other_dtypes(student, rng):
    """float32 and 16 bits: result and messages have x's dtype, all ranks the same bits; positions are not rounded"""
    config, T = config_of(4, 2, max_position_embeddings=8192), 3
    near, far = torch.arange(T), torch.tensor([0, 2, 4])
    cases = (
        (torch.float32, 1e-5, near), (torch.bfloat16, 0.2, near), (torch.bfloat16, 0.2, far + 517), (torch.float16, 0.05, far + 4_103),
    )  # fmt: skip
    for dtype, atol, positions in cases:
        layer, x = layer_of(rng, config, dtype), normal(rng, 1, T, 20, dtype=dtype)
        got, traffic = attend(student, 2, x, layer, config, positions, causal(T))
        on_all(got, attended(x, layer, config, positions, causal(T)), atol=atol, rtol=0.05, dtype=dtype)
        reduce_traffic(traffic, x)


@checks("parallel_attention")
def test_attention_of_eight(student, rng):
    """two key/value heads on eight ranks, then twelve query heads per key/value head, 70 tokens: the whole layer's result"""
    for H, K, Dh, world in ((32, 2, 80, 8), (48, 4, 6, 2)):
        config, T = config_of(H, K, Dh=Dh, D=7), 70
        layer, x = layer_of(rng, config), normal(rng, 1, T, 7)
        got, traffic = attend(student, world, x, layer, config, torch.arange(T), causal(T))
        on_all(got, attended(x, layer, config, torch.arange(T), causal(T)), atol=1e-7, rtol=1e-7)
        reduce_traffic(traffic, x)


@checks("parallel_attention")
def test_attention_work(student, rng):
    """one of two ranks computes only the heads it has"""
    config, T = config_of(8, 4, D=32), 8
    layer, x = layer_of(rng, config), normal(rng, 1, T, 32)
    shards, ranks = [cut_layer(layer, config, rank, 2) for rank in range(2)], student.ranks(2)
    with ranks.counting(0) as work:
        got, _ = ranks.each("parallel_attention", [(x, shard, config, torch.arange(T), causal(T)) for shard in shards])
    on_all(got, attended(x, layer, config, torch.arange(T), causal(T)), atol=1e-9)
    products, scores = 2 * T * 32 * (2 * 32 + 2 * 16), 2 * 2 * 8 * T * T * 4
    # A loop over query heads may compute the keys and values of a shared head once for each: 0.64 of the whole work, and still its own.
    that(0.45 * products <= work.flops <= 0.75 * (products + scores), "a rank of two does another share of the FLOPs",
         expected=f"about {(products + scores) // 2:,}", got=f"{work.flops:,}")  # fmt: skip


# ---- parallel_feed_forward -------------------------------------------------------------------------------------------


@checks("parallel_feed_forward", weight=2)
def test_feed_forward_of_any_shape(student, rng):
    """two to four ranks, drawn shapes, x not contiguous: the whole layer's result; nothing is changed"""
    for world in (2, 3, 4):
        config = config_of(12, 6, F=world * number(rng, 1, 5), D=number(rng, 3, 9))
        B, T = number(rng, 1, 3), number(rng, 1, 4)
        layer, x = layer_of(rng, config), normal(rng, T, B, config.hidden_size).transpose(0, 1)
        got, traffic = feed(student, world, x, layer, config, _unchanged=True, _arguments=True)
        on_all([result for result, _ in got], fed(x, layer), atol=1e-9)
        reduce_traffic(traffic, x)
        for rank, (_, after) in enumerate(got):
            unchanged(cut_layer(layer, config, rank, world), after[1])


@checks("parallel_feed_forward")
def test_feed_forward_of_eight(student, rng):
    """eight ranks, 150 tokens: the whole layer's result; a gate whose exponential overflows gives no inf or nan"""
    for gates, dtype in (([1_500.0, -900.0], torch.float64), ([-300.0, 120.0], torch.float32), ([32.0, -64.0], torch.float16)):
        feed_gates(student, gates, dtype)
    config = config_of(8, 8, F=40, D=5)
    layer, x = layer_of(rng, config), normal(rng, 1, 150, 5)
    got, traffic = feed(student, 8, x, layer, config)
    on_all(got, fed(x, layer), atol=1e-8)
    reduce_traffic(traffic, x)


@checks("parallel_feed_forward")
def test_feed_forward_of_layer_after_layer(student, rng):
    """a second layer or a second x of the same shape: the second call computes with the new values"""
    config = config_of(4, 2)
    for _ in range(2):
        layer, x = layer_of(rng, config), normal(rng, 1, 2, 20)
        got, _ = feed(student, 2, x, layer, config)
        on_all(got, fed(x, layer), atol=1e-9)
    other = normal(rng, 1, 2, 20)
    for result, each in zip(one_rank_again(student, "parallel_feed_forward", [x, layer], [other, layer]), (x, other), strict=True):
        close(result, fed(each, layer), atol=1e-9)


@checks("parallel_feed_forward")
def test_feed_forward_in_other_dtypes(student, rng):
    """float32, bfloat16, float16: result and messages have x's dtype, and all ranks have the same bits"""
    config = config_of(4, 2)
    for dtype, atol in ((torch.float32, 1e-5), (torch.bfloat16, 0.5), (torch.float16, 0.05)):
        layer, x = layer_of(rng, config, dtype), normal(rng, 1, 3, 20, dtype=dtype)
        got, traffic = feed(student, 3, x, layer, config)
        on_all(got, fed(x, layer), atol=atol, rtol=0.05, dtype=dtype)
        reduce_traffic(traffic, x)


# ---- the vocabulary --------------------------------------------------------------------------------------------------


@checks("vocab_parallel_embedding", weight=2)
def test_embedding_at_borders(student, rng):
    """the first and the last token of every rank, in every dtype: the right rows; the table is not changed"""
    for world, dtype in ((2, torch.float16), (3, torch.bfloat16), (4, torch.float32), (3, torch.float64)):
        size, D = 1 if world == 4 else number(rng, 2, 4), number(rng, 1, 5)
        table = normal(rng, size * world, D, dtype=dtype)
        ends = torch.tensor([[rank * size, rank * size + size - 1] for rank in range(world)])
        ids = torch.stack((ends.flatten(), torch.randint(0, size * world, (2 * world,), generator=rng)))
        got, traffic = everywhere(student, world, "vocab_parallel_embedding", split(table, world), ids, _unchanged=True)
        on_all(got, table[ids], dtype=dtype)
        reduce_traffic(traffic, table[ids])


@checks("vocab_parallel_embedding")
def test_embedding_of_another_table(student, rng):
    """a second call with a new table, or with new ids, of the same shape: the rows of the new arguments"""
    for _ in range(2):
        table, ids = normal(rng, 6, 3), torch.randint(0, 6, (1, 4), generator=rng)
        got, _ = everywhere(student, 2, "vocab_parallel_embedding", split(table, 2), ids)
        on_all(got, table[ids])
    other = (ids + torch.randint(1, 6, (1, 4), generator=rng)) % 6
    for result, each in zip(one_rank_again(student, "vocab_parallel_embedding", [table, ids], [table, other]), (ids, other), strict=True):
        close(result, table[each], atol=0.0)


@checks("vocab_parallel_embedding")
def test_embedding_of_infinite_rows(student, rng):
    """inf and nan in rows that no id names do not spoil the sum; inf in a row that an id names is kept"""
    table = normal(rng, 12, 3)
    table[[0, 3, 4, 7, 8, 11]] = torch.tensor([torch.inf, torch.nan, -torch.inf], dtype=torch.float64).repeat(2).unsqueeze(1)
    table[2] = torch.tensor([torch.inf, -torch.inf, 0.5])
    ids = torch.tensor([[1, 5, 9, 2, 6, 10]])
    got, _ = everywhere(student, 3, "vocab_parallel_embedding", split(table, 3), ids)
    on_all(got, table[ids])


@checks("vocab_parallel_embedding")
def test_embedding_of_eight(student, rng):
    """eight ranks, a vocabulary of 72,000: the right rows"""
    table = normal(rng, 72_000, 1)
    ids = torch.cat((torch.arange(8_999, 72_000, 9_000), torch.randint(0, 72_000, (5,), generator=rng)))[None]
    got, traffic = everywhere(student, 8, "vocab_parallel_embedding", split(table, 8), ids)
    on_all(got, table[ids])
    reduce_traffic(traffic, table[ids])


@checks("vocab_parallel_logits", weight=2)
def test_logits_of_any_shape(student, rng):
    """two to four ranks, drawn shapes, several dtypes: all scores in the order of the ids, in x's dtype"""
    for world, dtype, atol in ((2, torch.float32, 1e-4), (3, torch.bfloat16, 0.2), (4, torch.float64, 1e-9), (3, torch.float16, 0.05)):
        V, D, shape = world * number(rng, 1, 6), number(rng, 2, 6), [number(rng, 1, 3) for _ in range(number(rng, 1, 2))]
        head, x = normal(rng, V, D, dtype=dtype), normal(rng, *shape, D, dtype=dtype)
        got, traffic = everywhere(student, world, "vocab_parallel_logits", x, split(head, world), _unchanged=True)
        on_all(got, x.double() @ head.double().T, atol=atol, rtol=0.02, dtype=dtype)
        ring_traffic(traffic, world - 1, (world - 1) * (x.numel() // D) * (V // world) * x.element_size())


@checks("vocab_parallel_logits")
def test_logits_where_each_scores_alone(student):
    """the score of token i is i: every score is in its token's column"""
    head = torch.arange(12.0).unsqueeze(1)
    got, _ = everywhere(student, 4, "vocab_parallel_logits", torch.tensor([[1.0], [-2.0]]), split(head, 4))
    on_all(got, torch.stack((torch.arange(12.0), -2.0 * torch.arange(12.0))))


@checks("vocab_parallel_logits")
def test_logits_of_eight(student, rng):
    """eight ranks, 6,000 scores from each, x with five dimensions: the scores in the order of the ids"""
    head, x = normal(rng, 8_000, 2), normal(rng, 1, 3, 1, 2, 2)
    got, traffic = everywhere(student, 8, "vocab_parallel_logits", x, split(head, 8))
    on_all(got, x @ head.T, atol=1e-9)
    ring_traffic(traffic, 7, 7 * 6 * 1_000 * 8)


@checks("vocab_parallel_argmax", weight=2)
def test_argmax_of_many_rows(student, rng):
    """drawn rows: the best token of every row; a message has at most two numbers for each row, never the logits"""
    for world, B in ((2, 9), (3, 1), (4, 5), (8, 300)):
        V = world * 50
        head, x = normal(rng, V, 3), normal(rng, B, 3)
        got, traffic = everywhere(student, world, "vocab_parallel_argmax", x, split(head, world), _unchanged=True)
        on_all(got, (x @ head.T).argmax(-1, keepdim=True), dtype=torch.int64)
        most = 16 * B * (world - 1)
        that(max(traffic.sent_bytes) <= most, "too many bytes", expected=f"{most} at most from each rank", got=max(traffic.sent_bytes))
        ring_traffic(traffic, world - 1, min(max(traffic.sent_bytes), most))


@checks("vocab_parallel_argmax", weight=2)
def test_argmax_is_exact(student, rng):
    """ids above 2,048 with 16-bit scores are not rounded; float64 scores that differ by 1e-12 are not equal"""
    for dtype in LOW:
        head = torch.zeros(6000, 1, dtype=dtype)
        best = number(rng, 4100, 5990) | 1  # float16 and bfloat16 have even numbers only up there
        head[best] = 1.0
        got, _ = everywhere(student, 2, "vocab_parallel_argmax", torch.tensor([[1.0], [2.0]]).to(dtype), split(head, 2))
        on_all(got, torch.tensor([[best]] * 2), dtype=torch.int64)
    head = torch.tensor([[1.0], [1.0 + 1e-12], [0.0], [1.0 + 3e-12], [1.0 + 2e-12], [0.5]], dtype=torch.float64)
    got, _ = everywhere(student, 3, "vocab_parallel_argmax", torch.ones(2, 1, dtype=torch.float64), split(head, 3))
    on_all(got, torch.tensor([[3]] * 2), dtype=torch.int64)


@checks("vocab_parallel_argmax")
def test_argmax_far_out(student, rng):
    """scores far below 0, and an id above 65,536: the best token of all"""
    head = -1e30 * (1 + torch.rand(12, 1, generator=rng))
    got, _ = everywhere(student, 3, "vocab_parallel_argmax", torch.ones(1, 1), split(head, 3))
    on_all(got, head.argmax(0, keepdim=True), dtype=torch.int64)
    head, best = torch.zeros(70_000, 1), number(rng, 65_600, 69_990)
    head[best] = 0.5
    got, _ = everywhere(student, 2, "vocab_parallel_argmax", torch.ones(1, 1), split(head, 2))
    on_all(got, torch.tensor([[best]]), dtype=torch.int64)


@checks("vocab_parallel_argmax")
def test_argmax_of_every_tie(student):
    """all tokens tie, or tokens of some ranks: one of the tied tokens, the same token on every rank, for every row"""
    head = torch.tensor([[2.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 0.0], [0.0, 0.0], [2.0, 1.0]])
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    scores = x @ head.T
    got, _ = everywhere(student, 3, "vocab_parallel_argmax", x, split(head, 3))
    alike(got)
    equal([list(got[0].shape), str(got[0].dtype)], [[4, 1], "torch.int64"], what="wrong shape or dtype")
    that(bool(((got[0] >= 0) & (got[0] < 6)).all()), "a token that is not there", expected="0 to 5", got=got[0])
    that(torch.equal(scores.gather(1, got[0]), scores.amax(1, keepdim=True)), "a token that is not among the best", got=got[0])


# ---- parallel_forward ------------------------------------------------------------------------------------------------


def forward(student, world, weights, config, ids):
    return everywhere(student, world, "parallel_forward", [cut_model(weights, config, rank, world) for rank in range(world)], config, ids)


@checks("parallel_forward", weight=2)
def test_forward_of_any_shape(student, rng):
    """two and three ranks, drawn models, with and without an lm_head: the right logits, messages and bytes"""
    for (H, K, world), tied in zip(((6, 3, 3), (4, 1, 2), (2, 2, 2)), (False, True, False), strict=True):
        L, B, T = number(rng, 1, 3), number(rng, 1, 2), number(rng, 1, 4)
        config = config_of(
            H, K, D=number(rng, 5, 9), F=world * 3, num_hidden_layers=L, tie_word_embeddings=tied,
            rope_theta=positive(rng, 10.0, 100.0), rms_norm_eps=positive(rng),
        )  # fmt: skip
        weights, ids = weights_of(rng, config), some(config, rng, B, T)
        got, traffic = forward(student, world, weights, config, ids)
        on_all(got, logits_of(weights, config, ids), atol=1e-8)
        part, logits = -(-B * T * config.hidden_size // world) * 8, B * T * 36 // world * 8
        ring_traffic(traffic, (world - 1) * (2 * (2 * L + 1) + 1), (world - 1) * (2 * (2 * L + 1) * part + logits))


@checks("parallel_forward")
def test_forward_of_eight(student, rng):
    """two key/value heads on eight ranks, seven layers, 90 tokens: the whole model's logits, the number of messages"""
    config = config_of(8, 2, F=8, D=5, vocab_size=40, num_hidden_layers=7, tie_word_embeddings=False)
    weights, ids = weights_of(rng, config), some(config, rng, 1, 90)
    got, traffic = forward(student, 8, weights, config, ids)
    on_all(got, logits_of(weights, config, ids), atol=1e-6, rtol=1e-6)
    that(set(traffic.messages) == {7 * 31}, "another number of messages than expected", expected=7 * 31, got=traffic.messages)


@checks("parallel_forward")
def test_forward_of_other_texts(student, rng):
    """a second text of the same length, then 1,100 tokens on two ranks: the right logits; the weights are not changed"""
    config = config_of(2, 2, D=5, F=6, num_hidden_layers=1, max_position_embeddings=8192)
    weights, texts = weights_of(rng, config), (some(config, rng, 2, 5), some(config, rng, 2, 5))
    given = [[weights, config, ids] for ids in texts]
    for logits, ids in zip(one_rank_again(student, "parallel_forward", *given), texts, strict=True):
        close(logits, logits_of(weights, config, ids), atol=1e-8)
    ids = some(config, rng, 1, 1_100)
    shards = [cut_model(weights, config, rank, 2) for rank in range(2)]
    got, _ = everywhere(student, 2, "parallel_forward", shards, config, ids, _arguments=True)
    on_all([logits for logits, _ in got], logits_of(weights, config, ids), atol=1e-6, rtol=1e-6)
    for shard, (_, after) in zip(shards, got, strict=True):
        unchanged(shard, after[0])


@checks("parallel_forward")
def test_forward_stays_on_its_device(student, rng):
    """positions and mask are on the ids' device"""
    config = config_of(4, 2, num_hidden_layers=1)
    weights, ids = weights_of(rng, config), some(config, rng, 2, 3)
    alone = Communicator(0, 1, lambda dst, tensor: None, lambda src: ids)  # one rank alone sends nothing
    close(student.parallel_forward(weights, config, ids, alone), logits_of(weights, config, ids), atol=1e-8)
    stays_on_its_device(student.parallel_forward, weights, config, ids, alone, shape=(2, 3, 36), dtype=torch.float64)


@checks("parallel_forward")
def test_forward_in_float32(student, rng):
    """float32 weights: logits and messages are float32, and every rank has the same bits"""
    config = config_of(4, 2, num_hidden_layers=1)
    weights, ids = weights_of(rng, config, torch.float32), some(config, rng, 1, 18)
    got, traffic = forward(student, 2, weights, config, ids)
    on_all(got, logits_of(weights, config, ids), atol=1e-3, rtol=1e-3, dtype=torch.float32)
    ring_traffic(traffic, 7, 6 * 180 * 4 + 18 * 18 * 4)


# ---- seconds ---------------------------------------------------------------------------------------------------------


@checks("all_reduce_seconds", weight=2)
def test_ring_seconds(student, rng):
    """drawn links and numbers of ranks: the sum over all steps of the ring"""
    for world in (1, 2, 3, 5, 8, 72, number(rng, 9, 1000)):
        size, wire = positive(rng, 1e3, 1e9), (positive(rng, 1e9, 1e12), positive(rng, 1e-6, 1e-3))
        exact(student.all_reduce_seconds(size, world, *wire), around_a_ring(size, world, *wire), f"wrong seconds of {world} ranks")


@checks("all_reduce_seconds")
def test_ring_seconds_of_one_cost(student):
    """0 bytes cost only the latencies, latency 0 only the time of the bytes; whole numbers, and arguments given by name"""
    exact(student.all_reduce_seconds(0, 4, 7, 2), 12.0)
    exact(student.all_reduce_seconds(10, 4, 2, 0), 7.5)
    exact(student.all_reduce_seconds(num_bytes=3, world=2, link_bandwidth=4, latency=1), 2.75)


@checks("one_shot_seconds", weight=2)
def test_one_shot_seconds(student, rng):
    """drawn links and numbers of ranks: one latency, and the time for all bytes that a rank sends"""
    for world in (2, 3, 5, 8, number(rng, 9, 64)):
        size, link, latency = positive(rng, 1e3, 1e9), positive(rng, 1e9, 1e12), positive(rng, 1e-6, 1e-3)
        leaving = sum(size / link for _other in range(world - 1))
        exact(student.one_shot_seconds(size, world, link, latency), latency + leaving, f"wrong seconds of {world} ranks")


@checks("one_shot_seconds")
def test_one_shot_seconds_of_one_cost(student):
    """0 bytes cost only the latency, latency 0 only the time of the bytes; a single rank takes no time"""
    exact(student.one_shot_seconds(0, 4, 7, 2), 2.0)
    exact(student.one_shot_seconds(10, 4, 2, 0), 15.0)
    exact(student.one_shot_seconds(num_bytes=10, world=1, link_bandwidth=2, latency=3), 0.0)


@checks("tensor_parallel_seconds", weight=2)
def test_step_of_any_model(student, rng):
    """drawn models, rows and links: the time to read the weights plus two all-reduces for each layer"""
    for world, size in ((1, 2), (2, 0.5), (4, 4), (8, 1), (number(rng, 9, 64), 2)):
        weights, layers, width, rows = positive(rng, 1e9, 1e12), number(rng, 1, 99), number(rng, 64, 9999), number(rng, 1, 99)
        bandwidth, wire = positive(rng, 1e11, 1e13), (positive(rng, 1e9, 1e12), positive(rng, 1e-6, 1e-3))
        want = weights / world / bandwidth
        for _reduced in itertools.product(range(layers), ("attention", "feed-forward")):
            want += around_a_ring(rows * width * size, world, *wire)
        got = student.tensor_parallel_seconds(weights, layers, width, rows, size, world, bandwidth, *wire)
        exact(got, want, f"wrong seconds of {world} ranks")


@checks("tensor_parallel_seconds")
def test_step_by_names(student):
    """arguments given by name; without weights and latency, a step takes only the time of the bytes sent"""
    names = {"layers": 3, "width": 10, "rows": 7, "bytes_per_value": 2, "world": 2, "bandwidth": 50.0, "link_bandwidth": 10.0}
    exact(student.tensor_parallel_seconds(weight_bytes=1000, latency=0.5, **names), 10.0 + 6 * 2 * (0.5 + 7.0))
    exact(student.tensor_parallel_seconds(weight_bytes=0, latency=0, **names), 6 * 2 * 7.0)


@checks("pipeline_bubble", weight=2)
def test_bubbles(student, rng):
    """drawn stages and microbatches: the idle share of a timetable"""
    for _ in range(8):
        stages, m = number(rng, 1, 20), number(rng, 1, 40)
        exact(student.pipeline_bubble(stages, m), idle_share(stages, m), f"wrong share for {stages} stages and {m} microbatches")


@checks("pipeline_bubble")
def test_bubble_by_names(student):
    """arguments given by name: a single stage is never idle, many stages with one microbatch are mostly idle"""
    exact(student.pipeline_bubble(stages=3, microbatches=2), 0.5)
    exact(student.pipeline_bubble(stages=1, microbatches=7), 0.0)
    exact(student.pipeline_bubble(stages=16, microbatches=1), 0.9375)
