"""The reference engine against its peers: prefill and decode of SmolLM2, tokens a second, all in one process and in turn.

python benchmarks/engine.py                 # all points, two hours where bfloat16 is emulated; writes results/engine.json and engine.md
python benchmarks/engine.py --prompt 64 --batch 1 4      # some points; the others keep their rows
python benchmarks/engine.py --quick         # one small point, nothing written
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from common import RESULTS, ROOT, machine, save
from torch import Tensor

sys.path.append(str(ROOT))
from llama import LlamaCpp
from peers import transformers_twin

from course.kit import load_model, paths
from course.kit.model import WeightsOnly
from solutions.batching import decode_batch, prefill_batch
from solutions.costs import Machine, kv_cache_bytes, measure_machine
from solutions.engine import StaticEngine
from solutions.kv_cache import KVCache

COUNTED = """\
Every contender gets the same weights, the same random prompts of one length and the same number of threads, in one process, one
directly after the other, in rounds; the first round is not counted. Prefill is the time from the call to the first token's
logits; decode is the time from there to the last token's, greedy. "Day 11" is `prefill_batch` and `decode_batch` as students
write them; "engine" is `StaticEngine` of `solutions/engine`; "compiled", where it was asked for, is the engine after
`compile_decode` (compiling takes a minute or more at each point and is not in the figures); "transformers" is `generate` of the same
weights with its own cache. A ratio is taken within a round; the table has the median of the rounds."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
BATCHES = [1, 4, 16, 32]
PROMPTS = [64, 512]
LEAST_MEDIAN = 1.2
LLAMA = "llama.cpp, 4 bits"
HAS_LLAMA = importlib.util.find_spec("llama_cpp") is not None


@dataclass
class Run:
    """Seconds of one generation."""

    prefill: float
    decode: float


Contender = Callable[[Tensor, int], Run]


def day11(model: WeightsOnly) -> Contender:
    def run(ids: Tensor, new: int) -> Run:
        with torch.no_grad():
            start = time.perf_counter()
            num_pad = torch.zeros(len(ids), dtype=torch.int64)
            cache = KVCache(model.config, len(ids), ids.shape[1] + new, model.dtype)
            token = prefill_batch(model, ids, num_pad, cache).argmax(-1, keepdim=True)
            first = time.perf_counter()
            for _ in range(new - 1):
                token = decode_batch(model, token, num_pad, cache).argmax(-1, keepdim=True)
        return Run(first - start, time.perf_counter() - first)

    return run


def engine(model: WeightsOnly, batch: int, max_len: int, *, compiled: bool) -> Contender:
    made = StaticEngine(model, batch, max_len)
    if compiled:
        made.compile_decode()

    def run(ids: Tensor, new: int) -> Run:
        start = time.perf_counter()
        token = made.prefill(ids).argmax(-1, keepdim=True)
        first = time.perf_counter()
        for _ in range(new - 1):
            token = made.decode(token).argmax(-1, keepdim=True)
        return Run(first - start, time.perf_counter() - first)

    return run


def transformers_generate(model: WeightsOnly) -> Contender:
    from transformers import GenerationConfig, LogitsProcessorList

    theirs = transformers_twin(model)

    def run(ids: Tensor, new: int) -> Run:
        seen: list[float] = []

        def note(ids: Tensor, scores: Tensor) -> Tensor:
            seen.append(time.perf_counter())
            return scores

        settings = GenerationConfig(do_sample=False, max_new_tokens=new, min_new_tokens=new, pad_token_id=0, eos_token_id=None)
        start = time.perf_counter()
        theirs.generate(ids, attention_mask=torch.ones_like(ids), generation_config=settings, logits_processor=LogitsProcessorList([note]))
        assert len(seen) == new
        return Run(seen[0] - start, seen[-1] - seen[0])

    return run


def point(contenders: dict[str, Contender], ids: Tensor, new: int, rounds: int) -> dict[str, list[Run]]:
    """Runs of all contenders, in turn; the order turns round from round to round, and the first round is left out."""
    runs: dict[str, list[Run]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds + 1):
        for name in names if number % 2 else reversed(names):
            run = contenders[name](ids, new)
            if number:
                runs[name].append(run)
    return runs


def summary(runs: dict[str, list[Run]], model: WeightsOnly, B: int, T: int, new: int, peaks: Machine) -> list[dict[str, Any]]:
    """A row for each contender: tokens/s, ratio to transformers, bytes read; and what the machine could do beside it."""
    rows = []
    for name, found in runs.items():
        size = 2 if name == LLAMA else model.dtype.itemsize  # of a value in the cache
        weights = paths.SMOLLM2.stat().st_size if name == LLAMA else model.num_parameters * size
        kv = kv_cache_bytes(model.config, T + new // 2, B, size)
        prefill, decode = (statistics.median(getattr(run, part) for run in found) for part in ("prefill", "decode"))
        theirs = runs["transformers"]
        ratios = {
            part: statistics.median(getattr(t, part) / getattr(o, part) for o, t in zip(found, theirs, strict=True))
            for part in ("prefill", "decode")
        }
        rows.append(
            {
                "dtype": str(model.dtype).removeprefix("torch."),
                "prompt": T,
                "batch": B,
                "engine": name,
                "prefill_tokens_per_second": B * T / prefill,
                "decode_tokens_per_second": B * (new - 1) / decode,
                "prefill_over_transformers": ratios["prefill"],
                "decode_over_transformers": ratios["decode"],
                "decode_bytes_per_second": (weights + kv) * (new - 1) / decode,
                "peak_flops": peaks.peak_flops,
                "bandwidth": peaks.bandwidth,
                "runs": [asdict(run) for run in found],
            }
        )
        if name == LLAMA:
            rows[-1]["version"] = importlib.metadata.version("llama-cpp-python")
    return rows


def roof(rows: list[dict[str, Any]]) -> float:
    """The highest bandwidth of a plain sum that was measured beside any row, bytes/s: no share is taken of a lower one."""
    return max(row["bandwidth"] for row in rows)


def table(rows: list[dict[str, Any]], bandwidth: float) -> list[str]:
    lines = [
        "| dtype | prompt | B | engine | prefill tokens/s | vs transformers | decode tokens/s | vs transformers | of bandwidth |",
        "|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for r in rows:
        lines.append(
            f"| {r['dtype']} | {r['prompt']} | {r['batch']} | {r['engine']} | {r['prefill_tokens_per_second']:.0f} "
            f"| {r['prefill_over_transformers']:.2f} | {r['decode_tokens_per_second']:.1f} | {r['decode_over_transformers']:.2f} "
            f"| {r['decode_bytes_per_second'] / bandwidth:.0%} |"
        )
    return lines


def verdict(rows: list[dict[str, Any]]) -> tuple[bool, list[str]]:
    """Whether the engine is ahead at every point and by 1.2 in the median, and a line for each of ours: where is it behind?"""
    good, lines = False, []
    for name in dict.fromkeys(row["engine"] for row in rows if row["engine"] not in ("transformers", LLAMA)):
        ratios = {
            (part, *key(row)): row[f"{part}_over_transformers"] for row in rows if row["engine"] == name for part in ("prefill", "decode")
        }
        middle, low, high = statistics.median(ratios.values()), min(ratios.values()), max(ratios.values())
        behind = [f"{part} at {dtype}, prompt {T}, B = {B}: {r:.2f}" for (part, dtype, T, B), r in ratios.items() if r < 1]
        named = f": {'; '.join(behind)}" if len(behind) <= 4 else ", as the table shows"
        where = f" Behind at {len(behind)}{named}." if behind else " Behind nowhere."
        lines.append(f"{name} over transformers: {low:.2f} to {high:.2f} over {len(ratios)} figures, median {middle:.2f}.{where}")
        if name == "engine":
            good = not behind and middle >= LEAST_MEDIAN
    return good, lines


def llama_cpp(contender: LlamaCpp) -> Contender:
    def run(ids: Tensor, new: int) -> Run:
        _, prefill, decode = contender.run(ids, new)
        return Run(prefill, decode)

    return run


def llama_cpp_note(rows: list[dict[str, Any]]) -> str:
    if not any(row["engine"] == LLAMA for row in rows):
        return "llama.cpp: not measured; it takes part where `llama-cpp-python` is installed (extra `llama`, compiled for minutes)."
    versions = ", ".join(dict.fromkeys(row["version"] for row in rows if row["engine"] == LLAMA))
    weights = f"{paths.SMOLLM2.stat().st_size / 1e6:.0f} MB of weights"
    return f'"{LLAMA}" is llama.cpp (llama-cpp-python {versions}) on the GGUF file as it is, {weights}.'


def main() -> int:
    parser = argparse.ArgumentParser(description=COUNTED)
    parser.add_argument("--batch", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--prompt", type=int, nargs="+", default=PROMPTS)
    parser.add_argument("--dtype", choices=DTYPES, nargs="+", default=list(DTYPES))
    parser.add_argument("--new", type=int, default=33, help="new tokens of a row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large-rounds", type=int, default=2, help="rounds where a prefill has more than 4,000 tokens")
    parser.add_argument("--compile", action="store_true", help="measure the compiled step too: some minutes more at each point")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.batch, arguments.prompt, arguments.dtype, arguments.new = [1], [64], ["float32"], 9
    compiled = tempfile.TemporaryDirectory()  # of this run alone: the shared one may hold a file that another process was killed over
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = compiled.name
    torch.manual_seed(0)
    rows = [] if arguments.quick else known_rows()
    for dtype in arguments.dtype:
        model = load_model("smollm2", dtype=DTYPES[dtype]).weights_only()
        theirs, simple = transformers_generate(model), day11(model)
        for T in arguments.prompt:
            for B in arguments.batch:
                contenders = {"Day 11": simple, "engine": engine(model, B, T + arguments.new, compiled=False), "transformers": theirs}
                if arguments.compile:
                    contenders["compiled"] = engine(model, B, T + arguments.new, compiled=True)
                ids = torch.randint(5, model.config.vocab_size, (B, T))
                peaks = measure_machine()  # at each point, in the same minute: what a shared machine can do changes from hour to hour
                rounds = arguments.large_rounds if B * T > 4000 else arguments.rounds
                with contextlib.ExitStack() as closing:
                    if dtype == "float32" and HAS_LLAMA:
                        theirs_too = LlamaCpp(paths.SMOLLM2, B, T + arguments.new, torch.get_num_threads())
                        closing.callback(theirs_too.close)
                        contenders[LLAMA] = llama_cpp(theirs_too)
                    found = summary(point(contenders, ids, arguments.new, rounds), model, B, T, arguments.new, peaks)
                rows = sorted([r for r in rows if key(r) != key(found[0])] + found, key=key)
                print("\n".join(table(found, peaks.bandwidth)[2:]), flush=True)
                if not arguments.quick:
                    here = machine()
                    save("engine", {"machine": here, "rows": rows}, page(rows, here))
                torch._dynamo.reset()
    good, lines = verdict(rows)
    print("\n".join(lines))
    return 0 if good else 1


def key(row: dict[str, Any]) -> tuple[str, int, int]:
    """The point a row belongs to."""
    return row["dtype"], row["prompt"], row["batch"]


def known_rows() -> list[dict[str, Any]]:
    """Rows of earlier runs: a run of some points leaves the others as they are."""
    path = RESULTS / "engine.json"
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


def not_measured(rows: list[dict[str, Any]]) -> list[str]:
    """The points that have no row yet: some take many minutes where bfloat16 is emulated."""
    here = {key(row) for row in rows}
    missing = [point for point in itertools.product(DTYPES, PROMPTS, BATCHES) if point not in here]
    lines = [f"Not measured: {dtype}, prompt {T}, B = {B}." for dtype, T, B in missing]
    if not any(row["engine"] == "compiled" for row in rows):
        lines.append("Not measured: the compiled step, at any point (`--compile`).")
    return lines


def page(rows: list[dict[str, Any]], here: str) -> str:
    """The table as Markdown. here: the machine it was measured on."""
    import transformers

    flops, bandwidths = ([row[what] / 1e9 for row in rows] for what in ("peak_flops", "bandwidth"))
    speeds = (
        f"{min(flops):.0f} to {max(flops):.0f} GFLOP/s in float32 and {min(bandwidths):.1f} to {max(bandwidths):.1f} GB/s for a plain sum, "
        f"measured at different hours. The roof of the last column is the highest of these, {roof(rows) / 1e9:.1f} GB/s"
    )
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}, {torch.get_num_threads()} threads"
    return "\n".join(
        [
            "# The reference engine and its peers, SmolLM2-135M",
            "",
            *table(rows, roof(rows)),
            "",
            *verdict(rows)[1],
            *not_measured(rows),
            "",
            llama_cpp_note(rows),
            "",
            f"Machine: {here}; {speeds}; {versions}.",
            "",
            COUNTED,
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
