"""Draws the figures of this day. Run it again after a change: `python course/day13_paging/figures.py`."""

import tomllib
from pathlib import Path

from matplotlib.patches import Rectangle

from course.drawing import PALE_BLUE, bare, flow, ladder
from course.kit import paths, plots

FIGURES = Path(__file__).parent / "figures"
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["paging"]
PALE_ORANGE, PALE_GREEN = "#f0b873", "#b9d6c1"


def reserved() -> None:
    """Four texts: room for the longest each, and blocks of 16."""
    case = HAND["waste"]
    fig, ax = plots.figure(width=8.6, height=2.5)
    colours = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.PURPLE)
    start = 0
    for i, (length, colour) in enumerate(zip(case["lengths"], colours, strict=True)):
        ax.barh(0, length, left=i * case["room"], color=colour)
        ax.barh(0, case["room"] - length, left=i * case["room"] + length, facecolor="white", edgecolor=colour, hatch="//", linewidth=0.8)
        ax.text(i * case["room"] + 10, -0.52, f"{length} of {case['room']:,}", fontsize=8, color=colour, va="bottom")
        places = -(-length // 16) * 16
        ax.barh(1, length, left=start, color=colour)
        ax.barh(1, places - length, left=start + length, facecolor="white", edgecolor=colour, linewidth=0.8)
        start += places
    ax.text(start + 60, 1, f"{start:,} places, {100 * case['empty'][2]:.1f} % of them empty", va="center", fontsize=9)
    ax.set_yticks(range(2), [f"room for {case['room']:,}", "blocks of 16"])
    ax.set_ylim(1.5, -0.95)
    slots = len(case["lengths"]) * case["room"]
    ax.set_xlabel(f"slots; of the upper {slots:,}, {100 * case['reserved_empty']:.1f} % are reserved and empty")
    plots.save(fig, FIGURES / "reserved.svg")


def table() -> None:
    """Draw a text, its table, and the places of its tokens."""
    case = HAND["slots"]
    size, blocks = case["block_size"], case["table"]
    shades = (PALE_BLUE, PALE_ORANGE, PALE_GREEN)
    fig, ax = plots.figure(width=9.2, height=3.5)
    bare(ax, 15.2, 5.6)
    ax.text(0, 0.55, "text", fontsize=9, va="center")
    for token in range(case["tokens"]):
        x = 1.6 + token + 0.35 * (token // size)
        ax.add_patch(Rectangle((x, 0.2), 0.94, 0.7, facecolor=shades[token // size], edgecolor=plots.GREY))
        ax.text(x + 0.47, 0.55, str(token), ha="center", va="center", fontsize=9)
    ax.text(0, 1.75, "table", fontsize=9, va="center")
    for i, block in enumerate(blocks):
        x = 1.6 + i * (size + 0.35)
        ax.add_patch(Rectangle((x, 1.4), 1.8, 0.7, facecolor=shades[i], edgecolor=plots.GREY))
        ax.text(x + 0.9, 1.75, f"block {block}", ha="center", va="center", fontsize=9)
    ax.text(0, 3.85, "memory", fontsize=9, va="center")
    shown = sorted(blocks)
    for place, block in enumerate(shown):
        x0, which = 1.6 + place * (size + 0.55), blocks.index(block)
        ax.text(x0, 3.3, f"block {block}", fontsize=9)
        for i in range(size):
            token = which * size + i
            there = token < case["tokens"]
            ax.add_patch(Rectangle((x0 + i, 3.5), 0.94, 0.7, facecolor=shades[which] if there else "white", edgecolor=plots.GREY))
            ax.text(x0 + i + 0.47, 3.85, str(token) if there else "", ha="center", va="center", fontsize=9)
            ax.text(x0 + i + 0.47, 4.55, str(block * size + i), ha="center", va="center", fontsize=8, color="#444444")
        if place:
            ax.text(x0 - 0.33, 3.85, "…", ha="center", va="center", fontsize=11)
    ax.text(0, 4.55, "slot", fontsize=8, va="center", color="#444444")
    ax.text(1.6, 5.3, "… are other texts' blocks, and free ones", fontsize=8.5, color="#444444")
    plots.save(fig, FIGURES / "table.svg")


def states() -> None:
    """Held, idle, unknown: the three states of a PrefixPool's blocks, and the calls that move a block from one to another."""
    fig, ax = plots.figure(width=9.2, height=4.3)
    bare(ax, 16.4, 8.0)
    ax.add_patch(Rectangle((0.2, 0.3), 16.0, 2.9, facecolor="none", edgecolor=plots.BLUE, linestyle="--", linewidth=1.3))
    ax.text(0.4, 0.65, "held: 1 holder or more; share and adopt add one, release removes one", va="center", fontsize=9, fontweight="bold")
    ax.add_patch(Rectangle((0.2, 5.0), 16.0, 2.8, facecolor="none", edgecolor=plots.GREEN, linestyle="--", linewidth=1.3))
    ax.text(0.4, 7.45, "no holder: both count as free", va="center", fontsize=9, fontweight="bold")
    boxes = (
        (1.0, 1.3, "without a key", "cannot be found", PALE_BLUE), (11.2, 1.3, "with a key", "can be found", PALE_BLUE),
        (1.0, 5.4, "unknown", "no key", "white"), (11.2, 5.4, "idle", "a key, can be found", PALE_ORANGE),
    )  # fmt: skip
    for x, y, name, says, fill in boxes:
        ax.add_patch(Rectangle((x, y), 4.2, 1.5, facecolor=fill, edgecolor=plots.GREY))
        ax.text(x + 2.1, y + 0.52, name, ha="center", va="center", fontsize=10, fontweight="bold")
        ax.text(x + 2.1, y + 1.02, says, ha="center", va="center", fontsize=8.5)
    flow(ax, (5.2, 1.7), (11.2, 1.7), color=plots.BLUE)
    ax.text(8.2, 1.42, "publish", ha="center", va="center", fontsize=9.5, color=plots.BLUE)
    flow(ax, (11.2, 2.4), (5.2, 2.4), color=plots.RED)
    ax.text(8.2, 2.72, "forget", ha="center", va="center", fontsize=9.5, color=plots.RED)
    flow(ax, (11.2, 5.8), (5.2, 5.8), color=plots.RED)
    words = "forget; and take, which forgets\nthe block that was idle longest\nif none is unknown"
    ax.text(8.2, 6.6, words, ha="center", va="center", fontsize=8.5, color=plots.RED)
    for x, call in ((2.0, "take"), (14.4, "adopt")):
        flow(ax, (x, 5.4), (x, 2.8), color=plots.BLUE)
        ax.text(x - 0.15 if x < 8 else x + 0.15, 4.1, call, ha="right" if x < 8 else "left", va="center", fontsize=9.5, color=plots.BLUE)
    for x in (4.2, 12.2):
        flow(ax, (x, 2.8), (x, 5.4))
        words = "release,\nby the last holder"
        ax.text(x + 0.15 if x < 8 else x - 0.15, 4.1, words, ha="left" if x < 8 else "right", va="center", fontsize=9, color="#444444")
    plots.save(fig, FIGURES / "states.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        ladder(FIGURES / "ladder.svg", "paging")
        for draw in (reserved, table, states):
            draw()
