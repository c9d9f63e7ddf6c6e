"""Draws the figures of this day. Run it again after a change: `python course/day11_batching/figures.py`."""

import tomllib
from pathlib import Path
from typing import Any

import torch
from matplotlib.patches import Rectangle

from course.kit import paths, plots
from solutions.batching import positions_and_mask

FIGURES = Path(__file__).parent / "figures"
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["batching"]


def bare(ax: Any) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ("bottom", "left"):
        ax.spines[side].set_visible(False)


def square(ax: Any, x: float, y: float, word: str, colour: str, ink: str = "black") -> None:
    ax.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, facecolor=colour, edgecolor=plots.LIGHT))
    ax.text(x, y, word, ha="center", va="center", fontsize=9, color=ink)


def grid() -> None:
    """Three rows on paper: slots, positions, and which key each query may see."""
    case = HAND["three_rows"]
    positions, mask = positions_and_mask(torch.tensor(case["num_pad"]), 0, 4)
    fig, axes = plots.figure(2, 3, width=9, height=4.6, height_ratios=[1, 2.2])
    for row in range(3):
        top, low = axes[0][row], axes[1][row]
        pads = case["num_pad"][row]
        for slot in range(4):
            real = slot >= pads
            word, colour, ink = (str(case["ids"][row][slot]), plots.BLUE, "white") if real else ("pad", plots.LIGHT, "black")
            square(top, slot, 0, word, colour, ink)
            square(top, slot, 1, str(int(positions[row, slot])), "white")
        top.set_title(f"row {row}: {pads} pad{'s' if pads != 1 else ''}")
        top.set_xlim(-0.6, 3.6)
        top.set_ylim(1.6, -0.6)
        bare(top)
        top.set_yticks([0, 1], ["token", "position"])
        top.tick_params(length=0)
        for query in range(4):
            for key in range(4):
                sees = bool(mask[row, 0, query, key])
                colour, ink = (plots.LIGHT, "black") if query < pads else (plots.BLUE, "white")
                square(low, key, query, "1" if sees else "", colour if sees else "white", ink)
        low.set_xlim(-0.6, 3.6)
        low.set_ylim(3.6, -0.6)
        bare(low)
        low.set_xticks(range(4), range(4))
        low.set_yticks(range(4), [f"query {i}" for i in range(4)])
        low.tick_params(length=0)
        low.set_xlabel("key, by slot")
    plots.save(fig, FIGURES / "grid.svg")


def waste() -> None:
    """Four prompts and four answers of unequal lengths: what is real and what is filled up."""
    case = HAND["waste"]
    fig, (left, right) = plots.figure(1, 2, width=9.5, height=2.7)
    longest = max(case["prompts"])
    for y, real in enumerate(case["prompts"]):
        left.barh(y, longest - real, color=plots.LIGHT, edgecolor="white")
        left.barh(y, real, left=longest - real, color=plots.BLUE, edgecolor="white")
    left.set_title(f"prompts: {case['pad_share']:.1%} of the slots are pads")
    left.set_xlabel("slot")
    steps = max(case["answers"])
    for y, real in enumerate(case["answers"]):
        right.barh(y, real, color=plots.ORANGE, edgecolor="white")
        right.barh(y, steps - real, left=real, color=plots.LIGHT, edgecolor="white")
    right.set_title(f"answers: {case['idle_share']:.1%} of the work is idle")
    right.set_xlabel("step")
    for ax in (left, right):
        ax.set_yticks(range(4), [f"row {i}" for i in range(4)])
        ax.invert_yaxis()
    plots.save(fig, FIGURES / "waste.svg")


def two_sides() -> None:
    """Tokens per second and time of a step against B: 7 billion weights on an A100."""
    case = HAND["gpu_7b"]
    batches = sorted({2**i for i in range(9)} | {156})
    cache = case["cache_bytes_per_token"] * case["tokens_per_row"]

    def seconds(b: int, cached: int) -> float:
        arithmetic = 2 * case["n_params"] * b / case["peak_flops"]
        return float(max(arithmetic, (case["weight_bytes"] + b * cached) / case["bandwidth"]))

    fig, (left, right) = plots.figure(1, 2, width=9.5, height=3.3)
    for name, cached, colour, dash, marker in (
        ("weights only", 0, plots.GREY, ":", None),
        ("weights and caches", cache, plots.BLUE, "-", "o"),
    ):
        left.plot(batches, [b / seconds(b, cached) for b in batches], dash, marker=marker, color=colour, label=name)
        right.plot(batches, [seconds(b, cached) * 1e3 for b in batches], dash, marker=marker, color=colour, label=name)
    for ax, title, unit in (
        (left, "throughput, for all rows together", "tokens per second"),
        (right, "latency, for each row", "ms from token to token"),
    ):
        ax.set_xscale("log", base=2)
        ax.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
        ax.set_xlabel("rows, B")
        ax.set_ylabel(unit)
        ax.set_title(title)
        ax.grid(True)
        ax.legend(loc="upper left")
    left.set_yscale("log")
    left.set_yticks([100, 1000, 10000], ["100", "1,000", "10,000"])
    right.set_ylim(0, 55)
    plots.save(fig, FIGURES / "two_sides.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        grid()
        waste()
        two_sides()
