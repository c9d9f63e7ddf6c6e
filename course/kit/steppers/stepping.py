"""The frame of the figures that one steps through: looks, buttons, keys and words. Plain HTML, SVG and JavaScript; it needs no kernel.

A figure gives the part that draws: a JavaScript function body that gets `step` and returns {svg, words, warning}, and `last` if
the choices decide how many steps there are. It can use `data`, `part(name)` for an element with that `data-part`, the drawing
helpers `text` and `box`, and for numbers in words `digits`, `seconds`, `amount(x, unit)` and `share`.

JupyterLab handles keys before the page does, and folds headings at the left arrow. `data-lm-suppress-shortcuts` prevents this; the focused
element must have it, not only its parent.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from .. import plots

COLOURS = {name: str(getattr(plots, name)) for name in ("BLUE", "ORANGE", "GREEN", "RED", "PURPLE", "GREY", "LIGHT")}


def stepping_figure(
    label: str, data: Mapping[str, Any], draw: str, *, last_step: int = 0, controls: str = "", back: str = "Back to the prefill"
) -> str:
    """Return HTML of a figure with steps, to be shown with `IPython.display.HTML`.

    last_step: the number of the last step, unless the drawing part returns `last`; the first is 0. label: the figure's name for a screen
    reader. draw: the JavaScript that this module's docstring describes; %BLUE% and so on are replaced by the plots' colours. controls: rows
    of HTML above the buttons (see `choices` and `sliders`); a change of an element with a `data-part` redraws the step. The text in `words`
    is read aloud. back: the text of the button that returns to step 0.
    """
    key = f"stepper-{uuid.uuid4().hex[:12]}"
    parts = {
        "DRAW": draw,
        "CONTROLS": controls,
        "LABEL": label,
        "BACK": back,
        "KEY": key,
        "LAST": str(last_step),
        "DATA": json.dumps(dict(data)).replace("<", "\\u003c"),
        **COLOURS,
    }
    page = _PAGE
    for name, text in parts.items():
        page = page.replace(f"%{name}%", text)
    return page


def choices(*lists: tuple[str, str, Sequence[str], str]) -> str:
    """Return a row of drop-down lists.

    Each is (`data-part`, label, names, initial name). Raises ValueError if the initial name is not in names.
    """
    selects = []
    for part, label, names, chosen in lists:
        if chosen not in names:
            raise ValueError(f"no {chosen!r} in the list; there are {', '.join(names)}")
        options = "".join(f"<option{' selected' if name == chosen else ''}>{name}</option>" for name in names)
        selects.append(f'<label>{label} <select data-part="{part}">{options}</select></label>')
    return '<div class="row">\n' + "\n".join(selects) + "\n</div>"


def sliders(*numbers: tuple[str, str, tuple[int, int], int]) -> str:
    """Return a row of sliders over whole numbers.

    Each is (`data-part`, label, both ends, initial value). Raises ValueError if the initial value is not between the ends.
    """
    inputs = []
    for part, label, (low, high), chosen in numbers:
        if not low <= chosen <= high:
            raise ValueError(f"no {chosen!r} on the slider; it goes from {low} to {high}")
        slider = f'<input type="range" data-part="{part}" min="{low}" max="{high}" value="{chosen}">'
        inputs.append(f"<label>{label} {slider} <output>{chosen}</output></label>")
    return '<div class="row">\n' + "\n".join(inputs) + "\n</div>"


_PAGE = """
<div id="%KEY%" class="course-stepper" role="group" aria-label="%LABEL%">
<style>
#%KEY% { font-family: sans-serif; font-size: 14px; color: #222; background: white; border: 1px solid %LIGHT%; border-radius: 4px;
  padding: 12px; max-width: 760px; box-sizing: border-box; }
#%KEY% .row { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: center; margin-bottom: 8px; }
#%KEY% select, #%KEY% button { font: inherit; padding: 3px 8px; color: #222; background: white;
  border: 1px solid %GREY%; border-radius: 3px; }
#%KEY% button { cursor: pointer; }
#%KEY% button:disabled { color: #767676; border-color: %LIGHT%; cursor: default; }
#%KEY% select:focus-visible, #%KEY% button:focus-visible, #%KEY% input:focus-visible { outline: 3px solid %ORANGE%; outline-offset: 1px; }
#%KEY% input { width: 110px; vertical-align: middle; accent-color: %BLUE%; }
#%KEY% output { display: inline-block; min-width: 1.6em; font-weight: bold; }
#%KEY% svg { width: 100%; height: auto; display: block; }
#%KEY% p { margin: 6px 0 0; line-height: 1.45; }
#%KEY% .warning { font-weight: bold; }
#%KEY% .keys { color: #595959; font-size: 12px; }
</style>
%CONTROLS%
<div class="row">
<button type="button" data-part="previous">Previous step</button>
<button type="button" data-part="next">Next step</button>
<button type="button" data-part="first">%BACK%</button>
<span class="keys">keys, on a button: left, right, Home</span>
</div>
<svg viewBox="-1 0 722 262" aria-hidden="true" font-family="sans-serif" font-size="13"></svg>
<p data-part="words" role="status" aria-live="polite"></p>
<p data-part="warning" class="warning" role="status" aria-live="polite"></p>
</div>
<script>
(function () {
  "use strict";
  const data = %DATA%, last = %LAST%;
  const root = document.getElementById("%KEY%");
  const part = (name) => root.querySelector("[data-part='" + name + "']");
  let step = 0, end = last;

  const text = (x, y, words, more) => "<text x='" + x + "' y='" + y + "' fill='#222' " + (more || "") + ">" + words + "</text>";
  const box = (x, y, w, h, fill, more) =>
    "<rect x='" + x + "' y='" + y + "' width='" + Math.max(w, 1) + "' height='" + h + "' fill='" + fill + "' " + (more || "") + "/>";

  const digits = (x) => x >= 100 ? Math.round(x).toLocaleString("en") : x.toPrecision(3);
  function seconds(s) {
    for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) if (s >= size) return digits(s / size) + " " + unit;
    return digits(s / 1e-9) + " ns";
  }
  function amount(x, unit) {
    for (const [prefix, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]])
      if (x >= size) return digits(x / size) + " " + prefix + unit;
    return digits(x) + " " + unit;
  }
  const share = (x) => x >= 0.9995 ? "100 %" : (100 * x).toPrecision(2) + " %";

  const picture = (function () {
%DRAW%
    return drawn;
  })();

  function draw() {
    root.querySelectorAll("input").forEach((slider) => { slider.nextElementSibling.textContent = slider.value; });
    const now = picture(step);
    end = now.last === undefined ? last : now.last;
    step = Math.min(step, end);
    root.querySelector("svg").innerHTML = now.svg;
    part("words").textContent = now.words;
    part("warning").textContent = now.warning || "";
    part("previous").disabled = step === 0;
    part("next").disabled = step === end;
  }

  // A button that is switched off loses the focus, and keys would go nowhere.
  function go(to) {
    const held = document.activeElement;
    step = Math.min(Math.max(to, 0), end);
    draw();
    if (held === part("previous") && held.disabled) part("next").focus();
    if (held === part("next") && held.disabled) part("previous").focus();
  }
  part("previous").addEventListener("click", () => go(step - 1));
  part("next").addEventListener("click", () => go(step + 1));
  part("first").addEventListener("click", () => go(0));
  root.addEventListener("keydown", (event) => {
    const to = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 0, End: end }[event.key];
    if (to === undefined || event.target.tagName !== "BUTTON") return;
    event.preventDefault();
    event.stopPropagation();
    go(to);
  });
  root.querySelectorAll("input, button, select").forEach((control) => control.setAttribute("data-lm-suppress-shortcuts", "true"));
  root.addEventListener("change", draw);
  root.addEventListener("input", draw);
  draw();
})();
</script>
"""
