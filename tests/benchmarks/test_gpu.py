"""The code for GPUs, as far as it goes without one: the benchmark's rehearsal, and all shapes of a 7B on a device without memory."""

import json
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
from solutions.costs import decode_flops, kv_cache_bytes, roofline_seconds
from solutions.flash_attention import flash_bytes, standard_bytes
from solutions.kv_cache import KVCache

SCRIPT = ROOT / "benchmarks" / "gpu.py"


def lesson(folder):
    return (ROOT / "course" / folder / "lesson.md").read_text(encoding="utf-8")


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
    assert "| B | step by step | captured |" in done.stdout
    assert "| a decode step, captured |" in done.stdout
    assert "| captured_gap |" in done.stdout
    assert "none of these times means anything" in done.stdout


def benchmark():
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        import gpu
    finally:
        sys.path.pop(0)
    return gpu


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU: the part `machine` does not fail")
def test_a_part_that_fails_or_takes_too_long_costs_no_other_and_each_is_saved_at_once(monkeypatch, tmp_path):
    gpu, saved = benchmark(), []
    monkeypatch.setattr(gpu, "RESULTS", tmp_path)
    monkeypatch.setattr(gpu, "save", lambda name, result, page: saved.append((name, json.loads(json.dumps(result)), page)))
    monkeypatch.setitem(gpu.LIMIT, "seven", 0.01)
    result = gpu.measure(["machine", "launches", "seven"])
    assert [(name, [*found]) for name, found, _ in saved] == [
        ("gpu", ["machine"]), ("gpu", ["machine", "launches"]), ("gpu", ["machine", "launches", "seven"]),
    ]  # fmt: skip
    assert "CUDA" in result["machine"]["failed"]
    assert result["launches"] == gpu.launches_of_a_step(gpu.SMOLLM2)
    assert result["seven"] == {"failed": "not done after 0 s"}
    assert f"The part `machine` failed: {result['machine']['failed']}" in saved[-1][2]


def test_parts_that_are_not_named_keep_their_stored_results(monkeypatch, tmp_path):
    gpu = benchmark()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gpu.json").write_text('{"truth": {"same_tokens": true}, "launches": {"failed": "once"}}', encoding="utf-8")
    monkeypatch.setattr(gpu, "RESULTS", tmp_path)
    monkeypatch.setattr(gpu, "save", lambda *_: None)
    monkeypatch.setattr(gpu, "in_a_process", lambda name: (["a title", "pass", ""] if ":" in name else {"eager": 7}, ""))
    assert gpu.measure(["launches"]) == {"truth": {"same_tokens": True}, "launches": {"eager": 7}}
    assert set(gpu.measure([*gpu.PARTS, "checks"])) == {*gpu.PARTS, "checks"}


def test_no_model_is_read_from_a_file():
    """The shape of SmolLM2 is written down; where its file is, the two are held against each other."""
    assert "smollm2\"" not in SCRIPT.read_text(encoding="utf-8")
    assert "model" not in (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ngpu:")[2].partition("\n")[0]
    known = load_model("smollm2", missing="none")
    if known is None:
        pytest.skip("SmolLM2's file is not here")
    identity = {"name": known.config.name, "bos_token_id": known.config.bos_token_id, "eos_token_id": known.config.eos_token_id}
    assert replace(benchmark().SMOLLM2, **identity) == known.config


def test_launches_of_a_step_are_those_that_the_handbook_tells():
    launches = benchmark().launches_of_a_step(benchmark().SMOLLM2)
    assert f"starts {launches['eager']:,}" in (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    assert launches["captured"] == 3  # a replay, a copy in and a copy out
    assert f"starts {launches['engine']} operations instead of {launches['eager']:,}" in lesson("day11_batching")


def test_lessons_show_the_measured_figures():
    """The tables of Days 11 and 12 are those of benchmarks/results/data/gpu.json, the worst rows included."""
    measured = json.loads((ROOT / "benchmarks" / "results" / "data" / "gpu.json").read_text(encoding="utf-8"))
    bandwidth, peak = measured["machine"]["bandwidth"], measured["machine"]["peak_flops"]
    day11, day12 = lesson("day11_batching"), lesson("day12_flash_attention")
    weights = measured["decode"].pop("weight_bytes")
    for B, rate in measured["decode"].items():
        moved = weights + kv_cache_bytes(benchmark().SMOLLM2, 640, int(B), 2)
        roof = int(B) / roofline_seconds(int(B) * decode_flops(weights // 2, 1), moved, peak, bandwidth)
        eager, captured = rate["eager"], rate["captured"]
        shares = f"{captured / eager:.1f} | {roof:,.0f} | {100 * captured / roof:.0f} %"
        assert f"| {B} | {eager:,.0f} | {captured:,.0f} | {shares} |" in day11
        assert 26.5 < 1e3 * int(B) / eager < 45.5  # "27 to 45 ms"
    assert len(measured["decode"]) == 5
    one, most, engine = measured["decode"]["1"]["captured"], measured["decode"]["256"]["captured"], measured["decode"]["1"]["engine"]
    assert f"256 rows give {most / one:.0f} times" in day11
    assert f"one row takes {1e3 / one:.1f} ms, and reading the weights would take {1e3 * weights / bandwidth:.1f} ms" in day11
    assert f"at one row ({engine:.0f} tokens/s)" in day11
    for T, times in measured["flash"].items():
        tokens, tiles = int(T), {"q_block": 64, "k_block": 64, "causal": True}
        found = (
            times["written"], 16 * standard_bytes(tokens, tokens, 64, 2) / bandwidth,
            times["kernel_64"], 16 * flash_bytes(tokens, tokens, 64, 2, **tiles) / bandwidth, times["torch"],
        )  # fmt: skip
        shown = " | ".join(f"{1e3 * value:.{3 if value < 0.01 else 2}f} ms" for value in found)
        assert f"| {tokens:,} | {shown} | {times['written'] / times['kernel_64']:.1f} |" in day12
    assert len(measured["flash"]) == 5


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
