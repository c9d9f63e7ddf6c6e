"""Interactive figures for the lessons. ipywidgets is imported on the first call."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from .plots import BLUE, readable

Distribution = Callable[[Tensor, Any], Tensor]

READ_ALOUD = "read-aloud"
"""The class of a widget whose text a screen reader reads whenever it changes."""
TOP_K = ("off", 1, 2, 3, 5, 10, 20, 50, 100, 200, 1000)
BAR_PIXELS = 320


def sampler_playground(
    logits: Tensor,
    labels: Any = None,
    *,
    temperature_probs: Distribution | None = None,
    top_k_probs: Distribution | None = None,
    top_p_probs: Distribution | None = None,
    n: int = 15,
) -> Any:
    """Return a widget to be displayed: sliders for tau, k and p over one next-token distribution.

    logits (1, V) or (V,). labels: a tokenizer, a sequence of V names, or a function from token id to name. The three functions are those of
    the samplers day; a slider whose function is None is switched off. Bars show the n most probable tokens; the text beside them describes
    the filtered distribution.
    """
    import ipywidgets

    row = logits.detach().reshape(1, -1)
    functions = {"temperature_probs": temperature_probs, "top_k_probs": top_k_probs, "top_p_probs": top_p_probs}
    tau, k, p = sliders = _sampler_sliders()
    for slider, function in zip(sliders, functions.values(), strict=True):
        slider.disabled = function is None
    said, shown = ipywidgets.HTML(), ipywidgets.HTML()
    name = _html_namer(labels)

    def redraw(_: Any = None) -> None:
        k_value = None if k.value == "off" else k.value
        try:
            before, after = _distributions(row, tau.value, k_value, p.value, **functions)
        except Exception as error:  # a student's function may raise anything; say so, and stay usable
            said.value, shown.value = _paragraph(f"Your function raised {type(error).__name__}: {html.escape(str(error))}"), ""
            return
        said.value, shown.value = _paragraph(describe(before, after)), _bars_html(row, before, after, name, n)

    for slider in sliders:
        slider.observe(redraw, names="value")
    redraw()
    return _playground([*sliders, _reset_button(tau, k, p), *_switched_off(functions), said, shown], said)


def _sampler_sliders() -> tuple[Any, Any, Any]:
    """Return the sliders for temperature, top-k and top-p, all at values that change nothing."""
    import ipywidgets

    look = {"style": {"description_width": "initial"}, "layout": ipywidgets.Layout(width="440px")}
    return (
        ipywidgets.FloatSlider(value=1.0, min=0.0, max=3.0, step=0.05, description="temperature tau", **look),
        ipywidgets.SelectionSlider(value="off", options=TOP_K, description="top-k: keep the k best", **look),
        ipywidgets.FloatSlider(value=1.0, min=0.01, max=1.0, step=0.01, description="top-p: keep the mass p", **look),
    )


def _reset_button(tau: Any, k: Any, p: Any) -> Any:
    import ipywidgets

    def restore(_: Any) -> None:
        tau.value, k.value, p.value = 1.0, "off", 1.0

    reset = ipywidgets.Button(description="Reset", tooltip="temperature 1, no top-k, no top-p")
    reset.on_click(restore)
    return reset


def _switched_off(functions: dict[str, Distribution | None]) -> list[Any]:
    """Return [a note that names the missing functions], or [] if no function is missing."""
    import ipywidgets

    missing = [name for name, function in functions.items() if function is None]
    return [ipywidgets.HTML(f"<p>Switched off until the checks pass: {', '.join(missing)}.</p>")] if missing else []


def _playground(parts: list[Any], said: Any) -> Any:
    """Put the parts below each other. A screen reader reads `said` aloud whenever it changes."""
    import ipywidgets

    playground = ipywidgets.VBox(parts)
    playground.add_class("sampler-playground")
    said.add_class(READ_ALOUD)
    _help_screen_readers()
    return playground


def interact(*functions: Any, **controls: Any) -> Any:
    """Return ipywidgets' interact, with names for a screen reader on its sliders."""
    import ipywidgets

    _help_screen_readers()
    return ipywidgets.interact(*functions, **controls)


# ipywidgets names a slider for the eye alone, and lets nobody set an attribute. So the page does it: for what is there and what comes.
_NAME_SLIDERS = """<script>
(function () {
  if (window.courseNamesSliders) return;
  window.courseNamesSliders = true;
  function name() {
    document.querySelectorAll(".widget-slider").forEach((slider) => {
      const words = slider.querySelector(".widget-label")?.textContent || "value";
      slider.querySelectorAll("[role=slider]").forEach((handle) => {
        if (handle.ariaLabel !== words) handle.ariaLabel = words;
        const shown = slider.querySelector(".widget-readout")?.textContent;
        if (shown && handle.ariaValueText !== shown) handle.ariaValueText = shown;
      });
      slider.querySelectorAll("[contenteditable]").forEach((box) => {
        if (box.ariaLabel === null) { box.setAttribute("role", "textbox"); box.ariaLabel = words + ", typed"; }
      });
    });
    document.querySelectorAll(".READ_ALOUD > .widget-html-content").forEach((words) => {
      if (words.ariaLive === null) { words.setAttribute("role", "status"); words.ariaLive = "polite"; }
    });
  }
  new MutationObserver(name).observe(document.body, { childList: true, subtree: true, characterData: true });
  name();
})();
</script>""".replace("READ_ALOUD", READ_ALOUD)


def _help_screen_readers() -> None:
    """Add a script to this cell's output that names sliders for screen readers and has changing texts read aloud."""
    from IPython.core.getipython import get_ipython
    from IPython.display import HTML, display

    if get_ipython() is not None:
        display(HTML(_NAME_SLIDERS))


def describe(before: Tensor, after: Tensor) -> str:
    """Describe in words how many tokens survive, their total probability before renormalising, and how undecided the result is.

    before, after: (V,), the distribution before the filters and after them.
    """
    alive = after > 0
    mass = float(before[alive].sum())
    surprise = float(-(after[alive] * after[alive].log()).sum())
    survivors = int(alive.sum())
    tokens = "1 token survives" if survivors == 1 else f"{survivors:,} of {len(after):,} tokens survive"
    return (
        f"{tokens}; before the cut, {mass:.1%} of the probability was theirs. "
        f"Entropy {abs(surprise):.2f} nats: as undecided as {math.exp(surprise):.1f} equally likely tokens."
    )


def _distributions(
    row: Tensor,
    tau: float,
    k: int | None,
    p: float,
    temperature_probs: Distribution | None,
    top_k_probs: Distribution | None,
    top_p_probs: Distribution | None,
) -> tuple[Tensor, Tensor]:
    """Return (V,) after the temperature, and (V,) after the filters."""
    before = row.softmax(dim=-1) if temperature_probs is None else temperature_probs(row, tau)
    after = before
    if top_k_probs is not None and k is not None:
        after = top_k_probs(after.log(), k)
    if top_p_probs is not None and p < 1:
        after = top_p_probs(after.log(), p)
    return before[0], after[0]


def _paragraph(text: str) -> str:
    return f"<p style='margin:8px 0;line-height:1.4'>{text}</p>"


def _bars_html(row: Tensor, before: Tensor, after: Tensor, name: Callable[[int], str], n: int) -> str:
    """Return bars of the n best tokens in the order of the logits, so a token keeps its place while a slider moves."""
    ids = row[0].topk(min(n, row.shape[1])).indices.tolist()
    widest = max(float(after.max()), 1e-12)
    lines = []
    for i in ids:
        alive = float(after[i]) > 0
        width = round(BAR_PIXELS * float(after[i]) / widest) if alive else 0
        number = f"{float(after[i]):.2%}" if alive else f"cut (was {float(before[i]):.2%})"
        bar = f"<div style='width:{max(width, 1)}px;height:14px;background:{BLUE if alive else '#b8bec6'}'></div>"
        lines.append(
            f"<tr><th scope='row' style='text-align:right;padding:1px 8px;font-weight:normal;white-space:pre'>"
            f"<code>{name(i)}</code></th><td style='width:{BAR_PIXELS}px;text-align:left'>{bar}</td>"
            f"<td style='text-align:left;padding:1px 8px'>{number}</td></tr>"
        )
    rest = int((after > 0).sum()) - sum(float(after[i]) > 0 for i in ids)
    more = f"<p>and {rest:,} more, together {1 - float(after[ids].sum()):.2%}</p>" if rest > 0 else ""
    head = "<caption style='text-align:left'>The most probable next tokens (␣ is a space)</caption>"
    return f"<table style='border-spacing:0;line-height:1.4'>{head}{''.join(lines)}</table>{more}"


def _html_namer(labels: Any) -> Callable[[int], str]:
    def text(i: int) -> str:
        if labels is None:
            return str(i)
        if hasattr(labels, "decode"):
            return labels.decode([i])
        return labels(i) if callable(labels) else str(labels[i])

    return lambda i: html.escape(readable(text(i)))
