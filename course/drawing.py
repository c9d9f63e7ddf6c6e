"""What scripts that draw a day's figures have in common. Lessons do not import it, and nothing is judged by it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from course.kit import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bare(ax: Axes, right: float, bottom: float) -> None:
    """Axes without a frame; y grows downwards, from 0 to bottom."""
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlim(-0.1, right)
    ax.set_ylim(bottom, -0.1)


PALE_BLUE = "#dce6f0"

RUNGS = (
    ("generation", "the loop", "every step reads the whole text"),
    ("kv_cache", "a KV cache", "every token passes once"),
    ("batching", "ragged rows", "the weights are read for all rows at once"),
    ("flash_attention", "flash prefill", "no matrix of scores is written down"),
    ("paging", "paged", "no slot is reserved and empty"),
    ("paging", "forked", "a text is shared, not copied"),
    ("paging", "a shared prefix", "a beginning is computed once"),
    ("continuous_batching", "continuous", "who is done makes room at once"),
    ("continuous_batching", "chunked", "a long prompt holds nobody up"),
    ("continuous_batching", "preempted", "memory is not kept for what may come"),
    ("continuous_batching", "with a shared prefix", "all of it together"),
    ("speculative", "speculative", "a pass makes several tokens"),
)
"""The engines of the course: topic, what, and what it saves. For the same prompts each gives the tokens of the one before."""


def ladder(path: Path, topic: str) -> None:
    """Draws all rungs; those of the topic are lit, later ones are dashed."""
    table = tomllib.loads((Path(__file__).parent / "syllabus.toml").read_text(encoding="utf-8"))["day"]
    days = {day["topic"]: day["number"] for day in table}
    fig, ax = plots.figure(width=9.2, height=5.2)
    bare(ax, 13.6, 9.45)
    ax.text(0, 9.25, "for the same prompts, every rung gives the same tokens", fontsize=9)
    for i, (name, what, saves) in enumerate(RUNGS):
        x, y = 0.5 * i, 8.24 - 0.74 * i
        lit, later = name == topic, days[name] > days[topic]
        fill = plots.ORANGE if lit else "white" if later else PALE_BLUE
        ax.add_patch(Rectangle((x, y), 3.7, 0.56, facecolor=fill, edgecolor=plots.GREY, linestyle="--" if later else "-"))
        ax.text(x + 0.12, y + 0.3, f"Day {days[name]}: {what}", va="center", fontsize=8.5, fontweight="bold" if lit else "normal")
        ax.text(x + 3.85, y + 0.3, saves, va="center", fontsize=8, color="#444444")
    plots.save(fig, path)
