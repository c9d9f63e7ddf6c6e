"""The first picture of each stepper, drawn while the site is built, so that it appears without JavaScript and on paper.

A stepper draws itself with a script (course/kit/steppers/stepping.py). Here V8 runs that script, on a page with only the parts that the
script uses; in a browser the same script draws the same picture again.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from autograder.base.errors import CourseError

FIGURE = re.compile(r'(?P<page><div id="stepper-\w+" class="course-stepper".*?</div>\s*)<script>(?P<script>.*?)</script>', re.DOTALL)
STILL = "This picture shows the first step. Buttons and menus need JavaScript."

# The page as a script sees it: controls, a place to draw and a place to write.
PAGE = """
const parts = %PARTS%, svg = {};
const element = (given) => ({ addEventListener() {}, setAttribute() {}, nextElementSibling: {}, ...given });
for (const name in parts) parts[name] = element(parts[name]);
const root = element({
  querySelector: (selector) => selector === "svg" ? svg : parts[selector.match(/data-part='(.*)'/)[1]],
  querySelectorAll: () => [],
});
const document = { getElementById: () => root };
"""
DRAWN = "JSON.stringify({ svg: svg.innerHTML, words: parts.words.textContent, warning: parts.warning.textContent })"


def with_first_steps(page: str) -> str:
    """Return the HTML page with the first step drawn in each of its figures. Raises CourseError if a figure's script fails."""
    if FIGURE.search(page) is None:
        return page
    with engine() as js:
        return FIGURE.sub(lambda figure: drawn(js, figure["page"], figure["script"]) + f"<script>{figure['script']}</script>", page)


def drawn(js: Any, page: str, script: str) -> str:
    from bs4 import BeautifulSoup
    from py_mini_racer import JSEvalException

    soup = BeautifulSoup(page, "html.parser")
    parts = {tag["data-part"]: state(tag) for tag in soup.select("[data-part]")}
    try:
        # In a function, so that its names are not those of the next figure.
        made = json.loads(str(js.eval(f"(function () {{{PAGE.replace('%PARTS%', json.dumps(parts))}{script};return {DRAWN};}})()")))
    except JSEvalException as error:
        raise CourseError(f"a figure does not draw its first step: {error}") from None
    for name in ("words", "warning"):
        page = re.sub(rf'(<p data-part="{name}"[^>]*>)(?=</p>)', lambda tag, name=name: tag[0] + html.escape(made[name]), page)  # type: ignore[misc]
    return re.sub(
        r"(<svg [^>]*>)</svg>",
        lambda tag: f'<noscript><p class="needs-kernel">{STILL}</p></noscript><div class="drawing">{tag[1]}{made["svg"]}</svg></div>',
        page,
    )


def state(tag: Any) -> dict[str, Any]:
    """Return the initial state of a control, in the form that a script reads."""
    if tag.name != "select":
        return {"value": tag.get("value", "")}
    options = tag.find_all("option")
    chosen = next((number for number, option in enumerate(options) if option.has_attr("selected")), 0)
    return {"selectedIndex": chosen, "value": options[chosen].get("value", options[chosen].get_text())}


@contextmanager
def engine() -> Iterator[Any]:
    """Yield a V8 engine, made in a thread of its own: in a thread with a running event loop, it would use that loop and end with it.

    The engine is closed here, because an open engine crashes the process at its end with a segmentation fault.
    """
    from py_mini_racer import MiniRacer

    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(MiniRacer).result()
        try:
            yield made
        finally:
            pool.submit(made.close).result()
