"""A page for each day with the checks that students may read, one section each, so that the cheat sheet can point at one."""

from __future__ import annotations

import ast

from autograder.checking import asked
from autograder.checking.runner import Check, load_checks
from autograder.lessons import Day
from autograder.lessons.marks import first_line

INTRO = """
`check("name")` in the notebook runs these checks on your function and shows a row for each.
You may read them: they say what the rules mean.
When a submission is graded, further checks with fresh inputs run that are not shown.
[Contributing](../contributing.md#a-check) says how a check is written.
"""


def page(day: Day) -> str:
    path = day.root / "autograder" / "checking" / "checks" / f"test_{day.topic}.py"
    source = path.read_text(encoding="utf-8")
    lines, sources, shared = source.split("\n"), {}, []
    end = 0
    for node in ast.parse(source).body:
        begin = first_line(node) - 1 if isinstance(node, ast.FunctionDef | ast.ClassDef) else node.lineno - 1
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            shared += lines[end:begin]
            sources[node.name] = "\n".join(lines[begin : node.end_lineno])
        else:
            shared += lines[end : node.end_lineno]
        end = node.end_lineno or begin
    text = [f"# The checks of Day {day.number}, {day.title}", INTRO, "## What they share", "", *code("\n".join(shared).strip())]
    by_exercise: dict[str, list[Check]] = {}
    for check in load_checks(day.topic):
        if not check.hidden:
            by_exercise.setdefault(check.exercise, []).append(check)
    for exercise, checks in by_exercise.items():
        text += ["", f"({of_exercise(day, exercise)})=", f"## `{exercise}`", *rules(day, exercise, checks)]
        for place, check in enumerate(checks, start=1):
            text += ["", f"({label(day, check.name)})=", f"### {place}. {escaped(check.title)}", "", *code(sources[check.name])]
    return "\n".join(text) + "\n"


def rules(day: Day, exercise: str, checks: list[Check]) -> list[str]:
    """Return the table of an exercise's rules: each rule, the numbers of its visible checks, and its count of hidden checks."""
    place = {check.name: number for number, check in enumerate(checks, start=1)}
    rows = []
    for rule in asked.rules(day.topic):
        if rule.exercise == exercise:
            shown = ", ".join(f"[{place[check.name]}](#{label(day, check.name)})" for check in rule.visible)
            rows.append(f"| {escaped(rule.says)} | {shown} | {len(rule.hidden)} |")
    return ["", "| Rule | Visible checks | Number of hidden checks |", "|---|---|---:|", *rows]


def label(day: Day, check: str) -> str:
    return f"check-{day.topic}-{check}".lower().replace("_", "-")


def of_exercise(day: Day, exercise: str) -> str:
    """Return the link label of the section with all checks of an exercise."""
    return f"checks-of-{day.topic}-{exercise}".lower().replace("_", "-")


def labels(day: Day) -> dict[str, str]:
    """Return {title of a check: its link label}."""
    return {check.title: label(day, check.name) for check in load_checks(day.topic) if not check.hidden}


def code(source: str) -> list[str]:
    return ["```python", source, "```"]


def escaped(text: str) -> str:
    """Escape a text, so Markdown shows exactly this text."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>$#|{}" else char for char in text)
