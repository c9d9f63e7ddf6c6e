"""The pages docs/cheat_sheet.md, with every formula, and docs/numbers.md, with every number worked out by hand; each has its check.

`python -m autograder.site.cheat_sheet` makes them from docs/data/cheat_sheet.toml and datasets/hand_computed.toml, for the days that are
ready.
"""

from __future__ import annotations

import inspect
import tomllib
from typing import Any

from course.kit.paths import ROOT

from ..authoring import show
from ..base.datafiles import hand_computed
from ..base.errors import CourseError
from ..checking.runner import Check, load_checks
from ..lessons import Day, syllabus

PAGE = ROOT / "docs" / "cheat_sheet.md"
NUMBERS = ROOT / "docs" / "numbers.md"
FORMULAS = ROOT / "docs" / "data" / "cheat_sheet.toml"
MADE = "`make generate` writes this page."


def page() -> str:
    """Return the formulas as Markdown, for reading and printing. Raises CourseError if a formula names a check that does not exist."""
    formulas = tomllib.loads(FORMULAS.read_text(encoding="utf-8"))["formula"]
    lines = ["# Cheat sheet", "", "This page lists every formula of the course, day by day, with the check that computes it.", ""]
    lines += ["The page [Numbers](numbers.md) lists the numbers that were worked out by hand.", MADE]
    for day in ready():
        lines += ["", *formula_lines(day, [formula for formula in formulas if formula["topic"] == day.topic])]
    return "\n".join(lines) + "\n"


def numbers_page() -> str:
    """Return the numbers as Markdown."""
    lines = ["# Numbers worked out by hand", "", "This page lists every number that was worked out by hand for a check or a test."]
    lines += ["Each number has its derivation, and links to the checks or tests that use it."]
    lines += ["The formulas are on the [cheat sheet](cheat_sheet.md).", MADE]
    for day in ready():
        if hand_computed(day.topic):
            lines += ["", *number_lines(day)]
    return "\n".join(lines) + "\n"


def ready() -> list[Day]:
    return [day for day in syllabus() if day.ready]


def visible_checks(day: Day) -> dict[str, Check]:
    return {check.name: check for check in load_checks(day.topic) if not check.hidden}


def formula_lines(day: Day, formulas: list[dict[str, str]]) -> list[str]:
    visible = visible_checks(day)
    lines = [f"## Day {day.number} · {day.title}", "", "| what | formula | check |", "|---|---|---|"]
    for formula in formulas:
        if formula["check"] not in visible:
            raise CourseError(f"{FORMULAS.name}: {formula['check']!r} is not a visible check of {day.topic}: name one that is")
        lines.append(f"| {formula['what']} | {cell(formula['formula'])} | {link(day, visible[formula['check']])} |")
    return lines


def number_lines(day: Day) -> list[str]:
    """Return the day's numbers as short paragraphs. In a table their derivations would be a narrow column on a phone."""
    visible = visible_checks(day)
    lines = [f"## Day {day.number} · {day.title}"]
    for name, case in hand_computed(day.topic).items():
        using = [link(day, check) for check in visible.values() if f'"{name}"' in inspect.getsource(check.function)]
        where = ", ".join(dict.fromkeys(using)) or f"[tests](../tests/days/test_day{day.number:02d}.py)"
        derivation = " ".join(str(case.get("derivation", "")).split())
        lines += ["", f"**{name.replace('_', ' ')}.** {derivation}", "", f"- {values(case)}", f"- {where}"]
    return lines


def link(day: Day, check: Check) -> str:
    return f"[{check.title}](../autograder/checking/checks/test_{day.topic}.py)"


def values(case: dict[str, Any]) -> str:
    """Return the values as code. Outside code the open bracket of a shortened list would begin a link."""
    parts = [f"{name.replace('_', ' ')} {code(show(value, 60))}" for name, value in case.items() if name != "derivation"]
    return "; ".join(parts)


def code(text: str) -> str:
    text = " ".join(text.split())
    return f"``{text} ``" if "`" in text else f"`{text}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def write() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    NUMBERS.write_text(numbers_page(), encoding="utf-8")


if __name__ == "__main__":
    write()
