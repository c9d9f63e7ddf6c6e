"""Draws the figures of this day. Run it again after a change: `python course/day15_speculative/figures.py`."""

import tomllib
from pathlib import Path

from course.drawing import ladder
from course.kit import paths, plots

FIGURES = Path(__file__).parent / "figures"
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["speculative"]


def overlap() -> None:
    """p and q laid over each other: what both cover is kept, what q has above p is refused, what p has above q is the residual."""
    p, q = HAND["overlap"]["p"], HAND["overlap"]["q"]
    fig, (left, right) = plots.figure(1, 2, width=9.2, height=3.5, sharey=True)
    both = [min(pair) for pair in zip(p, q, strict=True)]
    for ax, bars, name, colour, said in (
        (left, q, "q, the draft", plots.ORANGE, "refused"),
        (right, p, "p, the model", plots.BLUE, "lacking: the residual"),
    ):
        more = [bar - low for bar, low in zip(bars, both, strict=True)]
        ax.bar(range(3), both, width=0.7, color=plots.GREEN, label=f"min(p, q): kept, {sum(both):.1f} in all")
        looks = {"facecolor": "white", "edgecolor": colour, "hatch": "//", "label": f"{said}, {sum(more):.1f} in all"}
        ax.bar(range(3), more, width=0.7, bottom=both, **looks)
        for token, (low, rest) in enumerate(zip(both, more, strict=True)):
            ax.text(token, low / 2, f"{low:.1f}", ha="center", va="center", color="white", fontsize=10)
            if rest > 1e-9:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                ax.text(token, low + rest / 2, f"{rest:.1f}", ha="center", va="center", fontsize=10, bbox=box)
        ax.set_xticks(range(3), [f"token {token}" for token in range(3)])
        ax.set_title(name)
        ax.set_ylim(0, 0.68)
        ax.legend(loc="upper right", fontsize=8.5)
    left.set_ylabel("probability")
    plots.save(fig, FIGURES / "overlap.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        ladder(FIGURES / "ladder.svg", "speculative")
        overlap()
