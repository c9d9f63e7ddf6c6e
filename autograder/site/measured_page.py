"""The page "Measured": the figures that say most, each in a sentence with its machine, and behind them the tables they come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.lessons import ROOT

NAMES = {"Day 11": "what you write, Day 11", "engine": "the reference engine", "transformers": "transformers"}
RESULTS = ROOT / "benchmarks" / "results"


def page(names: Sequence[str], results: Path = RESULTS) -> str:
    """names: of the pages with all of a benchmark's figures, without their ending."""
    told = [decoding(read(results, "engine")), quantized(read(results, "quantized")), grading(read(results, "grading"))]
    intro = "What follows was measured by the scripts in `benchmarks/`, side by side with its peers on the machine that each line names."
    return "\n".join(["# Measured", "", intro, "", *told, "## All tables", "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])


def read(results: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((results / f"{name}.json").read_text(encoding="utf-8")))


def decoding(told: dict[str, Any]) -> str:
    rows = {(row["engine"], row["batch"]): row for row in told["rows"] if row["dtype"] == "float32" and row["prompt"] == 512}
    lines = ["## Decoding, beside transformers", ""]
    lines += ["| tokens a second, float32, a prompt of 512 | one sequence | sixteen |", "|---|---:|---:|"]
    for engine, name in NAMES.items():
        speeds = " | ".join(f"{rows[engine, n]['decode_tokens_per_second']:.1f}" for n in (1, 16))
        lines.append(f"| {name} | {speeds} |")
    ratios = [row["decode_over_transformers"] for row in told["rows"] if row["engine"] == "Day 11"]
    of_engine = [row["decode_over_transformers"] for row in told["rows"] if row["engine"] == "engine"]
    words = (
        f"Over all {len(ratios)} settings that were measured, in float32 and bfloat16, what is written on Day 11 decodes at {span(ratios)} "
        f"times the speed of Hugging Face transformers, and the reference engine at {span(of_engine)} times. "
        f"Machine: {told['machine']}. [All settings](engine.md)"
    )
    return "\n".join([*lines, "", words, ""])


def quantized(told: dict[str, Any]) -> str:
    ahead = span([row["decode_ahead"] for row in told["rows"]])
    first = span([row["prefill_ahead"] for row in told["rows"]])
    return (
        f"## Four bits, beside llama.cpp\n\nFrom the same file of 4 and 8 bits the quantized engine decodes at {ahead} times the speed of "
        f"llama.cpp and reads prompts at {first} times, over {len(told['rows'])} settings. Machine: {told['machine']}; {told['isa']}, "
        f"{told['llama']}. [All settings, and how near both are to float32](quantized.md)\n"
    )


def grading(told: dict[str, Any]) -> str:
    stock = [row["seconds_per_submission"] for row in told["rows"] if row["path"] == "stock"]
    ours = [row for row in told["rows"] if row["path"] != "stock"]
    seconds = span([row["seconds_per_submission"] for row in ours], 2)
    most = max(ours, key=lambda row: row["count"])
    return (
        f"## Grading, beside nbgrader\n\nA submission is graded in {seconds} seconds, in isolation, where stock nbgrader takes "
        f"{span(stock)} without; {most['count']:,} submissions took {most['seconds'] / 60:.1f} minutes. Machine: {told['machine']}. "
        f"[All paths, with their memory](grading.md)\n"
    )


def span(numbers: Sequence[float], digits: int = 2) -> str:
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}"
