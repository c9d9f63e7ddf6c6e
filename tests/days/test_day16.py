"""The numbers of the quantization day that are worked out by hand; what its reference promises; what it costs in quality."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import gguf
import pytest
import torch
from torch import Tensor

from autograder.sandbox.measure.op_counter import counting
from course.kit import Model, load_blocks, load_model, paths
from solutions.kv_cache import CacheFull, KVCache, forward_cached
from solutions.quantization import (
    QuantizedKVCache,
    dequantize,
    int8_linear,
    kl_divergence,
    pack_nibbles,
    perplexity,
    quantize_absmax,
    quantize_affine,
    quantized_linear,
    read_q4_1,
    read_q8_0,
    unpack_nibbles,
    write_q4_1,
)

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["quantization"]


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def bytes_of(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.uint8)


# ---- by hand -------------------------------------------------------------------------------------------------------


def test_the_symmetric_case() -> None:
    case = HAND["absmax"]
    q, scale = quantize_absmax(torch.tensor(case["x"]))
    assert max(map(abs, case["x"])) / 127 == pytest.approx(case["scale"], abs=1e-7)
    assert (q.tolist(), scale.tolist()) == (case["q"], pytest.approx([case["scale"]], abs=1e-7))
    back = dequantize(q, scale)
    assert back.tolist() == pytest.approx(case["back"], abs=1e-6)
    assert float((back - torch.tensor(case["x"])).abs().max()) == pytest.approx(case["worst"], abs=1e-6)


def test_the_affine_case() -> None:
    case = HAND["affine"]
    x = torch.tensor(case["x"])
    for bits in (4, 8):
        q, scale, minimum = quantize_affine(x, bits)
        assert q.tolist() == case[f"q_{bits}"]
        assert [float(scale), float(minimum)] == pytest.approx([case[f"scale_{bits}"], case["minimum"]], abs=1e-7)
    back = dequantize(*quantize_affine(x, 4))
    assert back.tolist() == pytest.approx(case["back_4"], abs=1e-6)
    assert float((back - x).abs().max()) == pytest.approx(case["worst_4"], abs=1e-6)


def test_the_ties() -> None:
    case = HAND["ties"]
    assert quantize_absmax(torch.tensor(case["x"]))[0].tolist() == case["q"]
    assert quantize_affine(torch.tensor(case["x_affine"]))[0].tolist() == case["q_affine"]


def test_the_outlier() -> None:
    case = HAND["outlier"]
    rest = torch.arange(1, 32) / 100
    q, scale = quantize_absmax(torch.cat((rest, torch.tensor([case["outlier"]]))), bits=4)
    assert q.tolist() == [0] * 31 + [7]
    assert float(scale) == pytest.approx(case["scale"], abs=1e-6)
    q, scale = quantize_absmax(rest, bits=4)
    assert q[:3].tolist() == case["first_three"]
    assert float(scale) == pytest.approx(case["scale_without"], abs=1e-6)


def test_the_nibbles() -> None:
    case = HAND["nibbles"]
    q = bytes_of(case["low"] + case["high"])
    assert pack_nibbles(q).tolist() == case["bytes"]
    assert unpack_nibbles(bytes_of(case["bytes"])).tolist() == q.tolist()
    assert [low + 16 * high for low, high in zip(case["low"], case["high"], strict=True)] == case["bytes"]


def test_the_blocks_of_the_file() -> None:
    case = HAND["q4_1"]
    q, scale, minimum = read_q4_1(bytes_of(case["raw"]))
    assert q.tolist() == HAND["nibbles"]["low"] + HAND["nibbles"]["high"]
    assert [float(scale), float(minimum)] == pytest.approx([case["scale"], case["minimum"]], abs=1e-8)
    weights = dequantize(q, scale, minimum)
    assert weights[:4].tolist() == pytest.approx(case["first_four"], abs=1e-8)
    assert float(weights[16]) == pytest.approx(case["number_16"], abs=1e-8)
    case = HAND["q8_0"]
    weights = dequantize(*read_q8_0(bytes_of(case["raw"])))
    assert [*weights[:4].tolist(), float(weights[-1])] == pytest.approx([*case["first_four"], case["last"]], abs=1e-8)


@pytest.mark.skipif(not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it")
def test_the_blocks_are_in_the_file() -> None:
    blocks = load_blocks("smollm2")
    assert blocks is not None
    assert blocks["layers.0.v_proj"][0, 0].tolist() == HAND["q4_1"]["raw"]
    assert blocks["embed_tokens"][10, 0].tolist() == HAND["q8_0"]["raw"]


def test_the_written_block() -> None:
    case = HAND["written"]
    raw = write_q4_1(case["first"] + case["step"] * torch.arange(32))
    q, scale, minimum = read_q4_1(raw)
    assert q.tolist() == case["q"]
    assert [float(scale), float(minimum)] == pytest.approx([case["scale"], case["minimum"]], abs=1e-8)


def linear_case() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    case = HAND["linear"]
    x, q = torch.zeros(32), torch.zeros(2, 1, 32, dtype=torch.uint8)
    x[:2] = torch.tensor(case["x"])
    q[:, 0, :2] = torch.tensor(case["q"])
    scale, minimum = (torch.tensor(case[name]).view(2, 1, 1) for name in ("scale", "minimum"))
    return x, q, scale, minimum


def test_the_products() -> None:
    assert quantized_linear(*linear_case()).tolist() == HAND["linear"]["y"]
    assert int8_linear(*linear_case()).tolist() == HAND["linear"]["y_int8"]


def test_the_widths() -> None:
    case = HAND["widths"]
    assert [15 * 127 * n for n in (1, 16, 32)] == [case["product"], case["sixteen"], case["group"]]
    assert case["sixteen"] < torch.iinfo(torch.int16).max < case["group"]


def test_the_bytes() -> None:
    case = HAND["bytes"]
    matrices = 30 * (2 * 576 * 576 + 2 * 192 * 576 + 3 * 1536 * 576)
    assert (matrices * 20 // 32, 49152 * 576 * 34 // 32, 61 * 576 * 4) == (case["q4_1"], case["q8_0"], case["norms"])
    assert case["q4_1"] + case["q8_0"] + case["norms"] == case["file"]
    assert 4 * (matrices + 49152 * 576 + 61 * 576) == case["float32"]
    assert 2 * 30 * 3 * (64 + 2) == case["cache"]
    assert 2 * 30 * 3 * 64 * 4 == case["cache_float32"]


def test_the_divergence_and_the_perplexity() -> None:
    case = HAND["divergence"]
    p, q = (torch.tensor(case[name], dtype=torch.float64).log() for name in "pq")
    assert kl_divergence(p, q) == pytest.approx(case["mean"], abs=1e-6)
    assert kl_divergence(p[:1], q[:1]) == pytest.approx(case["first"], abs=1e-6)
    assert kl_divergence(q[:1], p[:1]) == pytest.approx(case["first_reversed"], abs=1e-6)
    assert kl_divergence(p[:1], q[:1]) / math.log(2) == pytest.approx(case["first_bits"], abs=1e-6)
    case = HAND["perplexity"]
    assert perplexity(torch.tensor(case["probs"]).log(), torch.tensor(case["ids"])) == pytest.approx(case["perplexity"])


# ---- what is promised ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", range(2, 9))
def test_no_number_is_further_off_than_half_a_step(bits: int) -> None:
    x = 3 * drawn(50, 64, seed=bits) + drawn(50, 1, seed=bits + 20)
    for function in (quantize_absmax, quantize_affine):
        parts = function(x, bits)
        back = dequantize(*parts)
        assert bool(((back - x).abs() <= parts[1] / 2 + 1e-6).all())
        again = function(back, bits)[0]
        assert torch.equal(again, parts[0])
    assert int(quantize_absmax(x, bits)[0].abs().max()) == 2 ** (bits - 1) - 1
    q = quantize_affine(x, bits)[0]
    assert (int(q.min()), int(q.max())) == (0, 2**bits - 1)


def test_rows_without_a_scale() -> None:
    for value in (0.0, 2.5, -1.0):
        q, scale, minimum = quantize_affine(torch.full((2, 5), value))
        assert (q.tolist(), scale.tolist(), minimum.tolist()) == ([[0] * 5] * 2, [[0.0]] * 2, [[value]] * 2)
    q, scale = quantize_absmax(torch.zeros(3, 5))
    assert (q.tolist(), scale.tolist()) == ([[0] * 5] * 3, [[0.0]] * 3)
    assert not write_q4_1(torch.full((32,), 2.5))[4:].any()


def test_narrow_numbers_are_worked_out_in_float32() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x = drawn(4, 32).to(dtype)
        for function in (quantize_absmax, quantize_affine):
            for got, want in zip(function(x), function(x.float()), strict=True):
                assert torch.equal(got, want)
    assert dequantize(torch.tensor([3], dtype=torch.int8), torch.tensor([0.1], dtype=torch.float16)).dtype == torch.float32


def test_every_byte_is_two_nibbles() -> None:
    packed = torch.arange(256).to(torch.uint8).view(16, 16)
    assert torch.equal(pack_nibbles(unpack_nibbles(packed)), packed)
    assert int(unpack_nibbles(packed).max()) == 15


def test_finer_groups_have_no_larger_steps() -> None:
    x = drawn(8, 128)
    steps = [quantize_absmax(each, 4)[1].max() for each in (x.reshape(1, -1), x, x.unflatten(-1, (-1, 32)))]
    assert steps == sorted(steps, reverse=True)


def test_what_is_on_the_grid_is_written_as_it_is() -> None:
    q = torch.randint(16, (40, 32), generator=torch.Generator().manual_seed(3)).to(torch.uint8)
    q[:, 4], q[:, 20] = 0, 15
    scale, minimum = (drawn(40, 1, seed=seed).half().float() for seed in (1, 2))
    scale = scale.abs()
    got = read_q4_1(write_q4_1(dequantize(q, scale, minimum)))
    for mine, due in zip(got, (q, scale, minimum), strict=True):
        assert torch.equal(mine, due)


def test_blocks_are_read_as_the_package_gguf_reads_them() -> None:
    x = drawn(20, 96).numpy()
    for kind, read, size in ((gguf.GGMLQuantizationType.Q4_1, read_q4_1, 20), (gguf.GGMLQuantizationType.Q8_0, read_q8_0, 34)):
        raw = gguf.quantize(x, kind)
        got = dequantize(*read(torch.from_numpy(raw).unflatten(-1, (-1, size))))
        assert torch.equal(got.flatten(1), torch.from_numpy(gguf.dequantize(raw, kind)))


@pytest.mark.slow
@pytest.mark.skipif(not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it")
def test_every_block_of_the_file_is_read_bit_for_bit() -> None:
    blocks = load_blocks("smollm2")
    assert blocks is not None
    for key, raw in blocks.items():
        kind, read = {20: (gguf.GGMLQuantizationType.Q4_1, read_q4_1), 34: (gguf.GGMLQuantizationType.Q8_0, read_q8_0)}[raw.shape[-1]]
        want = torch.from_numpy(gguf.dequantize(raw.flatten(1).numpy(), kind))
        assert torch.equal(dequantize(*read(raw)).flatten(1), want), key


def matrix(out: int, width: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    return quantize_affine(drawn(out, width, seed=seed).unflatten(-1, (-1, 32)), 4)


@pytest.mark.parametrize("leading", [(), (5,), (2, 3)])
def test_the_products_are_those_of_the_weights_they_stand_for(leading: tuple[int, ...]) -> None:
    q, scale, minimum = matrix(24, 128)
    x, weights = drawn(*leading, 128, seed=1), dequantize(q, scale, minimum).flatten(1)
    want = x @ weights.T
    torch.testing.assert_close(quantized_linear(x, q, scale, minimum), want, rtol=1e-5, atol=1e-5 * float(want.abs().max()))
    got = int8_linear(x, q, scale, minimum)
    assert float((got - want).norm() / want.norm()) < 0.01
    rounded = dequantize(*quantize_absmax(x.unflatten(-1, (-1, 32)))).flatten(-2)
    torch.testing.assert_close(got, rounded @ weights.T, rtol=1e-5, atol=1e-5 * float(want.abs().max()))


def test_whole_numbers_lose_nothing_in_8_bits() -> None:
    q, scale, minimum = matrix(16, 96)
    x = torch.randint(-127, 128, (7, 3, 32), generator=torch.Generator().manual_seed(2)).float()
    x[..., 5] = 127
    x = x.flatten(1)
    torch.testing.assert_close(int8_linear(x, q, scale, minimum), quantized_linear(x, q, scale, minimum), rtol=1e-5, atol=1e-2)


def test_what_is_refused() -> None:
    q, scale, minimum = matrix(4, 64)
    for function in (quantized_linear, int8_linear):
        with pytest.raises(ValueError, match="got 72"):
            function(drawn(2, 72), q, scale, minimum)
    with pytest.raises(ValueError, match="got 16"):
        pack_nibbles(torch.zeros(2, 16, dtype=torch.uint8))
    with pytest.raises(ValueError, match="got 17"):
        pack_nibbles(torch.full((32,), 17, dtype=torch.uint8))


def test_the_weights_are_never_whole() -> None:
    out, width = 256, 1024
    q, scale, minimum = matrix(out, width)
    x = drawn(1, width)
    for function in (quantized_linear, int8_linear):
        with counting() as work:
            y = function(x, q, scale, minimum)
        assert work.peak_bytes <= 2 * out * 32 * 4 + 8 * (x.nbytes + y.nbytes)
        assert work.flops >= 2 * out * width


# ---- the cache -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny() -> Model:
    return load_model("tiny")


def text_ids(model: Model, num_tokens: int) -> Tensor:
    text = (paths.TINY / "samples.txt").read_text(encoding="utf-8")
    return torch.tensor([model.tokenizer.encode(text)[:num_tokens]])


def test_a_cache_in_8_bits_hardly_changes_what_the_model_says(tiny: Model) -> None:
    ids, model = text_ids(tiny, 96), tiny.weights_only()
    caches: list[Any] = [QuantizedKVCache(tiny.config, 1, 96), KVCache(tiny.config, 1, 96)]
    logits = [torch.cat([forward_cached(model, chunk, cache) for chunk in ids.split(32, dim=1)], dim=1)[0] for cache in caches]
    assert 0 < kl_divergence(logits[1], logits[0]) < 1e-3
    assert caches[0].nbytes * 4 * tiny.config.head_dim == caches[1].nbytes * (tiny.config.head_dim + 2)


def test_each_vector_has_its_scale() -> None:
    config = load_model("tiny").config
    cache = QuantizedKVCache(config, 2, 6)
    shape = (2, config.num_key_value_heads, 4, config.head_dim)
    k = drawn(*shape) * 10.0 ** torch.arange(4).view(4, 1)  # tokens of four magnitudes
    v = drawn(*shape, seed=1)
    keys, values = cache.append(0, k, v)
    for got, due in ((keys, k), (values, v)):
        assert got.dtype == torch.float32
        assert bool(((got - due).abs() <= 0.6 * due.abs().amax(dim=-1, keepdim=True) / 127).all())
    before = cache.nbytes
    with pytest.raises(CacheFull, match="max_len 6"):
        cache.append(0, k, v)
    assert (cache.counts[0], cache.length, cache.nbytes) == (4, 0, before)
    assert torch.equal(cache.append(0, k[:, :, :1], v[:, :, :1])[0][:, :, :4], keys)
    cache.reset()
    assert cache.append(0, v, v)[0].shape[2] == 4


# ---- what it costs -------------------------------------------------------------------------------------------------

# KL to float32 over 512 tokens: bits, numbers that share a scale, symmetric and affine.
COSTS = [
    (8, "tensor", 0.00044, 0.00035),
    (8, "row", 0.00016, 0.00013),
    (8, "group", 0.00010, 0.00007),
    (4, "tensor", 0.120, 0.095),
    (4, "row", 0.050, 0.038),
    (4, "group", 0.031, 0.020),
]
GRAINS = {"tensor": lambda w: w.reshape(1, -1), "row": lambda w: w, "group": lambda w: w.unflatten(-1, (-1, 32))}


def test_what_bits_and_grain_cost_on_tiny() -> None:
    model = load_model("tiny")
    ids = text_ids(model, 512)
    exact = [dict(vars(layer)) for layer in model.weights.layers]
    reference = model(ids)[0]
    assert perplexity(reference, ids[0]) == pytest.approx(math.exp(2.2967), rel=1e-3)
    found = {}
    for bits, grain, *due in COSTS:
        for function, want in zip((quantize_absmax, quantize_affine), due, strict=True):
            for layer, weights in zip(model.weights.layers, exact, strict=True):
                for name, w in weights.items():
                    if name.endswith("_proj"):
                        setattr(layer, name, dequantize(*function(GRAINS[grain](w), bits)).reshape(w.shape))
            found[bits, grain, function.__name__] = kl = kl_divergence(reference, model(ids)[0])
            assert kl == pytest.approx(want, rel=0.1), (bits, grain, function.__name__)
    assert 0.005 < found[4, "group", "quantize_affine"] < 0.04
    assert found[4, "tensor", "quantize_absmax"] > 3 * found[4, "group", "quantize_affine"]
