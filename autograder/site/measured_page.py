"""The page "Measured": the most important figures, each in a sentence with its machine, followed by the tables they come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.lessons import ROOT

NAMES = {
    "transformers, float32": "transformers, float32",
    "ours, float32": "the course's engine, float32",
    "transformers, bfloat16": "transformers, bfloat16",
    "ours, bfloat16": "the course's engine, bfloat16",
    "llama.cpp, same file": "llama.cpp, the file of 4 bits",
    "llama.cpp, its fastest format": "llama.cpp, the format that its own quantizer makes for speed",
    "ours, quantized": "the course's engine, the file of 4 bits",
}
PAIRS = (
    ("ours, float32", "transformers, float32"),
    ("ours, bfloat16", "transformers, bfloat16"),
    ("ours, quantized", "llama.cpp, same file"),
    ("ours, quantized", "llama.cpp, its fastest format"),
)
RESULTS = ROOT / "benchmarks" / "results"


def page(names: Sequence[str], results: Path = RESULTS) -> str:
    """Return the page as Markdown. names: the pages with all figures of a benchmark, without the suffix."""
    parts = [decoding(read(results, "engine")), quantized(read(results, "quantized")), grading(read(results, "grading"))]
    intro = "The scripts in `benchmarks/` measured these figures, side by side with other programs, on the machine that each line names."
    return "\n".join(["# Measured", "", intro, "", *parts, "## All tables", "", "```{toctree}", ":maxdepth: 1", "", *names, "```", ""])


def read(results: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((results / "data" / f"{name}.json").read_text(encoding="utf-8")))


def decoding(figures: dict[str, Any]) -> str:
    at = {(row["contender"], row["prompt"], row["batch"]): row["decode"] for row in figures["rows"]}
    lines = ["## Decoding, beside transformers and llama.cpp", ""]
    lines += ["| tokens a second, a prompt of 512 | one sequence | sixteen |", "|---|---:|---:|"]
    lines += [f"| {words} | {' | '.join(f'{at[name, 512, n]:.1f}' for n in (1, 16))} |" for name, words in NAMES.items()]
    words = " ".join(
        f"{ours[0].upper()}{ours[1:]} decodes at {span(over(at, ours, theirs))} times the speed of {theirs}." for ours, theirs in PAIRS
    )
    settings = len({key[1:] for key in at})
    return "\n".join([*lines, "", f"Over {settings} settings: {words} Machine: {figures['machine']}. [All settings](engine.md)", ""])


def over(at: dict[tuple[str, int, int], float], ours: str, theirs: str) -> list[float]:
    """Return the ratios ours / theirs at every point measured for both."""
    return [speed / at[theirs, T, B] for (name, T, B), speed in at.items() if name == ours and (theirs, T, B) in at]


def quantized(figures: dict[str, Any]) -> str:
    ahead = span([row["decode_ahead"] for row in figures["rows"]])
    first = span([row["prefill_ahead"] for row in figures["rows"]])
    return (
        f"## Four bits, beside llama.cpp\n\nFrom the same file of 4 and 8 bits the quantized engine decodes at {ahead} times the speed of "
        f"llama.cpp and reads prompts at {first} times, over {len(figures['rows'])} settings. Machine: {figures['machine']}; "
        f"{figures['isa']}, {figures['llama']}. [All settings, and how near both are to float32](quantized.md)\n"
    )


def grading(figures: dict[str, Any]) -> str:
    stock = [row["seconds_per_submission"] for row in figures["rows"] if row["path"] == "stock"]
    ours = [row for row in figures["rows"] if row["path"] != "stock"]
    seconds = span([row["seconds_per_submission"] for row in ours], 2)
    most = max(ours, key=lambda row: row["count"])
    return (
        f"## Grading, beside nbgrader\n\nA submission is graded in {seconds} seconds, in isolation, where stock nbgrader takes "
        f"{span(stock)} without; {most['count']:,} submissions took {most['seconds'] / 60:.1f} minutes. Machine: {figures['machine']}. "
        f"[All paths, with their memory](grading.md)\n"
    )


def span(numbers: Sequence[float], digits: int = 2) -> str:
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}"
