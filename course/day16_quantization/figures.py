"""Draws the figures of this day. Run it again after a change: `python course/day16_quantization/figures.py`."""

import tomllib
from pathlib import Path

from matplotlib.patches import Rectangle

from course.drawing import bare
from course.kit import paths, plots

FIGURES = Path(__file__).parent / "figures"
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["quantization"]


def outlier() -> None:
    """32 numbers and the marks of 4 bits: with the outlier, and without it."""
    case, rest = HAND["outlier"], [i / 100 for i in range(1, 32)]
    fig, axes = plots.figure(2, 1, width=9.2, height=3.2)
    lines = (
        (case["scale"], [*rest, case["outlier"]], "32 numbers share a scale"),
        (case["scale_without"], rest, "31 by themselves"),
    )
    for ax, (scale, numbers, name) in zip(axes, lines, strict=True):
        marks = [scale * q for q in range(-7, 8)]
        ax.hlines(0, marks[0], marks[-1], color=plots.GREY, linewidth=1)
        ax.plot(marks, [0] * 15, "|", color=plots.RED, markersize=16, markeredgewidth=1.6)
        ax.plot(numbers, [0.45] * len(numbers), "o", color=plots.BLUE, markersize=3.5)
        for q, mark in zip(range(-7, 8), marks, strict=True):
            ax.text(mark, -0.75, str(q), ha="center", fontsize=8.5)
        ax.set_title(f"{name}: marks {scale:.4f} apart")
        ax.set(yticks=[], ylim=(-1, 0.8), xlim=(1.06 * marks[0], 1.06 * marks[-1]))
        ax.spines["left"].set_visible(False)
    plots.save(fig, FIGURES / "outlier.svg")


def block() -> None:
    """The 20 bytes of a block of SmolLM2's file, and one of them taken apart."""
    case, numbers = HAND["q4_1"], HAND["nibbles"]
    fig, ax = plots.figure(width=9.2, height=3.4)
    bare(ax, 20.1, 7.2)
    for i, byte in enumerate(case["raw"]):
        fill = plots.BLUE if i < 2 else plots.ORANGE if i < 4 else plots.LIGHT
        ink = "white" if i < 2 else "black"
        ax.add_patch(Rectangle((i, 1), 0.94, 1, facecolor=fill, edgecolor=plots.GREY))
        ax.text(i + 0.47, 1.55, str(byte), ha="center", va="center", fontsize=9, color=ink)
        ax.text(i + 0.47, 0.7, str(i), ha="center", va="center", fontsize=7.5, color="#555555")
    for x, name, value in ((0.94, "scale", case["scale"]), (2.94, "minimum", case["minimum"])):
        ax.text(x, 2.5, f"{name}\n{value:.6f}", ha="center", va="center", fontsize=9)
    ax.text(12.2, 2.45, "16 bytes, two numbers in each", ha="center", va="center", fontsize=9)
    byte, low, high = case["raw"][4], numbers["low"][0], numbers["high"][0]
    ax.plot([4.47, 4.47, 7.3], [2.05, 4.0, 4.0], color=plots.GREY, linewidth=1)
    bits = f"{byte:08b}"
    halves = (
        (7.5, bits[:4], plots.PURPLE, f"high half: {high} is number 16", high, case["number_16"], 6.6),
        (9.5, bits[4:], plots.GREEN, f"low half: {low} is number 0", low, case["first_four"][0], 5.4),
    )
    for x, four, colour, name, q, value, y in halves:
        ax.add_patch(Rectangle((x, 3.5), 1.9, 1, facecolor=colour, edgecolor="white"))
        ax.text(x + 0.95, 4.03, four, ha="center", va="center", color="white", fontsize=11, family="monospace")
        worked = f"{q} · {case['scale']:.6f} - {-case['minimum']:.6f} = {value:.6f}"
        ax.text(7.5, y, f"{name}: {worked}", va="center", fontsize=9, color=colour, fontweight="bold")
    ax.text(11.7, 4.0, f"byte {byte} in bits", va="center", fontsize=9)
    plots.save(fig, FIGURES / "block.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        outlier()
        block()
