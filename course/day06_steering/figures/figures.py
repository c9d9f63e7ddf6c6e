"""Draws this lesson's figures: `python -m course.day06_steering.figures.figures` in the repository's root."""

import tomllib
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.kit import plots
from course.kit.paths import DATASETS

HERE = Path(__file__).parent
HAND = tomllib.loads((DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["steering"]
PALE = "#f1f3f5"
MONO = "DejaVu Sans Mono"


def min_p() -> None:
    """Draw the threshold of min-p in situations A and B."""
    case = HAND["two_situations"]
    fig, axes = plots.figure(1, 2, width=8.4, height=3.0)
    situations = (
        ("A: The capital of France is …", ["Paris", "Lyon", "Marseille"], case["situation_a"], case["threshold_a"]),
        (
            "B: Let us meet at the …",
            ["restaurant", "cafe", "diner", "pub", "bistro", "bar", "steakhouse"],
            case["situation_b"],
            case["threshold_b"],
        ),
    )
    for ax, (title, names, probs, threshold) in zip(axes, situations, strict=True):
        colours = [plots.BLUE if p >= threshold else plots.LIGHT for p in probs]
        ax.barh(range(len(probs)), probs, color=colours, height=0.7)
        for row, p in enumerate(probs):
            text, x = (f"{p:g}", p) if p >= threshold else (f"{p:g}, cut", threshold)
            ax.text(x + 0.015 * max(probs), row, text, va="center", fontsize=9)
        ax.axvline(threshold, color=plots.ORANGE, linestyle="--")
        ax.set_xlim(0, 1.22 * max(probs))
        ax.set_ylim(len(probs) - 0.4, -1.1)
        note = f"0.1 × {max(probs):g} = {threshold:g}"
        ax.text(threshold + 0.015 * max(probs), -0.72, note, color=plots.ORANGE, fontsize=9)
        ax.set_yticks(range(len(probs)), names)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("probability")
        ax.set_title(title, fontsize=10)
    plots.save(fig, HERE / "min_p.svg")


def typical() -> None:
    """Five tokens on the line of surprisal, and their distances from the entropy."""
    case = HAND["typical_without_the_best"]
    fig, ax = plots.figure(width=8.0, height=3.3)
    entropy = case["entropy"]
    ax.axvline(entropy, color=plots.ORANGE)
    ax.text(entropy + 0.03, -1.0, f"entropy {entropy:.3f}", color=plots.ORANGE, fontsize=9)
    for token, (p, surprisal) in enumerate(zip(case["probs"], case["surprisal"], strict=True)):
        kept = case["probs_045"][token] > 0
        colour = plots.BLUE if kept else plots.GREY
        rank = case["order"].index(token)
        ax.plot([entropy, surprisal], [rank, rank], color=colour, linewidth=2)
        ax.plot(surprisal, rank, "o" if kept else "x", color=colour, markersize=9, markeredgewidth=2)
        left = surprisal < entropy
        ax.annotate(
            f"token {token}, p = {p:.2f}, surprisal {surprisal:.3f}", (surprisal, rank), (-12 if left else 12, 0),
            textcoords="offset points", ha="right" if left else "left", va="center", fontsize=9,
        )  # fmt: skip
        if abs(surprisal - entropy) > 0.2:  # else there is no room for the number
            middle = (entropy + surprisal) / 2
            ax.text(middle, rank - 0.12, f"{case['distance'][token]:.3f}", ha="center", fontsize=8.5, color=colour)
    ax.axhline(2.5, color=plots.GREY, linewidth=0.8, linestyle=":")
    note = "mass 0.20 + 0.16 + 0.14 = 0.50 reaches 0.45"
    ax.text(3.15, 2.6, note, ha="right", va="top", fontsize=9, color=plots.BLUE)
    ax.set_xlim(-0.45, 3.15)
    ax.set_xticks([0, 0.5, 1, 1.5, 2, 2.5, 3])
    ax.set_ylim(4.6, -1.4)
    ax.set_yticks(range(5), ["first", "second", "third", "fourth", "fifth"])
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("surprisal in nats")
    plots.save(fig, HERE / "typical.svg")


def penalties() -> None:
    """Left: what a repetition penalty makes of a logit. Right: what a logit of 3.0 is after c occurrences."""
    fig, (left, right) = plots.figure(1, 2, width=8.6, height=3.4)
    penalty, low, high = 1.5, -4.0, 4.0
    left.plot([low, high], [low, high], color=plots.LIGHT, linewidth=3, label="before")
    left.plot([low, 0, high], [low * penalty, 0, high / penalty], color=plots.BLUE, label="after: always lower")
    left.plot([low, 0], [low / penalty, 0], color=plots.RED, linestyle="--", label="negative ones divided: higher")
    left.axhline(0, color=plots.GREY, linewidth=0.6)
    left.axvline(0, color=plots.GREY, linewidth=0.6)
    left.set_xlabel("logit")
    left.set_ylabel("logit after the penalty")
    left.set_title("repetition penalty 1.5", fontsize=10)
    left.legend(loc="upper left")
    left.set_ylim(-6.5, 6.5)

    counts = range(7)
    lines = (
        ("repetition 1.5: whether, by a factor", [3.0] + [2.0] * 6, plots.BLUE, "o"),
        ("presence 0.5: whether, by a difference", [3.0] + [2.5] * 6, plots.GREEN, "^"),
        ("frequency 0.5: how often", [3.0 - 0.5 * c for c in counts], plots.ORANGE, "s"),
    )
    for label, values, colour, marker in lines:
        right.plot(counts, values, color=colour, marker=marker, label=label)
    right.set_xlabel("times the token has occurred")
    right.set_ylabel("logit, 3.0 at first")
    right.set_ylim(-0.3, 4.9)
    right.set_title("a logit of 3.0 after c occurrences", fontsize=10)
    right.legend(loc="upper right")
    plots.save(fig, HERE / "penalties.svg")


def stop_strings() -> None:
    """Draw the stream of the hand example: what is emitted and what is held, piece by piece."""
    case = HAND["stop_strings"]
    fig, ax = plots.figure(width=8.6, height=4.0)
    ax.set_xlim(0, 10)
    ax.set_ylim(len(case["pieces"]) + 0.1, -1.0)
    ax.axis("off")
    for x, heading in ((0.1, "piece"), (1.9, "text so far"), (8.3, "emit")):
        ax.text(x, -0.6, heading, fontsize=9.5, color=plots.GREY)
    text, out, stopped = "", 0, False
    for row, (piece, emit) in enumerate(zip(case["pieces"], case["emits"], strict=True)):
        text += piece
        last = row == len(case["pieces"]) - 1
        start = text.find(case["stops"][0])
        stopped = last and start >= 0
        shown, fresh = text[:out], text[out : out + len(emit)]
        out += len(emit)
        ax.text(0.1, row + 0.1, _visible(piece), family=MONO, fontsize=9.5, va="center")
        colour = plots.RED if stopped else plots.BLUE if emit else plots.GREY
        note = "stop" if stopped else _visible(emit) or "nothing"
        ax.text(8.3, row + 0.1, note, fontsize=9.5, va="center", family=MONO if emit else "DejaVu Sans", color=colour)
        x = 1.9
        parts = [(shown, "white", plots.GREY), (fresh, "#d6e4f1", "black")]
        if stopped:
            stop = case["stops"][0]
            parts += [(stop, "#f3d5d3", plots.RED), (text[start + len(stop) :], PALE, plots.GREY)]
        else:
            parts.append((text[out:], "#fbe3c5", "black"))
        for part, face, colour in parts:
            x = _run(ax, x, row + 0.1, part, face, colour)
    plots.save(fig, HERE / "stop_strings.svg")


def _visible(text: str) -> str:
    return text.replace("\n", "⏎").replace(" ", "␣")


def _run(ax: Axes, x: float, y: float, text: str, face: str, colour: str) -> float:
    """One box a character, so that the columns are the characters."""
    width = 0.215
    for character in _visible(text):
        ax.add_patch(Rectangle((x, y - 0.34), width, 0.68, facecolor=face, edgecolor="white", linewidth=0.6))
        ax.text(x + width / 2, y, character, family=MONO, fontsize=9.5, ha="center", va="center", color=colour)
        x += width
    return x


def beam_tree() -> None:
    """Three beams over two steps."""
    case = HAND["beam_tree"]
    words = case["words"]
    fig, ax = plots.figure(width=8.8, height=4.4)
    ax.set_xlim(0, 10)
    ax.set_ylim(8.6, -1.2)
    ax.axis("off")
    ax.text(2.9, -0.8, "after one token", fontsize=9, color=plots.GREY)
    ax.text(6.6, -0.8, "after two tokens, the best three of all stay", fontsize=9, color=plots.GREY)
    _node(ax, 0.1, 4.0, 1.7, "The cat sat on", "", True)
    trees = (
        (0, 1.0, "after_mat", ((3, 0.0), (4, 1.0), (5, 2.0))),
        (1, 4.6, "after_floor", ((4, 4.1), (3, 5.1))),
        (2, 7.6, "after_table", ((3, 7.1), (4, 8.1))),
    )
    survivors = sorted((case["first"][t] * q for t, _, row, _ in trees for q in case[row]), reverse=True)[:3]
    for token, y, row, children in trees:
        p = case["first"][token]
        _edge(ax, 1.8, 4.0, 2.9, y, p, True)
        _node(ax, 2.9, y, 2.0, words[token].strip(), f"{p:.2f}", True)
        for child, child_y in children:
            q = case[row][child]
            alive = p * q in survivors
            _edge(ax, 4.9, y, 6.6, child_y, q, alive)
            white = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"}
            ax.text(
                5.9, y + 0.59 * (child_y - y), f"× {q:g}", fontsize=8, ha="center", va="center", color=plots.GREY,
                bbox=white,
            )  # fmt: skip
            _node(ax, 6.6, child_y, 3.0, (words[token] + words[child]).strip(), f"{p * q:.4g}", alive)
    plots.save(fig, HERE / "beam_tree.svg")


def _edge(ax: Axes, x0: float, y0: float, x1: float, y1: float, p: float, alive: bool) -> None:
    """Draw a branch, the wider the more probable its step."""
    ax.plot([x0, x1], [y0, y1], color=plots.BLUE if alive else plots.LIGHT, linewidth=1 + 4 * p, zorder=1)


def _node(ax: Axes, x: float, y: float, width: float, text: str, number: str, alive: bool) -> None:
    face, edge = ("#d6e4f1", plots.BLUE) if alive else ("white", plots.LIGHT)
    ax.add_patch(Rectangle((x, y - 0.33), width, 0.66, facecolor=face, edgecolor=edge, zorder=2))
    colour = "black" if alive else plots.GREY
    ax.text(x + 0.12, y, text, fontsize=9.5, va="center", color=colour, zorder=3)
    ax.text(x + width - 0.12, y, number, fontsize=9.5, va="center", ha="right", color=colour, zorder=3)


def main() -> None:
    with plots.style():
        for draw in (min_p, typical, penalties, stop_strings, beam_tree):
            draw()


if __name__ == "__main__":
    main()
