"""The code for GPUs, as far as it goes without one: the benchmark's rehearsal, and all shapes of a 7B on a device without memory."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from course.kit import load_model
from course.kit.models.config import Config
from course.kit.models.weights import build_weights, layer_shapes
from course.kit.paths import ROOT
from solutions.batching import positions_and_mask, prefill_batch, static_decode
from solutions.kv_cache import KVCache

SCRIPT = ROOT / "benchmarks" / "gpu.py"


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: `make gpu` runs the real thing")
def test_without_a_gpu_each_check_is_skipped_with_its_reason():
    done = run()
    assert done.returncode == 0, done.stderr
    *checks, last = done.stdout.splitlines()
    assert last.startswith("No GPU run")
    assert len(checks) >= 4
    assert all(line.startswith("skipped: ") and "no CUDA device" in line for line in checks)


@pytest.mark.slow
def test_the_benchmark_runs_through_in_rehearsal():
    done = run("--rehearse")
    assert done.returncode == 0, done.stderr
    assert "| B | step by step | captured graph | roof | of it |" in done.stdout
    assert "| prefill |" in done.stdout
    assert "none of these times means anything" in done.stdout


def benchmark():
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        import gpu
    finally:
        sys.path.pop(0)
    return gpu


def test_no_model_is_read_from_a_file():
    """The shape of SmolLM2 is written down; where its file is, the two are held against each other."""
    source = SCRIPT.read_text(encoding="utf-8")
    assert "load_model" not in source
    assert "model" not in (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ngpu:")[2].partition("\n")[0]
    known = load_model("smollm2", missing="none")
    if known is None:
        pytest.skip("SmolLM2's file is not here")
    told = {"name": known.config.name, "bos_token_id": known.config.bos_token_id, "eos_token_id": known.config.eos_token_id}
    assert replace(benchmark().SMOLLM2, **told) == known.config


def test_launches_of_a_step_are_those_that_the_handbook_tells():
    launches = benchmark().launches_of_a_step(benchmark().SMOLLM2)
    assert f"starts {launches['eager']:,}" in (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    assert launches["captured"] == 3  # a replay, a copy in and a copy out


def test_shapes_of_a_7b_hold_on_a_device_without_memory():
    gpu = benchmark()
    config: Config = gpu.SEVEN_B
    sizes = layer_shapes(config) | {"embed_tokens": (config.vocab_size, config.hidden_size), "norm": (config.hidden_size,)}
    sizes["lm_head"] = sizes["embed_tokens"]

    def read(key):
        return torch.empty(sizes[key.rpartition(".")[2]], device="meta")

    from course.kit import WeightsOnly

    model = WeightsOnly(config, build_weights(config, read, dtype=torch.bfloat16, device="meta"), gpu.no_tokenizer)
    assert model.num_parameters == 6_738_415_616
    B, T = 4, 512
    num_pad = torch.zeros(B, dtype=torch.int64, device="meta")
    cache = KVCache(config, B, 640, torch.bfloat16, "meta")
    logits = prefill_batch(model, torch.zeros(B, T, dtype=torch.int64, device="meta"), num_pad, cache)
    assert (logits.shape, logits.dtype, logits.device.type, cache.length) == ((B, 32_000), torch.bfloat16, "meta", T)
    position = torch.zeros((), dtype=torch.int64, device="meta")
    ids = torch.zeros(B, 1, dtype=torch.int64, device="meta")
    step = static_decode(model, ids, num_pad, position, cache.keys, cache.values)
    assert (step.shape, step.dtype) == ((B, 32_000), torch.bfloat16)
    positions, mask = positions_and_mask(num_pad, T, 1)
    assert (positions.device.type, tuple(mask.shape)) == ("meta", (B, 1, 1, T + 1))
