"""Draws the figures of the lesson on the decoder: `python course/day04_transformer/figures.py`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from course.kit import WeightsOnly, load_model, plots
from course.kit.plots import BLUE, GREEN, GREY, LIGHT, ORANGE, PURPLE
from solutions.transformer import forward

FIGURES = Path(__file__).parent / "figures"
CLIMBS = {
    "The capital of France is": " Paris",
    "The opposite of hot is": " cold",
    "The chemical symbol for gold is": " Au",
}


def decoder() -> None:
    """Left the whole model, right one layer."""
    fig, (left, right) = plots.figure(1, 2, width=9.2, height=5.6, width_ratios=[3.6, 5.6])
    for ax, width in ((left, 3.6), (right, 5.6)):
        ax.axis("off")
        ax.set_xlim(0, width)
        ax.set_ylim(0, 5.6)

    def box(ax: plt.Axes, x: float, y: float, text: str, colour: str, width: float, height: float = 0.5) -> None:
        ax.add_patch(plt.Rectangle((x - width / 2, y - height / 2), width, height, facecolor="white", edgecolor=colour, lw=1.6))
        ax.text(x, y, text, ha="center", va="center", fontsize=9)

    def arrow(ax: plt.Axes, start: tuple[float, float], end: tuple[float, float], colour: str = GREY) -> None:
        style = {"arrowstyle": "-|>", "color": colour, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", end, start, arrowprops=style)

    stages = [
        (0.35, "token ids  (B, T)", None),
        (1.2, "embedding: a row of the table", BLUE),
        (2.05, "layer 0", ORANGE),
        (2.9, "...", None),
        (3.5, "layer L − 1", ORANGE),
        (4.35, "final norm", PURPLE),
        (5.05, "head: V scores", BLUE),
    ]
    for (y, text, colour), following in zip(stages, [*stages[1:], None], strict=True):
        if colour:
            box(left, 1.8, y, text, colour, 2.9)
        else:
            left.text(1.8, y, text, ha="center", va="center", fontsize=9)
        if following:
            top = y + (0.25 if colour else 0.14)
            arrow(left, (1.8, top), (1.8, following[0] - (0.25 if following[2] else 0.14)))
    left.text(2.0, 1.62, "(B, T, D)", ha="left", va="center", fontsize=8, color=GREY)
    left.text(1.8, 5.45, "logits  (B, T, V)", ha="center", va="center", fontsize=8, color=GREY)

    right.plot([1.0, 1.0], [0.2, 5.2], color=BLUE, lw=4, solid_capstyle="butt")
    right.annotate("", (1.0, 5.5), (1.0, 5.15), arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 4})
    right.text(0.8, 0.4, "x", ha="right", va="center", fontsize=11, color=BLUE)
    parts = (
        (0.55, "norm (input_layernorm)", "attention: reads the\ntokens before", "o_proj", ORANGE),
        (3.0, "norm (post_attention_layernorm)", "feed-forward: each\ntoken by itself", None, GREEN),
    )
    for base, norm, text, output, colour in parts:
        box(right, 3.6, base + 0.25, norm, PURPLE, 2.9, 0.42)
        box(right, 3.6, base + 0.98, text, colour, 2.9, 0.56)
        arrow(right, (1.0, base + 0.25), (2.15, base + 0.25))
        arrow(right, (3.6, base + 0.46), (3.6, base + 0.7))
        top = base + 0.98
        if output:
            box(right, 3.6, base + 1.6, output, colour, 1.1, 0.34)
            arrow(right, (3.6, base + 1.26), (3.6, base + 1.43))
            top = base + 1.6
        edge = 3.05 if output else 2.15
        arrow(right, (edge, top), (1.16, top))
        right.add_patch(plt.Circle((1.0, top), 0.17, facecolor="white", edgecolor=BLUE, lw=1.6, zorder=5))
        right.text(1.0, top, "+", ha="center", va="center", fontsize=13, color=BLUE, zorder=6)
    right.text(1.3, 5.2, "x: the old, plus two updates", ha="left", va="center", fontsize=9, color=BLUE)
    right.axvline(0.02, color=LIGHT, lw=1)
    plots.save(fig, FIGURES / "decoder.svg")


def climb() -> None:
    """Draw the rank of the right answer in SmolLM2 cut off after n layers, for readers without the model."""
    model = load_model("smollm2", missing="none")
    if model is None:
        return
    depths = range(model.config.num_hidden_layers + 1)
    ranks = {}
    for prompt, answer in CLIMBS.items():
        ids = torch.tensor([model.tokenizer.encode(prompt)])
        (target,) = model.tokenizer.encode(answer)
        ranks[prompt + " ..." + answer] = []
        for n in depths:
            weights = replace(model.weights, layers=model.weights.layers[:n])
            logits = forward(WeightsOnly(model.config, weights, lambda: model.tokenizer), ids)[0, -1]
            ranks[prompt + " ..." + answer].append(1 + int((logits > logits[target]).sum()))
    fig, ax = plots.figure(width=7.5, height=3.6)
    plots.lines(depths, ranks, xlabel="layers before the cut", ylabel="rank among 49,152 tokens", logy=True, markers=False, ax=ax)
    ax.invert_yaxis()
    plots.save(fig, FIGURES / "climb.svg")


if __name__ == "__main__":
    decoder()
    climb()
