"""Draws the figures of this day. Run it again after a change: `python course/day17_parallel/figures.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.patches import FancyArrowPatch, Rectangle

from course.drawing import bare, flow, group, part
from course.kit import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = Path(__file__).parent / "figures"
RANKS = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.PURPLE)


def cell(ax: Axes, x: float, y: float, words: str, colour: str, *, wide: float = 0.9, high: float = 0.8, dashed: bool = False) -> None:
    """Draw a box with words in it, filled with a rank's colour; dashed ones are parts of a sum, or copies."""
    looks = {"facecolor": "white", "linestyle": "--"} if dashed else {"facecolor": colour}
    ax.add_patch(Rectangle((x, y), wide, high, edgecolor=colour, linewidth=1.4, **looks))
    ink = "black" if dashed or colour == plots.ORANGE else "white"
    ax.text(x + wide / 2, y + high / 2 + 0.03, words, ha="center", va="center", fontsize=10, color=ink)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = plots.GREY) -> None:
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color=colour, linewidth=1.2, shrinkA=0, shrinkB=0))


def cuts() -> None:
    """Draw the lesson's two matrices on two ranks: the first cut by outputs, the second by inputs."""
    first, second, x = [[1, 0], [0, 1], [2, 1], [1, 3]], [1, 1, 1, 1], [1, 2]
    y = [sum(w * value for w, value in zip(row, x, strict=True)) for row in first]
    fig, ax = plots.figure(width=9.2, height=3.6)
    bare(ax, 17.0, 5.9)
    names = (
        (0, "x, on both"), (3.0, "W, stored (out, in),\ncut by rows"), (6.6, "y"), (9.2, "W2, cut by columns"), (14.4, "parts of\na sum"),
    )  # fmt: skip
    for left, name in names:
        ax.text(left, 0.55, name, fontsize=9.5, va="center")
    for i, value in enumerate(x):
        cell(ax, i, 2.9, str(value), plots.GREY)
    for rank in range(2):
        colour, top = RANKS[rank], 1.4 + 2.5 * rank
        for i in range(2):
            row = 2 * rank + i
            for j in range(2):
                cell(ax, 3.0 + j, top + 0.9 * i, str(first[row][j]), colour)
            cell(ax, 6.6, top + 0.9 * i, str(y[row]), colour)
            cell(ax, 9.2 + 2 * rank + i, 2.9, str(second[row]), colour)
        arrow(ax, (2.05, 3.3), (2.85, top + 0.85))
        arrow(ax, (5.05, top + 0.85), (6.45, top + 0.85), colour)
        ax.text(5.75, top + 0.55, f"rank {rank}", ha="center", fontsize=9, color=colour)
        meets = (9.2 + 2 * rank + 0.95, 2.75 if rank == 0 else 3.85)
        arrow(ax, (7.65, top + 0.85), meets, colour)
        arrow(ax, (meets[0] + 0.1, meets[1]), (14.25, top + 0.85), colour)
        cell(ax, 14.4, top + 0.45, "?", colour, dashed=True)  # the reader works them out
    plots.save(fig, FIGURES / "cuts.svg")


def heads() -> None:
    """Eight query heads over two key/value heads, on four ranks."""
    fig, ax = plots.figure(width=9.2, height=2.7)
    bare(ax, 17.4, 4.6)
    ax.text(0, 1.75, "query heads", fontsize=9.5, va="center")
    ax.text(0, 3.75, "key/value head", fontsize=9.5, va="center")
    for rank, colour in enumerate(RANKS):
        left = 3.6 + 3.5 * rank
        ax.text(left + 1.2, 0.75, f"rank {rank}", ha="center", fontsize=10, fontweight="bold", color=colour)
        for i in range(2):
            cell(ax, left + 1.25 * i, 1.35, str(2 * rank + i), colour, wide=1.15)
            arrow(ax, (left + 1.25 * i + 0.57, 2.2), (left + 1.2, 3.25), colour)
        cell(ax, left + 0.35, 3.35, f"{rank // 2}" if rank % 2 == 0 else f"{rank // 2}, a copy", colour, wide=1.7, dashed=rank % 2 == 1)
    plots.save(fig, FIGURES / "heads.svg")


def layer() -> None:
    """Draw the work of two ranks in a layer, and the points at which they must speak to each other."""
    fig, ax = plots.figure(width=9.6, height=3.3)
    bare(ax, 24.2, 6.9)
    boxes = [("norm", 1.5), ("q k v\nby outputs", 2.4), ("attention\nown heads", 2.4), ("o\nby inputs", 2.2), None,
             ("norm", 1.5), ("gate, up\nby outputs", 2.4), ("silu,\nproduct", 1.8), ("down\nby inputs", 2.2), None]  # fmt: skip
    for rank in range(2):
        colour, y, x = RANKS[rank], 1.3 + 3.0 * rank, 1.6
        ax.text(0, y + 0.75, f"rank {rank}", va="center", fontsize=9.5, fontweight="bold", color=colour)
        for box in boxes:
            if box is None:
                ax.text(x + 1.42, y + 0.75, "+ x", ha="center", va="center", fontsize=9.5)
                x += 2.05
                continue
            words, wide = box
            cut = words != "norm"
            ax.add_patch(Rectangle((x, y), wide - 0.2, 1.5, facecolor=colour if cut else "white", edgecolor=colour, linewidth=1.3))
            ink = "white" if cut and not rank else "black"
            ax.text(x + wide / 2 - 0.1, y + 0.75, words, ha="center", va="center", fontsize=7.5, color=ink)
            x += wide
    x = 1.6
    for box in boxes:
        if box is None:
            ax.add_patch(Rectangle((x, 0.9), 0.75, 5.3, facecolor=plots.GREEN, edgecolor="none"))
            ax.text(x + 0.38, 3.55, "all-reduce", rotation=90, ha="center", va="center", fontsize=9, color="white")
            x += 2.05
        else:
            x += box[1]
    ax.text(1.6, 0.35, "white: the same on both, from the same bits; filled: this rank's part; green: all that travels", fontsize=9)
    plots.save(fig, FIGURES / "layer.svg")


def parts() -> None:
    """Draw the functions that the learner writes: the cuts, a pass on all ranks, the wire under it, and four predictions."""
    fig, ax = plots.figure(width=9.4, height=6.1)
    bare(ax, 16.3, 10.7)
    ax.text(0.1, 0.3, "before the pass: the cuts", va="center", fontsize=9)
    for x, name, says in ((0.1, "column_shard", "by outputs"), (3.7, "row_shard", "by inputs"), (7.3, "kv_heads_of", "whole heads")):
        part(ax, x, 0.65, name, says, lit=True, width=2.9)
    flow(ax, (1.55, 1.65), (1.55, 2.05), (12.1, 2.05), (12.1, 1.65))
    ax.plot([5.15, 5.15], [1.65, 2.05], color=plots.GREY, linewidth=1.3)
    flow(ax, (10.2, 1.15), (10.9, 1.15))
    part(ax, 10.9, 0.65, "shard_layer", "a rank's part", lit=True, width=2.4)
    part(ax, 14.0, 0.65, "shard_model", "given", lit=False, width=2.2)
    flow(ax, (13.3, 1.15), (14.0, 1.15))
    group(ax, 0.1, 2.6, "parallel_forward", "the same calls on every rank, each with its part", width=12.1, height=2.9)
    ax.add_patch(Rectangle((3.3, 3.4), 5.7, 1.9, facecolor="none", edgecolor=plots.GREY, linestyle="--"))
    ax.text(3.45, 3.62, "in each layer", va="center", fontsize=8)
    across = (
        (0.4, "vocab_parallel_\nembedding", 2.4), (3.6, "parallel_\nattention", 2.2), (6.4, "parallel_\nfeed_forward", 2.3),
        (9.5, "vocab_parallel_\nlogits", 2.4), (13.4, "vocab_parallel_\nargmax", 2.5),
    )  # fmt: skip
    for x, name, width in across:
        part(ax, x, 3.9, name, lit=True, width=width, height=1.2)
    for x, to in ((2.8, 3.6), (5.8, 6.4), (8.7, 9.5)):
        flow(ax, (x, 4.5), (to, 4.5))
    ax.text(14.65, 3.3, "or only the token,\nnot the logits", ha="center", va="center", fontsize=8)
    ax.text(0.1, 6.35, "under it: the wire", va="center", fontsize=9)
    group(ax, 0.1, 6.7, "ring_all_reduce", "adds up, on all ranks", width=8.9, height=1.75)
    part(ax, 0.4, 7.5, "ring_reduce_scatter", lit=True, width=3.7, height=0.75)
    part(ax, 5.0, 7.5, "ring_all_gather", lit=True, width=3.7, height=0.75)
    flow(ax, (4.1, 7.88), (5.0, 7.88))
    for x, top in ((2.4, 5.1), (4.7, 5.1), (7.55, 5.1)):
        flow(ax, (x, 6.7), (x, top), color=plots.GREEN)
    flow(ax, (8.7, 7.88), (14.65, 7.88), (14.65, 5.1), color=plots.GREEN)
    flow(ax, (10.7, 7.88), (10.7, 5.1), color=plots.GREEN)
    ax.text(10.95, 7.55, "puts side by side", va="center", fontsize=8)
    ax.text(0.1, 9.2, "beforehand: how long does it take?", va="center", fontsize=9)
    names = (
        (0.1, "one_shot_seconds", 3.2), (3.9, "all_reduce_seconds", 3.2), (7.9, "tensor_parallel_seconds", 3.9),
        (12.4, "pipeline_bubble", 3.2),
    )  # fmt: skip
    for x, name, width in names:
        part(ax, x, 9.55, name, lit=True, width=width, height=0.9)
    flow(ax, (7.1, 10.0), (7.9, 10.0))
    plots.save(fig, FIGURES / "parts.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        parts()
        cuts()
        heads()
        layer()
