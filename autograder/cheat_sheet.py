"""The cheat sheet: every formula and every hand-computed number of the days that are ready, each with the check that computes it.

Made from docs/cheat_sheet.toml and datasets/hand_computed.toml: `python -m autograder.cheat_sheet` writes docs/cheat_sheet.md.
"""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any

from course.kit.paths import ROOT

from .authoring import show
from .datafiles import hand_computed
from .errors import CourseError
from .lessons import Day, syllabus
from .runner import Check, load_checks

PAGE = ROOT / "docs" / "cheat_sheet.md"
FORMULAS = ROOT / "docs" / "cheat_sheet.toml"


def page() -> str:
    """The whole page as Markdown. Raises CourseError where a formula names a check that does not exist."""
    formulas = tomllib.loads(FORMULAS.read_text(encoding="utf-8"))["formula"]
    lines = [
        "# Cheat sheet",
        "",
        "Every formula and every number worked out by hand, day by day, with the check that computes it.",
        "Made by `python -m autograder.cheat_sheet`; a test keeps it true.",
    ]
    for day in syllabus():
        if day.ready:
            lines += ["", *day_lines(day, [f for f in formulas if f["topic"] == day.topic])]
    return "\n".join(lines) + "\n"


def day_lines(day: Day, formulas: list[dict[str, str]]) -> list[str]:
    visible = {c.name: c for c in load_checks(day.topic) if not c.hidden}
    lines = [f"## Day {day.number} · {day.title}", "", "| what | formula | check |", "|---|---|---|"]
    for formula in formulas:
        if formula["check"] not in visible:
            raise CourseError(f"{FORMULAS.name}: no check {formula['check']!r} among the visible ones of {day.topic}")
        lines.append(f"| {formula['what']} | {cell(formula['formula'])} | {link(day, visible[formula['check']])} |")
    numbers = hand_computed(day.topic)
    if numbers:
        lines += ["", "| worked out by hand | values | check |", "|---|---|---|"]
    for name, case in numbers.items():
        using = [link(day, c) for c in visible.values() if f'"{name}"' in inspect.getsource(c.function)]
        where = ", ".join(using) or f"[tests](../tests/test_day{day.number:02d}.py)"
        derivation = cell(case.get("derivation", ""))
        lines.append(f"| {name.replace('_', ' ')}: {derivation} | {values(case)} | {where} |")
    return lines


def link(day: Day, check: Check) -> str:
    return f"[{check.title}](../autograder/checks/test_{day.topic}.py)"


def values(case: dict[str, Any]) -> str:
    parts = [f"{name.replace('_', ' ')} {cell(show(value, 60))}" for name, value in case.items() if name != "derivation"]
    return "; ".join(parts)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def write(path: Path = PAGE) -> None:
    path.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
