"""A playground for the site: sliders over SmolLM2's distribution after one prompt.

It needs no kernel; its script is docs/site/playground.js.

The logits come from docs/site/distribution.json, which `python -m autograder.site.playground` makes on a machine with the model: those
of the leading tokens exactly, those of all others rounded to TAIL_STEP and counted. Building the site needs no model for it.
"""

from __future__ import annotations

import html
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from autograder.base.errors import CourseError
from autograder.lessons import ROOT
from course.kit.errors import ModelError

from .first_steps import engine

LOGITS = ROOT / "docs" / "site" / "distribution.json"
SCRIPT = ROOT / "docs" / "site" / "playground.js"
PROMPT = "On Saturday evening we met our friends at the"
"""The prompt of Day 5."""
NUM_LEADING = 300
TAIL_STEP = 0.02
AT_FIRST = {"temperature": 1.0, "minP": 0.0, "topK": 0, "topP": 1.0}
SLIDERS = (
    ("temperature", "temperature", "0", "3", "0.05", "1", "1.00"),
    ("min-p", "min-p", "0", "1", "0.01", "0", "off"),
    ("top-k", "top-k", "0", "10", "1", "0", "off"),
    ("top-p", "top-p", "0.01", "1", "0.01", "1", "off"),
)
"""(its `data-part`, its name, both ends, a step, its initial value, and that in words); top-k: a place in the script's TOP_K."""


def figure(note: str = "") -> str:
    """Return HTML of the playground, with its first picture. note: a sentence below it. Raises CourseError without distribution.json."""
    data = read()
    at_first = shown(data, AT_FIRST)
    sliders = "\n".join(
        f'<label>{name} <input type="range" data-part="{part}" min="{low}" max="{high}" step="{step}" value="{value}">'
        f" <output>{words}</output></label>"
        for part, name, low, high, step, value, words in SLIDERS
    )
    text = (
        f"{data['vocabulary']:,} tokens, as {data['model']} scored them on {data['date']}; ␣ is a space. The logits beyond the "
        f"{len(data['leading'])} highest are rounded to {data['tail']['step']}. {note}"
    )
    made = f"""<div class="playground" role="group" aria-label="Samplers over one distribution">
<p class="prompt">{html.escape(data["prompt"])} <b>…</b></p>
<div class="sliders">
{sliders}
<button type="button" data-part="reset">Reset</button>
</div>
<p data-part="words" role="status" aria-live="polite">{at_first["words"]}</p>
<table>
<caption>The most probable next tokens</caption>
<thead><tr><th scope="col">token</th><th scope="col">share of the best</th><th scope="col">probability</th></tr></thead>
<tbody data-part="rows">
{at_first["rows"]}
</tbody>
</table>
<p>and <span data-part="rest">{at_first["rest"]}</span></p>
<p class="about">{text.strip()}</p>
</div>
<script>
(function () {{
{script()}
const root = document.currentScript.previousElementSibling;
coursePlayground.start(root, {json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", chr(92) + "u003c")});
}})();
</script>"""
    return "\n".join(line for line in made.split("\n") if line.strip())


def shown(data: dict[str, Any], settings: dict[str, float]) -> dict[str, str]:
    """Return the three texts that the script draws: `rows` of the table as HTML, `words`, `rest`."""
    return dict(json.loads(ask(f"coursePlayground.shown({json.dumps(data)}, {json.dumps(settings)})")))


def ask(question: str) -> str:
    """Return the script's answer as JSON."""
    with engine() as js:
        return str(js.eval(f"(function () {{{script()}\nreturn JSON.stringify({question});}})()"))


def script() -> str:
    return SCRIPT.read_text(encoding="utf-8")


def read(path: Path = LOGITS) -> dict[str, Any]:
    if not path.is_file():
        raise CourseError(f"{path.name} is missing: run `python -m autograder.site.playground` on a machine with SmolLM2")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def logits_after(prompt: str) -> tuple[list[float], Any]:
    """Return (the logit of each token, the model). Raises ModelError if SmolLM2 is missing."""
    import torch

    from course.kit import load_model

    model = load_model("smollm2")
    with torch.no_grad():
        logits = model(torch.tensor([model.tokenizer.encode(prompt)]))[0, -1]
    return logits.tolist(), model


def counted(logits: list[float], names: list[str]) -> dict[str, Any]:
    """Return the number of logits and a short form of them.

    leading: (name, logit) of the NUM_LEADING highest. tail: entry i of `counts` is the number of other tokens whose logit rounds to (first
    - i) * step.
    """
    order = sorted(range(len(logits)), key=lambda token: -logits[token])
    leading = [(names[token], round(logits[token], 4)) for token in order[:NUM_LEADING]]
    count = Counter(round(logits[token] / TAIL_STEP) for token in order[NUM_LEADING:])
    first, last = max(count), min(count)
    tail = {"step": TAIL_STEP, "first": first, "counts": [count[number] for number in range(first, last - 1, -1)]}
    return {"vocabulary": len(logits), "leading": leading, "tail": tail}


def main() -> int:
    from course.kit.plots import readable

    try:
        logits, model = logits_after(PROMPT)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    names = [readable(model.tokenizer.decode([token])) for token in range(len(logits))]
    about = {"model": "SmolLM2-135M-Instruct (4-bit weights, computed in float32)", "prompt": PROMPT, "date": time.strftime("%Y-%m-%d")}
    text = json.dumps(about | counted(logits, names), ensure_ascii=False, separators=(",", ":"))
    LOGITS.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
