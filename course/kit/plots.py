"""Plots of one style, for the lessons.

Every function draws into the given axes, or into a new figure that the notebook shows at the end of the cell.
It returns nothing, so that a call may be anywhere in a cell. matplotlib is imported on the first call.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# People who do not see colours can distinguish them, too: they differ in lightness, and no plot relies on colour alone.
BLUE, ORANGE, GREEN, RED, PURPLE = "#2b5c8a", "#d9822b", "#4a8f5d", "#b0413e", "#7a5c99"
GREY, LIGHT = "#6b6b6b", "#d3d8de"
CYCLE = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P")

STYLE: Any = {
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "axes.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.axisbelow": True,
    "font.size": 10,
    "font.family": "sans-serif",
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "grid.color": "#e6e8eb",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    # The same plot gives the same SVG, and its text stays text.
    "svg.hashsalt": "from-prompt-to-token",
    "svg.fonttype": "none",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw your own figures inside this block in the style of the kit's plots."""
    import matplotlib as mpl

    # Not rc_context: it would also take back what the notebook's backend sets when the first figure loads it
    # (interactive drawing), and from the second figure on nothing would be shown.
    before = {name: mpl.rcParams[name] for name in STYLE}
    mpl.rcParams.update(STYLE)
    try:
        yield
    finally:
        mpl.rcParams.update(before)


def _styled(draw: Callable[..., None]) -> Callable[..., None]:
    """Run a drawing function in the style, since legends, titles and labels get their look when they are made."""

    @wraps(draw)
    def styled(*args: Any, **options: Any) -> None:
        with style():
            draw(*args, **options)

    return styled


def figure(
    rows: int = 1, columns: int = 1, *, width: float = 7.0, height: float = 3.2, **options: Any
) -> tuple[Figure, Any]:
    """Return a new figure and its axes in the kit's style. width, height: inches. options: passed to `plt.subplots`."""
    import matplotlib.pyplot as plt

    with style():
        return plt.subplots(rows, columns, figsize=(width, height), **options)


def save(fig: Figure, path: Any) -> None:
    """Write the figure as an SVG with the same bytes each time."""
    import matplotlib.pyplot as plt

    with style():
        fig.savefig(path, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    plt.close(fig)


@_styled
def logits_and_probs(
    logits: Any,
    probs: Any,
    labels: Sequence[str] | None = None,
    *,
    title: str | None = None,
    axes: Sequence[Axes] | None = None,
) -> None:
    """Draw two bar charts side by side over the same tokens: the logits, and the probabilities computed from them.

    logits, probs: (V,) or (1, V). labels: one for each token; by default the tokens' indices.
    """
    logit_values, prob_values = _row(logits), _row(probs)
    names = _names(labels, len(logit_values))
    if axes is None:
        fig, axes = figure(1, 2, width=8.0, height=3.0)
        if title:
            fig.suptitle(title, x=0.01, ha="left", fontsize=11)
    left, right = axes
    for ax, values, form, name, colour in (
        (left, logit_values, "{:.1f}", "logit", BLUE),
        (right, prob_values, "{:.4f}", "probability", ORANGE),
    ):
        bars = ax.bar(names, values, color=colour, width=0.65)
        ax.bar_label(bars, [form.format(v) for v in values], padding=2, fontsize=8)
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.margins(y=0.15)
        ax.set_ylabel(name)
        ax.set_xlabel("token")


@_styled
def next_token_bars(
    probs: Any,
    labels: Any = None,
    *,
    n: int = 10,
    keep: Any = None,
    title: str | None = None,
    xlabel: str = "probability",
    xmax: float | None = None,
    ax: Axes | None = None,
) -> None:
    """Draw the n most probable tokens as labelled bars, the most probable on top.

    probs: (V,) or (1, V). labels: a tokenizer, a sequence of V names, or a function from token id to name.
    keep: (V,) of truth values; tokens for which it is false are drawn pale and marked "cut".
    """
    values = _row(probs)
    order = sorted(range(len(values)), key=lambda i: -values[i])[:n]
    name = namer(labels)
    kept = None if keep is None else [bool(k) for k in _row(keep)]
    if ax is None:
        _, ax = figure(width=6.5, height=0.6 + 0.27 * len(order))
    shown = [values[i] for i in order]
    alive = [True if kept is None else kept[i] for i in order]
    bars = ax.barh(range(len(order)), shown, color=[BLUE if a else LIGHT for a in alive], height=0.7)
    marks = [_percent(v) if a else f"{_percent(v)}  cut" for v, a in zip(shown, alive, strict=True)]
    ax.bar_label(bars, marks, padding=3, fontsize=9)
    ax.set_yticks(range(len(order)), [name(i) for i in order])
    ax.invert_yaxis()
    limit = max(shown, default=1.0) if xmax is None else xmax
    ax.set_xlim(0, 1.18 * limit or 1.0)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(xlabel)
    if title:
        ax.set_title(title)


@_styled
def lines(
    x: Sequence[float] | Any,
    series: Mapping[str, Any],
    *,
    xlabel: str,
    ylabel: str,
    title: str | None = None,
    logx: bool = False,
    logy: bool = False,
    markers: bool = True,
    ax: Axes | None = None,
) -> None:
    """Draw a line for each entry of `series`, {name: values, one for each x}. Several lines get a legend."""
    if ax is None:
        _, ax = figure()
    xs = _row(x)
    for i, (label, ys) in enumerate(series.items()):
        marker = MARKERS[i % len(MARKERS)] if markers else None
        ax.plot(xs, _row(ys), marker=marker, color=CYCLE[i % len(CYCLE)], label=label)
    if logx:
        ax.set_xscale("log")
        if len(xs) <= 10:  # the values themselves are easier to read than powers of ten
            ax.set_xticks(xs, [f"{v:g}" for v in xs])
            ax.minorticks_off()
    if logy:
        ax.set_yscale("log")
    elif min(min(_row(ys)) for ys in series.values()) >= 0:
        ax.set_ylim(bottom=0)  # a line that starts in the air makes small changes look large
    ax.grid(True)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if title:
        ax.set_title(title)
    if len(series) > 1:
        ax.legend()


def readable(text: str) -> str:
    """Return a token with its spaces, tabs and line ends made visible."""
    return text.replace(" ", "␣").replace("\n", "⏎").replace("\r", "⏎").replace("\t", "⇥")


def show_token(text: str) -> str:
    """Return a token's text for an axis: `readable`, and only with characters that the plots' font has."""
    return "".join(_drawable(c) for c in readable(text))


def namer(labels: Any) -> Callable[[int], str]:
    """Return a function from token id to a readable name. labels: a tokenizer, a sequence of names, a function, or None."""
    if labels is None:
        return str
    if hasattr(labels, "decode"):
        return lambda i: show_token(labels.decode([i]))
    if callable(labels):
        return lambda i: show_token(labels(i))
    return lambda i: show_token(str(labels[i]))


def _drawable(character: str) -> str:
    """Return the character, or its code point if the plots' font has no glyph or the character is a control or unassigned."""
    category = unicodedata.category(character)
    if character == "\ufffd":
        return "�"
    if category[0] == "C" or ord(character) > 0x2FFF or category == "Mn":
        return f"<{ord(character):X}>"
    return character.replace("$", r"\$")  # matplotlib would read it as mathematics


def _names(labels: Any, count: int) -> list[str]:
    name = namer(labels)
    return [name(i) for i in range(count)]


def _percent(value: float) -> str:
    percent = 100 * value
    if percent >= 0.995 or percent == 0:
        return f"{percent:.1f} %"
    return f"{percent:.2f} %" if percent >= 0.01 else f"{percent:.1e} %"


def _row(values: Any) -> list[float]:
    """Return a list of floats from a tensor, an array or a sequence. From a (1, V) tensor the list is its only row."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    result = list(values)
    if len(result) == 1 and isinstance(result[0], list):
        result = result[0]
    return [float(v) for v in result]
