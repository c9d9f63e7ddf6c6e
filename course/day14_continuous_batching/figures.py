"""Draws the figures of this day. Run it again after a change: `python course/day14_continuous_batching/figures.py`."""

from itertools import pairwise
from pathlib import Path

from matplotlib.patches import Rectangle

from course.drawing import PALE_BLUE, bare, ladder
from course.kit import plots
from solutions.continuous_batching import Request, flatten_chunks
from solutions.paging import PagedSequence, PrefixPool

FIGURES = Path(__file__).parent / "figures"
ANSWERS = (("A", 8), ("B", 2), ("C", 3), ("D", 6), ("E", 4), ("F", 1))
"""Six requests that are there at once, and their tokens; three places."""
PLACES = 3
CHUNKS = (("A", [5, 6, 7], 0, 3), ("B", [8, 9, 10, 11, 12], 2, 2), ("C", [13, 14, 15, 16], 3, 1))
"""Section 5's requests: name, text, how many of its tokens were cached, how many are fed."""
SHADES = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.PURPLE, plots.GREY, plots.RED)


def batches() -> tuple[list[tuple[int, int, int]], int]:
    """[(request, place, first step)] where a batch is filled when the last one has ended, and the steps it takes."""
    rows, start = [], 0
    for first in range(0, len(ANSWERS), PLACES):
        batch = range(first, first + PLACES)
        rows += [(i, i - first, start) for i in batch]
        start += max(ANSWERS[i][1] for i in batch)
    return rows, start


def continuous() -> tuple[list[tuple[int, int, int]], int]:
    """Draw the same batch where a place is filled as soon as it is free."""
    rows, free = [], [0] * PLACES
    for i, (_, tokens) in enumerate(ANSWERS):
        place = free.index(min(free))
        rows.append((i, place, free[place]))
        free[place] += tokens
    return rows, max(free)


def static() -> None:
    """Three places, six answers: a batch after a batch, and a place for the next one at once."""
    fig, ax = plots.figure(width=9.2, height=3.7)
    bare(ax, 16.6, 8.6)
    for name, (rows, steps), y in (("a batch after a batch", batches(), 0.8), ("a free place is filled at once", continuous(), 5.0)):
        ax.text(0, y - 0.25, f"{name}: {steps} steps", fontsize=9.5, fontweight="bold")
        for place in range(PLACES):
            for step in range(steps):
                cell = Rectangle((2 + step, y + 0.9 * place), 0.94, 0.8, facecolor="white", edgecolor=plots.LIGHT, hatch="///")
                ax.add_patch(cell)
            ax.text(1.85, y + 0.4 + 0.9 * place, f"place {place + 1}", ha="right", va="center", fontsize=9)
        for i, place, start in rows:
            for step in range(ANSWERS[i][1]):
                x, top = 2 + start + step, y + 0.9 * place
                ax.add_patch(Rectangle((x, top), 0.94, 0.8, facecolor=SHADES[i], edgecolor=SHADES[i]))
                ax.text(x + 0.47, top + 0.42, ANSWERS[i][0], ha="center", va="center", fontsize=9, color="white")
    plots.save(fig, FIGURES / "static.svg")


def chunks() -> None:
    """Draw the tokens that each step feeds: budget 8, A decodes, B's prompt of 8 comes in two pieces."""
    fig, ax = plots.figure(width=9.2, height=3.4)
    bare(ax, 13.2, 6.9)
    steps = ((("A", 4),), (("A", 1),), (("A", 1), ("B", 7)), (("B", 1),), (("B", 1),))
    shades = {"A": PALE_BLUE, "B": "#f0b873"}
    says = ("token 1 of A", "token 2 of A; B arrives at 1.5 s", "token 3 of A, which ends", "token 1 of B", "token 2 of B, which ends")
    for i, (step, said) in enumerate(zip(steps, says, strict=True)):
        y, x = 0.9 + 1.2 * i, 2.6
        ax.text(0, y + 0.4, f"from {i} to {i + 1} s", va="center", fontsize=9)
        for place in range(8):
            ax.add_patch(Rectangle((2.6 + 0.6 * place, y), 0.56, 0.8, facecolor="white", edgecolor=plots.LIGHT))
        for name, n in step:
            for _ in range(n):
                ax.add_patch(Rectangle((x, y), 0.56, 0.8, facecolor=shades[name], edgecolor=plots.GREY))
                ax.text(x + 0.28, y + 0.42, name, ha="center", va="center", fontsize=9)
                x += 0.6
        ax.text(7.8, y + 0.4, said, va="center", fontsize=9, color="#444444")
    ax.text(2.6, 0.55, "a budget of 8 tokens", fontsize=9)
    plots.save(fig, FIGURES / "chunks.svg")


def ragged() -> None:
    """Three chunks in one row of tokens, and which keys each of these tokens sees."""
    plan = []
    for _, text, cached, fed in CHUNKS:
        sequence = PagedSequence(PrefixPool(2), 4)
        sequence.grow(cached + fed)
        plan.append((Request(text, 1, sequence=sequence), fed))
    flat = flatten_chunks(plan)
    ids, positions = flat.ids[0].tolist(), flat.positions.tolist()
    shades = (PALE_BLUE, "#f0b873", "#b9d6c1")
    fig, ax = plots.figure(width=9.2, height=5.2)
    bare(ax, 18.4, 10.4)

    def cell(x: float, y: float, words: str, fill: str, hatch: str | None = None) -> None:
        ax.add_patch(Rectangle((x, y), 0.94, 0.7, facecolor=fill, edgecolor=plots.GREY, hatch=hatch, linewidth=0.8))
        ax.text(x + 0.47, y + 0.37, words, ha="center", va="center", fontsize=9)

    for y, name in ((0.75, "ids, one row"), (1.5, "positions")):
        ax.text(2.8, y, name, ha="right", va="center", fontsize=9)
    for (start, end), shade in zip(pairwise(flat.bounds), shades, strict=True):
        for i in range(start, end):
            cell(3.1 + i, 0.4, str(ids[i]), shade)
            ax.text(3.57 + i, 1.5, str(positions[i]), ha="center", va="center", fontsize=9)
    ax.text(2.8, 2.25, "bounds", ha="right", va="center", fontsize=9, color=plots.RED)
    for bound in flat.bounds:
        ax.plot([3.07 + bound] * 2, [0.2, 1.9], color=plots.RED, linewidth=1.6)
        ax.text(3.07 + bound, 2.25, str(bound), ha="center", va="center", fontsize=9, color=plots.RED)
    left, top = 3.1, 4.4
    ax.text(2.8, top - 0.35, "query", ha="right", va="center", fontsize=9)
    ax.text(left, top - 1.15, "keys, each text's own", va="center", fontsize=9)
    for ((name, text, cached, fed), shade), (start, _) in zip(zip(CHUNKS, shades, strict=True), pairwise(flat.bounds), strict=True):
        stored = cached + fed
        for key in range(stored):
            ax.text(
                left + key + 0.47, top - 0.35, f"{name}: {text[key]}" if key == 0 else str(text[key]), ha="center", va="center", fontsize=9
            )
        for i in range(start, start + fed):
            y = top + 0.85 * i
            ax.text(2.8, y + 0.37, f"{name}: {ids[i]}", ha="right", va="center", fontsize=9)
            for key in range(stored):
                seen = key <= positions[i]
                cell(left + key, y, "x" if seen else "", shade if seen else "white", "//" if key < cached else None)
        left += stored + 0.4
    words = (
        (PALE_BLUE, None, "x", "seen, fed in this step"),
        (PALE_BLUE, "//", "x", "seen, from the cache"),
        ("white", None, "", "later: masked"),
    )
    for i, (fill, hatch, mark, said) in enumerate(words):
        cell(10.9, 0.4 + 0.85 * i, mark, fill, hatch)
        ax.text(12.1, 0.77 + 0.85 * i, said, va="center", fontsize=9)
    ax.text(
        3.1,
        top + 0.85 * len(ids) + 0.45,
        "empty: another text's keys, which this query never meets",
        va="center",
        fontsize=9,
        color="#444444",
    )
    plots.save(fig, FIGURES / "ragged.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        ladder(FIGURES / "ladder.svg", "continuous_batching")
        for draw in (static, chunks, ragged):
            draw()
