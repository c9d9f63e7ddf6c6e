"""axe-core in the tests' browser: what it finds on a page that would keep somebody from using it."""

from __future__ import annotations

from typing import Any

WORST = ("serious", "critical")
BRIEFLY = {"resultTypes": ["violations"]}
"""Every rule is tried on every element. Of the elements that pass a rule, one is reported: the path of each would take most of the time."""
STILL = """() => Promise.allSettled(
    document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime !== Infinity).map((a) => a.finished)
).then(() => undefined)"""
"""Waits until nothing on the page fades or moves any more."""


def violations(page: Any, *include: str, exclude: tuple[str, ...] = ()) -> list[str]:
    """One line a serious or critical finding: rule, element, what is wrong. include, exclude: CSS selectors; the whole page if none.

    Raises AssertionError where an `include` names nothing: a page without the part would have no violations either.
    """
    from axe_playwright_python.sync_playwright import Axe

    for selector in include:
        assert page.locator(selector).count(), f"nothing like {selector} on the page"
    context: dict[str, list[list[str]]] = {}
    if include:
        context["include"] = [[selector] for selector in include]
    if exclude:
        context["exclude"] = [[selector] for selector in exclude]
    page.evaluate(STILL)  # half faded in, a text has half its contrast
    found = Axe().run(page, context=context or None, options=BRIEFLY).response
    assert found["passes"], "axe looked at nothing"
    return [
        f"{rule['id']} ({rule['impact']}) at {' '.join(map(str, node['target']))}: {node['failureSummary']} {node['html'][:200]}"
        for rule in found["violations"] if rule["impact"] in WORST for node in rule["nodes"]
    ]  # fmt: skip
