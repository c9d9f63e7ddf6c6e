"""Draws the figures of this day. Run it again after a change: `python course/day16_quantization/figures.py`."""

import tomllib
from pathlib import Path

from matplotlib.patches import Rectangle

from course.drawing import bare, flow, group, part
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
    """Draw the 20 bytes of a block of SmolLM2's file, and one of them taken apart."""
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


def parts() -> None:
    """Draw the functions that the learner writes: ways into few bits, what they allow there, and two measures of what is lost."""
    fig, ax = plots.figure(width=9.4, height=5.2)
    bare(ax, 16.3, 9.4)
    part(ax, 0.1, 0.3, "numbers", "in floating point", lit=False, width=3.0, height=2.2)
    group(ax, 0.1, 3.2, "write_q4_1", width=3.0, height=1.6)
    part(ax, 0.3, 3.97, "pack_nibbles", lit=True, width=2.6, height=0.66)
    part(ax, 0.1, 5.5, "a GGUF file", "its blocks, byte by byte", lit=False, width=3.0, height=2.1)
    flow(ax, (1.6, 2.5), (1.6, 3.2))
    flow(ax, (1.6, 4.8), (1.6, 5.5))
    part(ax, 4.4, 0.3, "quantize_absmax", "around 0", lit=True)
    part(ax, 4.4, 1.5, "quantize_affine", "from least to largest", lit=True)
    group(ax, 4.4, 4.3, "read_q4_1", width=3.2, height=1.6)
    part(ax, 4.7, 5.07, "unpack_nibbles", lit=True, width=2.6, height=0.66)
    part(ax, 4.4, 6.6, "read_q8_0", "a scale and 32 bytes", lit=True)
    part(ax, 8.9, 0.3, "q, scale\n(and minimum)", "small whole numbers", lit=False, width=2.7, height=7.3)
    for y in (0.8, 2.0, 5.8, 7.1):
        flow(ax, (3.1, y), (4.4, y))
    for y in (0.8, 2.0, 5.1, 7.1):
        flow(ax, (7.6, y), (8.9, y))
    right = (
        (0.3, "dequantize", "back to float32"), (2.4, "quantized_linear", "times x in float32"), (4.5, "int8_linear", "times x in 8 bits"),
        (6.6, "QuantizedKVCache", "stores keys and values"),
    )  # fmt: skip
    for y, name, says in right:
        part(ax, 12.8, y, name, says, lit=True, width=3.4)
        flow(ax, (11.6, y + 0.5), (12.8, y + 0.5))
    ax.text(0.1, 8.8, "a model's logits: what is lost?", va="center", fontsize=9)
    part(ax, 6.0, 8.3, "kl_divergence", "against the model as it was", lit=True, width=3.8)
    part(ax, 11.0, 8.3, "perplexity", "against the text", lit=True, width=3.8)
    plots.save(fig, FIGURES / "parts.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        parts()
        outlier()
        block()
