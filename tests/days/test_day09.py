"""The numbers of the costs day: worked out by hand, quoted in the lesson, or said of the models in the steppers."""

import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.sandbox.measure.op_counter import counting
from course.kit import Config, load_model, paths
from course.kit.hardware import HARDWARE
from course.kit.steppers.stepper import SHAPES
from solutions.costs import (
    arithmetic_intensity,
    cached_positions,
    decode_flops,
    forward_flops,
    kv_cache_bytes,
    measure_machine,
    naive_positions,
    param_count,
    prefill_flops,
    weight_bytes,
)

from ..support.passages import assert_said

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["costs"]
LESSON = (paths.ROOT / "course" / "day09_costs" / "lesson.md").read_text(encoding="utf-8")
MACHINES = {h.machine.name: h for h in HARDWARE}


def shape(V: int, D: int, F: int, L: int, H: int, K: int, Dh: int, tied: bool) -> Config:
    return Config("on paper", V, D, F, L, H, K, Dh, 1e4, 1e-5, 8192, tied, None, None)


SMOLLM2 = shape(49152, 576, 1536, 30, 9, 3, 64, True)
LLAMA3_8B = shape(128256, 4096, 14336, 32, 32, 8, 128, False)
LLAMA2_7B = shape(32000, 4096, 11008, 32, 32, 32, 128, False)
GEMMA_7B = shape(256000, 3072, 24576, 28, 16, 16, 256, True)


def near(number: float, like: float, decimals: int) -> bool:
    return abs(number - like) <= 0.5001 * 10**-decimals


def test_hand_computed_numbers_are_right() -> None:
    case = HAND["smollm2"]
    assert case["layer"] == 2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536 + 2 * 576
    assert case["layers"] == 30 * case["layer"]
    assert case["embedding"] == 49152 * 576
    assert case["total"] == case["layers"] + case["embedding"] + 576
    assert case["cache_bytes_per_token"] == 2 * 30 * 3 * 64 * 2
    assert case["cache_bytes_8192"] == 8192 * case["cache_bytes_per_token"]
    case = HAND["llama3_8b"]
    assert case["layer"] == 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096
    assert case["total"] == 32 * case["layer"] + 2 * 128256 * 4096 + 4096
    case = HAND["gemma_7b"]
    assert case["layer"] == 4 * 3072 * 4096 + 3 * 3072 * 24576 + 2 * 3072
    assert case["total"] == 28 * case["layer"] + 256000 * 3072 + 3072
    assert case["flops_of_a_token"] == 2 * (28 * (case["layer"] - 2 * 3072) + 256000 * 3072 + 28 * 2 * 16 * 256)
    case = HAND["request_7b"]
    assert case["prefill_flops"] == 2 * case["n_params"] * case["t_prompt"]
    assert case["decode_flops"] == 2 * case["n_params"] * case["t_new"]
    assert case["ratio"] == case["prefill_flops"] / case["decode_flops"]
    assert near(case["prefill_flops"] / case["peak_flops"], case["prefill_seconds"], 5)
    assert case["weight_bytes"] / case["bandwidth"] == pytest.approx(case["token_seconds"])
    assert case["slow_token_seconds"] * case["t_new"] == pytest.approx(case["slow_decode_seconds"])
    case = HAND["h100_six_tokens"]
    assert case["weight_bytes"] == 2 * case["n_params"]
    read, arithmetic = case["weight_bytes"] / case["bandwidth"], 2 * case["n_params"] * case["tokens"] / case["peak_flops"]
    assert near(read, case["read_seconds"], 6)
    assert near(arithmetic, case["arithmetic_seconds"], 7)
    assert near(arithmetic / read, case["share_used"], 4)
    assert 1 / read == pytest.approx(case["tokens_per_second_one"])
    assert case["tokens"] / read == pytest.approx(case["tokens_per_second_six"])
    assert (HAND["balance"]["a100"], near(989 / 3.35, HAND["balance"]["h100"], 1)) == (312 / 2, True)
    case = HAND["cache_70b"]
    assert case["bytes_per_token"] == 2 * case["layers"] * case["heads"] * case["head_dim"] * case["bytes_per_value"]
    assert (case["bytes_4000"], case["bytes_4096"]) == (4000 * case["bytes_per_token"], 4096 * case["bytes_per_token"])
    assert case["bytes_4096_gqa"] * case["heads"] == case["bytes_4096"] * case["kv_heads"]
    assert near(case["bytes_4000"] / 2**30, case["gib_4000"], 2)
    assert case["bytes_4096"] / 2**30 == case["gib_4096"]
    case = HAND["positions"]
    for t0, g, naive, cached in zip(case["t0"], case["g"], case["naive"], case["cached"], strict=True):
        assert naive == sum(range(t0, t0 + g))
        assert cached == t0 + g - 1
    case = HAND["small_forward"]
    assert case["flops"] == 2 * (96 + 48 + 36 + 36 + 216 + 120)
    assert case["weights_tied"] == 32 + 16 + 72 + 8 + 40 + 4
    case = HAND["exact_over_rule"]
    for t, ratio in zip(case["tokens"], case["ratio"], strict=True):
        assert near((134479872 + 34560 * t) / 134515008, ratio, 2)
    case = HAND["roofline"]
    for flops, size, intensity, seconds in zip(case["flops"], case["bytes"], case["intensity"], case["seconds"], strict=True):
        assert intensity == flops / size
        assert seconds == max(flops / case["peak_flops"], size / case["bandwidth"])
    assert set(HAND) == {
        "smollm2", "llama3_8b", "gemma_7b", "request_7b", "h100_six_tokens", "balance", "cache_70b", "positions", "small_forward",
        "exact_over_rule", "roofline",
    }  # fmt: skip


def test_the_reference_gives_the_hand_computed_numbers() -> None:
    assert param_count(SMOLLM2) == HAND["smollm2"]["total"]
    assert param_count(LLAMA3_8B) == HAND["llama3_8b"]["total"]
    assert param_count(GEMMA_7B) == HAND["gemma_7b"]["total"]
    assert forward_flops(GEMMA_7B, 1) == HAND["gemma_7b"]["flops_of_a_token"]
    case = HAND["request_7b"]
    assert prefill_flops(case["n_params"], case["t_prompt"]) == case["prefill_flops"]
    assert decode_flops(case["n_params"], case["t_new"]) == case["decode_flops"]
    assert weight_bytes(case["n_params"], 2) == case["weight_bytes"]
    assert kv_cache_bytes(SMOLLM2, 8192, 1, 2) == HAND["smollm2"]["cache_bytes_8192"]
    for t, ratio in zip(HAND["exact_over_rule"]["tokens"], HAND["exact_over_rule"]["ratio"], strict=True):
        assert near(forward_flops(SMOLLM2, t) / (2 * param_count(SMOLLM2) * t), ratio, 2)
    for i in range(3):
        t0, g = HAND["positions"]["t0"][i], HAND["positions"]["g"][i]
        assert (naive_positions(t0, g), cached_positions(t0, g)) == (HAND["positions"]["naive"][i], HAND["positions"]["cached"][i])


@pytest.mark.parametrize("name", ["tiny", "smollm2"])
def test_param_count_is_that_of_the_models_own_tensors(name: str) -> None:
    model = load_model(name, missing="none")
    if model is None:
        pytest.skip(f"{name} is not here")
    weights = model.weights
    tensors = [weights.embed_tokens, weights.norm, *(t for layer in weights.layers for t in vars(layer).values())]
    if not model.config.tie_word_embeddings:
        tensors.append(weights.lm_head)
    assert param_count(model.config) == sum(t.numel() for t in tensors if isinstance(t, torch.Tensor))


def test_the_lesson_quotes_these_numbers() -> None:
    untied = replace(SMOLLM2, tie_word_embeddings=False)

    def scores(config: Config, tokens: int) -> int:
        return 4 * config.num_hidden_layers * config.num_attention_heads * config.head_dim * tokens**2

    def intensity(users: int, behind: int) -> float:
        n = param_count(LLAMA2_7B)
        return arithmetic_intensity(users * decode_flops(n, 1), weight_bytes(n, 2) + kv_cache_bytes(LLAMA2_7B, behind, users, 2))

    quoted = {
        "62,000 tokens a second": round(989e12 / 16e9, -3) == 62_000,
        "16 heads of 256 make 4,096, where D is 3,072": GEMMA_7B.num_attention_heads * GEMMA_7B.head_dim == 4096 > GEMMA_7B.hidden_size,
        "8,537,680,896 weights": param_count(GEMMA_7B) == 8_537_680_896,
        "13 % more than the rule's (1.13)": near(forward_flops(SMOLLM2, 512) / (2 * 134_515_008 * 512), 1.13, 2),
        "53 % more (1.53)": near(forward_flops(SMOLLM2, 2048) / (2 * 134_515_008 * 2048), 1.53, 2),
        "a hundredth of the H100's": round(MACHINES["H100"].machine.peak_flops / MACHINES["Apple M1 Max"].machine.peak_flops, -1) == 100,
        "its decode an eighth": round(MACHINES["H100"].machine.bandwidth / MACHINES["Apple M1 Max"].machine.bandwidth) == 8,
        "16 to 18 were predicted": (round(538.06 / 34), round(538.06 / 30)) == (16, 18),
        "three to four times as long": (round(57 / 18), round(63 / 16)) == (3, 4),
        "99.7 %": near(100 - 100 * 209.375 / (989e12 / 16e9), 99.7, 1),
        "come to **134,515,008** in all": param_count(SMOLLM2) == 134_515_008,
        "SmolLM2 in float32 is 134,515,008 · 4 bytes = 538 MB": round(4 * param_count(SMOLLM2) / 1e6) == 538,
        "8,030,261,248": param_count(LLAMA3_8B) == 8_030_261_248,
        "7.168·10¹² / 312·10¹² = 22.97 ms": near(7168 / 312, 22.97, 2),
        "The prefill takes 22.97 ms": near(7168 / 312, 22.97, 2),
        "0.045 ms": near(14e9 / 312e12 * 1e3, 0.045, 3),
        "128 tokens take 896 ms": 128 * 7 == 896,
        "decode 896 ms, 97.5 percent": near(100 * 896 / (896 + 7168 / 312), 97.5, 1),
        "1.79 s": near(128 * 0.014, 1.79, 2),
        "16 / 3,350 = 4.78 ms, and that is 209.4 tokens": (near(16 / 3.35, 4.78, 2), near(3350 / 16, 209.4, 1)),
        "The weights are read once: still 4.78 ms": near(16 / 3.35, 4.78, 2),
        "0.097 ms": near(96 / 989, 0.097, 3),
        "2.0 %": near(100 * (96 / 989) / (16 / 3.35), 2.0, 1),
        "1,256 tokens": round(6 * 3350 / 16) == 1256,
        "156 FLOP/byte": MACHINES["A100"].machine.balance == 156,
        "989 / 3.35 = 295": round(MACHINES["H100"].machine.balance) == 295,
        "43 % more bandwidth, 43 % more tokens": (
            round(100 * MACHINES["H200"].machine.bandwidth / MACHINES["H100"].machine.bandwidth) == 143),
        "2,621,440 bytes": HAND["cache_70b"]["bytes_per_token"] == 2_621_440,
        "A conversation of 4,000 tokens takes 10.49 GB": near(HAND["cache_70b"]["bytes_4000"] / 1e9, 10.49, 2),
        "10.49 GB for 4,000 tokens, right to the byte": near(HAND["cache_70b"]["bytes_4000"] / 1e9, 10.49, 2),
        "One of 4,096 tokens takes 10.74 GB, which is exactly 10 GiB": HAND["cache_70b"]["bytes_4096"] == 10 * 2**30,
        "10.74 GB at 4,096 tokens, and it crosses": near(HAND["cache_70b"]["bytes_4096"] / 1e9, 10.74, 2),
        "10 · 2³⁰ bytes are 10.74 GB": near(10 * 2**30 / 1e9, 10.74, 2),
        "1.34 GB": near(HAND["cache_70b"]["bytes_4096_gqa"] / 1e9, 1.34, 2),
        "about 53,000 tokens": round(140e9 / 2_621_440, -3) == 53_000,
        "21 GB at 65,536": round(65536 * 2_621_440 / 8 / 1e9) == 21,
        "23,040 bytes": HAND["smollm2"]["cache_bytes_per_token"] == 23_040,
        "188.7 MB": near(HAND["smollm2"]["cache_bytes_8192"] / 1e6, 188.7, 1),
        "377.5 MB": near(kv_cache_bytes(SMOLLM2, 8192, 1, 4) / 1e6, 377.5, 1),
        "538.1 MB": near(weight_bytes(134_515_008, 4) / 1e6, 538.1, 1),
        "(3.10)": near(forward_flops(SMOLLM2, 8192) / (2 * 134_515_008 * 8192), 3.10, 2),
        "0.93 times 2N": near(forward_flops(LLAMA3_8B, 1) / (2 * 8_030_261_248), 0.93, 2),
        "525 million weights, 6.5 % of all": (
            round(128256 * 4096 / 1e6) == 525, near(100 * 128256 * 4096 / 8_030_261_248, 6.5, 1)),
        "6.5 % below that of section 4": near(100 * 128256 * 4096 / 8_030_261_248, 6.5, 1),
        "2,001,000": naive_positions(1, 2000) == 2_001_000,
        "624,750": naive_positions(1000, 500) == 624_750,
        "76 squares": naive_positions(6, 8) == 76,
        "13 in all": cached_positions(6, 8) == 13,
        "= 1.43": near(4.8 / 3.35, 1.43, 2),
        "19 % too high": near(100 * (2 * param_count(untied) * 512 + scores(untied, 512)) / forward_flops(untied, 512) - 100, 19, 0),
        "7,504,658,432 weights in products": 2 * 7_504_658_432 == forward_flops(LLAMA3_8B, 1) - scores(LLAMA3_8B, 1),
        "524,288 · T": scores(LLAMA3_8B, 1) == 524_288,
        "equal at T = 28,628": scores(LLAMA3_8B, 28_628) * 2 == forward_flops(LLAMA3_8B, 28_628),
        "At 4,096 tokens attention is an eighth": near(scores(LLAMA3_8B, 4096) / forward_flops(LLAMA3_8B, 4096), 1 / 8, 3),
        "one layer's table takes 2,416 MB": near(9 * 8192**2 * 4 / 1e6, 2416, 0),
        "With 512 tokens each it is 28.1": near(intensity(64, 512), 28.1, 1),
        "With 4,096 tokens each it is 5.7": near(intensity(64, 4096), 5.7, 1),
        "their caches together, 17.2 GB": near(kv_cache_bytes(LLAMA2_7B, 512, 64, 2) / 1e9, 17.2, 1),
        "would not even fit into the card's 80 GB": kv_cache_bytes(LLAMA2_7B, 4096, 64, 2) > 80e9 == MACHINES["A100"].memory_bytes,
        "80 GB at 3.35 TB/s are 23.9 ms": near(80 / 3.35, 23.9, 1),
    }
    assert_said(LESSON, quoted)


def test_a_machine_is_measured() -> None:
    machine = measure_machine(64, 2**16, 2)
    assert machine.peak_flops > 0
    assert machine.bandwidth > 0
    assert machine.balance == machine.peak_flops / machine.bandwidth
    assert arithmetic_intensity(10.0, 4.0) == 2.5


def test_the_shapes_of_the_stepper_are_those_of_the_models() -> None:
    models = {
        "SmolLM2-135M": SMOLLM2,
        "Llama 2 7B": LLAMA2_7B,
        "Llama 3 8B": LLAMA3_8B,
        "Llama 3 70B": shape(128256, 8192, 28672, 80, 64, 8, 128, False),
    }
    for given in SHAPES:
        assert given.num_params == param_count(models[given.name])
        assert given.cache_values * 2 == kv_cache_bytes(models[given.name], 1, 1, 2)


def test_of_the_scores_two_tables_exist_at_a_time() -> None:
    q = torch.empty(1, 9, 2048, 64, device="meta")
    with counting() as work:
        (q @ q.transpose(-2, -1)).softmax(dim=-1) @ q
    assert work.largest_bytes == 9 * 2048**2 * 4
    assert near(work.peak_bytes / work.largest_bytes, 2, 1)


def test_one_row_is_left_to_one_thread_and_two_rows_are_shared_out() -> None:
    """What the lesson says of MKL, seen in how long each thread worked."""
    cpuinfo = Path("/proc/cpuinfo")
    if "Math Kernel Library" not in torch.__config__.parallel_info() or not cpuinfo.exists() or "AuthenticAMD" not in cpuinfo.read_text():
        pytest.skip("another library multiplies here, or on processors of another maker")
    code = """
import os, torch

def ticks():
    tasks = [open(f"/proc/self/task/{t}/stat").read().rsplit(")", 1)[1].split() for t in os.listdir("/proc/self/task")]
    return {i: int(fields[11]) + int(fields[12]) for i, fields in zip(os.listdir("/proc/self/task"), tasks)}

torch.set_num_threads(2)
weight = torch.ones(4096, 4096)
for rows, calls in ((1, 100), (2, 60)):
    x = torch.ones(rows, 4096)
    x @ weight.T
    before = ticks()
    for _ in range(calls):
        x @ weight.T
    worked = sorted(after - before.get(task, 0) for task, after in ticks().items())
    print(worked[-2] > worked[-1] / 4)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
