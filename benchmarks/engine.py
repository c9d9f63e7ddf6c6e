"""Every engine at every point, in one run: prefill and decode of SmolLM2, and the peaks of the machine in the same minute.

python benchmarks/engine.py --budget 90     # all points, the small ones first, for 90 minutes; writes results/engine.md and its data
python benchmarks/engine.py --budget 60     # and again: existing rows remain, the missing ones are measured now
python benchmarks/engine.py --into mine.json --prompt 64 --batch 1 4 --contender "ours, float32" "ours, quantized"
python benchmarks/engine.py --quick         # one small point, nothing written
"""

import argparse
import atexit
import gc
import importlib.metadata
import importlib.util
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import RESULTS, ROOT, machine, save
from numpy.typing import NDArray
from torch import Tensor

sys.path.append(str(ROOT))
from llama import FORMATS, LlamaCpp, build, quantize
from peers import transformers_twin

from course.kit import load_model, paths
from course.kit.models.model import WeightsOnly
from solutions.batching import decode_batch, prefill_batch
from solutions.costs import kv_cache_bytes, measure_machine
from solutions.engine import PackedModel, StaticEngine
from solutions.engine.matmul import HALVES, WAYS
from solutions.engine.quantized import QuantizedEngine, QuantizedModel, best_instruction_set
from solutions.engine.quantized.drafted import continue_drafted
from solutions.engine.sequence import most_probable
from solutions.kv_cache import KVCache

BATCHES = [1, 4, 8, 16, 32]
PROMPTS = [64, 512, 2048]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
GUESSES = 4
FIRST = {64: 9, 512: 6, 2048: 6}
"""The passage of the lessons for the first row, by the prompt's length: one whose answer does not repeat itself."""
REPEATS, PROSE = "repeating text", "prose"
LLAMA = "llama.cpp, same file"
LLAMA_OWN = "llama.cpp, its fastest format"
CONTENDERS = [
    "transformers, float32",
    "transformers, bfloat16",
    LLAMA,
    LLAMA_OWN,
    "ours, float32",
    "ours, bfloat16",
    "ours, float16",
    "ours, quantized",
    f"ours, quantized + speculative, {REPEATS}",
    f"ours, quantized + speculative, {PROSE}",
]
OTHERS = ["Day 11, float32", "Day 11, bfloat16", "compiled, float32", "compiled, bfloat16"]
COUNTED = f"""\
Every contender gets the same weights, prompts of one length and the same number of threads, in one process, one directly after the other,
in rounds whose order turns round. A point of up to 2,048 tokens has three rounds, and one before them that is not counted; up to 8,192
two, and above one. The table has medians of the rounds. Prefill is from the call to the first token's logits; decode from there to the
last token's, greedy, in tokens of all rows. "CPU" is processor time of all threads for a token: beside wall time it tells what waited.

transformers is `generate` of the same weights with its own cache; llama.cpp and the quantized engine read the GGUF file as it is (4 bits,
the embedding 8). "Its fastest format" is a file that llama.cpp's own quantizer made of it: of all whose groups fit rows of 576, the one
with the shortest run (below). Ours in numbers is `StaticEngine`. Their prompts are random tokens: their time does not depend on them.
Speculative: lookup drafts of Day 15, {GUESSES} guesses at most, checked by the quantized engine; its tokens are the quantized engine's
own, and its time depends on the text. "{REPEATS}" is a passage said again and again, where a lookup finds what comes; "{PROSE}" is
running text of the course's lessons; the first row's passage was chosen as one where a lookup finds little, and those of further rows as
they come: a small model's greedy text often repeats itself, and then it pays there, too. "Tokens a pass" is what the slowest row got from
a pass.

Points come from several runs, and a machine is not the same every day: compare engines at a point, not points with one another.

Roofs: what the machine did in the same minute. Arithmetic is the fastest product of two matrices (1,024 columns and rows) of all ways
that `solutions/engine/matmul.py` knows; a token costs two operations for each weight. Bandwidth is a plain sum over 256 MB; a decode
step reads each weight once, and the keys and values of all rows. The bounds are those alone: attention's own arithmetic comes on top."""

Clock = Callable[[], NDArray[np.float64]]


def clock() -> NDArray[np.float64]:
    """Return (wall seconds, processor seconds); only differences between two calls mean anything."""
    return np.array([time.perf_counter(), time.process_time()])


Run = dict[str, Any]
"""The figures of one generation. prefill, decode: wall and processor seconds; passes: of decode, if it is not a pass a token."""
Contender = Callable[[Tensor, int], Run]


# ---- contenders ----------------------------------------------------------------------------------------------------


@cache
def weights(dtype: str) -> WeightsOnly:
    return load_model("smollm2", dtype=DTYPES[dtype]).weights_only()


@cache
def packed(dtype: str) -> PackedModel:
    made = PackedModel(weights(dtype))
    print(f"{dtype}: {made.products.line}", flush=True)
    return made


@cache
def plain(dtype: str) -> PackedModel:
    return PackedModel(weights(dtype), "linear")


@cache
def twin(dtype: str) -> Any:
    return transformers_twin(weights(dtype))


@cache
def blocks() -> QuantizedModel:
    return QuantizedModel(paths.SMOLLM2, len(best_instruction_set()))


def greedy(ids: Tensor, new: int, prefill: Callable[[Tensor], Tensor], decode: Callable[[Tensor], Tensor]) -> Run:
    start = clock()
    token = likeliest(prefill(ids))
    first = clock()
    for _ in range(new - 1):
        token = likeliest(decode(token))
    return {"prefill": first - start, "decode": clock() - first}


def likeliest(logits: Tensor) -> Tensor:
    return torch.tensor(most_probable(logits)).unsqueeze(1)


def day11(dtype: str) -> Contender:
    model = weights(dtype)

    def run(ids: Tensor, new: int) -> Run:
        num_pad = torch.zeros(len(ids), dtype=torch.int64)
        memory = KVCache(model.config, len(ids), ids.shape[1] + new, model.dtype)
        with torch.no_grad():
            return greedy(
                ids, new, lambda ids: prefill_batch(model, ids, num_pad, memory), lambda ids: decode_batch(model, ids, num_pad, memory)
            )

    return run


def ours(dtype: str) -> Contender:
    def run(ids: Tensor, new: int) -> Run:
        made = StaticEngine(packed(dtype), len(ids), ids.shape[1] + new)
        return greedy(ids, new, made.prefill, made.decode)

    return run


def compiled(dtype: str) -> Contender:
    made: dict[tuple[int, int], StaticEngine] = {}

    def run(ids: Tensor, new: int) -> Run:
        if tuple(ids.shape) not in made:
            made.clear()
            engine = made[len(ids), ids.shape[1]] = StaticEngine(plain(dtype), len(ids), ids.shape[1] + new)
            engine.compile_decode()
            greedy(ids, 3, engine.prefill, engine.decode)  # compiling is not in the figures
        engine = made[len(ids), ids.shape[1]]
        return greedy(ids, new, engine.prefill, engine.decode)

    return run


def transformers_generate(dtype: str) -> Contender:
    from transformers import GenerationConfig, LogitsProcessorList

    def run(ids: Tensor, new: int) -> Run:
        seen: list[NDArray[np.float64]] = []

        def note(ids: Tensor, scores: Tensor) -> Tensor:
            seen.append(clock())
            return scores

        settings = GenerationConfig(do_sample=False, max_new_tokens=new, min_new_tokens=new, pad_token_id=0, eos_token_id=None)
        mask, theirs = torch.ones_like(ids), twin(dtype)
        start = clock()
        theirs.generate(ids, attention_mask=mask, generation_config=settings, logits_processor=LogitsProcessorList([note]))
        assert len(seen) == new
        return {"prefill": seen[0] - start, "decode": seen[-1] - seen[0]}

    return run


def llama_cpp(file: Path) -> Contender:
    def run(ids: Tensor, new: int) -> Run:
        made = LlamaCpp(file, len(ids), ids.shape[1] + new, torch.get_num_threads())
        try:
            _, prefill, decode = made.run(ids, new, clock)
        finally:
            made.close()
        return {"prefill": prefill, "decode": decode}

    return run


@cache
def own_formats() -> dict[str, Path]:
    """Make the model's files in other formats with llama.cpp's quantizer. The files are deleted when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="formats-"))
    atexit.register(shutil.rmtree, folder)
    made = {kind: folder / f"{kind}.gguf" for kind in FORMATS}
    for kind, file in made.items():
        quantize(paths.SMOLLM2, kind, file)
    return made


@cache
def seconds_of_formats() -> dict[str, float]:
    """Return {format: wall seconds}, the best of four rounds in which the formats take turns.

    A measurement is a run of one row plus a run of eight rows, each with a prompt of 64 tokens and 33 new tokens.
    """
    best: dict[str, float] = {}
    for _ in range(4):
        for kind, file in own_formats().items():
            took = 0.0
            for B in (1, 8):
                run = llama_cpp(file)(torch.full((B, 64), 5), 33)
                took += float(run["prefill"][0] + run["decode"][0])
            best[kind] = min(took, best.get(kind, took))
    return best


def fastest_format() -> Path:
    return own_formats()[min(seconds_of_formats(), key=seconds_of_formats().__getitem__)]


def quantized(ids: Tensor, new: int) -> Run:
    made = QuantizedEngine(model=blocks(), batch=len(ids), max_len=ids.shape[1] + new)
    try:
        made.compile()
        return greedy(ids, new, made.prefill, made.decode)
    finally:
        made.close()


def speculative(kind: str) -> Contender:
    def run(ids: Tensor, new: int) -> Run:
        prompts = texts(kind, *ids.shape)
        made = QuantizedEngine(model=blocks(), batch=len(ids), max_len=ids.shape[1] + new, guesses=GUESSES)
        try:
            made.compile()
            start = clock()
            first = most_probable(made.prefill(torch.tensor(prompts)))
            begun = clock()
            drafted = continue_drafted(made, prompts, first, new)
            ended = clock()
            assert all(len(row) == new for row in drafted.tokens)
            return {"prefill": begun - start, "decode": ended - begun, "passes": drafted.passes}
        finally:
            made.close()

    return run


@cache
def lessons() -> list[int]:
    """Return running text of the lessons, as tokens."""
    files = sorted(ROOT.glob("course/day*/lesson.md"))
    prose = [part for path in files for part in path.read_text(encoding="utf-8").split("\n\n") if len(part) > 300 and "```" not in part]
    return load_model("smollm2").tokenizer.encode("\n\n".join(prose))


def texts(kind: str, B: int, T: int) -> list[list[int]]:
    """Return B prompts of T tokens, each from another passage of the lessons: running text, or its first tokens repeated."""
    whole = lessons()
    first = FIRST.get(T, 0) if kind == PROSE else 0
    starts = [((first + row) * 1009) % (len(whole) - T) for row in range(B)]
    if kind == PROSE:
        return [whole[start : start + T] for start in starts]
    return [(whole[start : start + 20] * (T // 20 + 1))[:T] for start in starts]


def contender(name: str) -> Contender:
    which, _, rest = name.partition(", ")
    if name in (LLAMA, LLAMA_OWN):
        return llama_cpp(paths.SMOLLM2 if name == LLAMA else fastest_format())
    if name == "ours, quantized":
        return quantized
    if "speculative" in name:
        return speculative(rest.split(", ")[1])
    return {"ours": ours, "transformers": transformers_generate, "Day 11": day11, "compiled": compiled}[which](rest)


# ---- the machine's limits ------------------------------------------------------------------------------------------


def arithmetic(dtype: torch.dtype, size: int = 1024, rounds: int = 4) -> float:
    """Measure the FLOP/s of the fastest way to multiply two matrices, from the shortest of several rounds."""
    x, weight = torch.randn(size, size).to(dtype), torch.randn(size, size).half().to(dtype)
    best = float("inf")
    for way in WAYS:
        if dtype not in way.dtypes or (dtype == torch.float16 and not way.form):
            continue  # without instructions for float16 its own product takes a second
        try:
            prepared = way.prepare(weight)
            for _ in range(rounds):
                start = time.perf_counter()
                way.multiply(x, prepared)
                best = min(best, time.perf_counter() - start)
        except Exception:
            continue
    return 2 * size**3 / best


def roofs() -> dict[str, float]:
    with torch.no_grad():
        return {
            "bandwidth": measure_machine().bandwidth,
            "float32": arithmetic(torch.float32),
            "16 bits": max(arithmetic(dtype) for dtype in HALVES),
        }


def width_of(name: str) -> str:
    """Return the width of a contender's weights: float32, 16 bits or 4 bits."""
    return "4 bits" if "llama.cpp" in name or "quantized" in name else "float32" if "float32" in name else "16 bits"


def read_bytes(width: str, B: int, T: int, new: int) -> float:
    """Return the bytes that a decode step reads: all weights, and the keys and values when half of the new tokens exist."""
    size = 4 if width == "float32" else 2
    stored = paths.SMOLLM2.stat().st_size if width == "4 bits" else weights("float32").num_parameters * size
    return stored + kv_cache_bytes(weights("float32").config, T + new // 2, B, size)


def flops(B: int, T: int) -> float:
    """Return the FLOPs of a prefill's products with weights: all tokens pass the layers, only each row's last token the head."""
    config, parameters = weights("float32").config, weights("float32").num_parameters
    head = config.vocab_size * config.hidden_size
    return 2.0 * B * (T * (parameters - head) + head)


# ---- a point -------------------------------------------------------------------------------------------------------


def rounds_of(B: int, T: int) -> tuple[int, int]:
    """Return (the number of rounds that count, the number of warm-up rounds before them)."""
    return (3, 1) if B * T <= 2048 else (2, 0) if B * T <= 8192 else (1, 0)


def estimate(rows: list[dict[str, Any]], name: str, B: int, T: int, new: int) -> float | None:
    """Estimate a contender's seconds at a point from its largest smaller point; None if no smaller point is measured yet."""
    known = [row for row in rows if row["contender"] == name and row["batch"] <= B and row["prompt"] <= T]
    if not known:
        return None
    near = max(known, key=lambda row: row["batch"] * row["prompt"])
    longer = 1 + T / 2048  # attention's share grows with the text
    prefill = B * T / near["prefill"] * longer
    decode = (new - 1) * near["batch"] / near["decode"] * max(1.0, B / near["batch"]) ** 0.7 * longer
    return (prefill + decode) * sum(rounds_of(B, T))


def memory(name: str, B: int, T: int, new: int) -> float:
    """Return the bytes of keys and values; three times as many for transformers, whose growing cache is copied."""
    size = 4 if width_of(name) == "float32" else 2
    config = weights("float32").config
    return kv_cache_bytes(config, T + new, B, size) * (3 if "transformers" in name else 1)


def available() -> float:
    lines = Path("/proc/meminfo").read_text().splitlines() if Path("/proc/meminfo").exists() else []
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    return found[0] if found else float("inf")


def refusal(rows: list[dict[str, Any]], name: str, B: int, T: int, new: int, left: float, longest: float) -> str | None:
    """Return the reason for not measuring a row, or None."""
    if "llama.cpp" in name and importlib.util.find_spec("llama_cpp") is None:
        return "llama-cpp-python is not installed (extra `llama`; it compiles for some minutes)"
    if (needed := memory(name, B, T, new)) > 0.5 * available():
        return f"its keys and values need {needed / 1e9:.0f} GB"
    seconds = estimate(rows, name, B, T, new)
    if seconds is not None and seconds > longest * 60:
        return f"would take {seconds / 60:.0f} minutes, more than --longest {longest:g}"
    if left <= 0:
        return "the budget was spent"
    if seconds is not None and seconds > left:
        return f"would take {seconds:.0f} s, more than was left of the budget"
    return None


def measured(
    names: list[str],
    B: int,
    T: int,
    new: int,
    pause: float = 0.3,
    *,
    of: Callable[[str], Contender] = contender,
    rounds: tuple[int, int] | None = None,
) -> dict[str, list[Run]]:
    """Run the contenders in turn; the order alternates between rounds.

    of: returns a contender by name. rounds: as from `rounds_of`, which is the default.
    """
    ids = torch.randint(5, weights("float32").config.vocab_size, (B, T), generator=torch.Generator().manual_seed(T + B))
    counted, before = rounds or rounds_of(B, T)
    made = {name: of(name) for name in names}
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for number in range(-before, counted):
        for name in names if number % 2 else names[::-1]:
            time.sleep(pause)  # until the threads of the one before sleep, too
            run = made[name](ids, new)
            gc.collect()
            if number >= 0:
                runs[name].append(run)
    return runs


def row(name: str, B: int, T: int, new: int, runs: list[Run], roof: dict[str, float]) -> dict[str, Any]:
    seconds = {part: statistics.median(float(run[part][0]) for run in runs) for part in ("prefill", "decode")}
    cpu = {part: statistics.median(float(run[part][1]) for run in runs) for part in ("prefill", "decode")}
    made = B * (new - 1)
    passes = statistics.median(run.get("passes", new - 1) for run in runs)
    return {
        "prompt": T,
        "batch": B,
        "contender": name,
        "new": new,
        "prefill": B * T / seconds["prefill"],
        "decode": made / seconds["decode"],
        "prefill_cpu_ms": 1e3 * cpu["prefill"] / (B * T),
        "decode_cpu_ms": 1e3 * cpu["decode"] / made,
        "tokens_a_pass": (new - 1) / passes,
        "bytes_a_second": read_bytes(width_of(name), B, T, new) * passes / seconds["decode"],
        "flops": flops(B, T) / seconds["prefill"],
        "rounds": len(runs),
        "load": os.getloadavg()[0],
        **{f"roof_{key}": value for key, value in roof.items()},
    }


# ---- the page ------------------------------------------------------------------------------------------------------


def key(row: dict[str, Any]) -> tuple[int, int, int]:
    names = CONTENDERS + OTHERS
    return row["prompt"], row["batch"], names.index(row["contender"])


def roof_lines(rows: list[dict[str, Any]], T: int, B: int) -> Iterator[str]:
    """Yield a point's row of upper limits for each width of weights. If several runs measured the point, take the best limits."""
    best = {name: max(row[f"roof_{name}"] for row in rows) for name in ("bandwidth", "float32", "16 bits")}
    new = rows[0]["new"]
    for width in ("float32", "16 bits", "4 bits"):
        step = read_bytes(width, B, T, new) / best["bandwidth"]
        prefill = f"*{B * T / (flops(B, T) / best[width]):.0f}*" if width in best else ""
        limits = f"{best['bandwidth'] / 1e9:.1f} GB/s" + (f", {best[width] / 1e9:.0f} GFLOP/s" if width in best else "")
        yield f"| {T} | {B} | *roof, {width}: {limits}* | {prefill} | | | *{B / step:.0f}* | | | |"


def table(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| prompt | B | engine | prefill, tokens/s | CPU ms a token | of arithmetic | decode, tokens/s | CPU ms a token | of bandwidth "
        "| tokens a pass |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (T, B), group in itertools.groupby(sorted(rows, key=key), key=lambda row: (row["prompt"], row["batch"])):
        here = list(group)
        for r in here:
            width = width_of(r["contender"])
            width = "" if width == "4 bits" else width  # of whole numbers no arithmetic is measured
            share = f"{r['flops'] / r[f'roof_{width}']:.0%}" if width else ""
            several = f"{r['tokens_a_pass']:.2f}" if "speculative" in r["contender"] else ""
            lines.append(
                f"| {T} | {B} | {r['contender']} | {r['prefill']:.0f} | {r['prefill_cpu_ms']:.2f} | {share} | {r['decode']:.1f} "
                f"| {r['decode_cpu_ms']:.2f} | {r['bytes_a_second'] / r['roof_bandwidth']:.0%} | {several} |"
            )
        lines += roof_lines(here, T, B)
    return lines


PAIRS = [
    ("ours, float32", "transformers, float32"),
    ("ours, bfloat16", "transformers, bfloat16"),
    ("ours, quantized", LLAMA),
    ("ours, quantized", LLAMA_OWN),
    (f"ours, quantized + speculative, {REPEATS}", "ours, quantized"),
    (f"ours, quantized + speculative, {PROSE}", "ours, quantized"),
]


def verdict(rows: list[dict[str, Any]]) -> list[str]:
    """Compare each of our engines with its peer, and list the points at which ours is slower."""
    at = {(row["contender"], row["prompt"], row["batch"]): row for row in rows}
    lines = []
    for name, peer in PAIRS:
        for part in ("prefill", "decode"):
            if "speculative" in name and part == "prefill":
                continue  # the same one
            ratios = {(T, B): row[part] / at[peer, T, B][part] for (who, T, B), row in at.items() if who == name and (peer, T, B) in at}
            if ratios:
                behind = [f"prompt {T}, B = {B}: {ratio:.2f}" for (T, B), ratio in ratios.items() if ratio < 1]
                where = f"Slower at {'; '.join(behind)}." if behind else "Slower nowhere."
                values = list(ratios.values())
                points = "1 point" if len(values) == 1 else f"{len(values)} points"
                lines.append(
                    f"{name} over {peer}, {part}: {min(values):.2f} to {max(values):.2f} over {points}, "
                    f"median {statistics.median(values):.2f}. {where}"
                )
    return lines


def not_measured(left_out: list[dict[str, Any]]) -> list[str]:
    """Return a line for each contender and reason, with the points that were not measured."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for each in left_out:
        grouped.setdefault((each["contender"], each["why"]), []).append(f"{each['prompt']} x {each['batch']}")
    return [f"Not measured (prompt x B): {name} at {', '.join(points)}: {why}." for (name, why), points in grouped.items()]


def page(result: dict[str, Any]) -> str:
    rows = result["rows"]
    lines = ["# The engines and their peers, SmolLM2-135M", "", *table(rows), ""]
    lines += [*spaced(verdict(rows)), *spaced(not_measured(result["left_out"]))]
    for number, each in enumerate(result["runs"], 1):
        lines += spaced(conditions(number, each))
    return "\n".join([*lines, COUNTED])


def conditions(number: int, run: dict[str, Any]) -> Iterator[str]:
    """Describe one run of this script: machine, versions, and the choices made by timing."""
    points = ", ".join(f"{T} x {B}" for T, B in run["points"])
    yield f"Run {number}, prompt x B {points}. Machine: {run['machine']}; {run['versions']}."
    for dtype, line in run["products"].items():
        yield f"{dtype}: {line}."
    if run["formats"]:
        timings = ", ".join(f"{kind} {seconds:.3f}" for kind, seconds in sorted(run["formats"].items(), key=lambda each: each[1]))
        yield f"llama.cpp's own formats, seconds of a run at one row and one at eight (prompt 64, 33 new tokens), added: {timings}."


def spaced(lines: Iterable[str]) -> list[str]:
    return [part for line in lines for part in (line, "")]


def versions() -> str:
    parts = [f"torch {torch.__version__}", f"transformers {importlib.metadata.version('transformers')}"]
    if importlib.util.find_spec("llama_cpp") is not None:
        parts.append(build())
    return ", ".join([*parts, f"{torch.get_num_threads()} threads"])


def known(path: Path) -> dict[str, Any]:
    """Return the results of earlier runs in the file; none if the file has another form."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    good = all("contender" in row for row in found.get("rows", []))
    return {key: found.get(key, []) if good else [] for key in ("rows", "runs")}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=COUNTED, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--prompt", type=int, nargs="+", default=PROMPTS)
    every = CONTENDERS + OTHERS
    parser.add_argument("--contender", nargs="+", choices=every, default=CONTENDERS, metavar="NAME", help="; ".join(every))
    parser.add_argument("--new", type=int, default=33, help="new tokens of a row")
    parser.add_argument("--budget", type=float, default=120, help="minutes; what does not fit is listed as not measured")
    parser.add_argument("--longest", type=float, default=12, help="minutes that one contender may take at one point")
    parser.add_argument("--into", type=Path, default=RESULTS, help="folder of results; rows that are in it are not measured again")
    parser.add_argument("--quick", action="store_true", help="one point, nothing written")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.batch, chosen.prompt, chosen.new = [1], [64], 9
    return chosen


def selected(
    rows: list[dict[str, Any]], chosen: argparse.Namespace, B: int, T: int, left: float
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the contenders to measure at a point, and those left out, each with the reason. left: the budget's remaining seconds."""
    there = {row["contender"] for row in rows if (row["prompt"], row["batch"]) == (T, B)}
    names, left_out = [], []
    for name in chosen.contender:
        if name in there:
            continue
        why = refusal(rows, name, B, T, chosen.new, left, chosen.longest)
        if why:
            left_out.append({"contender": name, "prompt": T, "batch": B, "why": why})
        else:
            names.append(name)
            left -= estimate(rows, name, B, T, chosen.new) or 0
    return names, left_out


def main() -> int:
    chosen = options()
    start = time.monotonic()
    earlier = {"rows": [], "runs": []} if chosen.quick else known(chosen.into / "data" / "engine.json")
    rows: list[dict[str, Any]] = earlier["rows"]
    left_out: list[dict[str, Any]] = []
    run: dict[str, Any] = {"points": [], "machine": machine(), "versions": versions(), "products": {}, "formats": {}}

    def store() -> None:
        if not chosen.quick:
            runs = [*earlier["runs"], *([run] if run["points"] else [])]
            result = {"machine": run["machine"], "runs": runs, "left_out": left_out, "rows": rows}
            save("engine", result, page(result), chosen.into)

    points = sorted(itertools.product(chosen.prompt, chosen.batch), key=lambda point: (point[0] * point[1], point))
    for T, B in points:
        names, refused = selected(rows, chosen, B, T, chosen.budget * 60 - (time.monotonic() - start))
        left_out += refused
        if not names:
            continue
        roof = roofs()
        runs = measured(names, B, T, chosen.new)
        made = [row(name, B, T, chosen.new, found, roof) for name, found in runs.items()]
        rows += made
        rows.sort(key=key)
        run["points"].append([T, B])
        print("\n".join(table(made)[2:]), flush=True)
        for dtype in DTYPES:
            if f"ours, {dtype}" in names:
                run["products"][dtype] = packed(dtype).products.line
        if LLAMA_OWN in names:
            run["formats"] = seconds_of_formats()
        store()
    print("\n".join([*verdict(rows), *not_measured(left_out)]))
    store()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
