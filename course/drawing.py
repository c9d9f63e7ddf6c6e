"""The common parts of the scripts that draw a day's figures. Lessons do not import it, and nothing is judged by it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from course.kit import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bare(ax: Axes, right: float, bottom: float) -> None:
    """Remove the frame of the axes; y grows downwards, from 0 to bottom."""
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlim(-0.1, right)
    ax.set_ylim(bottom, -0.1)


PALE_BLUE = "#dce6f0"


def flow(ax: Axes, *points: tuple[float, float], color: str = plots.GREY) -> None:
    """Draw an arrow along straight lines through the points, with its head at the last one."""
    if len(points) > 2:
        ax.plot(*zip(*points[:-1], strict=True), color=color, linewidth=1.3, solid_joinstyle="miter")
    style = {"arrowstyle": "-|>", "color": color, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", points[-1], points[-2], arrowprops=style)


def part(ax: Axes, x: float, y: float, name: str, says: str = "", *, lit: bool, width: float = 3.2, height: float = 1.0) -> None:
    """Draw a part of the day: a box with a name and a line about its work. lit: whether the learner writes this part."""
    ax.add_patch(Rectangle((x, y), width, height, facecolor=plots.ORANGE if lit else PALE_BLUE, edgecolor=plots.GREY))
    lines = name.count("\n") + 1
    middle = y + (height / 2 if not says else 0.36 if height <= 1 else height / 2 - 0.2 * lines)
    ax.text(x + width / 2, middle, name, ha="center", va="center", fontsize=8.5, fontweight="bold")
    ax.text(x + width / 2, middle + 0.18 + 0.2 * lines, says, ha="center", va="center", fontsize=7.5)


def group(ax: Axes, x: float, y: float, name: str, says: str = "", *, width: float, height: float) -> None:
    """Draw a part of the day that contains other parts: a lit strip with its name, and a frame."""
    ax.add_patch(Rectangle((x, y), width, 0.62, facecolor=plots.ORANGE, edgecolor=plots.GREY))
    ax.add_patch(Rectangle((x, y), width, height, facecolor="none", edgecolor=plots.ORANGE, linewidth=1.8))
    ax.text(x + 0.15, y + 0.32, name, va="center", fontsize=8.5, fontweight="bold")
    ax.text(x + width - 0.15, y + 0.32, says, ha="right", va="center", fontsize=7.5)


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
    """Draw all rungs of the course's engines. The topic's rungs are lit; those of later days are dashed."""
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
