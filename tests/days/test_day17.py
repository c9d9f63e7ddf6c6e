"""The numbers of the day on tensor parallelism that are worked out by hand, and what its reference promises on every rank."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import silu

from autograder.sandbox.measure.op_counter import counting
from course.kit import Config, LayerWeights, Model, Weights, load_model, paths
from course.kit.ranks import Communicator, Deadlock, RankError, Traffic, run_ranks
from solutions.generation import generate
from solutions.parallel import (
    all_reduce_seconds,
    column_shard,
    kv_heads_of,
    one_shot_seconds,
    parallel_attention,
    parallel_feed_forward,
    parallel_forward,
    pipeline_bubble,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    row_shard,
    shard_layer,
    shard_model,
    tensor_parallel_seconds,
    vocab_parallel_argmax,
    vocab_parallel_embedding,
    vocab_parallel_logits,
)

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["parallel"]
IDS = torch.tensor([[5, 17, 300, 901, 44, 12, 1000]])

smollm2_here = pytest.mark.skipif(
    not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it"
)


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def model_of(name: str, dtype: torch.dtype = torch.float32) -> Model:
    return load_model(name, dtype=dtype)


def on_ranks(world: int, function: Any, *args: Any) -> tuple[list[Tensor], Traffic]:
    """args: the same on every rank, or a list with each rank's own."""
    return run_ranks(world, lambda comm: function(*(a[comm.rank] if isinstance(a, list) else a for a in args), comm))


def shards_of(model: Model, world: int) -> list[Weights]:
    return [shard_model(model.weights, model.config, rank, world) for rank in range(world)]


def config_of(H: int, K: int, **more: Any) -> Config:
    return replace(model_of("tiny").config, num_attention_heads=H, num_key_value_heads=K, **more)


# ---- by hand -------------------------------------------------------------------------------------------------------


def test_two_matrices_and_one_all_reduce() -> None:
    case = HAND["two_matrices"]
    W, x, W2 = (torch.tensor(case[name], dtype=torch.float64) for name in ("W", "x", "W2"))
    assert (W @ x).tolist() == case["y"]
    halves = [column_shard(W, rank, 2) @ x for rank in range(2)]
    assert torch.cat(halves).tolist() == case["y"]
    parts = [row_shard(W2, rank, 2) @ half for rank, half in enumerate(halves)]
    assert [float(part) for part in parts] == case["parts"]
    totals, _ = on_ranks(2, ring_all_reduce, parts)
    assert [float(total) for total in totals] == [case["total"]] * 2


def test_a_nonlinearity_wants_the_whole_sum() -> None:
    case, parts = HAND["nonlinearity"], torch.tensor(HAND["two_matrices"]["parts"], dtype=torch.float64)
    assert silu(parts).tolist() == pytest.approx(case["of_parts"], abs=1e-6)
    assert float(silu(parts).sum()) == pytest.approx(case["sum_of_parts"], abs=1e-6)
    assert float(silu(parts.sum())) == pytest.approx(case["of_the_sum"], abs=1e-6)


def test_the_ring_of_four() -> None:
    case = HAND["ring"]
    rows = [torch.tensor(row, dtype=torch.float64) for row in case["rows"]]
    parts, traffic = on_ranks(4, ring_reduce_scatter, rows)
    assert [part.tolist() for part in parts] == [[value] for value in case["total"]]
    assert traffic.messages == [3] * 4
    sums, traffic = on_ranks(4, ring_all_reduce, rows)
    assert [total.tolist() for total in sums] == [case["total"]] * 4
    assert (traffic.messages, traffic.sent_bytes) == ([case["messages"]] * 4, [case["sent_bytes"]] * 4)
    assert {(src, dst) for src, dst, _ in traffic.log} == {(0, 1), (1, 2), (2, 3), (3, 0)}

    def through_rank_0(x: Tensor, comm: Communicator) -> Tensor:
        if comm.rank:
            comm.send(0, x)
            return comm.recv(0)
        total = x + sum(comm.recv(src) for src in range(1, comm.world))
        for dst in range(1, comm.world):
            comm.send(dst, total)
        return total

    def all_to_all(x: Tensor, comm: Communicator) -> Tensor:
        others = [rank for rank in range(comm.world) if rank != comm.rank]
        for dst in others:
            comm.send(dst, x)
        return x + sum(comm.recv(src) for src in others)

    sums, traffic = on_ranks(4, through_rank_0, rows)
    received = sum(size for _, dst, size in traffic.log if dst == 0)
    assert sums[3].tolist() == case["total"]
    assert (traffic.sent_bytes[0], received) == (case["through_rank_0"], case["through_rank_0"])
    assert on_ranks(4, all_to_all, rows)[1].sent_bytes == [case["all_to_all"]] * 4


def test_seven_values_among_three() -> None:
    case = HAND["padded"]
    xs = [drawn(case["values"], seed=rank, dtype=torch.float32) for rank in range(case["world"])]
    sums, traffic = on_ranks(case["world"], ring_all_reduce, xs)
    torch.testing.assert_close(sums[0], torch.stack(xs).sum(0))
    assert traffic.messages == [case["messages"]] * 3
    assert traffic.sent_bytes == [case["sent_bytes"]] * 3 == [case["padded"] // 3 * 4 * case["messages"]] * 3


def test_which_heads_a_rank_holds() -> None:
    case = HAND["heads"]
    config = config_of(case["num_attention_heads"], case["num_key_value_heads"])
    for world in (2, 4, 8):
        assert [list(kv_heads_of(config, rank, world)) for rank in range(world)] == case[f"heads_of_{world}"]


@pytest.mark.parametrize(
    ("name", "world"), [("tiny", 2), ("tiny", 4), pytest.param("smollm2", 3, marks=[smollm2_here, pytest.mark.slow])]
)
def test_what_a_forward_pass_sends_and_a_rank_holds(name: str, world: int) -> None:
    model = model_of(name)
    config, shards = model.config, shards_of(model, world)
    logits, traffic = on_ranks(world, parallel_forward, shards, config, IDS)
    messages, sent_bytes = HAND["traffic"][f"{name}_{world}"]
    assert traffic.messages == [messages] * world
    assert traffic.sent_bytes == [sent_bytes] * world
    L, D, V, T = config.num_hidden_layers, config.hidden_size, config.vocab_size, IDS.shape[1]
    assert T == HAND["traffic"]["tokens"]
    assert messages == (2 * L + 1) * 2 * (world - 1) + world - 1
    assert sent_bytes == ((2 * L + 1) * 2 * T * D + T * V) * (world - 1) * 4 // world
    held = [sum(tensor.nbytes for tensor in shard.tensors()) for shard in shards]
    assert held == [HAND["shard_bytes"][f"{name}_{world}"]] * world
    assert sum(tensor.nbytes for tensor in model.weights.tensors()) == HAND["shard_bytes"][name]
    assert all(torch.equal(each, logits[0]) for each in logits)
    torch.testing.assert_close(logits[0], model(IDS), atol=2e-4, rtol=1e-4)


def test_copies_of_key_and_value_heads() -> None:
    model = model_of("tiny")
    case, norms = HAND["shard_bytes"], sum(tensor.nbytes for tensor in model.weights.tensors() if tensor.dim() == 1)
    assert case["tiny_4"] == (case["tiny"] - norms) // 4 + norms + case["copied"]
    kv = sum(layer.k_proj.nbytes + layer.v_proj.nbytes for layer in model.weights.layers)
    assert case["copied"] == kv // 2 - kv // 4


def test_a_next_token_needs_two_numbers_of_each_rank() -> None:
    case = HAND["next_token"]
    x, heads = drawn(1, 576, dtype=torch.float32), [torch.empty(49152 // 3, 576).fill_(0.1)] * 3
    assert on_ranks(3, vocab_parallel_logits, x, heads)[1].sent_bytes == [case["gathered_logits"]] * 3
    assert on_ranks(3, vocab_parallel_argmax, x, heads)[1].sent_bytes == [case["gathered_pairs"]] * 3


def test_the_table_of_wires() -> None:
    case = HAND["seventy_b"]
    layers, width, world = case["layers"], case["width"], case["world"]
    one, eighth = case["weight_bytes"] / case["bandwidth"], case["weight_bytes"] / world / case["bandwidth"]
    assert 1e3 * one == pytest.approx(case["one_gpu_ms"], abs=1e-3)
    assert 1e3 * eighth == pytest.approx(case["weights_ms"], abs=1e-3)
    assert 2 * layers * 2 * (world - 1) * width * 2 // world == case["sent_bytes"]
    for index, wire in enumerate(zip(case["link_bandwidths"], case["latencies"], strict=True)):
        ring = all_reduce_seconds(2 * width, world, *wire)
        step = tensor_parallel_seconds(case["weight_bytes"], layers, width, 1, 2, world, case["bandwidth"], *wire)
        shots = 2 * layers * one_shot_seconds(2 * width, world, *wire)
        prefill = 2 * layers * all_reduce_seconds(2 * width * case["prefill_tokens"], world, *wire)
        got = {
            "ring_us": 1e6 * ring, "rings_ms": 2e3 * layers * ring, "step_ms": 1e3 * step, "times": one / step,
            "one_shots_ms": 1e3 * shots, "one_shot_times": one / (eighth + shots), "prefill_wire_ms": 1e3 * prefill,
        }  # fmt: skip
        assert got == pytest.approx({name: case[name][index] for name in got}, abs=6e-4)
    compute = 2 * case["n_params"] * case["prefill_tokens"] / case["peak_flops"] / world
    assert 1e3 * compute == pytest.approx(case["prefill_compute_ms"], abs=1e-3)


def test_where_ring_and_one_shot_cross() -> None:
    case, wire = HAND["crossing"], (HAND["seventy_b"]["link_bandwidths"][0], HAND["seventy_b"]["latencies"][0])
    ring, shot = (f(case["num_bytes"], 8, *wire) for f in (all_reduce_seconds, one_shot_seconds))
    assert ring == pytest.approx(shot, rel=1e-6)
    assert case["num_bytes"] / 16384 == pytest.approx(case["rows"], abs=0.005)


def test_a_cache_stops_shrinking_at_one_head_a_rank() -> None:
    case = HAND["cache_70b"]
    config = config_of(case["heads"], case["kv_heads"], head_dim=case["head_dim"], num_hidden_layers=80)
    values = 2 * config.num_hidden_layers * config.head_dim * 2
    assert values * len(kv_heads_of(config, 0, 1)) == case["one"]
    assert values * len(kv_heads_of(config, 3, 8)) == case["each_of_8"]
    assert values * len(kv_heads_of(config, 3, 16)) == case["each_of_16"]


def test_the_pipeline() -> None:
    case = HAND["pipeline"]
    bubbles = [pipeline_bubble(case["stages"], m) for m in case["microbatches"]]
    assert bubbles == pytest.approx(case["bubbles"], abs=1e-6)
    for m, bubble in zip(case["microbatches"], bubbles, strict=True):  # by drawing up who works when
        times = m + case["stages"] - 1
        busy = sum(0 <= time - stage < m for time in range(times) for stage in range(case["stages"]))
        assert 1 - busy / (times * case["stages"]) == pytest.approx(bubble)
    link, latency = HAND["seventy_b"]["link_bandwidths"][2], HAND["seventy_b"]["latencies"][2]
    assert 1e3 * (case["stages"] - 1) * (latency + 16384 / link) == pytest.approx(case["messages_ms"], abs=1e-4)


# ---- what the reference promises -----------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64])
def test_the_ring_at_any_world_size_and_dtype(world: int, dtype: torch.dtype) -> None:
    for shape in ((7,), (2, 3, 4), (1,), (), (0,), (3, 0)):
        xs = [(8 * drawn(*shape, seed=rank)).round().to(dtype) for rank in range(world)]  # whole numbers: no sum is rounded
        before = [x.clone() for x in xs]
        sums, traffic = on_ranks(world, ring_all_reduce, xs)
        want = torch.stack([x.double() for x in xs]).sum(0)
        assert all(total.dtype == dtype and torch.equal(total.double(), want) for total in sums)
        assert all(torch.equal(x, old) for x, old in zip(xs, before, strict=True))
        if want.numel():
            assert traffic.messages == [2 * (world - 1)] * world


@pytest.mark.parametrize("world", [2, 3, 4])
def test_every_rank_has_the_same_bits_whatever_is_rounded(world: int) -> None:
    xs = [10.0**rank * drawn(101, seed=rank, dtype=torch.float32) for rank in range(world)]
    sums, _ = on_ranks(world, ring_all_reduce, xs)
    assert all(torch.equal(total, sums[0]) for total in sums)


def test_a_part_goes_around_once_and_to_the_right_only() -> None:
    x = drawn(12)
    _, traffic = on_ranks(4, ring_reduce_scatter, [x + rank for rank in range(4)])
    assert sorted(traffic.log) == sorted((rank, (rank + 1) % 4, 24) for rank in range(4) for _ in range(3))
    chunks = [drawn(2, 3, seed=rank) for rank in range(4)]
    every, traffic = run_ranks(4, lambda comm: ring_all_gather(chunks[comm.rank], comm))
    assert all(torch.equal(torch.stack(got), torch.stack(chunks)) for got in every)
    assert sorted(traffic.log) == sorted((rank, (rank + 1) % 4, 48) for rank in range(4) for _ in range(3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("world", [1, 2, 4])
def test_the_models_logits_bit_for_bit_on_every_rank(world: int, dtype: torch.dtype) -> None:
    model = model_of("tiny", dtype)
    logits, _ = on_ranks(world, parallel_forward, shards_of(model, world), model.config, IDS)
    assert all(torch.equal(each, logits[0]) for each in logits)
    tolerance = 1e-12 if dtype == torch.float64 else 5e-5
    torch.testing.assert_close(logits[0], model(IDS), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_the_ladder_of_greedy_tokens(world: int) -> None:
    model = model_of("tiny", torch.float64)
    want = generate(model, IDS, max_new_tokens=12, block_size=64, temperature=0)
    shards, ids = shards_of(model, world), IDS
    for _ in range(12):
        logits, _ = on_ranks(world, parallel_forward, shards, model.config, ids)
        ids = torch.cat((ids, logits[0][:, -1:].argmax(-1)), dim=1)
    assert torch.equal(ids, want)


def test_every_weight_is_held_once_but_keys_and_values() -> None:
    model = model_of("tiny")
    layer, config = model.weights.layers[0], model.config
    for world in (1, 2, 4):
        shards = [shard_layer(layer, config, rank, world) for rank in range(world)]
        for name in ("q_proj", "gate_proj", "up_proj"):
            assert torch.equal(torch.cat([getattr(shard, name) for shard in shards]), getattr(layer, name))
        for name in ("o_proj", "down_proj"):
            assert torch.equal(torch.cat([getattr(shard, name) for shard in shards], dim=1), getattr(layer, name))
        for name in ("k_proj", "v_proj"):
            copies = max(world // config.num_key_value_heads, 1)
            assert torch.equal(torch.cat([getattr(shard, name) for shard in shards[::copies]]), getattr(layer, name))
            assert all(torch.equal(getattr(shards[r], name), getattr(shards[r - r % copies], name)) for r in range(world))
        for field in fields(LayerWeights):
            shared = getattr(shards[0], field.name).untyped_storage().data_ptr() == getattr(layer, field.name).untyped_storage().data_ptr()
            assert shared, field.name


@pytest.mark.parametrize(("H", "K", "world", "named"), [(9, 3, 2, "9"), (9, 3, 6, "9"), (12, 6, 4, "6"), (12, 4, 6, "4"), (4, 2, 8, "4")])
def test_heads_that_cannot_be_divided_are_named(H: int, K: int, world: int, named: str) -> None:
    with pytest.raises(ValueError, match=rf"\b{named}\b.*among {world} ranks"):
        kv_heads_of(config_of(H, K), 0, world)


def test_widths_that_cannot_be_divided_are_named() -> None:
    with pytest.raises(ValueError, match="7 outputs cannot be divided among 2 ranks"):
        column_shard(torch.zeros(7, 4), 0, 2)
    with pytest.raises(ValueError, match="5 inputs cannot be divided among 2 ranks"):
        row_shard(torch.zeros(4, 5), 0, 2)
    model = model_of("tiny")
    with pytest.raises(ValueError, match="1024 outputs"):
        shard_model(model.weights, model.config, 0, 3)
    with pytest.raises(ValueError, match="4 query heads"):
        shard_layer(model.weights.layers[0], model.config, 0, 3)


@smollm2_here
def test_smollm2_is_cut_in_three_and_in_nothing_else() -> None:
    config = model_of("smollm2").config
    layer = model_of("smollm2").weights.layers[0]
    fits = []
    for world in range(2, 17):
        try:
            shard_layer(layer, config, 0, world)
        except ValueError:
            continue
        fits.append(world)
    assert fits == [3]


def test_attention_and_feed_forward_each_cost_one_all_reduce_and_a_share_of_the_work() -> None:
    model = model_of("tiny", torch.float64)
    config, layer = model.config, model.weights.layers[0]
    x, positions, mask = drawn(2, 6, config.hidden_size), torch.arange(6), torch.ones(6, 6, dtype=torch.bool).tril()
    whole = on_ranks(1, parallel_attention, x, layer, config, positions, mask)[0][0], on_ranks(1, parallel_feed_forward, x, layer)[0][0]
    for world in (2, 4):
        shards = [shard_layer(layer, config, rank, world) for rank in range(world)]
        attended, first = on_ranks(world, parallel_attention, x, shards, config, positions, mask)
        fed, second = on_ranks(world, parallel_feed_forward, x, shards)
        for traffic in (first, second):
            assert traffic.messages == [2 * (world - 1)] * world
            assert traffic.sent_bytes == [2 * (world - 1) * x.nbytes // world] * world
        torch.testing.assert_close(attended[0], whole[0])
        torch.testing.assert_close(fed[0], whole[1])

    def flops(shard: LayerWeights) -> int:
        with counting() as work:
            parallel_feed_forward(x, shard, Communicator(0, 1, lambda dst, t: None, lambda src: x))
        return work.flops

    assert flops(shard_layer(layer, config, 0, 2)) <= 0.51 * flops(layer)


@pytest.mark.parametrize("world", [1, 2, 4])
def test_the_vocabulary_cut_among_ranks(world: int) -> None:
    table, x = drawn(24, 5), drawn(3, 5, seed=1)
    shards = [column_shard(table, rank, world) for rank in range(world)]
    ids = torch.tensor([[0, 23, 5, 6], [11, 12, 17, 18]])
    assert all(torch.equal(got, table[ids]) for got in on_ranks(world, vocab_parallel_embedding, shards, ids)[0])
    logits, _ = on_ranks(world, vocab_parallel_logits, x, shards)
    torch.testing.assert_close(logits[-1], x @ table.T)
    best, traffic = on_ranks(world, vocab_parallel_argmax, x, shards)
    assert all(torch.equal(got, (x @ table.T).argmax(-1, keepdim=True)) for got in best)
    assert traffic.sent_bytes == [16 * 3 * (world - 1)] * world


def test_an_infinite_row_of_another_token_does_no_harm() -> None:
    table = drawn(8, 3)
    table[0], table[4] = torch.inf, torch.nan
    shards = [column_shard(table, rank, 2) for rank in range(2)]
    ids = torch.tensor([[1, 5]])
    assert torch.equal(on_ranks(2, vocab_parallel_embedding, shards, ids)[0][0], table[ids])


# ---- ranks in one process ------------------------------------------------------------------------------------------


def test_what_cannot_come_to_an_end_is_said() -> None:
    with pytest.raises(Deadlock, match="no rank can continue: rank 0 waits for rank 1; rank 1 waits for rank 0"):
        run_ranks(2, lambda comm: comm.recv(1 - comm.rank))
    with pytest.raises(Deadlock, match="rank 0 waits for rank 1, which has ended"):
        run_ranks(2, lambda comm: None if comm.rank else comm.recv(1))
    with pytest.raises(RankError, match="nobody has received: 1 from rank 0 to rank 1"):
        run_ranks(2, lambda comm: None if comm.rank else comm.send(1, torch.ones(1)))
    with pytest.raises(ValueError, match="rank 0 of 2 has no neighbour 2"):
        run_ranks(2, lambda comm: comm.send(2, torch.ones(1)))
    with pytest.raises(ValueError, match="world must be a whole number of 1 or more, got 0"):
        run_ranks(0, lambda comm: None)


def test_a_rank_that_raises_is_heard_before_those_that_wait_for_it() -> None:
    def fails(comm: Communicator) -> Tensor:
        if comm.rank == 2:
            raise KeyError("no weights")
        return comm.recv((comm.rank + 1) % 3)

    with pytest.raises(KeyError, match="no weights"):
        run_ranks(3, fails)


def test_a_message_is_a_copy_and_gradients_are_as_outside() -> None:
    def sends(comm: Communicator) -> tuple[Tensor, bool]:
        x = torch.zeros(2)
        comm.send(1 - comm.rank, x)
        x += 1
        return comm.recv(1 - comm.rank), torch.is_grad_enabled()

    with torch.no_grad():
        results, _ = run_ranks(2, sends)
    assert [(got.tolist(), on) for got, on in results] == [([0.0, 0.0], False)] * 2
