"""The engine gives what Day 11's functions give."""

import importlib
import shutil

import pytest
import torch

from autograder.sandbox.measure.cuda_emulator import EmulatedCuda
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


@pytest.mark.parametrize("when", ["before the prompts", "after some steps"])
def test_a_recorded_step_gives_the_same_tokens(model, when):
    """On the CUDA emulator: one recording, a replay a step, and the memory that it reads stays alive."""
    want = StaticEngine(model, len(PROMPTS), max_len=40).generate(PROMPTS, 12)
    with EmulatedCuda() as gpu, torch.no_grad():
        made = StaticEngine(PackedModel(gpu.on_gpu(model), way="linear"), len(PROMPTS), max_len=40)
        if when == "before the prompts":
            made.capture_decode()
        else:
            assert torch.equal(made.generate(PROMPTS, 5).cpu(), want[:, :5])
            made.capture_decode()
        for _ in range(2):
            assert torch.equal(made.generate(PROMPTS, 12).cpu(), want)
    assert (gpu.launches.captures, gpu.launches.replays) == (1, 2 * 11)


def test_a_step_recorded_in_the_middle_of_a_text_goes_on_with_it(model):
    with EmulatedCuda() as gpu, torch.no_grad():
        texts = []
        for captured in (False, True):
            made = StaticEngine(PackedModel(gpu.on_gpu(model), way="linear"), 1, max_len=23)
            token = made.prefill(torch.tensor([PROMPTS[1]], device="cuda")).argmax(-1, keepdim=True)
            texts.append([token])
            for step in range(6):
                if captured and step == 3:
                    made.capture_decode()
                token = made.decode(token).argmax(-1, keepdim=True)
                texts[-1].append(token)
        assert torch.equal(torch.cat(texts[0]).cpu(), torch.cat(texts[1]).cpu())
        with pytest.raises(ValueError, match="max_len = 23"):
            made.decode(token)


def test_only_a_gpu_records_a_step(model):
    with pytest.raises(ValueError, match="CUDA device"):
        StaticEngine(model, 1, max_len=8).capture_decode()


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
