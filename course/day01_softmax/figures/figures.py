"""Draws this day's figures, beside this file: `python course/day01_softmax/figures/figures.py`."""

import math
import tomllib
from pathlib import Path

import torch

from course.kit import paths, plots

HERE = Path(__file__).parent
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["softmax"]
LARGEST, SMALLEST = math.log(torch.finfo(torch.float32).max), math.log(2.0**-149)  # between them exp is a float32


def scores_and_probabilities() -> None:
    case = HAND["cat_sat"]
    fig, axes = plots.figure(1, 2, width=9.0, height=3.0)
    plots.logits_and_probs(case["logits"], case["probs"], case["words"], axes=axes)
    for ax in axes:
        ax.tick_params(axis="x", labelsize=8.5)
        ax.set_xlabel("")
    axes[0].set_title("scores")
    axes[1].set_title("probabilities")
    plots.save(fig, HERE / "scores_and_probabilities.svg")


def equal_steps() -> None:
    fig, ax = plots.figure(width=6.5, height=3.4)
    xs = torch.linspace(-1.3, 3.12, 200)
    ax.plot(xs, xs.exp(), color=plots.LIGHT, linewidth=3)
    for x in range(-1, 4):
        ax.plot([x, x], [0, math.exp(x)], color=plots.BLUE, linewidth=6, solid_capstyle="butt")
        ax.annotate(f"{math.exp(x):.3f}", (x, math.exp(x)), (-8, 2), textcoords="offset points", ha="right", fontsize=9)
    for x in range(-1, 3):
        ax.annotate("", (x + 0.96, -2.3), (x + 0.04, -2.3), annotation_clip=False, arrowprops={"arrowstyle": "->"})
        ax.text(x + 0.5, -3.9, "× 2.718", ha="center", fontsize=9, color=plots.ORANGE)
    ax.set_ylim(0, 22)
    ax.set_xlim(-1.6, 3.4)
    ax.set_xticks(range(-1, 4))
    ax.tick_params(axis="x", pad=38, length=0)
    ax.set_xlabel("score")
    ax.set_ylabel("exponential of the score")
    plots.save(fig, HERE / "equal_steps.svg")


def shifts() -> None:
    """Where two rows lie on the line of scores: as they come, less one maximum, less a maximum each."""
    high, low = HAND["rows_far_apart"]["logits"]
    top = max(high)
    lines = [
        ("as they come", high, low),
        ("less one maximum\nfor both rows", [x - top for x in high], [x - top for x in low]),
        ("less the maximum\nof each row", [x - top for x in high], [x - max(low) for x in low]),
    ]
    fig, ax = plots.figure(width=8.5, height=3.2)
    ax.axvspan(LARGEST, 1400, color=plots.ORANGE, alpha=0.16, linewidth=0)
    ax.axvspan(-2400, SMALLEST, color=plots.LIGHT, alpha=0.6, linewidth=0)
    for x, text in ((-1250, "exp is 0 here"), (745, "exp is inf here")):
        ax.text(x, -0.62, text, ha="center", fontsize=9, color="#333333")
    ax.annotate(
        "exp is a number\nabove 0 only here", (0, -0.42), (0, -1.22), ha="center", fontsize=9, annotation_clip=False,
        arrowprops={"arrowstyle": "->"},
    )  # fmt: skip
    for y, (_, first, second) in enumerate(lines):
        ax.axhline(y, color=plots.GREY, linewidth=0.6)
        up, down = sum(first) / 2, sum(second) / 2
        together = abs(up - down) < 10
        ax.plot(up, y - (0.14 if together else 0), "o", color=plots.BLUE, markersize=9)
        ax.plot(down, y + (0.14 if together else 0), "s", color=plots.RED, markersize=8)
    ax.plot([], [], "o", color=plots.BLUE, label="row [1000, 1001]")
    ax.plot([], [], "s", color=plots.RED, label="row [-1000, -999]")
    ax.set_yticks(range(3), [name for name, _, _ in lines])
    ax.set_ylim(2.5, -0.8)
    ax.set_xlim(-2400, 1400)
    ax.set_xticks([-2000, -1000, 0, 1000])
    ax.set_xlabel("score")
    ax.tick_params(axis="y", length=0)
    fig.legend(loc="outside upper right", ncols=2)
    plots.save(fig, HERE / "shifts.svg")


def three_certainties() -> None:
    five = HAND["five_logits"]
    rows = [
        ("certain", [0.0, 0.0, 0.0, 1.0, 0.0], 0.0),
        ("the five logits", five["probs"], five["entropy"]),
        ("no idea", [0.2] * 5, math.log(5)),
    ]
    fig, axes = plots.figure(1, 3, width=8.5, height=2.8, sharey=True)
    for ax, (name, probs, nats), colour in zip(axes, rows, (plots.BLUE, plots.ORANGE, plots.GREEN), strict=True):
        bars = ax.bar(range(5), probs, color=colour, width=0.7)
        ax.bar_label(bars, [f"{p:.3f}" for p in probs], padding=2, fontsize=8)
        ax.set_title(f"{name}\nentropy {nats:.3f} nats\nperplexity {math.exp(nats):.2f}", fontsize=10)
        ax.set_xlabel("token")
        ax.set_ylim(0, 1.12)
    axes[0].set_ylabel("probability")
    plots.save(fig, HERE / "three_certainties.svg")


if __name__ == "__main__":
    with plots.style():
        scores_and_probabilities()
        equal_steps()
        shifts()
        three_certainties()
