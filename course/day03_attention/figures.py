"""Draws the figures of the lesson on attention: `python course/day03_attention/figures.py`."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from course.kit import load_model, paths, plots
from course.kit.plots import BLUE, GREEN, GREY, LIGHT, ORANGE, RED
from course.kit.steppers.attention_maps import draw_maps, queries_and_keys
from solutions.attention import attention, causal_mask, rotary

FIGURES = Path(__file__).parent / "figures"
LANDLADY = (
    "My landlady is called Mrs Brimblecoate. Every morning I greet her: good morning, Mrs Brimblecoate"  # 27 tokens
)


def three_tokens() -> None:
    """Draw the worked example: how `sat` reads from `the`, `cat` and itself."""
    case = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text())["attention"]["three_tokens"]
    query, words = case["q"][2], ["the", "cat", "sat"]
    fig, ax = plots.figure(width=9.2, height=3.7)
    ax.axis("off")
    ax.set_xlim(0, 9.2)
    ax.set_ylim(-0.05, 3.7)

    def box(x: float, y: float, text: str, colour: str, width: float = 1.15, fill: str = "white") -> None:
        ax.add_patch(plt.Rectangle((x - width / 2, y - 0.24), width, 0.48, facecolor=fill, edgecolor=colour, lw=1.4))
        ax.text(x, y, text, ha="center", va="center", fontsize=10)

    def arrow(start: tuple[float, float], end: tuple[float, float], colour: str = GREY, width: float = 1.0) -> None:
        ax.annotate(
            "", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": width, "shrinkA": 0, "shrinkB": 0}
        )

    heads = {
        0.75: "query",
        2.35: "keys",
        4.0: "scores\nq·k",
        5.25: "scores\n/ √2",
        6.45: "weights\n(softmax)",
        7.65: "values",
    }
    for x, text in {**heads, 8.72: "output"}.items():
        ax.text(x, 3.45, text, ha="center", va="center", fontsize=9, color=GREY)
    box(0.75, 1.5, "(2, 1)", ORANGE)
    ax.text(0.75, 1.9, "sat", ha="center", fontsize=10, color=ORANGE)
    for row, word in enumerate(words):
        y = 2.6 - 1.1 * row
        key, value = case["k"][row], case["v"][row]
        score = sum(a * b for a, b in zip(query, key, strict=True))
        weight = case["weights"][2][row]
        box(2.35, y, f"({key[0]:g}, {key[1]:g})", BLUE)
        ax.text(2.35, y + 0.34, word, ha="center", fontsize=10, color=BLUE)
        arrow((1.33, 1.5), (1.76, y))
        ax.text(4.0, y, f"{score:g}", ha="center", va="center", fontsize=11)
        ax.text(5.25, y, f"{score / math.sqrt(2):.4f}", ha="center", va="center", fontsize=11)
        ax.text(6.45, y, f"{weight:.4f}", ha="center", va="center", fontsize=11, weight="bold")
        arrow((2.95, y), (3.75, y))
        arrow((4.25, y), (4.85, y))
        arrow((5.65, y), (6.05, y))
        arrow((6.85, y), (7.2, y))
        box(7.65, y, f"({value[0]:g}, {value[1]:g})", GREEN, width=0.9)
        arrow((8.11, y), (8.28 if row == 1 else 8.45, 1.5 + 0.26 * (1 - row)), GREEN, 0.6 + 4 * weight)
    out = case["output"][2]
    box(8.72, 1.5, f"({out[0]:.3f},\n{out[1]:.3f})", ORANGE, width=0.86)
    plots.save(fig, FIGURES / "three_tokens.svg")


def masks() -> None:
    """Three masks side by side: square, aligned at the end, and the wrong one."""
    fig, axes = plots.figure(1, 3, width=9.0, height=3.4, width_ratios=[5, 5, 5])
    start = torch.ones(2, 5, dtype=torch.bool).tril()
    drawn = [
        (causal_mask(5, 5), "5 queries, 5 keys", range(5), BLUE),
        (causal_mask(2, 5), "the last 2 of 5: aligned at the end", range(3, 5), BLUE),
        (start, "wrong: aligned at the start", range(3, 5), RED),
    ]
    for ax, (mask, title, queries, colour) in zip(axes, drawn, strict=True):
        for i, row in enumerate(mask.tolist()):
            for j, allowed in enumerate(row):
                face = colour if allowed else "white"
                ax.add_patch(plt.Rectangle((j, i), 0.94, 0.94, facecolor=face, edgecolor=LIGHT, lw=1))
                ax.text(j + 0.47, i + 0.47, "T" if allowed else "F", ha="center", va="center",
                        color="white" if allowed else GREY, fontsize=9)  # fmt: skip
        ax.set_xlim(-0.1, 5.05)
        ax.set_ylim(len(mask) + 0.05, -0.1)
        ax.set_aspect("equal", anchor="N")
        ax.set_xticks([j + 0.47 for j in range(5)], [str(j) for j in range(5)])
        ax.set_yticks([i + 0.47 for i in range(len(mask))], [str(q) for q in queries])
        ax.set_xlabel("position of the key")
        ax.set_ylabel("position of the query")
        ax.set_title(title, fontsize=10)
        for side in ax.spines.values():
            side.set_visible(False)
        ax.tick_params(length=0)
    plots.save(fig, FIGURES / "masks.svg")


def heads() -> None:
    """Split and merge on the left, grouped heads on the right."""
    fig, (left, right) = plots.figure(1, 2, width=9.4, height=3.3, width_ratios=[5.2, 4.2])
    colours = [BLUE, ORANGE, GREEN]
    for ax in (left, right):
        ax.axis("off")
    left.set_xlim(0, 10.4)
    left.set_ylim(-0.6, 5)
    for t in range(4):
        left.text(0.35, 3.3 - 0.8 * t, f"token {t}", ha="center", va="center", fontsize=8, color=GREY)
        for d in range(6):
            left.add_patch(
                plt.Rectangle((1.0 + 0.55 * d, 3.0 - 0.8 * t), 0.53, 0.66, facecolor=colours[d // 2], edgecolor="white")
            )
    left.text(2.65, 4.3, "(T, H·Dh) = (4, 6)", ha="center", fontsize=9)
    left.annotate("", (6.6, 2.55), (4.75, 2.55), arrowprops={"arrowstyle": "-|>", "color": GREY})
    left.annotate("", (4.75, 1.65), (6.6, 1.65), arrowprops={"arrowstyle": "-|>", "color": GREY})
    left.text(5.68, 2.7, "split_heads", ha="center", fontsize=8.5)
    left.text(5.68, 1.25, "merge_heads", ha="center", fontsize=8.5)
    for h in range(3):
        for t in range(4):
            for d in range(2):
                x, y = 7.0 + 1.2 * h + 0.5 * d, 3.1 - 0.72 * t
                left.add_patch(plt.Rectangle((x, y), 0.48, 0.62, facecolor=colours[h], edgecolor="white"))
        left.text(7.5 + 1.2 * h, 0.35, f"head {h}", ha="center", fontsize=8, color=GREY)
    left.text(8.7, 4.3, "(H, T, Dh) = (3, 4, 2)", ha="center", fontsize=9)
    right.set_xlim(-0.7, 9.2)
    right.set_ylim(-0.6, 5)
    right.text(4.1, 4.3, "9 query heads share 3 key/value heads", ha="center", fontsize=9)
    for h in range(9):
        right.add_patch(plt.Rectangle((0.98 * h - 0.3, 2.7), 0.8, 0.8, facecolor=colours[h // 3], edgecolor="white"))
        right.text(0.98 * h + 0.1, 3.1, str(h), ha="center", va="center", color="white", fontsize=10)
        right.plot([0.98 * h + 0.1, 2.94 * (h // 3) + 1.08], [2.7, 1.4], color=colours[h // 3], lw=1.2)
    for g in range(3):
        right.add_patch(plt.Rectangle((2.94 * g + 0.58, 0.6), 1.0, 0.8, facecolor=colours[g], edgecolor="white"))
        right.text(2.94 * g + 1.08, 1.0, str(g), ha="center", va="center", color="white", fontsize=10)
    right.text(4.1, 3.65, "query head h", ha="center", fontsize=8, color=GREY)
    right.text(4.1, 0.15, "key/value head h // 3", ha="center", fontsize=8, color=GREY)
    plots.save(fig, FIGURES / "heads.svg")


def clocks() -> None:
    """RoPE as clock hands: four pairs of one head at positions 0, 1, 2, 3, 30."""
    positions, base, pairs = [0, 1, 2, 3, 30], 10000.0, 4
    fig, axes = plots.figure(pairs, len(positions), width=7.6, height=5.4)
    for j in range(pairs):
        frequency = base ** (-j / pairs)
        for column, position in enumerate(positions):
            ax = axes[j][column]
            angle = position * frequency
            ax.add_patch(plt.Circle((0, 0), 1, fill=False, color=LIGHT, lw=1.2))
            ax.plot([0, 1], [0, 0], color=LIGHT, lw=1.2)
            tip = (math.cos(angle), math.sin(angle))
            style = {"arrowstyle": "-|>", "color": BLUE, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", tip, (0, 0), arrowprops=style)
            ax.set_xlim(-1.15, 1.15)
            ax.set_ylim(-1.15, 1.15)
            ax.set_aspect("equal")
            ax.set_xticks([])
            ax.set_yticks([])
            for side in ax.spines.values():
                side.set_visible(False)
            if j == 0:
                ax.set_title(f"position {position}", fontsize=9, loc="center")
            if column == 0:
                ax.set_ylabel(f"pair {j}\n{frequency:g} rad", fontsize=9, rotation=0, ha="right", va="center")
    plots.save(fig, FIGURES / "clocks.svg")


def smollm2_heads() -> None:
    """Four heads of SmolLM2 over one text, for readers without the model."""
    model = load_model("smollm2", missing="none")
    if model is None:
        return
    ids = model.tokenizer.encode(LANDLADY)
    T, config = len(ids), model.config
    positions = torch.arange(T)
    marks = torch.eye(T, config.head_dim).expand(1, config.num_key_value_heads, T, -1)
    maps = []
    for q, k in queries_and_keys(model, torch.tensor([ids])):
        q, k = (rotary(x, positions, config.rope_theta) for x in (q, k))
        maps.append(attention(q, k, marks, causal_mask(T, T))[0, :, :, :T])
    shown = {
        "16.0: the token before": maps[16][0],
        "18.8: the first token": maps[18][8],
        "14.3: the same token, earlier": maps[14][3],
        "17.4: what came next last time": maps[17][4],
    }
    draw_maps(shown, [model.tokenizer.decode([i]) for i in ids])
    plots.save(plt.gcf(), FIGURES / "smollm2_heads.svg")


if __name__ == "__main__":
    for draw in (three_tokens, masks, heads, clocks, smollm2_heads):
        draw()
