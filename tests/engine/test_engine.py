"""The engine gives what Day 11's functions give."""

import importlib
import shutil

import pytest
import torch

from course.kit import load_model, load_tokenizer, paths
from solutions.batching import generate_batch
from solutions.engine import PackedModel, StaticEngine
from solutions.kv_cache import KVCache, forward_cached

PROMPTS = [[5, 6, 7], list(range(20, 37)), list(range(100, 109)), [900]]


@pytest.fixture(scope="module")
def model():
    return load_model("tiny", dtype=torch.float64).weights_only()


@pytest.mark.parametrize("prompts", [PROMPTS, PROMPTS[1:2], [PROMPTS[0]] * 3])
def test_tokens_are_those_of_the_batched_loop(model, prompts):
    want = generate_batch(model, prompts, max_new_tokens=20, temperature=0.0)
    made = StaticEngine(model, len(prompts), max_len=40)
    assert made.generate(prompts, 20).tolist() == want
    assert made.generate(prompts, 20).tolist() == want  # nothing is left of the run before


def test_no_slot_left_is_one_clear_line(model):
    made = StaticEngine(model, 1, max_len=18)
    with pytest.raises(ValueError, match="max_len = 18"):
        made.generate([PROMPTS[1]], 5)


def test_another_number_of_rows_and_too_long_a_prompt_are_refused(model):
    made = StaticEngine(model, 3, max_len=8)
    for ids, message in ((torch.ones(1, 4), "3 rows, got 1"), (torch.ones(3, 9), "max_len = 8")):
        with pytest.raises(ValueError, match=message):
            made.prefill(ids.long())
    assert made.length == 0


def test_keys_in_half_precision_are_turned_in_float32():
    ids = torch.randint(3, 1000, (1, 300), generator=torch.Generator().manual_seed(0))
    keys = {}
    for dtype in (torch.float32, torch.bfloat16):
        model = load_model("tiny", dtype=dtype).weights_only()
        cache = KVCache(model.config, 1, 300, dtype)
        with torch.no_grad():
            forward_cached(model, ids, cache)
        keys[dtype] = cache.keys[0].float()
    made = StaticEngine(model, 1, max_len=300)
    made.prefill(ids)
    assert made.rotation.cos.dtype == torch.float32
    exact, half = keys[torch.float32], keys[torch.bfloat16]
    assert (made.keys[0].float() - exact).norm() <= 1.1 * (half - exact).norm()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None and shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_compiled_tokens_are_the_same():
    model = load_model("tiny").weights_only()
    plain, compiled = StaticEngine(model, 4, max_len=40), StaticEngine(PackedModel(model, way="linear"), 4, max_len=40)
    compiled.compile_decode()
    assert torch.equal(plain.generate(PROMPTS, 12), compiled.generate(PROMPTS, 12))


@pytest.mark.slow
def test_llama_cpp_as_the_benchmark_calls_it_gives_a_row_the_same_tokens_alone_and_in_a_batch(monkeypatch):
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed (extra `llama`; it compiles for some minutes)")
    if not paths.SMOLLM2.exists():
        pytest.skip("SmolLM2 is not here: `make model` fetches it")
    monkeypatch.syspath_prepend(str(paths.ROOT / "benchmarks"))
    llama = importlib.import_module("llama")
    text = load_tokenizer("smollm2").encode("The capital of France is Paris. The capital of Italy is")
    ids = torch.tensor([text, text[::-1], text])
    batch = llama.LlamaCpp(paths.SMOLLM2, 3, ids.shape[1] + 6, 1)
    alone = llama.LlamaCpp(paths.SMOLLM2, 1, ids.shape[1] + 6, 1)
    tokens, prefill, decode = batch.run(ids, 6)
    assert tokens == batch.run(ids, 6)[0]
    assert tokens[0] == tokens[2] == alone.run(ids[:1], 6)[0][0] != tokens[1]
    assert prefill > 0 < decode
    want = load_model("smollm2")(ids[:1])[0, -1].argmax()
    assert tokens[0][0] == int(want)
    batch.close()
    alone.close()
