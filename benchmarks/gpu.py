"""Everything that needs a GPU: correctness, decode throughput against batch, Day 12's kernel, Day 9's estimate, the checks for a GPU.

python benchmarks/gpu.py                       # some minutes on one GPU; writes benchmarks/results/gpu.md and its data
python benchmarks/gpu.py decode seven          # these parts only; the others keep their stored results
python benchmarks/gpu.py --rehearse            # the same code for CUDA with small shapes, on a CUDA emulator; writes nothing

Each part runs in a process of its own with a time limit, because one device-side assertion makes CUDA unusable for the rest of its process.
Each figure is written to the disk as soon as it is known. Nothing is downloaded. The models have random weights in SmolLM2's shape and in
that of a 7B, because times do not depend on the weights' values. Without a GPU the script says so in one line. docs/gpu.md says how to get
torch with CUDA.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from common import RESULTS, ROOT, save
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

sys.path.append(str(ROOT))
from autograder.authoring import show
from autograder.base.verdicts import Verdict
from autograder.checking.runner import Check, load_checks, reference, run_check
from autograder.lessons import syllabus
from autograder.sandbox.measure.cuda_emulator import EmulatedCuda
from autograder.sandbox.process.local import LocalStudent
from course.kit import Config, Weights, WeightsOnly, load_model
from course.kit.models.weights import build_weights, layer_shapes
from solutions.attention import attention
from solutions.batching import capture_decode, decode_batch, generate_batch, left_pad, prefill_batch
from solutions.costs import decode_flops, kv_cache_bytes, prefill_flops, roofline_seconds, weight_bytes
from solutions.engine import PackedModel, StaticEngine
from solutions.flash_attention import flash_bytes, standard_bytes
from solutions.kv_cache import KVCache

Figures = Iterator[tuple[str, Any]]

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
T_PROMPT, NEW = 512, 127
"""The ladder's setting, as on Days 7, 10 and 11: decode steps after a prompt of this many tokens. 640 slots in all."""
HEADS, KV_HEADS, HEAD_DIM = 16, 4, 64
"""The attention that Day 12's kernel is measured on."""
LIMIT = {"decode": 200.0, "compiled": 400.0}
"""Seconds for a part; 90 for any other."""


class Sizes:
    """The sizes of a run. `Sizes(rehearse=True)` has sizes small enough for the emulator."""

    def __init__(self, *, rehearse: bool) -> None:
        self.rehearse = rehearse
        self.smollm2 = replace(SMOLLM2, **SMALL, num_key_value_heads=2) if rehearse else SMOLLM2
        self.seven_b = replace(SEVEN_B, **SMALL, num_key_value_heads=4) if rehearse else SEVEN_B
        self.batches = [1, 4] if rehearse else [1, 4, 16, 64, 256]
        self.T, self.new = (8, 3) if rehearse else (T_PROMPT, NEW)
        self.slots = self.T + self.new + 1
        self.product, self.memory, self.nodes = (64, 2**12, 10) if rehearse else (8192, 2**31, 1000)
        self.texts = [32] if rehearse else [1024, 2048, 4096, 8192, 16384]


# ---- models and clocks -----------------------------------------------------------------------------------------------


def random_model(config: Config, dtype: torch.dtype, device: str) -> WeightsOnly:
    """Return a model of this shape with random weights, made on the device. Such a model measures time and memory; its text is random."""
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


def seconds(work: Callable[[], Any], inner: int = 1) -> float:
    """Return the median time of one call of `work` over several rounds of `inner` calls. Each round ends with a wait; two more warm up."""
    found = []
    for _ in range(ROUNDS + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(inner):
            work()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - start) / inner)
    return statistics.median(found[2:])


def recorded(work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
    """Return a graph of `work`, after one run on a stream of its own. The caller must keep the tensors that `work` reads."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


@torch.no_grad()
def after_a_prompt(model: WeightsOnly, B: int, T: int, max_len: int) -> tuple[Tensor, KVCache]:
    """Return (ids (B, 1) to continue with, a cache of B rows that all have the same prompt of T tokens).

    The prompt is read once, and copied into every row.
    """
    ids = torch.randint(5, model.config.vocab_size, (1, T), device="cuda")
    read, cache = (KVCache(model.config, rows, length, model.dtype, "cuda") for rows, length in ((1, T), (B, max_len)))
    newest = prefill_batch(model, ids, torch.zeros(1, dtype=torch.int64, device="cuda"), read).argmax(-1, keepdim=True)
    for layer, (k, v) in enumerate(zip(read.keys, read.values, strict=True)):
        cache.append(layer, k.expand(B, -1, -1, -1), v.expand(B, -1, -1, -1))
    return newest.repeat(B, 1), cache


def decode_seconds(step: Callable[[Tensor], Tensor], first: Tensor, steps: int) -> float:
    """Return the seconds of one decode step with the choice of the token, as the mean of `steps` after two warm-up steps.

    The first replay of a graph also loads it onto the device.
    """
    token = first
    for done in range(steps):
        if done == 2:
            torch.cuda.synchronize()
            start = time.perf_counter()
        token = step(token).argmax(-1, keepdim=True)
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / (steps - 2)


# ---- the parts -------------------------------------------------------------------------------------------------------


@torch.no_grad()
def machine(sizes: Sizes) -> Figures:
    """Measure FLOP/s of a bfloat16 product, bytes/s of a copy and of reading, and the time of one small operation."""
    yield "name", torch.cuda.get_device_name()
    yield "torch", torch.__version__
    yield from memory_rates(sizes.memory).items()
    a, b = (torch.randn(sizes.product, sizes.product, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    yield "peak_flops", 2 * sizes.product**3 / seconds(lambda: a @ b, inner=4)
    small = torch.zeros(576, device="cuda", dtype=torch.bfloat16)

    def many() -> None:
        for _ in range(sizes.nodes):
            small.add_(1)

    yield "launch_seconds", seconds(many) / sizes.nodes
    yield "node_seconds", seconds(recorded(many).replay) / sizes.nodes


def memory_rates(num_bytes: int) -> dict[str, float]:
    """Return bytes/s of a copy (bytes read plus bytes written) and of reading alone."""
    source = torch.ones(num_bytes // 2, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    return {
        "copy": 2 * source.nbytes / seconds(lambda: target.copy_(source), inner=4),
        "bandwidth": source.nbytes / seconds(lambda: source.view(1024, -1).amax(1), inner=4),
    }


@torch.no_grad()
def truth(sizes: Sizes) -> Figures:
    """Compare captured steps with the CPU's in float64, with memory allocated and freed in between; check an assumption of `draw`."""
    prompts, steps = [[5, 6, 7], [8], [1, 2, 3, 4]], 6
    model = load_model("tiny", dtype=torch.float64).weights_only()

    def start(where: WeightsOnly, device: str) -> tuple[Tensor, Tensor, KVCache]:
        ids, num_pad = (tensor.to(device) for tensor in left_pad(prompts, 0))
        cache = KVCache(where.config, 3, 4 + steps, where.dtype, device)
        return prefill_batch(where, ids, num_pad, cache).argmax(-1, keepdim=True), num_pad, cache

    token, num_pad, cache = start(model, "cpu")
    want = []
    for _ in range(steps):
        want.append(decode_batch(model, token, num_pad, cache))
        token = want[-1].argmax(-1, keepdim=True)
    there = model.to(device="cuda")
    token, num_pad, cache = start(there, "cuda")
    step, got = capture_decode(there, num_pad, 4, cache.keys, cache.values), []
    del num_pad, cache
    for _ in range(steps):
        got.append(step(token))
        token = got[-1].argmax(-1, keepdim=True)
        junk = [torch.full((64,), 10**6, device="cuda") for _ in range(64)]  # takes any memory that nobody holds
    del junk
    yield "captured_gap", max(float((a.cpu() - b).abs().max()) for a, b in zip(got, want, strict=True))
    options: dict[str, Any] = {"max_new_tokens": 12, "temperature": 0.0}
    yield "same_tokens", generate_batch(model, prompts, device="cuda", **options) == generate_batch(model, prompts, **options)
    engine = StaticEngine(PackedModel(there, way="linear"), len(prompts), 16)
    engine.capture_decode()
    yield "engine_same_tokens", engine.generate(prompts, 12).tolist() == generate_batch(model, prompts, **options)
    try:
        generate_batch(model, prompts, max_new_tokens=1, device="cuda", generator=torch.Generator())
        yield "cpu_generator", "accepted"
    except RuntimeError as error:
        yield "cpu_generator", str(error).splitlines()[0]
    probs = torch.rand(64, sizes.smollm2.vocab_size, device="cuda").pow(8)
    probs[:, ::3] = 0
    sums = (probs / probs.sum(-1, keepdim=True)).cumsum(-1)
    yield "cumsum_falls", int((sums.diff() < 0).sum())
    yield "cumsum_rises_at_zero", int(((sums.diff() > 0) & (probs[:, 1:] == 0)).sum())


@torch.no_grad()
def decode(sizes: Sizes) -> Figures:
    """Measure decode tokens a second for each B: Day 11's step uncaptured and captured, and the engine's step captured."""
    model = random_model(sizes.smollm2, torch.bfloat16, "cuda")
    packed = PackedModel(model, way="linear")
    yield "weight_bytes", weight_bytes(model.num_parameters, 2)
    for B in sizes.batches:
        num_pad = torch.zeros(B, dtype=torch.int64, device="cuda")
        first, cache = after_a_prompt(model, B, sizes.T, sizes.slots)

        def eager(token: Tensor, num_pad: Tensor = num_pad, cache: KVCache = cache) -> Tensor:
            return decode_batch(model, token, num_pad, cache)

        rate = {"eager": B / decode_seconds(eager, first, min(sizes.new, 34))}
        start = time.perf_counter()
        step = capture_decode(model, num_pad, sizes.T, cache.keys, cache.values)
        torch.cuda.synchronize()
        rate["capture_seconds"] = time.perf_counter() - start
        rate["captured"] = B / decode_seconds(step, first, sizes.new)
        del step, cache
        engine = StaticEngine(packed, B, sizes.slots)
        engine.capture_decode()
        rate["engine"] = B / engine_seconds(engine, B, sizes)
        del engine
        yield str(B), rate


def engine_seconds(engine: StaticEngine, B: int, sizes: Sizes) -> float:
    """Return the seconds of one step of this engine after a prompt. The cached keys are random: their values do not change the time."""
    engine.prefill(torch.randint(5, engine.model.config.vocab_size, (1, 1), device="cuda").expand(B, 1))
    for each in (*engine.keys, *engine.values):
        each.normal_()
    engine.position.fill_(sizes.T)
    engine.length = sizes.T
    return decode_seconds(engine.decode, torch.full((B, 1), 7, device="cuda"), sizes.new)


@torch.no_grad()
def compiled(sizes: Sizes) -> Figures:
    """Measure the engine's step compiled by torch.compile and then captured."""
    packed = PackedModel(random_model(sizes.smollm2, torch.bfloat16, "cuda"), way="linear")
    for B in sizes.batches:
        engine = StaticEngine(packed, B, sizes.slots)
        start = time.perf_counter()
        engine.compile_decode()
        engine.capture_decode()
        torch.cuda.synchronize()
        yield str(B), {"compile_seconds": time.perf_counter() - start, "compiled": B / engine_seconds(engine, B, sizes)}


@torch.no_grad()
def launches(sizes: Sizes) -> Figures:
    """Count the launches of one decode step in bfloat16, uncaptured and captured, on the emulator.

    The counts are the same on every machine. Each torch operation counts once, even if torch launches several kernels for it.
    """
    yield from launches_of_a_step(sizes.smollm2).items()


def launches_of_a_step(config: Config) -> dict[str, int]:
    narrow = replace(config, hidden_size=16, intermediate_size=16, head_dim=4, vocab_size=32)  # the count does not depend on widths
    with EmulatedCuda() as gpu, torch.no_grad():
        model = gpu.on_gpu(random_model(narrow, torch.bfloat16, "cpu"))
        num_pad = torch.zeros(2, dtype=torch.int64, device="cuda")
        ids, cache = torch.ones(2, 1, dtype=torch.int64, device="cuda"), KVCache(narrow, 2, 8, torch.bfloat16, "cuda")
        engine = StaticEngine(PackedModel(model, way="linear"), 2, 8)
        captured = capture_decode(model, num_pad, 4, cache.keys, cache.values)
        steps = {
            "eager": lambda: decode_batch(model, ids, num_pad, cache),
            "engine": lambda: engine.decode(ids),
            "captured": lambda: captured(ids),
        }
        found = {}
        for name, step in steps.items():
            before = replace(gpu.launches)
            step()
            found[name] = gpu.launches.launches + gpu.launches.replays - before.launches - before.replays
    return found


@torch.no_grad()
def flash(sizes: Sizes) -> Figures:
    """Measure causal attention over T tokens in bfloat16: with a written score matrix, with Day 12's kernel, and with torch's."""
    for T in sizes.texts:
        q, k, v = (torch.randn(1, n, T, HEAD_DIM, device="cuda", dtype=torch.bfloat16) for n in (HEADS, KV_HEADS, KV_HEADS))
        mask = torch.ones(T, T, dtype=torch.bool, device="cuda").tril()
        ways: dict[str, Callable[[], Tensor]] = {
            "written": lambda q=q, k=k, v=v, mask=mask: attention(q, k, v, mask),
            "torch": lambda q=q, k=k, v=v: scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
        }
        if not sizes.rehearse:
            from solutions.engine.flash_triton import flash_attention_triton

            for rows in (64, 128):
                ways[f"kernel_{rows}"] = lambda q=q, k=k, v=v, rows=rows: flash_attention_triton(q, k, v, causal=True, q_block=rows)[0]
        exact = scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True, enable_gqa=True)
        found = {}
        for name, work in ways.items():
            found[f"{name}_error"] = float((work() - exact).abs().max())
            found[name] = seconds(work, inner=3)
        yield str(T), found


@torch.no_grad()
def seven(sizes: Sizes) -> Figures:
    """Measure a 7B model's prefill and decode step. `page` compares them with Day 9's estimate for the machine's figures."""
    model = random_model(sizes.seven_b, torch.bfloat16, "cuda")
    yield "parameters", model.num_parameters
    ids = torch.randint(5, model.config.vocab_size, (1, sizes.T), device="cuda")
    num_pad = torch.zeros(1, dtype=torch.int64, device="cuda")
    cache = KVCache(model.config, 1, sizes.slots, model.dtype, "cuda")

    def prefill() -> None:
        cache.reset()
        prefill_batch(model, ids, num_pad, cache)

    yield "prefill", seconds(prefill)
    yield "eager", decode_seconds(lambda token: decode_batch(model, token, num_pad, cache), ids[:, -1:], min(sizes.new, 34))
    step = capture_decode(model, num_pad, sizes.T, cache.keys, cache.values)
    yield "captured", decode_seconds(step, ids[:, -1:], sizes.new)
    if not sizes.rehearse:
        yield "memory", torch.cuda.max_memory_allocated()


PARTS: dict[str, Callable[[Sizes], Figures]] = {
    part.__name__: part for part in (machine, truth, decode, launches, flash, seven, compiled)
}


def gpu_checks() -> list[tuple[str, Check]]:
    """Return (topic, check) for every check that needs a GPU."""
    return [(day.topic, check) for day in syllabus() if day.ready for check in load_checks(day.topic) if check.gpu]


def verdict_of(topic: str, check: Check) -> Verdict:
    return run_check(topic, check, LocalStudent(dict(vars(reference(topic)))))


# ---- the page --------------------------------------------------------------------------------------------------------


def milliseconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms"


def page(result: dict[str, Any], sizes: Sizes) -> str:
    """Return the page with all parts measured so far."""
    of = {name: found for name, found in result.items() if "failed" not in found}
    found = of.get("machine", {})
    lines = ["# On a GPU", ""]
    if {"peak_flops", "bandwidth", "copy"} <= found.keys():
        lines += [
            f"{found['name']}; torch {found['torch']}. Measured: {found['peak_flops'] / 1e12:.0f} TFLOP/s in a bfloat16 product, "
            f"{found['bandwidth'] / 1e9:,.0f} GB/s of reading, {found['copy'] / 1e9:,.0f} GB/s of a copy, read and written.",
            f"A small operation takes {found['launch_seconds'] * 1e6:.1f} µs started by Python, "
            f"and {found['node_seconds'] * 1e6:.1f} µs as a node of a graph.",
        ]
        if "decode" in of:
            lines += decode_lines(result, found, sizes)
        if "seven" in of:
            lines += seven_lines(of["seven"], found, sizes)
        if "flash" in of:
            lines += flash_lines(of["flash"], found)
    if "truth" in of:
        lines += ["", "| correctness | |", "|---|---|", *(f"| {name} | {value} |" for name, value in of["truth"].items())]
    if "checks" in of:
        lines += ["", "| check | outcome | |", "|---|---|---|"]
        lines += [f"| {name} | {outcome} | {message} |" for name, (outcome, message) in of["checks"].items()]
    lines += [f"\nThe part `{name}` failed: {found['failed']}" for name, found in result.items() if "failed" in found]
    return "\n".join(lines)


def decode_lines(result: dict[str, Any], found: dict[str, Any], sizes: Sizes) -> list[str]:
    weights = result["decode"]["weight_bytes"]
    lines = [
        "",
        f"## Decode: {sizes.smollm2.name}, bfloat16",
        "",
        f"Tokens per second of steps after a prompt of {sizes.T} tokens, the choice of the token included.",
        f"Captured steps read all {sizes.slots} slots, filled or not.",
        "The roof is what reading the weights once a step, and all slots of every row, allows at the bandwidth of reading.",
        "Step by step, the processor sets the pace: it starts one operation after the other.",
        "",
        "| B | step by step | captured | the engine's step, captured | compiled, captured | roof | best of it |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for B in map(str, sizes.batches):
        if not (rate := result["decode"].get(B)):
            continue
        fused = result.get("compiled", {}).get(B, {}).get("compiled")
        moved = weights + kv_cache_bytes(sizes.smollm2, sizes.slots, int(B), 2)
        limit = int(B) / roofline_seconds(int(B) * decode_flops(int(weights) // 2, 1), moved, found["peak_flops"], found["bandwidth"])
        best = max(rate["captured"], rate["engine"], fused or 0.0)
        lines.append(
            f"| {B} | {rate['eager']:,.0f} | {rate['captured']:,.0f} | {rate['engine']:,.0f} | {f'{fused:,.0f}' if fused else 'not run'} | "
            f"{limit:,.0f} | {best / limit:.0%} |"
        )
    if counts := result.get("launches"):
        lines += [
            "",
            f"A step starts {counts['eager']:,} operations one by one, the engine's {counts['engine']:,}; captured, {counts['captured']}.",
        ]
    return lines


def seven_lines(measured: dict[str, Any], found: dict[str, Any], sizes: Sizes) -> list[str]:
    weights = weight_bytes(measured["parameters"], 2)
    table = weight_bytes(sizes.seven_b.vocab_size * sizes.seven_b.hidden_size, 2)  # a step reads one row of the embedding
    read = weights - table + kv_cache_bytes(sizes.seven_b, sizes.slots, 1, 2)
    machine_of = found["peak_flops"], found["bandwidth"]
    rows = {
        f"prefill of {sizes.T} tokens": (roofline_seconds(prefill_flops(measured["parameters"], sizes.T), weights, *machine_of), "prefill"),
        "a decode step, captured": (roofline_seconds(decode_flops(measured["parameters"], 1), read, *machine_of), "captured"),
    }
    lines = ["", f"## Day 9's estimate: {sizes.seven_b.name}, {measured['parameters']:,} parameters, bfloat16", ""]
    lines += ["| | estimate | measured | measured / estimate |", "|---|---:|---:|---:|"]
    for name, (least, key) in rows.items():
        lines.append(f"| {name} | {milliseconds(least)} | {milliseconds(measured[key])} | {measured[key] / least:.2f} |")
    lines.append(f"| a decode step, step by step | | {milliseconds(measured['eager'])} | |")
    if "memory" in measured:
        lines += ["", f"Most memory at one time: {measured['memory'] / 1e9:.1f} GB."]
    return lines


def flash_lines(measured: dict[str, Any], found: dict[str, Any]) -> list[str]:
    lines = [
        "",
        f"## Day 12: causal attention, {HEADS} query heads, {KV_HEADS} key heads, Dh = {HEAD_DIM}, bfloat16",
        "",
        "The estimates take the bytes of `standard_bytes` and `flash_bytes` (tiles of 64) at the bandwidth of reading, or the products",
        "at the peak, whichever takes longer. A written score matrix is multiplied whole; tiles leave out what the mask hides.",
        "",
        "| T | scores written | estimate | Day 12's kernel, tiles of 64 | of 128 queries | estimate | torch's | written / kernel |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, times in measured.items():
        T, group = int(name), HEADS // KV_HEADS
        machine_of = found["peak_flops"], found["bandwidth"]
        products = 4 * T * T * HEAD_DIM * HEADS
        written = roofline_seconds(products, HEADS * standard_bytes(T, T, HEAD_DIM, 2), *machine_of)
        tiled_bytes = KV_HEADS * group * flash_bytes(T, T, HEAD_DIM, 2, q_block=64, k_block=64, causal=True)  # a program has one query head
        tiled = roofline_seconds(products / 2, tiled_bytes, *machine_of)
        kernels = [times.get(key) for key in ("kernel_64", "kernel_128")]
        shown = [milliseconds(value) if value else "not run" for value in kernels]
        best = min((value for value in kernels if value), default=None)
        ratio = f"{times['written'] / best:.1f}" if best else ""
        lines.append(
            f"| {T:,} | {milliseconds(times['written'])} | {milliseconds(written)} | {shown[0]} | {shown[1]} | {milliseconds(tiled)} | "
            f"{milliseconds(times['torch'])} | {ratio} |"
        )
    if "kernel_64_error" in (times := next(iter(measured.values()))):
        names = {"written": "written", "the kernel": "kernel_64", "torch's": "torch"}
        errors = ", ".join(f"{name} {times[key + '_error']:.1e}" for name, key in names.items())
        lines += ["", f"Largest error at T = {next(iter(measured))} against float32: {errors}."]
    return lines


# ---- running ---------------------------------------------------------------------------------------------------------


def run_part(name: str, into: Path) -> None:
    """Run a part or one check in this process; write each figure as soon as it is known."""
    found: dict[str, Any] = {}
    part = PARTS.get(name)
    if part is None:
        topic, _, function = name.partition(":")
        (check,) = (check for check in load_checks(topic) if check.name == function)
        verdict = verdict_of(topic, check)
        into.write_text(json.dumps([f"{verdict.exercise}: {verdict.title}", verdict.outcome, show(verdict.message)]), encoding="utf-8")
        return
    for key, value in part(Sizes(rehearse=False)):
        found[key] = value
        into.write_text(json.dumps(found), encoding="utf-8")
        print(f"  {name}: {key} = {value}", flush=True)


def in_a_process(name: str) -> tuple[Any, str]:
    """Run a part or check in a process of its own. Return (its figures, the reason for a failure in one line, or "")."""
    with TemporaryDirectory() as folder:
        into = Path(folder) / "part.json"
        command = [sys.executable, __file__, "--part", name, "--into", str(into)]
        try:
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT.get(name, 90.0))
            failed = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        except subprocess.TimeoutExpired as late:
            failed = f"not done after {late.timeout:.0f} s"
        return json.loads(into.read_text(encoding="utf-8")) if into.exists() else {}, failed[:300]


def measure(names: list[str]) -> dict[str, Any]:
    """Run these parts one after the other, each in a process of its own, and save after each. Returns all figures."""
    stored = RESULTS / "data" / "gpu.json"
    result: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() and set(names) < {*PARTS, "checks"} else {}
    for name in names:
        print(f"{name} ...", flush=True)
        if name == "checks":
            verdicts = {}
            for topic, check in gpu_checks():
                found, failed = in_a_process(f"{topic}:{check.name}")
                title, outcome, message = found or (check.name, "failed", failed)
                verdicts[title] = [outcome, message]
                print(f"  {outcome}: {title} {message}", flush=True)
            result[name] = verdicts
        else:
            found, failed = in_a_process(name)
            result[name] = found | ({"failed": failed} if failed else {})
            if failed:
                print(f"  {name} failed: {failed}", flush=True)
        save("gpu", result, page(result, Sizes(rehearse=False)))
    return result


def rehearse() -> None:
    """Run the parts in this process on the emulator, with small shapes; Triton and the compiler do not run there."""
    sizes, result = Sizes(rehearse=True), {}
    with EmulatedCuda():
        for name, part in PARTS.items():
            if name not in ("compiled", "launches"):
                result[name] = dict(part(sizes))
    result["launches"] = dict(launches(sizes))
    print(page(result, sizes))
    print("\nA rehearsal on the CPU: the code for CUDA ran to its end, and none of these times means anything.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*PARTS, "checks"]
    parser.add_argument("parts", nargs="*", help=f"parts to measure: {', '.join(names)}; all if none is named")
    parser.add_argument("--rehearse", action="store_true", help="small shapes, on a CUDA emulator; writes nothing")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.parts if name not in names]:
        parser.error(f"{unknown[0]} is not a part: choose from {', '.join(names)}")
    if arguments.part:
        run_part(arguments.part, arguments.into)
        return 0
    if arguments.rehearse:
        rehearse()
        return 0
    if not torch.cuda.is_available():
        for topic, check in gpu_checks():
            verdict = verdict_of(topic, check)
            print(f"{verdict.outcome}: {verdict.exercise}: {verdict.title} ({verdict.message})")
        print("No GPU run: torch finds no CUDA device here. --rehearse runs the same code with small shapes on an emulator.")
        return 0
    result = measure(arguments.parts or names)
    print(page(result, Sizes(rehearse=False)))
    good = all(outcome in ("pass", "skipped") for outcome, _ in result.get("checks", {}).values())
    return 0 if good and not any("failed" in found for found in result.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
