"""The matrix of scores as a map of tiles: the tiles that a plan reads (with or without a mask), and the tiles that it skips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import plots

READ, MASKED, SKIPPED = "#a9c3dd", "#f0b873", "#f4f4f4"
NUMBERED = 100
"""The limit of tiles up to which each carries the number of its turn."""


def draw_tiles(
    plan: Sequence[Sequence[tuple[int, int, bool]]],
    t_q: int,
    t_k: int,
    q_block: int,
    *,
    title: str | None = None,
    legend: bool = True,
    ax: Any = None,
) -> None:
    """Draw the map of t_q queries (rows) over t_k keys (columns): tiles read, read with a mask (hatched), and skipped (left empty).

    plan: for each tile of q_block queries, its tiles of keys as (first key, one past the last key, needs a mask), in the order of reading.
    legend: whether to draw the legend below the figure; several maps can share one.
    """
    from matplotlib.patches import Patch, Rectangle

    if ax is None:
        _, ax = plots.figure(width=4.6, height=4.6)
    with plots.style():
        ax.add_patch(Rectangle((0, 0), t_k, t_q, facecolor=SKIPPED, edgecolor=plots.GREY, linewidth=0.8))
        turn, numbered = 0, sum(len(tiles) for tiles in plan) <= NUMBERED
        for index, tiles in enumerate(plan):
            top, bottom = index * q_block, min((index + 1) * q_block, t_q)
            for start, end, needs_mask in tiles:
                turn += 1
                look: dict[str, Any] = {"facecolor": MASKED, "hatch": "//"} if needs_mask else {"facecolor": READ}
                ax.add_patch(Rectangle((start, top), end - start, bottom - top, edgecolor=plots.GREY, linewidth=0.8, **look))
                if numbered:
                    middle = ((start + end) / 2, (top + bottom) / 2)
                    box = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8}
                    ax.text(*middle, str(turn), ha="center", va="center", fontsize=8, bbox=box)
        ax.set_xlim(0, t_k)
        ax.set_ylim(t_q, 0)
        ax.set_aspect("equal")
        ax.set_xlabel("key")
        ax.set_ylabel("query")
        if legend:
            names = {"read": READ, "read with a mask": MASKED, "skipped": SKIPPED}
            patches = [
                Patch(facecolor=colour, edgecolor=plots.GREY, hatch="//" if colour == MASKED else None, label=name)
                for name, colour in names.items()
            ]
            ax.figure.legend(handles=patches, loc="outside lower center", ncols=3)
        if title:
            ax.set_title(title)
