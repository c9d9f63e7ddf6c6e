"""Draws this day's figures, beside this file: `python course/day02_tokenizer/figures/figures.py`."""

import tomllib
import warnings
from pathlib import Path

from matplotlib.patches import FancyBboxPatch

from course.kit import load_tokenizer, paths, plots
from solutions.tokenizer import bpe_encode, merge_pair

HERE = Path(__file__).parent
HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["tokenizer"]
TOKENIZER = load_tokenizer("smollm2")
INK = "#333333"
PALE = {plots.BLUE: "#dbe6f1", plots.ORANGE: "#fae6d0", plots.GREEN: "#dcecdf", plots.GREY: "#eceef0", plots.RED: "#f3dcdb"}


def box(ax, left: float, y: float, width: float, text: str, colour: str = plots.BLUE, size: float = 10, height=0.62):
    ax.add_patch(
        FancyBboxPatch(
            (left + 0.06, y - height / 2), width - 0.12, height, boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=PALE[colour], edgecolor=colour, linewidth=1.1,
        )
    )  # fmt: skip
    ax.text(left + width / 2, y, text, ha="center", va="center", fontsize=size, color=INK)


def empty_axes(width: float, height: float, xlim: tuple[float, float], ylim: tuple[float, float]):
    fig, ax = plots.figure(width=width, height=height)
    ax.set_xlim(*xlim)
    ax.set_ylim(*ylim)
    ax.axis("off")
    return fig, ax


def road() -> None:
    """One short text as characters, bytes, pieces and tokens, one column a byte."""
    text = "hats 猫"
    data = text.encode()
    fig, ax = empty_axes(8.0, 3.5, (-2.3, len(data)), (-4.75, 0.5))
    rows = {"characters": [(c, len(c.encode())) for c in text]}
    rows["bytes"] = [(f"{byte:02x}", 1) for byte in data]
    rows["pieces"] = [(p, len(p.encode())) for p in TOKENIZER.pre_tokenize(text)]
    ids = bpe_encode(text, TOKENIZER)
    rows["tokens"] = [(_token_name(i), len(TOKENIZER.token_bytes(i))) for i in ids]
    rows["ids"] = [(str(i), len(TOKENIZER.token_bytes(i))) for i in ids]
    colours = (plots.GREY, plots.GREY, plots.ORANGE, plots.BLUE, plots.GREEN)
    for y, ((name, parts), colour) in enumerate(zip(rows.items(), colours, strict=True)):
        ax.text(-0.2, -y, name, ha="right", va="center", fontsize=10, color=INK)
        at = 0.0
        for shown, width in parts:
            box(ax, at, -y, width, shown if name == "tokens" else shown.replace(" ", "␣"), colour)
            at += width
    plots.save(fig, HERE / "road.svg")


def _token_name(token_id: int) -> str:
    raw = TOKENIZER.token_bytes(token_id)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return " ".join("␣" if byte == 0x20 else f"{byte:02x}" for byte in raw)


def lowest() -> None:
    """Draw the merges of one word as a tree, in the order in which they happen."""
    case = HAND["lowest"]
    symbols = list(case["text"])
    fig, ax = empty_axes(6.6, 4.4, (-0.3, 7.4), (-0.45, 4.6))
    place = {i: (i + 0.5, 0.0) for i in range(len(symbols))}  # first letter of a symbol -> where it stands
    start = list(range(len(symbols)))
    for x, symbol in enumerate(symbols):
        box(ax, x, 0, 1, symbol, plots.GREY)
    for step, (new, rank) in enumerate(zip(case["merged_in_order"], case["merged_ranks"], strict=True), start=1):
        at = next(i for i in range(len(symbols) - 1) if symbols[i] + symbols[i + 1] == new)
        left, right = place[start[at]], place[start[at + 1]]
        x = (left[0] + right[0]) / 2
        for child in (left, right):
            ax.plot([child[0], x], [child[1] + 0.31, step - 0.31], color=plots.GREY, linewidth=1, zorder=0)
        final = new in case["symbols"]
        width = 0.55 + 0.3 * len(new)
        box(ax, x - width / 2, step, width, new, plots.GREEN if final else plots.BLUE)
        ax.text(6.35, step, f"merge {step}, rank {rank}", ha="left", va="center", fontsize=9, color=INK)
        symbols = merge_pair(symbols, (symbols[at], symbols[at + 1]))
        place[start[at]] = (x, float(step))
        del start[at + 1]
    ax.text(6.35, 0, "one symbol a byte", ha="left", va="center", fontsize=9, color=INK)
    plots.save(fig, HERE / "lowest.svg")


def stream() -> None:
    """Three tokens, two characters: what is held and what is given out after each push."""
    case = HAND["japan"]
    fig, ax = empty_axes(7.6, 2.9, (-2.1, 9.2), (-3.45, 1.0))
    for y, name in enumerate(("token arrives", "bytes held", "given out")):
        ax.text(-0.3, -y * 1.25, name, ha="right", va="center", fontsize=10, color=INK)
    held = ""
    for n, (token, piece) in enumerate(zip(case["token_bytes"], case["pieces"], strict=True)):
        left = 3.1 * n
        box(ax, left, 0, 2.8, _spaced(token), plots.BLUE)
        held = "" if piece else held + token
        if held:
            box(ax, left, -1.25, 2.8, _spaced(held), plots.ORANGE)
        else:
            ax.text(left + 1.4, -1.25, "nothing", ha="center", va="center", fontsize=9, color=plots.GREY)
        if piece:
            box(ax, left, -2.5, 2.8, piece, plots.GREEN, size=13)
        else:
            ax.text(left + 1.4, -2.5, '""', ha="center", va="center", fontsize=11, color=plots.GREY)
        ax.text(left + 1.4, 0.6, f"push {n + 1}", ha="center", fontsize=9, color=plots.GREY)
    plots.save(fig, HERE / "stream.svg")


def _spaced(digits: str) -> str:
    return bytes.fromhex(digits).hex(" ")


def conversation() -> None:
    """Two messages and the generation prompt as boxes, and below them the one row that the model reads."""
    fig, ax = empty_axes(8.6, 4.1, (0, 12.4), (-4.3, 0.75))
    for y, (role, content) in enumerate((("system", "Answer in one word."), ("user", "Capital of France?"))):
        box(ax, 0.2, -0.75 * y, 1.8, role, plots.ORANGE)
        box(ax, 2.0, -0.75 * y, 4.4, content, plots.GREY)
    ax.text(6.8, -0.37, "what you hand over: a list of messages", fontsize=9, color=INK, va="center")
    ax.annotate("", (3.2, -1.95), (3.2, -1.25), arrowprops={"arrowstyle": "->", "color": INK})
    ax.text(3.5, -1.6, "render_chat", fontsize=10, color=INK, va="center")
    rows = [
        [("<|im_start|>", "B"), ("system⏎", "O"), ("Answer in one word.", "G"), ("<|im_end|>", "B"), ("⏎", "O")],
        [("<|im_start|>", "B"), ("user⏎", "O"), ("Capital of France?", "G"), ("<|im_end|>", "B"), ("⏎", "O")],
        [("<|im_start|>", "B"), ("assistant⏎", "O")],
    ]
    colours = {"B": plots.BLUE, "O": plots.ORANGE, "G": plots.GREY}
    for y, row in enumerate(rows):
        at = 0.2
        for text, kind in row:
            width = {"B": 2.2, "O": 0.5 + 0.17 * len(text), "G": 3.6}[kind]
            box(ax, at, -2.35 - 0.72 * y, width, text, colours[kind], size=9.5)
            at += width
        if y == 2:
            ax.text(at + 0.2, -2.35 - 0.72 * y, "the model goes on from here", fontsize=9, color=INK, va="center")
    plots.save(fig, HERE / "conversation.svg")


def windows() -> None:
    """Context windows on a logarithmic scale."""
    case = HAND["context_windows"]["tokens"]
    years = {"GPT-2": 2019, "GPT-3": 2020, "GPT-4": 2023, "SmolLM2": 2024, "GPT-4 Turbo": 2023, "GPT-4.1": 2025}
    fig, ax = plots.figure(width=7.0, height=2.9)
    names = [f"{name} ({years[name]})" for name in case]
    for name, tokens in zip(names, case.values(), strict=True):
        colour = plots.ORANGE if name.startswith("SmolLM2") else plots.BLUE
        ax.plot(tokens, name, "o", color=colour, markersize=8)
        ax.annotate(f"{tokens:,}", (tokens, name), (9, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_xscale("log")
    ax.set_xlim(300, 8e6)
    ax.set_xticks([1e3, 1e4, 1e5, 1e6], ["1 thousand", "10 thousand", "100 thousand", "1 million"])
    ax.minorticks_off()
    ax.grid(True)
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("tokens in the context window")
    plots.save(fig, HERE / "windows.svg")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", "Glyph .* missing from")  # the words stay words; the reader's browser has the sign
    for draw in (road, lowest, stream, conversation, windows):
        draw()
