"""The engines' benchmark: its page follows from the rows, and a contender without rows is listed with the reason."""

import gc
import importlib
import json
from functools import cache

import numpy as np
import pytest
import torch

from course.kit import load_model, load_tokenizer, paths
from solutions.speculative import lookup_draft

if not paths.SMOLLM2.is_file():
    pytest.skip("SmolLM2 is not here; `make model` fetches it", allow_module_level=True)
ROOF = {"bandwidth": 40e9, "float32": 200e9, "16 bits": 400e9}


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.syspath_prepend(str(paths.ROOT / "benchmarks"))
    pytest.importorskip("transformers")
    found = importlib.import_module("engine")
    yield found
    forget(found)


def forget(engine):
    """Let go of the models that the benchmark keeps from one contender to the next: together they take 4 GB."""
    for cached in (engine.weights, engine.packed, engine.plain, engine.twin, engine.blocks):
        cached.cache_clear()
    gc.collect()


def run(prefill, decode, **more):
    return {"prefill": np.array([prefill, 2 * prefill]), "decode": np.array([decode, 2 * decode]), **more}


def test_a_row_is_what_its_runs_say(engine):
    row = engine.row("ours, float32", 4, 64, 33, [run(1.0, 2.0), run(2.0, 4.0), run(4.0, 8.0)], ROOF)
    assert (row["prefill"], row["decode"]) == (4 * 64 / 2, 4 * 32 / 4)
    assert (row["prefill_cpu_ms"], row["decode_cpu_ms"]) == (1e3 * 4 / 256, 1e3 * 8 / 128)
    kv = 2 * 30 * 3 * 64 * 4 * (64 + 16) * 4
    assert row["bytes_a_second"] == pytest.approx((134_515_008 * 4 + kv) * 32 / 4, rel=1e-3)
    assert row["flops"] == pytest.approx(2 * (256 * (134_515_008 - 49152 * 576) + 4 * 49152 * 576) / 2, rel=1e-3)
    drafted = engine.row(engine.CONTENDERS[-1], 1, 64, 33, [run(1.0, 2.0, passes=16)], ROOF)
    assert drafted["tokens_a_pass"] == 2


def test_the_page_shows_every_row_its_roofs_and_what_is_missing(engine):
    rows = [
        engine.row(name, 1, 64, 33, [run(1.0, decode)], ROOF)
        for name, decode in (("transformers, float32", 4.0), ("ours, float32", 2.0), ("ours, quantized", 1.0))
    ]
    left_out = [{"contender": engine.LLAMA, "prompt": T, "batch": 4, "why": "not installed"} for T in (64, 512)]
    chosen = {"products": {"float32": "Products: all packed"}, "formats": {"Q8_0": 0.5, "Q4_0": 0.25}}
    runs = [{"points": [[64, 1]], "machine": "m", "versions": "v", **chosen}]
    runs.append({"points": [[512, 1], [64, 4]], "machine": "another", "versions": "w", "products": {}, "formats": {}})
    results = {"machine": "another", "runs": runs, "rows": rows, "left_out": left_out}
    page = engine.page(json.loads(json.dumps(results)))
    for part in (
        "| 64 | 1 | ours, float32 | 64 |",
        "*roof, float32: 40.0 GB/s, 200 GFLOP/s*",
        "*roof, 4 bits: 40.0 GB/s*",
        "ours, float32 over transformers, float32, decode: 2.00 to 2.00 over 1 point, median 2.00. Slower nowhere.",
        "Not measured (prompt x B): llama.cpp, same file at 64 x 4, 512 x 4: not installed.",
        "float32: Products: all packed.",
        "added: Q4_0 0.250, Q8_0 0.500.",
        "Run 1, prompt x B 64 x 1. Machine: m; v.",
        "Run 2, prompt x B 512 x 1, 64 x 4. Machine: another; w.",
    ):
        assert part in page


def test_what_takes_too_long_or_too_much_is_refused_with_the_reason(engine, monkeypatch):
    rows = [engine.row("ours, float32", 1, 64, 33, [run(1.0, 32.0)], ROOF)]
    assert engine.refusal(rows, "ours, float32", 4, 64, 33, 1e9, 1e9) is None
    assert "--longest 1" in engine.refusal(rows, "ours, float32", 32, 2048, 33, 1e9, 1)
    assert "more than was left" in engine.refusal(rows, "ours, float32", 32, 2048, 33, 30, 1e9)
    assert engine.refusal(rows, "ours, bfloat16", 1, 64, 33, 0, 1e9) == "the budget was spent"
    monkeypatch.setattr(engine, "available", lambda: 1e9)
    assert "need 3 GB" in engine.refusal(rows, "ours, float32", 32, 2048, 33, 1e9, 1e9)
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda name: None)
    assert "not installed" in engine.refusal(rows, engine.LLAMA, 1, 64, 33, 1e9, 1e9)


def test_a_run_goes_on_where_the_last_one_ended(engine, monkeypatch, tmp_path):
    asked = []

    def measured(names, B, T, new):
        asked.append((T, B, names))
        return {name: [run(1.0, 1.0)] for name in names}

    monkeypatch.setattr(engine, "measured", measured)
    monkeypatch.setattr(engine, "roofs", lambda: ROOF)
    stored, names = tmp_path / "data" / "engine.json", ["transformers, float32", "ours, quantized"]
    stored.parent.mkdir()
    stored.write_text(json.dumps({"rows": [{"engine": "of an earlier form"}]}))

    def go(*more):
        monkeypatch.setattr(engine.sys, "argv", ["engine.py", "--into", str(tmp_path), "--prompt", "64", "--batch", "1", "4", *more])
        assert engine.main() == 0
        return json.loads(stored.read_text())

    assert go("--contender", names[0], "--budget", "0")["left_out"][0]["why"] == "the budget was spent"
    assert asked == []
    go("--contender", names[0])
    result = go("--contender", *names)
    assert asked == [(64, 1, names[:1]), (64, 4, names[:1]), (64, 1, names[1:]), (64, 4, names[1:])]
    assert [engine.key(row) for row in result["rows"]] == sorted(map(engine.key, result["rows"]))
    assert len(result["rows"]) == 4
    assert result["left_out"] == []
    assert (tmp_path / "engine.md").read_text() == engine.page(result).rstrip() + "\n"


def test_the_repeating_prompts_repeat_and_the_prose_does_not(engine):
    for T in engine.PROMPTS:
        found = dict.fromkeys((engine.REPEATS, engine.PROSE), 0)
        for kind in found:
            prompts = engine.texts(kind, 8, T)
            assert [len(prompt) for prompt in prompts] == [T] * 8
            assert len(set(map(tuple, prompts))) == 8
            for prompt in prompts:
                found[kind] += lookup_draft(prompt[:-1], k=1) == prompt[-1:]
        assert found[engine.REPEATS] > found[engine.PROSE]
    assert load_tokenizer("smollm2").decode(engine.texts(engine.PROSE, 1, 64)[0]).count(" ") > 20


@pytest.mark.slow
def test_every_contender_of_ours_runs_and_arithmetic_is_measured(engine, monkeypatch):
    """Those that compute in numbers have the small model, the others the file's blocks."""
    monkeypatch.setattr(engine, "weights", cache(lambda dtype: load_model("tiny", dtype=engine.DTYPES[dtype]).weights_only()))
    monkeypatch.setattr(engine, "rounds_of", lambda B, T: (1, 0))
    names = [name for name in engine.CONTENDERS if "llama.cpp" not in name]
    for name in names:
        (only,) = engine.measured([name], 2, 16, 4, 0.0)[name]
        assert (only["prefill"] > 0).all(), name
        assert (only["decode"] > 0).all(), name
    drafted = next(name for name in names if engine.REPEATS in name)
    assert 1 <= engine.measured([drafted], 2, 60, 4, 0.0)[drafted][0]["passes"] <= 3
    assert engine.arithmetic(torch.float32, size=64, rounds=1) > 0
