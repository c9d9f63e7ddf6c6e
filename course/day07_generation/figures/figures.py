"""Draws this day's figures, beside this file: `python course/day07_generation/figures/figures.py`."""

import tomllib
from pathlib import Path

from matplotlib.patches import FancyBboxPatch, Rectangle

from course.kit import paths, plots

HERE = Path(__file__).parent
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["generation"]


def bare(ax) -> None:
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])


def cell(ax, x, y, text, colour="white", width=1.0, height=0.78, **options) -> None:
    ax.add_patch(Rectangle((x, y), width * 0.94, height, facecolor=colour, edgecolor=plots.GREY, linewidth=0.9))
    ax.text(x + width * 0.47, y + height / 2, text, ha="center", va="center", fontsize=9, **options)


def loop() -> None:
    """One turn of the loop: ids, model, logits, last position, sampler, token, and back."""
    fig, ax = plots.figure(width=9.0, height=3.3)
    bare(ax)
    for i, word in enumerate(("the", "cat")):
        cell(ax, i, 1.6, word)
    cell(ax, 2, 1.6, "sat", plots.LIGHT)
    ax.text(1.5, 2.62, "ids (B, T)", ha="center", fontsize=9)
    ax.add_patch(FancyBboxPatch((4.3, 1.35), 1.5, 1.3, boxstyle="round,pad=0.06", facecolor="#e8eef5", edgecolor=plots.BLUE))
    ax.text(5.05, 2.0, "model", ha="center", va="center", fontsize=11)
    for i, name in enumerate(("position 0", "position 1", "position 2")):
        cell(
            ax, 7.1, 2.6 - 0.82 * i, name, "#f7e3cc" if i == 2 else "white", width=1.9, height=0.7, color="#222222" if i == 2 else "#999999"
        )
    ax.text(8.0, 3.48, "logits (B, T, V)", ha="center", fontsize=9)
    ax.add_patch(FancyBboxPatch((10.3, 0.71), 1.6, 1.1, boxstyle="round,pad=0.06", facecolor="#e8eef5", edgecolor=plots.BLUE))
    ax.text(11.1, 1.26, "sampler", ha="center", va="center", fontsize=11)
    cell(ax, 13.2, 0.87, "<end>", plots.LIGHT, width=1.2)
    ax.text(13.8, 1.85, "token (B, 1)", ha="center", fontsize=9)
    arrow = {"arrowstyle": "->", "color": "#333333"}
    for start, stop in (((3.05, 2.0), (4.2, 2.0)), ((5.9, 2.0), (7.0, 2.0)), ((9.0, 1.26), (10.2, 1.26)), ((12.0, 1.26), (13.1, 1.26))):
        ax.annotate("", stop, start, arrowprops=arrow)
    ax.plot([13.8, 13.8, 1.5], [0.8, 0.35, 0.35], color="#333333", linewidth=1)
    ax.annotate("", (1.5, 1.5), (1.5, 0.33), arrowprops={**arrow, "shrinkA": 0})
    ax.text(7.5, 0.02, "append, and begin again", ha="center", fontsize=9)
    ax.set_xlim(-0.1, 14.6)
    ax.set_ylim(-0.1, 3.8)
    plots.save(fig, HERE / "loop.svg")


def windows() -> None:
    """Draw the tokens that the model sees in each step, for a prompt of 3 and a block_size of 4."""
    case = HAND["window"]
    fig, ax = plots.figure(width=8.0, height=3.0)
    bare(ax)
    t_prompt = len(case["prompt"])
    for step, seen in enumerate(case["lengths"]):
        y = -step
        have = t_prompt + step
        for i in range(have):
            inside = i >= have - seen
            name = f"p{i}" if i < t_prompt else f"t{i - t_prompt}"
            colour = ("#dfe8f1" if i < t_prompt else "#f7e3cc") if inside else "white"
            cell(ax, i, y, name, colour, color="#222222" if inside else "#aaaaaa")
        ax.annotate("", (have + 0.75, y + 0.39), (have + 0.05, y + 0.39), arrowprops={"arrowstyle": "->"})
        cell(ax, have + 0.85, y, f"t{step}", plots.LIGHT)
        ax.text(10.4, y + 0.39, f"sees {seen}", va="center", fontsize=9)
        ax.text(-0.35, y + 0.39, f"step {step + 1}", va="center", ha="right", fontsize=9)
    ax.set_xlim(-1.4, 11.5)
    ax.set_ylim(-len(case["lengths"]) + 0.9, 0.95)
    plots.save(fig, HERE / "windows.svg")


def two_rows() -> None:
    """Two rows that end at different steps: filled, and as a loop that waits for both at once sees them."""
    case = HAND["two_rows"]
    words, following, eos = HAND["bigram"]["words"], case["following"], case["eos"]
    fig, ax = plots.figure(width=9.0, height=2.9)
    bare(ax)
    steps = 11
    for panel, (title, fill) in enumerate(
        (("a row that has ended is filled: done after step 3", True), ("waiting for a step at which both emit <end>", False))
    ):
        top = -panel * 2.9
        ax.text(-1.1, top + 1.05, title, fontsize=10)
        for row, prompt in enumerate(case["prompts"]):
            y = top - 0.9 * row
            token, ended = prompt[0], False
            cell(ax, -1.1, y, words[token], "#dfe8f1")
            for step in range(1, (3 if fill else steps) + 1):
                token = eos if fill and ended else following[token]
                colour = plots.LIGHT if fill and ended else ("#f7e3cc" if token == eos else "white")
                cell(ax, step, y, words[token], colour, color="#777777" if fill and ended else "#222222")
                ended = ended or token == eos
            if not fill:
                ax.text(steps + 1.1, y + 0.35, "...", fontsize=12)
    for step in range(1, steps + 1):
        ax.text(step + 0.47, -4.15, str(step), ha="center", fontsize=9, color=plots.GREY)
    ax.text(-0.63, -4.15, "step", ha="center", fontsize=9, color=plots.GREY)
    ax.set_xlim(-1.2, steps + 1.8)
    ax.set_ylim(-4.3, 1.5)
    plots.save(fig, HERE / "two_rows.svg")


def work() -> None:
    """Positions computed in each of 20 steps after a prompt of 100: the old ones again, and one new."""
    case = HAND["work"]
    fig, ax = plots.figure(width=8.0, height=3.0)
    steps = range(1, case["t_new"] + 1)
    old = [case["t_prompt"] + s - 2 if s > 1 else 0 for s in steps]
    new = [case["t_prompt"]] + [1] * (case["t_new"] - 1)
    ax.bar(steps, old, color=plots.LIGHT, label=f"computed in the step before: {sum(old):,}")
    ax.bar(steps, new, bottom=old, color=plots.ORANGE, label=f"computed for the first time: {sum(new):,}")
    ax.set_xticks([1, 5, 10, 15, 20])
    ax.set_xlabel("new token")
    ax.set_ylabel("positions")
    ax.set_ylim(0, 165)
    ax.legend(loc="upper left", ncols=2)
    plots.save(fig, HERE / "work.svg")


if __name__ == "__main__":
    with plots.style():
        loop()
        windows()
        two_rows()
        work()
