"""Draws the figures of this day. Run it again after a change: `python course/day12_flash_attention/figures.py`."""

import tomllib
from pathlib import Path

from matplotlib.patches import Polygon, Rectangle

from course.drawing import PALE_BLUE, bare, flow, ladder
from course.kit import paths, plots
from course.kit.steppers.tile_map import MASKED, READ, SKIPPED

FIGURES = Path(__file__).parent / "figures"
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["flash_attention"]


def plan() -> None:
    """Five queries over five keys in tiles of two by two: what is read, masked, skipped."""
    case = HAND["square_plan"]
    t, block = case["t"], case["block"]
    fig, ax = plots.figure(width=7.6, height=3.7)
    bare(ax, 11.4, 5.9)
    for key in range(t):
        ax.text(1.5 + key, 0.45, str(key), ha="center", fontsize=9)
    ax.text(0.8, 0.45, "key", ha="right", fontsize=9)
    for query in range(t):
        ax.text(0.8, 1.2 + query, f"query {query}", ha="right", va="center", fontsize=9)
        tiles = case["tiles"][query // block]
        for key in range(t):
            inside = next((tile for tile in tiles if tile[0] <= key < tile[1]), None)
            fill = SKIPPED if inside is None else MASKED if inside[2] else READ
            ax.add_patch(Rectangle((1 + key, 0.7 + query), 1, 1, facecolor=fill, edgecolor="white", linewidth=0.8))
            if inside is not None:
                ax.text(1.5 + key, 1.2 + query, "seen" if key <= query else "hidden", ha="center", va="center", fontsize=8)
    for row in range(0, t, block):
        for column in range(0, t, block):
            size = min(block, t - column), min(block, t - row)
            ax.add_patch(Rectangle((1 + column, 0.7 + row), *size, facecolor="none", edgecolor="black", linewidth=1.6))
    words = (
        (READ, "read: all of its pairs are seen"),
        (MASKED, "read with a mask: some are hidden"),
        (SKIPPED, "skipped: all are hidden"),
    )
    for i, (fill, name) in enumerate(words):
        ax.add_patch(Rectangle((6.7, 1.4 + 0.9 * i), 0.55, 0.55, facecolor=fill, edgecolor="black", linewidth=1.2))
        ax.text(7.4, 1.68 + 0.9 * i, name, va="center", fontsize=9)
    plots.save(fig, FIGURES / "plan.svg")


def moved() -> None:
    """Bytes to and from slow memory for one head of width 128, 4,096 tokens, 16 bits."""
    case = HAND["large_bytes"]
    t, size = case["t"], case["value_bytes"]
    thin = 2 * t * case["head_dim"] * size  # two of the four thin tensors
    square = t * t * size
    fig, ax = plots.figure(width=8.6, height=2.9)
    parts = (
        ("q read, out written", thin, plots.BLUE, None),
        ("k, v read", thin, plots.GREEN, None),
        ("scores written", square, plots.ORANGE, None),
        ("scores read", square, "#f0b873", "//"),
        ("weights written", square, plots.PURPLE, None),
        ("weights read", square, "#b8a5cc", "//"),
    )
    start = 0.0
    for name, count, colour, hatch in parts:
        ax.barh(0, count / 1e6, left=start, color=colour, edgecolor="white", hatch=hatch, label=name)
        start += count / 1e6
    whole, half = case["flash"] / 1e6, case["causal"] / 1e6
    for y, total in ((1, whole), (2, half)):
        ax.barh(y, thin / 1e6, color=plots.BLUE, edgecolor="white")
        ax.barh(y, total - thin / 1e6, left=thin / 1e6, color=plots.GREEN, edgecolor="white")
    for y, total in ((0, case["standard"] / 1e6), (1, whole), (2, half)):
        ax.text(total + 1.5, y, f"{total:.1f} MB", va="center", fontsize=9)
    ax.set_yticks(range(3), ["all scores at once", "tiles of 128", "tiles of 128, causal"])
    ax.invert_yaxis()
    ax.set_xlim(0, 158)
    ax.set_xlabel("MB to and from slow memory, one head")
    ax.legend(loc="lower right", fontsize=8)
    plots.save(fig, FIGURES / "moved.svg")


def pyramid() -> None:
    """Draw the memories of a GPU, with the rates that section 8 quotes, and those of the learner's machine without any."""
    fig, ax = plots.figure(width=9.2, height=3.5)
    bare(ax, 16.4, 6.0)
    levels = ((0.9, 2.2), (2.4, 3.9), (4.1, 5.6))
    gpu = ("on the chip: SRAM\n19 TB/s", "the card's memory: HBM\n40 GB, 1.5 TB/s", "the computer's RAM,\nover the bus")
    yours = ("caches", "RAM")
    for centre, title, names in ((5.2, "a GPU: the A100 with 40 GB", gpu), (13.0, "your processor", yours)):
        ax.text(centre, 0.45, title, ha="center", va="center", fontsize=10, fontweight="bold")
        for (top, bottom), name, fill in zip(levels, names, (plots.ORANGE, PALE_BLUE, "white"), strict=False):
            upper, lower = (1.4 + 0.55 * (y - levels[0][0]) for y in (top, bottom))
            corners = ((centre - upper, top), (centre + upper, top), (centre + lower, bottom), (centre - lower, bottom))
            ax.add_patch(Polygon(corners, facecolor=fill, edgecolor=plots.GREY))
            ax.text(centre, (top + bottom) / 2, name, ha="center", va="center", fontsize=9)
    ax.plot([1.2, 16.3], [2.3, 2.3], color=plots.RED, linestyle="--", linewidth=1.3)
    ax.text(9.1, 1.85, "today's border: the bytes\nthat cross it are counted", ha="center", va="center", fontsize=8, color=plots.RED)
    flow(ax, (0.3, 5.6), (0.3, 0.9))
    ax.text(0.55, 1.15, "faster,\nsmaller", va="center", fontsize=8.5)
    plots.save(fig, FIGURES / "pyramid.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        ladder(FIGURES / "ladder.svg", "flash_attention")
        for draw in (pyramid, plan, moved):
            draw()
