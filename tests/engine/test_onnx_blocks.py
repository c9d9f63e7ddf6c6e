"""onnxruntime's product with a file's blocks: exact but for the order of summation, and taken where it is said, or where it is faster."""

from types import SimpleNamespace

import gguf
import numpy as np
import pytest
import torch
from torch.nn.functional import linear

import solutions.engine.quantized as quantized
from course.kit import load_model, paths
from course.kit.errors import ModelError
from course.kit.models.gguf_file import Q4_1_BYTES, Q8_0_BYTES
from course.kit.models.gguf_model import load_gguf_blocks
from solutions.engine import PackedModel, Request, StaticEngine, onnx_blocks
from solutions.engine import matmul as products_module
from solutions.engine.backend import NoKernels, choose
from solutions.engine.matmul import LINEAR, SAMPLES, Products, Way, is_near
from solutions.engine.onnx_blocks import WAY, BlockProduct, parts_of

from ..kit.test_kit_gguf import write_gguf

needs_onnxruntime = pytest.mark.skipif(not onnx_blocks.installed(), reason="onnxruntime is not installed (extra `onnxruntime`)")
KINDS = {Q4_1_BYTES: gguf.GGMLQuantizationType.Q4_1, Q8_0_BYTES: gguf.GGMLQuantizationType.Q8_0}
each_kind = pytest.mark.parametrize("size", KINDS, ids=["Q4_1", "Q8_0"])


def stored(size, out=48, width=96):
    """Blocks, and the weight that they stand for."""
    weight = np.random.default_rng(size).standard_normal((out, width)).astype(np.float32)
    weight[0, :32], weight[1, 32:64] = 3, np.tile([-9, 9], 16)  # no width, and the ends of the scale
    raw = gguf.quantize(weight, KINDS[size])
    return torch.from_numpy(raw.reshape(out, width // 32, size)), torch.from_numpy(gguf.dequantize(raw, KINDS[size]))


def unlike(weight):
    """A weight that these blocks are not of."""
    other = weight.clone()
    other[5, 7] += 1
    return other


@each_kind
def test_the_parts_are_the_file_s_numbers(size):
    """In float64 nothing but the scale and minimum as float16 is rounded: m + 8 d in float32 is the largest error."""
    blocks, weight = stored(size)
    parts, besides = parts_of(blocks.numpy())
    assert all(numbers.max() <= 15 for numbers, _ in parts)
    whole = sum(scales[..., None] * (numbers.astype(np.float64) - 8) for numbers, scales in parts) + besides[..., None]
    due = weight.double().numpy().reshape(whole.shape)
    assert np.abs(whole - due).max() < 2e-7 * np.abs(due).max()


@needs_onnxruntime
@each_kind
@pytest.mark.parametrize("rows", SAMPLES)
def test_a_product_is_float32_s_but_for_the_order_of_summation(size, rows):
    blocks, weight = stored(size)
    x = torch.randn(rows, weight.shape[1], generator=torch.Generator().manual_seed(rows))
    got, due = BlockProduct(blocks)(x).double(), linear(x.double(), weight.double())
    assert (got - due).norm() < 1e-6 * due.norm()
    assert is_near(WAY, BlockProduct(blocks), weight, rows)
    assert not is_near(WAY, BlockProduct(blocks), unlike(weight), rows)


@needs_onnxruntime
def test_blocks_of_another_weight_are_not_taken():
    blocks, weight = stored(Q4_1_BYTES)
    products = Products(WAY.name, ways=(LINEAR, WAY))
    right, wrong, none = products.make([weight, unlike(weight), weight], blocks=[blocks, blocks, None])
    assert set(right.names) == {WAY.name}
    assert set(wrong.names) == set(none.names) == {"linear"}
    x = torch.randn(2, 3, 96)
    torch.testing.assert_close(right(x), linear(x, weight), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize(("seconds", "taken"), [(-0.5e-3, True), (5e-3, False)])
def test_it_is_timed_like_any_other_and_only_where_there_are_blocks(seconds, taken):
    now = [0.0]

    def clock():
        now[0] += 1e-3
        return now[0]

    def multiply(x, prepared):
        now[0] += seconds
        return linear(x, prepared)

    blocks, weight = stored(Q4_1_BYTES)
    way = Way("blocks", "blocks", lambda blocks: weight, multiply, from_blocks=True)
    products = Products(ways=(LINEAR, way), clock=clock, remembered={})
    assert (set(products.make([weight], blocks=[blocks])[0].names) == {"blocks"}) == taken
    assert set(Products(ways=(LINEAR, way), clock=clock, remembered={}).make([weight])[0].names) == {"linear"}


# ---- which engine --------------------------------------------------------------------------------------------------


WIDTH, WIDE, VOCAB, LAYERS = 64, 96, 259, 2
SHAPES = {"self_attn.q_proj": (64, 64), "self_attn.k_proj": (32, 64), "self_attn.v_proj": (32, 64), "self_attn.o_proj": (64, 64)}
SHAPES |= {"mlp.gate_proj": (WIDE, WIDTH), "mlp.up_proj": (WIDE, WIDTH), "mlp.down_proj": (WIDTH, WIDE)}


@pytest.fixture
def file(tmp_path):
    """Writes a small model whose matrices take some kinds of blocks in turn."""

    def write(*kinds):
        generator = torch.Generator().manual_seed(3)
        state = {name: 0.3 * torch.randn(VOCAB, WIDTH, generator=generator) for name in ("model.embed_tokens.weight", "lm_head.weight")}
        state["model.norm.weight"] = torch.ones(WIDTH)
        for i in range(LAYERS):
            for name, shape in SHAPES.items():
                state[f"model.layers.{i}.{name}.weight"] = 0.3 * torch.randn(shape, generator=generator)
            for name in ("input_layernorm", "post_attention_layernorm"):
                state[f"model.layers.{i}.{name}.weight"] = torch.ones(WIDTH)
        write_gguf(tmp_path / "small.gguf", SimpleNamespace(state_dict=lambda: state), kinds=kinds)
        return tmp_path / "small.gguf"

    return write


def no_kernels():
    raise RuntimeError("this processor has neither")


def answer(chosen):
    request = Request([5, 6, 7, 200, 9], 12)
    return chosen.serving.generate([request])[0]


def chosen(path, dtype="auto", way=None):
    return choose(path, dtype, rows=2, max_len=64, threads=1, way=way)


@needs_onnxruntime
@pytest.mark.parametrize("size", KINDS, ids=["Q4_1", "Q8_0"])
def test_asked_for_it_multiplies_everything_and_its_tokens_are_float32_s(file, size):
    path = file(KINDS[size])
    made = chosen(path, way="onnxruntime")
    assert set(made.products.choices.values()) == {("onnxruntime",) * 4}
    assert made.line == "Engine: quantized (onnxruntime), 1 thread; the weights of small, as asked for"
    assert answer(made) == answer(chosen(path, torch.float32, "linear"))


@needs_onnxruntime
def test_matrices_side_by_side_in_blocks_of_two_kinds_stay_in_numbers(file):
    names = chosen(file(*KINDS.values()), way="onnxruntime").products.choices
    assert {each[0] for each in names.values()} == {"linear", "onnxruntime"}


@needs_onnxruntime
def test_without_kernels_it_is_taken_where_it_is_faster_and_where_blocks_are_insisted_on(file, monkeypatch):
    monkeypatch.setattr(quantized, "best_instruction_set", no_kernels)
    path = file(KINDS[Q4_1_BYTES])
    for faster, line in (
        (True, "Engine: quantized (onnxruntime), 1 thread; the weights of small, this processor has neither"),
        (False, "Engine: float32, 1 thread; the weights of small, this processor has neither; onnxruntime was no faster"),
    ):
        monkeypatch.setattr(products_module, "REMEMBERED", {})
        monkeypatch.setattr(Products, "_is_faster", lambda self, way, *_, faster=faster: faster and way.name == "onnxruntime")
        assert chosen(path).line == line
    made = chosen(path, "quantized")
    assert set(made.products.choices.values()) == {("onnxruntime",) * 4}


@needs_onnxruntime
def test_without_kernels_a_file_without_blocks_is_read_as_numbers(file, monkeypatch):
    monkeypatch.setattr(quantized, "best_instruction_set", no_kernels)
    path = file(gguf.GGMLQuantizationType.F16)
    assert chosen(path).line == "Engine: float32, 1 thread; the weights of small, this processor has neither"
    with pytest.raises(ModelError, match="no matrix in blocks"):
        chosen(path, "quantized")


def test_without_kernels_and_without_onnxruntime_it_is_float32_and_says_so(file, monkeypatch):
    monkeypatch.setattr(quantized, "best_instruction_set", no_kernels)
    monkeypatch.setattr(onnx_blocks, "installed", lambda: False)
    path = file(KINDS[Q4_1_BYTES])
    made = chosen(path, way="linear")
    assert made.line == "Engine: float32, 1 thread; the weights of small, this processor has neither; onnxruntime is not installed"
    with pytest.raises(NoKernels, match="neither, and onnxruntime is not installed"):
        chosen(path, "quantized")
    with pytest.raises(ModelError, match="pip install onnxruntime"):
        chosen(path, way="onnxruntime")


@needs_onnxruntime
def test_what_it_cannot_multiply_is_refused_in_one_line(file):
    with pytest.raises(ValueError, match=r"not torch\.bfloat16"):
        chosen(file(KINDS[Q4_1_BYTES]), torch.bfloat16, "onnxruntime")
    with pytest.raises(ModelError, match="no matrix in blocks"):
        chosen("tiny", way="onnxruntime")
    with pytest.raises(ModelError, match="no matrix in blocks"):
        chosen(file(gguf.GGMLQuantizationType.F16), way="onnxruntime")


@pytest.mark.slow
@needs_onnxruntime
def test_smollm2_s_logits_and_tokens_are_float32_s():
    """llama.cpp's own distance to float32 on this file is 0.004 nats: it rounds inputs to 8 bits (`benchmarks/results/quantized.md`)."""
    if not paths.SMOLLM2.is_file():
        pytest.skip("SmolLM2 is not here; `make model` fetches it")
    model = load_model("smollm2")
    packed = PackedModel(model.weights_only(), "onnxruntime", load_gguf_blocks(paths.SMOLLM2, "smollm2"))
    assert set(packed.products.choices.values()) == {("onnxruntime",) * 4}
    ids = torch.tensor([model.tokenizer.encode("The capital of France is Paris. The capital of Italy is")])
    engine = StaticEngine(packed, 1, max_len=ids.shape[1])
    with torch.no_grad():
        due = model(ids)[0].double().log_softmax(-1)
    got = [engine.prefill(ids[:, :1]), *(engine.decode(ids[:, i : i + 1]) for i in range(1, ids.shape[1]))]
    found = torch.cat(got).double().log_softmax(-1)
    assert (due.exp() * (due - found)).sum(-1).mean() < 1e-8
    assert (found - due).abs().max() < 1e-3
    first, second = due.topk(2).values.T
    sure = first - second > 2e-3
    assert sure.sum() > len(sure) / 2
    assert torch.equal(found.argmax(-1)[sure], due.argmax(-1)[sure])
