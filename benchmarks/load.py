"""The loading of SmolLM2 from its GGUF file: the course's kit against transformers, in time and in memory.

python benchmarks/load.py            # some minutes; writes benchmarks/results/load.md and its data
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from common import ROOT, machine, save

LOADERS = ("kit", "transformers")
WEIGHT_BYTES = 134_515_008 * 4
COUNTED = """\
Each load runs in a process of its own, kit and transformers in turn, after one uncounted load of each that brings the
file into the page cache. Counted: the seconds of the one call that gives a float32 model ready to run, imports left
out; and the process's peak resident memory from just before the call to the end of one forward pass, less what was
resident before the call. Pages of the mapped file that are resident count too."""
LEAST_RATIO, MOST_MEMORY = 2.0, 1.5


def resident_bytes(field: str) -> int:
    """Return VmRSS (now) or VmHWM (peak) of this process. getrusage's peak would include the parent's from before exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}; this benchmark needs Linux")


def load_once(loader: str) -> dict[str, float]:
    """Load the model once in this process, and return the seconds and the peak bytes above the baseline."""
    import torch

    sys.path.append(str(ROOT))
    from course.kit import load_model, paths

    path = paths.SMOLLM2
    if loader == "transformers":
        import gguf  # noqa: F401
        from transformers import AutoModelForCausalLM
        from transformers.models.llama import modeling_llama  # noqa: F401
        from transformers.utils import logging

        logging.disable_progress_bar()
    torch.ones(64, 64) @ torch.ones(64, 64)  # threads and their buffers belong to the baseline
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    before = resident_bytes("VmRSS")
    model: Any
    start = time.perf_counter()
    if loader == "kit":
        model = load_model("smollm2")
    else:
        model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    seconds = time.perf_counter() - start
    with torch.no_grad():
        model(torch.tensor([[1, 2, 3]]))
    return {"seconds": seconds, "peak_bytes": resident_bytes("VmHWM") - before}


def measure(runs: int) -> dict[str, list[dict[str, float]]]:
    """Run the loaders in turn, each in a fresh process; the first turn is not counted."""
    rows: dict[str, list[dict[str, float]]] = {loader: [] for loader in LOADERS}
    for run in range(runs + 1):
        for loader in LOADERS:
            command = [sys.executable, __file__, "--once", loader]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            row = json.loads(printed.splitlines()[-1])
            print(f"run {run}: {loader} {row['seconds']:.2f} s, {row['peak_bytes'] / 1e6:.0f} MB", flush=True)
            if run:
                rows[loader].append(row)
    return rows


def report(rows: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    import torch
    import transformers

    pairs = zip(rows["kit"], rows["transformers"], strict=True)
    ratios = [theirs["seconds"] / ours["seconds"] for ours, theirs in pairs]
    medians = {
        loader: {key: statistics.median(row[key] for row in rows[loader]) for key in ("seconds", "peak_bytes")} for loader in LOADERS
    }
    return {
        "machine": machine(),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "weights_float32_bytes": WEIGHT_BYTES,
        "median": medians,
        "median_ratio_of_seconds": statistics.median(ratios),
        "lowest_ratio_of_seconds": min(ratios),
        "peak_over_float32_weights": {loader: medians[loader]["peak_bytes"] / WEIGHT_BYTES for loader in LOADERS},
        "runs": rows,
    }


def table(result: dict) -> str:
    lines = ["| loader | seconds (median) | peak memory | peak over float32 weights |", "|---|---|---|---|"]
    for loader in LOADERS:
        median, share = result["median"][loader], result["peak_over_float32_weights"][loader]
        lines.append(f"| {loader} | {median['seconds']:.2f} | {median['peak_bytes'] / 1e6:.0f} MB | {share:.2f} |")
    ratio, lowest = result["median_ratio_of_seconds"], result["lowest_ratio_of_seconds"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    lines += [
        "",
        f"The kit is {ratio:.1f} times as fast (median of {len(result['runs']['kit'])} pairs, lowest {lowest:.1f}; "
        f"wanted: {LEAST_RATIO}). Its peak is wanted at or under {MOST_MEMORY} times the float32 weights.",
        "",
        f"Machine: {result['machine']}; {versions}.",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=COUNTED)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--once", choices=LOADERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(load_once(arguments.once)))
        return 0
    result = report(measure(arguments.runs))
    title = "# Loading SmolLM2 (GGUF Q4_1) into float32"
    save("load", result, f"{title}\n\n{table(result)}\n\n{COUNTED}\n")
    print(table(result))
    fast = result["median_ratio_of_seconds"] >= LEAST_RATIO
    small = result["peak_over_float32_weights"]["kit"] <= MOST_MEMORY
    return 0 if fast and small else 1


if __name__ == "__main__":
    raise SystemExit(main())
