"""Draws this lesson's figures: `python -m course.day05_samplers.figures.figures` in the repository's root."""

import tomllib
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from course.kit import plots
from course.kit.paths import DATASETS

HERE = Path(__file__).parent
HAND = tomllib.loads((DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["samplers"]
LOGITS = torch.tensor(HAND["greedy"]["logits"], dtype=torch.float64)


def temperature() -> None:
    """Draw the same five logits at three temperatures."""
    fig, axes = plots.figure(1, 3, width=8.4, height=2.7, sharey=True)
    cases = (
        (LOGITS.div(0.5), "tau = 0.5: sharper"),
        (LOGITS, "tau = 1: the model's own"),
        (LOGITS.div(2.0), "tau = 2: flatter"),
    )
    for ax, (logits, title) in zip(axes, cases, strict=True):
        probs = logits.softmax(dim=-1).tolist()
        bars = ax.bar(range(5), probs, color=plots.BLUE, width=0.7)
        ax.bar_label(bars, [f"{p:.4f}" for p in probs], padding=2, fontsize=8)
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xticks(range(5), [str(i) for i in range(5)])
        ax.set_xlabel("token")
        ax.set_ylim(0, 1.12)
    axes[0].set_ylabel("probability")
    plots.save(fig, HERE / "temperature.svg")


def two_situations() -> None:
    """Situation A and B: what k = 5 keeps, and what p = 0.9 would have to keep."""
    fig, axes = plots.figure(1, 2, width=8.4, height=3.3)
    case = HAND["two_situations"]
    left = ["Paris", "Lyon", "Marseille"], case["situation_a"], "A: The capital of France is …"
    right = (
        ["restaurant", "cafe", "diner", "pub", "bistro", "bar", "steakhouse"],
        case["situation_b"],
        "B: Let us meet at the …",
    )
    for ax, (names, probs, title) in zip(axes, (left, right), strict=True):
        rest = 1 - sum(probs)
        values = [*probs, rest]
        colours = [plots.BLUE] * len(probs) + [plots.LIGHT]
        bars = ax.barh(range(len(values)), values, color=colours, height=0.7)
        ax.bar_label(bars, [f"{v:.3f}".rstrip("0") for v in values], padding=3, fontsize=9)
        ax.set_yticks(range(len(values)), [*names, "all others, together"])
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(0, 1.15)
        ax.set_xlabel("probability")
        ax.set_title(title, loc="left", fontsize=10)
    plots.save(fig, HERE / "two_situations.svg")


def crossing() -> None:
    """Draw the running sum of the sorted probabilities, and the token that crosses p = 0.9."""
    case = HAND["sorted_cumulative"]
    fig, ax = plots.figure(width=6.8, height=3.3)
    sums = case["cumulative"]
    starts = [0.0, *sums[:-1]]
    kept = [start < 0.9 for start in starts]
    bottom = 0.82  # from 0 on, the four small steps could not be told apart
    for x, (start, end, keep) in enumerate(zip(starts, sums, kept, strict=True)):
        ax.bar(x, max(start - bottom, 0), bottom=bottom, color="#eef1f4", width=0.75)
        start = max(start, bottom)
        ax.bar(x, end - start, bottom=start, color=plots.BLUE if keep else "#b8bec6", width=0.75)
        inside = x == 0
        ax.text(
            x, end - 0.012 if inside else end + 0.004, f"{end:.4f}", ha="center", color="white" if inside else "black"
        )
    ax.axhline(0.9, color=plots.RED, linewidth=1.4)
    ax.text(4.5, 0.9, " p = 0.9", color=plots.RED, va="center", fontsize=10)
    ax.annotate(
        "begins below p and ends above it:\nit crosses p, and stays",
        xy=(1.38, 0.93),
        xytext=(1.75, 0.925),
        fontsize=9,
        arrowprops={"arrowstyle": "->", "color": plots.GREY},
    )
    verdicts = ["kept" if keep else "cut" for keep in kept]
    names = [f"token {i}\n{verdict}" for i, verdict in zip(case["sorted_ids"], verdicts, strict=True)]
    ax.set_xticks(range(5), names)
    ax.set_ylabel("running sum (from 0.82)")
    ax.set_ylim(bottom, 1.02)
    ax.set_xlim(-0.6, 4.5)
    plots.save(fig, HERE / "crossing.svg")


def unit_interval() -> None:
    """Four probabilities laid end to end from 0 to 1, and the token that u = 0.6 falls on."""
    case = HAND["draw_four"]
    fig, ax = plots.figure(width=7.2, height=1.8)
    start = 0.0
    for token, width in enumerate(case["probs"]):
        ax.barh(0, width, left=start, height=0.5, color=plots.CYCLE[token], edgecolor="white", linewidth=2)
        name = f"token {token}" if width > 0.2 else str(token)
        ax.text(start + width / 2, 0, f"{name}\n{width:g}", ha="center", va="center", color="white", fontsize=9)
        start += width
    ax.annotate(
        "u = 0.6: token 1",
        xy=(0.6, 0.26),
        xytext=(0.6, 0.62),
        ha="center",
        fontsize=10,
        arrowprops={"arrowstyle": "->", "color": "black"},
    )
    ax.set_xticks([0, 0.5, 0.75, 0.875, 1], ["0", "0.5", "0.75", "0.875", "1"])
    ax.set_yticks([])
    ax.set_xlim(0, 1)
    ax.set_ylim(-0.3, 0.8)
    ax.spines["left"].set_visible(False)
    plots.save(fig, HERE / "unit_interval.svg")


def pipeline() -> None:
    """Logits, temperature, top-k, top-p, draw, token: boxes and arrows."""
    fig, ax = plots.figure(width=8.6, height=1.7)
    boxes = (
        ("logits\n(B, V)", plots.LIGHT, "#222222"),
        ("temperature\ndivide by tau", plots.BLUE, "white"),
        ("top-k\nkeep the k best", plots.BLUE, "white"),
        ("top-p\nkeep the mass p", plots.BLUE, "white"),
        ("draw\none u per row", plots.ORANGE, "#222222"),
        ("token ids\n(B, 1)", plots.LIGHT, "#222222"),
    )
    for i, (text, colour, ink) in enumerate(boxes):
        _box(ax, 1.5 * i, text, colour, ink)
        if i:
            arrow = {"arrowstyle": "-|>", "color": "#333333", "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", xy=(1.5 * i - 0.62, 0), xytext=(1.5 * i - 0.88, 0), arrowprops=arrow)
    ax.text(3.0, -0.72, "three times a new distribution, no randomness", ha="center", fontsize=9)
    ax.text(6.0, -0.72, "the only randomness", ha="center", fontsize=9)
    ax.set_xlim(-0.7, 8.2)
    ax.set_ylim(-0.95, 0.6)
    ax.axis("off")
    plots.save(fig, HERE / "pipeline.svg")


def _box(ax: Axes, x: float, text: str, colour: str, ink: str) -> None:
    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((x - 0.6, -0.4), 1.2, 0.8, boxstyle=style, facecolor=colour, edgecolor="none"))
    ax.text(x, 0, text, ha="center", va="center", fontsize=8.5, color=ink)


if __name__ == "__main__":
    for draw in (temperature, two_situations, crossing, unit_interval, pipeline):
        draw()
