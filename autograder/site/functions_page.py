"""An index of every function that is written in the course, with its day and its checks."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograder.lessons import Day, lesson

from . import checks_page
from .lesson_pages import label

INTRO = "All functions and classes that you write, by name. Each name links to its exercise, and the last column to the visible checks."


def page(days: Sequence[Day]) -> str:
    rows = sorted((row for day in days for row in rows_of(day)), key=str.lower)
    return "\n".join(["# Functions", "", INTRO, "", "| Name | What it is | Day | Checks |", "|---|---|---|---|", *rows]) + "\n"


def rows_of(day: Day) -> list[str]:
    tree = ast.parse(day.solutions_path.read_text(encoding="utf-8"))
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    rows = []
    for exercise in lesson(day).exercises:
        what = (ast.get_docstring(defined[exercise.name]) or "").split("\n\n")[0]
        sentence = checks_page.escaped(" ".join(what.split()))
        rows.append(
            f"| [`{exercise.name}`](#{label(day, exercise.name)}) | {sentence} | {day.number} "
            f"| [checks](#{checks_page.of_exercise(day, exercise.name)}) |"
        )
    return rows
