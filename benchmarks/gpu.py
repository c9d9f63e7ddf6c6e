"""Everything that needs a GPU: the checks that are skipped elsewhere, throughput against batch, Day 9's estimate beside a measurement.

python benchmarks/gpu.py                  # some minutes on one GPU; writes benchmarks/results/gpu.json and gpu.md
python benchmarks/gpu.py --rehearse       # the same code for CUDA, small shapes, on a CUDA emulator; writes nothing
Nothing is downloaded: the models have random weights in SmolLM2's shape and in that of a 7B, because times do not depend on weights.
Without a GPU it says so in one line and does nothing. docs/gpu.md says how to get torch with CUDA.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from common import ROOT, save
from rehearsal import StrictlyEmulatedCuda
from torch import Tensor

sys.path.append(str(ROOT))
from autograder.authoring import show
from autograder.base.verdicts import Verdict
from autograder.checking.runner import load_checks, reference, run_check
from autograder.lessons import syllabus
from autograder.sandbox.measure.cuda_emulator import EmulatedCuda
from autograder.sandbox.process.local import LocalStudent
from course.kit import Config, Weights, WeightsOnly
from course.kit.models.weights import build_weights, layer_shapes
from solutions.batching import capture_decode, decode_batch, prefill_batch
from solutions.costs import decode_flops, kv_cache_bytes, prefill_flops, roofline_seconds, weight_bytes
from solutions.kv_cache import KVCache

SEVEN_B = Config(
    name="7B of random weights",
    vocab_size=32_000,
    hidden_size=4096,
    intermediate_size=11_008,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=32,
    head_dim=128,
    rope_theta=10_000.0,
    rms_norm_eps=1e-5,
    max_position_embeddings=4096,
    tie_word_embeddings=False,
    bos_token_id=None,
    eos_token_id=None,
)
SMOLLM2 = Config(
    name="SmolLM2's shape, random weights",
    vocab_size=49_152,
    hidden_size=576,
    intermediate_size=1536,
    num_hidden_layers=30,
    num_attention_heads=9,
    num_key_value_heads=3,
    head_dim=64,
    rope_theta=100_000.0,
    rms_norm_eps=1e-5,
    max_position_embeddings=8192,
    tie_word_embeddings=True,
    bos_token_id=None,
    eos_token_id=None,
)
SMALL = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "head_dim": 16, "vocab_size": 512}
"""The smaller shape of a rehearsal."""
ROUNDS = 5
T_PROMPT = 512
"""The ladder's setting, as on Days 7, 10 and 11: decode steps after a prompt of this many tokens."""


def gpu_verdicts() -> list[Verdict]:
    """Run every check that needs a GPU on the reference, in this process."""
    verdicts = []
    for day in syllabus():
        if day.ready:
            student = LocalStudent(dict(vars(reference(day.topic))))
            verdicts += [run_check(day.topic, check, student) for check in load_checks(day.topic) if check.gpu]
    return verdicts


def random_model(config: Config, dtype: torch.dtype, device: str) -> WeightsOnly:
    """Return a model of this shape with random weights, made on the device: for time and memory, not for text."""
    generator = torch.Generator(device)
    generator.manual_seed(0)

    def read(key: str) -> Tensor:
        shape = (config.hidden_size,) if key == "norm" else shape_of(config, key)
        if len(shape) == 1:
            return torch.ones(shape, dtype=dtype, device=device)
        return torch.empty(shape, dtype=dtype, device=device).normal_(0, 0.02, generator=generator)

    weights: Weights = build_weights(config, read, dtype=dtype, device=device)
    return WeightsOnly(config, weights, no_tokenizer)


def no_tokenizer() -> Any:
    raise RuntimeError("random weights have no tokenizer")


def shape_of(config: Config, key: str) -> tuple[int, ...]:
    if key in ("embed_tokens", "lm_head"):
        return config.vocab_size, config.hidden_size
    return layer_shapes(config)[key.rpartition(".")[2]]


def seconds(work: Callable[[], Any], device: str) -> float:
    """Return the median of some rounds, each waited for to its end; the first is left out."""
    found = []
    for _ in range(ROUNDS + 1):
        wait(device)
        start = time.perf_counter()
        work()
        wait(device)
        found.append(time.perf_counter() - start)
    return statistics.median(found[1:])


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


@torch.no_grad()
def after_a_prompt(model: WeightsOnly, B: int, T: int, max_len: int, device: str) -> tuple[Tensor, KVCache]:
    """Return (ids (B, 1) to go on with, a cache of B rows with one prompt of T tokens).

    The prompt is read once, and copied into every row.
    """
    ids = torch.randint(5, model.config.vocab_size, (1, T), device=device)
    read, cache = (KVCache(model.config, rows, length, model.dtype, device) for rows, length in ((1, T), (B, max_len)))
    newest = prefill_batch(model, ids, torch.zeros(1, dtype=torch.int64, device=device), read).argmax(-1, keepdim=True)
    for layer, (k, v) in enumerate(zip(read.keys, read.values, strict=True)):
        cache.append(layer, k.expand(B, -1, -1, -1), v.expand(B, -1, -1, -1))
    return newest.repeat(B, 1), cache


@torch.no_grad()
def decode_rates(model: WeightsOnly, B: int, T: int, new: int, device: str) -> dict[str, float]:
    """Measure decode tokens a second of B rows after a prompt of T, step by step and as a captured graph."""
    num_pad = torch.zeros(B, dtype=torch.int64, device=device)
    first, cache = after_a_prompt(model, B, T, T + new + 1, device)
    keys, values = cache.keys.clone(), cache.values.clone()

    def eager() -> None:
        token = first
        cache.counts = [T] * len(cache.counts)  # back to the end of the prompt
        for _ in range(new):
            token = decode_batch(model, token, num_pad, cache).argmax(-1, keepdim=True)

    def captured() -> float:
        step = capture_decode(model, num_pad, T, keys, values)
        wait(device)
        start = time.perf_counter()
        token = first
        for _ in range(new):
            token = step(token).argmax(-1, keepdim=True)
        wait(device)
        return time.perf_counter() - start

    captured()
    graph = statistics.median(captured() for _ in range(ROUNDS))
    return {"eager": B * new / seconds(eager, device), "captured": B * new / graph}


def launches_of_a_step(config: Config) -> dict[str, int]:
    """Count the launches of one decode step of a model of this shape, step by step and captured.

    They are counted on the emulator, and the same on every machine. Each operation of torch is counted once; an operation that torch makes
    of several kernels starts more.
    """
    narrow = replace(config, hidden_size=16, intermediate_size=16, head_dim=4, vocab_size=32)  # the count does not depend on widths
    with EmulatedCuda() as gpu, torch.no_grad():
        model = gpu.on_gpu(random_model(narrow, torch.float32, "cpu"))
        num_pad = torch.zeros(2, dtype=torch.int64, device="cuda")
        ids, cache = torch.ones(2, 1, dtype=torch.int64, device="cuda"), KVCache(narrow, 2, 8, torch.float32, "cuda")
        found = {}
        captured = capture_decode(model, num_pad, 4, cache.keys, cache.values)
        for name, step in (("eager", lambda: decode_batch(model, ids, num_pad, cache)), ("captured", lambda: captured(ids))):
            before = replace(gpu.launches)
            step()
            found[name] = gpu.launches.launches + gpu.launches.replays - before.launches - before.replays
    return found


@torch.no_grad()
def estimate(model: WeightsOnly, T: int, new: int, peak_flops: float, bandwidth: float, device: str) -> dict[str, float]:
    """Return Day 9's estimates of a prefill and of a decode step beside their measured times; seconds."""
    size = model.dtype.itemsize
    weights = weight_bytes(model.num_parameters, size)
    ids = torch.randint(5, model.config.vocab_size, (1, T), device=device)
    num_pad = torch.zeros(1, dtype=torch.int64, device=device)
    cache = KVCache(model.config, 1, T + new + 1, model.dtype, device)

    def prefill() -> None:
        cache.reset()
        prefill_batch(model, ids, num_pad, cache)

    measured_prefill = seconds(prefill, device)
    step = capture_decode(model, num_pad, T, cache.keys, cache.values)
    token = ids[:, -1:]
    wait(device)
    start = time.perf_counter()
    for _ in range(new):
        token = step(token).argmax(-1, keepdim=True)
    wait(device)
    measured_step = (time.perf_counter() - start) / new
    read = weights + kv_cache_bytes(model.config, T + new // 2, 1, size)
    return {
        "prefill_estimate": roofline_seconds(prefill_flops(model.num_parameters, T), weights, peak_flops, bandwidth),
        "prefill_measured": measured_prefill,
        "step_estimate": roofline_seconds(decode_flops(model.num_parameters, 1), read, peak_flops, bandwidth),
        "step_measured": measured_step,
    }


def roof(model: WeightsOnly, B: int, tokens: int, peak_flops: float, bandwidth: float) -> float:
    """Return the most tokens a second of B rows with `tokens` tokens each: Day 9's roofline."""
    size = model.dtype.itemsize
    moved = weight_bytes(model.num_parameters, size) + kv_cache_bytes(model.config, tokens, B, size)
    return B / roofline_seconds(B * decode_flops(model.num_parameters, 1), moved, peak_flops, bandwidth)


def machine_peaks(device: str, size: int, num_bytes: int) -> tuple[float, float]:
    """Measure FLOP/s of a bfloat16 matrix product and bytes/s of a copy on this device."""
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    source = torch.ones(num_bytes // 2, device=device, dtype=torch.bfloat16)
    target = torch.empty_like(source)
    return 2 * size**3 / seconds(lambda: a @ b, device), 2 * num_bytes / seconds(lambda: target.copy_(source), device)


def report(device: str, *, rehearse: bool) -> tuple[dict[str, Any], str]:
    """Return all figures and the page that shows them."""
    small_shape, shape = (
        (replace(SMOLLM2, **SMALL, num_key_value_heads=2), replace(SEVEN_B, **SMALL, num_key_value_heads=4))
        if rehearse
        else (SMOLLM2, SEVEN_B)
    )
    batches = [1, 4] if rehearse else [1, 4, 16, 64, 256]
    T, new = (8, 4) if rehearse else (T_PROMPT, 128)
    peak_flops, bandwidth = machine_peaks(device, 128 if rehearse else 8192, 2**20 if rehearse else 2**31)
    small = random_model(small_shape, torch.bfloat16, device)
    rates = {B: decode_rates(small, B, T, new, device) for B in batches}
    roofs = {B: roof(small, B, T + new // 2, peak_flops, bandwidth) for B in batches}
    launches = launches_of_a_step(small_shape)
    large = random_model(shape, torch.bfloat16, device)
    parts = estimate(large, T, new, peak_flops, bandwidth, device)
    verdicts = [] if rehearse else gpu_verdicts()
    name = torch.cuda.get_device_name()
    lines = [
        "# On a GPU",
        "",
        f"{name}; torch {torch.__version__}; measured {peak_flops / 1e12:.1f} TFLOP/s in bfloat16, {bandwidth / 1e9:.0f} GB/s.",
        "",
    ]
    lines += [
        f"{small.config.name}, bfloat16, {new} decode steps after a prompt of {T} tokens, tokens per second. The roof is what reading the "
        "weights once a step, and every row's cache, allows at the bandwidth above (or arithmetic, where that takes longer).",
        "",
        "| B | step by step | captured graph | roof | of it |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {B} | {rate['eager']:.0f} | {rate['captured']:.0f} | {roofs[B]:.0f} | {rate['captured'] / roofs[B]:.0%} |"
        for B, rate in rates.items()
    ]
    lines += ["", f"A step starts {launches['eager']:,} operations one by one; captured, {launches['captured']}."]
    lines += [
        "",
        f"{shape.name}, {large.num_parameters:,} parameters, prompt {T}, {new} new:",
        "",
        "| | estimate | measured |",
        "|---|---:|---:|",
    ]
    for part in ("prefill", "step"):
        lines.append(f"| {part} | {parts[part + '_estimate'] * 1e3:.2f} ms | {parts[part + '_measured'] * 1e3:.2f} ms |")
    if verdicts:
        lines += ["", "| check | outcome | |", "|---|---|---|"]
    lines += [f"| {v.exercise}: {v.title} | {v.outcome} | {show(v.message)} |" for v in verdicts]
    result = {"device": name, "peak_flops": peak_flops, "bandwidth": bandwidth, "rates": rates, "roofs": roofs,
              "launches": launches, "estimate": parts, "checks": {v.check: v.outcome for v in verdicts}}  # fmt: skip
    return result, "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearse", action="store_true", help="small shapes, on a stand-in for CUDA; writes nothing")
    arguments = parser.parse_args()
    if arguments.rehearse:
        with StrictlyEmulatedCuda():
            _, text = report("cuda", rehearse=True)
        print(text)
        print("\nA rehearsal on the CPU: the code for CUDA ran to its end, and none of these times means anything.")
        return 0
    if not torch.cuda.is_available():
        for verdict in gpu_verdicts():
            print(f"{verdict.outcome}: {verdict.exercise}: {verdict.title} ({verdict.message})")
        print("No GPU run: torch finds no CUDA device here. --rehearse runs the same code with small shapes on a stand-in.")
        return 0
    result, text = report("cuda", rehearse=False)
    print(text)
    save("gpu", result, text)
    return 1 if any(outcome not in ("pass", "skipped") for outcome in result["checks"].values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
