"""Draws the figures of this day. Run it again after a change: `python course/day15_speculative/figures.py`."""

import tomllib
from pathlib import Path

from course.drawing import bare, flow, group, ladder, part
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


def parts() -> None:
    """Draw the functions that the learner writes: the parts of a round, and the two predictions."""
    fig, ax = plots.figure(width=9.4, height=4.6)
    bare(ax, 16.3, 8.0)
    group(ax, 0.1, 0.2, "generate_speculative", "round after round, until the text is complete", width=16.0, height=5.9)
    part(ax, 0.4, 1.2, "the text so far", "prompt and new tokens", lit=False)
    part(ax, 4.4, 1.2, "lookup_draft", "guesses, from the text", lit=True)
    part(ax, 8.4, 1.2, "forward_cached", "Day 10: one pass for all", lit=False)
    part(ax, 12.4, 1.2, "filtered_probs", "a row of p for each place", lit=True)
    for x in (3.6, 7.6, 11.6):
        flow(ax, (x, 1.7), (x + 0.8, 1.7))
    part(ax, 8.4, 3.2, "greedy_verify", "which guesses stay", lit=True)
    group(ax, 12.4, 3.2, "verify_sampled", width=3.4, height=2.6)
    part(ax, 12.7, 4.0, "acceptance_probs", lit=True, width=2.8, height=0.7)
    part(ax, 12.7, 4.9, "residual_probs", lit=True, width=2.8, height=0.7)
    flow(ax, (14.0, 2.2), (14.0, 3.2))
    ax.text(14.15, 2.72, "otherwise", va="center", fontsize=8)
    flow(ax, (13.0, 2.2), (13.0, 2.75), (10.0, 2.75), (10.0, 3.2))
    ax.text(10.15, 2.5, "temperature 0", va="center", fontsize=8)
    part(ax, 4.4, 3.2, "truncate", "the cache goes back", lit=True)
    flow(ax, (8.4, 3.7), (7.6, 3.7))
    flow(ax, (12.4, 5.0), (6.0, 5.0), (6.0, 4.2))
    ax.text(6.2, 5.3, "the guesses that stay, and a token from the model", va="center", fontsize=8)
    flow(ax, (4.4, 3.7), (2.0, 3.7), (2.0, 2.2))
    ax.text(0.4, 4.1, "the text with the\nnew tokens", va="top", fontsize=8)
    ax.text(0.1, 7.1, "beforehand: does it pay?", va="center", fontsize=9)
    part(ax, 4.4, 6.6, "expected_tokens", "of a pass, on average", lit=True)
    part(ax, 8.4, 6.6, "speedup", "against plain decoding", lit=True)
    flow(ax, (7.6, 7.1), (8.4, 7.1))
    plots.save(fig, FIGURES / "parts.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        ladder(FIGURES / "ladder.svg", "speculative")
        parts()
        overlap()
