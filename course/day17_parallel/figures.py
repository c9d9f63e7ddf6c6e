"""Draws the figures of this day. Run it again after a change: `python course/day17_parallel/figures.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.patches import FancyArrowPatch, Rectangle

from course.drawing import bare
from course.kit import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = Path(__file__).parent / "figures"
RANKS = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.PURPLE)


def cell(ax: Axes, x: float, y: float, words: str, colour: str, *, wide: float = 0.9, high: float = 0.8, dashed: bool = False) -> None:
    """A box with words in it, filled with a rank's colour; dashed ones are parts of a sum, or copies."""
    looks = {"facecolor": "white", "linestyle": "--"} if dashed else {"facecolor": colour}
    ax.add_patch(Rectangle((x, y), wide, high, edgecolor=colour, linewidth=1.4, **looks))
    ink = "black" if dashed or colour == plots.ORANGE else "white"
    ax.text(x + wide / 2, y + high / 2 + 0.03, words, ha="center", va="center", fontsize=10, color=ink)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = plots.GREY) -> None:
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color=colour, linewidth=1.2, shrinkA=0, shrinkB=0))


def cuts() -> None:
    """The lesson's two matrices on two ranks: the first cut by outputs, the second by inputs."""
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
    """What two ranks do in a layer, and where they must speak to each other."""
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


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        cuts()
        heads()
        layer()
