"""What scripts that draw a day's figures have in common. Lessons do not import it, and nothing is judged by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
