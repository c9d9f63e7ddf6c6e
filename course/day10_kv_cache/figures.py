"""Draws the figures of this day. Run it again after a change: `python course/day10_kv_cache/figures.py`."""

import tomllib
from pathlib import Path
from typing import Any

from matplotlib.patches import Rectangle

from course.drawing import bare
from course.kit import paths, plots

FIGURES = Path(__file__).parent / "figures"
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["kv_cache"]
PALE_BLUE, PALE_ORANGE = "#dce6f0", "#f7e3cc"


def square(ax: Any, x: float, y: float, colour: str = "white", text: str = "", width: float = 0.92, height: float = 0.86) -> None:
    ax.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor=plots.GREY, linewidth=0.8))
    if text:
        ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=8.5, color="#222222")


def new_row() -> None:
    """Draw the table of attention weights: a fourth token adds a row and a column, and changes nothing above."""
    case = HAND["weights_one_to_four"]
    fig, ax = plots.figure(width=8.4, height=3.4)
    bare(ax, 10.6, 5.6)
    for j, (key, value) in enumerate(zip(case["keys"], case["values"], strict=True)):
        colour = PALE_ORANGE if j == 3 else PALE_BLUE
        square(ax, 2.6 + j, 0.35, colour, f"{key:.3f}")
        square(ax, 2.6 + j, 4.5, colour, f"{value:g}")
    ax.text(2.4, 0.78, "keys", ha="right", va="center", fontsize=9)
    ax.text(2.4, 4.93, "values", ha="right", va="center", fontsize=9)
    for i, read in enumerate(case["read"]):
        total = sum(case["weights"][: i + 1])
        ax.text(2.4, 1.75 + 0.68 * i, f"query of token {i}", ha="right", va="center", fontsize=9)
        for j in range(4):
            seen = j <= i
            colour = PALE_ORANGE if seen and i == 3 else PALE_BLUE if seen else "#f4f4f4"
            square(ax, 2.6 + j, 1.45 + 0.68 * i, colour, f"{case['weights'][j]}/{total}" if seen else "", height=0.6)
        ax.text(6.9, 1.75 + 0.68 * i, f"reads {read:g}", va="center", fontsize=9, fontweight="bold" if i == 3 else "normal")
    ax.text(8.4, 2.4, "from the steps\nbefore: unchanged", va="center", fontsize=9, color=plots.BLUE)
    ax.text(8.4, 3.8, "this step", va="center", fontsize=9, color="#8a4d0f")
    plots.save(fig, FIGURES / "new_row.svg")


def box() -> None:
    """Draw the cache in the middle of a pass: two of three layers have stored the sixth token."""
    fig, ax = plots.figure(width=8.4, height=2.9)
    bare(ax, 14.2, 5.0)
    for slot in range(8):
        ax.text(2.96 + slot, 0.2, str(slot), ha="center", fontsize=8.5, color=plots.GREY)
    ax.text(2.3, 0.2, "slot", ha="right", fontsize=8.5, color=plots.GREY)
    for layer in range(3):
        count = 6 if layer < 2 else 5
        for name, shift in (("K", 0.0), ("V", 0.58)):
            y = 0.5 + 1.45 * layer + shift
            ax.text(2.3, y + 0.27, name, ha="right", va="center", fontsize=8.5)
            for slot in range(8):
                square(ax, 2.5 + slot, y, PALE_ORANGE if slot == 5 < count else PALE_BLUE if slot < 5 else "white", height=0.52)
        ax.text(0.0, 1.08 + 1.45 * layer, f"layer {layer}", va="center", fontsize=9)
        ax.text(10.8, 1.08 + 1.45 * layer, f"count {count}" + ("" if layer < 2 else ", and so length 5"), va="center", fontsize=9)
    plots.save(fig, FIGURES / "box.svg")


def chunk_mask() -> None:
    """Three new tokens behind five: the mask aligned at the end, and aligned at the start by mistake."""
    fig, (left, right) = plots.figure(1, 2, width=9.4, height=2.6)
    for ax, title, first in ((left, "aligned at the end: right", 5), (right, "aligned at the start: wrong", 0)):
        bare(ax, 10.6, 4.6)
        ax.text(2.5, 0.1, title, fontsize=10)
        for j in range(8):
            ax.text(2.96 + j, 0.78, str(j), ha="center", fontsize=8.5, color=plots.GREY)
        for i in range(3):
            ax.text(2.3, 1.43 + i, f"token {5 + i}", ha="right", va="center", fontsize=9)
            for j in range(8):
                seen = j <= first + i
                square(ax, 2.5 + j, 1.0 + i, (PALE_BLUE if j < 5 else PALE_ORANGE) if seen else "#f4f4f4")
        ax.text(6.5, 4.45, "keys: five from the cache, three new", ha="center", fontsize=8.5, color=plots.GREY)
    plots.save(fig, FIGURES / "chunk_mask.svg")


def memory() -> None:
    """Draw the cache of SmolLM2 in 16 bits against tokens, for 1, 4 and 16 rows, beside the weights."""
    case = HAND["smollm2"]
    fig, ax = plots.figure(width=8.0, height=3.6)
    tokens = list(range(0, 8193, 256))
    for rows, colour, dash in ((16, plots.ORANGE, "-"), (4, plots.GREEN, "--"), (1, plots.BLUE, "-.")):
        sizes = [rows * t * case["bytes_per_token"] / 1e6 for t in tokens]
        ax.plot(tokens, sizes, dash, color=colour, label=f"B = {rows}")
    ax.axhline(case["weight_bytes"] / 1e6, color=plots.GREY, linestyle=":", label="the weights, 269 MB")
    ax.plot([case["outgrown_at_16_rows"]], [case["weight_bytes"] / 1e6], "o", color="black", markersize=5)
    where = (case["outgrown_at_16_rows"], case["weight_bytes"] / 1e6)
    ax.annotate("16 rows: 730 tokens", where, (1100, 1250), fontsize=9, arrowprops={"arrowstyle": "-", "color": plots.GREY})
    ax.set_ylim(0, 3200)
    ax.set_xlim(0, 8300)
    ax.set_xticks([0, 2048, 4096, 6144, 8192], ["0", "2,048", "4,096", "6,144", "8,192"])
    ax.set_xlabel("tokens in each row, T")
    ax.set_ylabel("MB")
    ax.set_title("Keys and values of SmolLM2, 16 bits a value")
    ax.grid(True)
    ax.legend(loc="upper left")
    plots.save(fig, FIGURES / "memory.svg")


def window() -> None:
    """Tokens that pass through the model in each step, for a prompt of 5, a block_size of 8 and 10 new tokens."""
    case = HAND["window"]
    fig, ax = plots.figure(width=8.4, height=2.9)
    steps = range(1, case["g"] + 1)
    ax.bar(
        [s - 0.2 for s in steps], case["naive_lengths"], width=0.38, color=plots.LIGHT, label=f"without a cache: {case['naive']} positions"
    )
    ax.bar([s + 0.2 for s in steps], case["cached_lengths"], width=0.38, color=plots.ORANGE, label=f"with a cache: {case['cached']}")
    ax.axvline(4.5, color=plots.GREY, linestyle=":")
    ax.text(4.6, 9.3, "from here on the window slides", fontsize=9)
    ax.text(0.55, 9.3, "prefill, then decode steps", fontsize=9)
    ax.set_ylim(0, 12.6)
    ax.set_yticks([0, 2, 4, 6, 8])
    ax.set_xticks(list(steps))
    ax.set_xlabel("new token")
    ax.set_ylabel("positions")
    ax.legend(loc="upper right", ncols=2)
    plots.save(fig, FIGURES / "window.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    for draw in (new_row, box, chunk_mask, memory, window):
        draw()
