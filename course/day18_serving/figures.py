"""Draws the figures of this day. Run it again after a change: `python course/day18_serving/figures.py`."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.drawing import PALE_BLUE, bare, flow
from course.kit import plots
from solutions.serving import SSEParser

FIGURES = Path(__file__).parent / "figures"
PIECES = (b"data: a\nda", b"ta: b\n", b"\n: ping\n\ndata: [DO", b"NE]\n", b"\n")
"""The five pieces of section 1's example."""
PLANNED, SECONDS = (0.0, 0.5, 1.0), 1.0
"""Section 6's three requests, and how long the server takes for each."""


def stage(ax: Axes, x: float, y: float, name: str, says: str, *, lit: bool, width: float = 2.6) -> None:
    """Draw a box with a name and a line on what it does."""
    fill = plots.ORANGE if lit else PALE_BLUE
    ax.add_patch(Rectangle((x, y), width, 1.0, facecolor=fill, edgecolor=plots.GREY))
    ax.text(x + width / 2, y + 0.36, name, ha="center", va="center", fontsize=9, fontweight="bold")
    ax.text(x + width / 2, y + 0.74, says, ha="center", va="center", fontsize=7.5)


def way() -> None:
    """Draw a request's way in, above, and its tokens' way out, below."""
    fig, ax = plots.figure(width=9.4, height=3.5)
    bare(ax, 16.3, 5.5)
    ax.text(0, 0.35, "the request's way in", fontsize=9)
    into = (
        ("client", "POST, JSON", False), ("text to tokens", "Day 2", False), ("parse_params", "or a refusal: 400", True),
        ("generate", "or a refusal: 429, 503", True), ("core", "Days 13 and 14", False),
    )  # fmt: skip
    for i, (name, says, lit) in enumerate(into):
        stage(ax, 3.4 * i, 0.75, name, says, lit=lit)
        if i:
            flow(ax, (3.4 * i - 0.8, 1.25), (3.4 * i, 1.25))
    out = (
        ("SSEParser", "bytes to events", True), ("send_events", "listens meanwhile", True), ("sse_event", "text to bytes", True),
        ("TextStream", "tokens to text", True), ("run", "a queue for each", True),
    )  # fmt: skip
    for i, (name, says, lit) in enumerate(out):
        stage(ax, 3.4 * i, 3.75, name, says, lit=lit)
        if i:
            flow(ax, (3.4 * i, 4.25), (3.4 * i - 0.8, 4.25))
    flow(ax, (14.9, 1.75), (14.9, 3.75))
    ax.text(15.05, 2.75, "a step's\ntokens", fontsize=8, va="center")
    flow(ax, (1.3, 3.75), (1.3, 1.75))
    ax.text(1.45, 2.75, "text", fontsize=8, va="center")
    ax.plot([4.7, 4.7, 11.5], [3.75, 2.6, 2.6], color=plots.RED, linestyle="--", linewidth=1.3)
    ax.annotate("", (11.5, 1.75), (11.5, 2.6), arrowprops={"arrowstyle": "-|>", "color": plots.RED, "linewidth": 1.3, "shrinkB": 0})
    ax.text(5.0, 2.36, "the tab is closed: the core forgets the request", fontsize=8, color=plots.RED)
    ax.text(0, 5.2, "the tokens' way out, from right to left", fontsize=9)
    plots.save(fig, FIGURES / "way.svg")


def pieces() -> None:
    """Five pieces of bytes, cut anywhere, and the events that are complete behind each."""
    fig, ax = plots.figure(width=9.2, height=2.6)
    bare(ax, 45.5, 5.3)
    ax.text(0, 0.5, "what the server wrote, and where the network cut it", fontsize=9)
    parser, x = SSEParser(), 0.0
    for number, piece in enumerate(PIECES, start=1):
        start = x
        for byte in piece:
            shown = {10: "\u23ce"}.get(byte, chr(byte))
            ax.add_patch(Rectangle((x, 1.0), 0.96, 1.2, facecolor=PALE_BLUE if number % 2 else "white", edgecolor=plots.LIGHT))
            ax.text(x + 0.48, 1.62, shown, ha="center", va="center", fontsize=8, family="DejaVu Sans Mono")
            x += 1.0
        ax.text((start + x) / 2, 2.75, str(number), ha="center", va="center", fontsize=9)
        ax.plot([x + 0.02, x + 0.02], [0.8, 3.0], color=plots.RED, linewidth=1.4)
        for event in parser.push(piece):
            flow(ax, (x - 0.5, 3.1), (x - 0.5, 3.8))
            ax.text(x - 0.5, 4.4, repr(event), ha="right" if x > 30 else "center", va="center", fontsize=9, color=plots.BLUE)
    ax.text(0, 4.4, "complete:", fontsize=9, va="center")
    plots.save(fig, FIGURES / "pieces.svg")


def loops() -> None:
    """Three requests at a server that takes a second for each: planned times against a client that waits for its answer."""
    fig, ax = plots.figure(width=9.2, height=3.3)
    bare(ax, 13.6, 7.5)
    left, unit = 3.4, 2.6
    for y, name in ((0.4, "open loop: each at its planned time"), (3.9, "closed loop: each when the one before is answered")):
        ax.text(0, y, name, fontsize=9.5, fontweight="bold")
        free = 0.0
        for i, planned in enumerate(PLANNED):
            top = y + 0.3 + 0.9 * i
            sent = planned if y < 2 else free
            begin = max(sent, free)
            free = begin + SECONDS
            ax.text(left - 0.2, top + 0.4, f"request {i + 1}, planned {planned:g} s", ha="right", va="center", fontsize=8.5)
            ax.add_patch(Rectangle((left + unit * sent, top), unit * (begin - sent), 0.7, facecolor=plots.LIGHT, edgecolor=plots.GREY))
            ax.add_patch(Rectangle((left + unit * begin, top), unit * SECONDS, 0.7, facecolor=plots.GREEN, edgecolor=plots.GREY))
            ax.plot([left + unit * planned] * 2, [top - 0.05, top + 0.75], color=plots.RED, linewidth=2)
            ax.text(left + unit * free + 0.15, top + 0.4, f"reported: {free - sent:g} s", va="center", fontsize=8.5)
    ax.text(left, 7.4, "red: the planned time; grey: waits in the queue; green: is answered", fontsize=8.5)
    plots.save(fig, FIGURES / "loops.svg")


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    with plots.style():
        for draw in (way, pieces, loops):
            draw()
