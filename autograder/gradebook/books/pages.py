"""The page that a student reads: the head of a graded notebook, and under each grade cell its table of verdicts."""

from __future__ import annotations

import builtins
import dataclasses
import re
from html import escape
from typing import TYPE_CHECKING

from ...base.verdicts import Verdict
from ...checking.exception_causes import cause_of
from ...grading.records import ExerciseScore, Record
from ...notebook import render

if TYPE_CHECKING:
    from nbformat import NotebookNode

MAX_HIDDEN_MESSAGE = 200
NO_TEX = "mathjax_ignore tex2jax_ignore"
"""Classes that switch formulas off in outputs.

JupyterLab renders formulas there, too: a message with dollar signs is not one, and `\\\\href` in it would become a link.
"""


def outputs(record: Record, exercise: str, note: str = "") -> list[NotebookNode]:
    """Return a grade cell's outputs: the table of verdicts, and the result that nbgrader reads as points."""
    from .cells import display, result  # nbformat: an export to Gradescope has no use for it

    score, got = _score(record, exercise), points(record, exercise)
    verdicts = without_repeats([shown(v) for v in record.exercise(exercise)])
    if record.problem is not None:
        text, table = "not graded: see the top of the page", "<p>Not graded: see the top of the page.</p>"
    else:
        text = render.text_table(exercise, verdicts, got, score.max_points, note=note)
        table = render.html_table(exercise, verdicts, got, score.max_points, note=note)
    table = f'<div class="{NO_TEX}">{table}</div>'
    worth = f"{render.points_text(got)} of {render.points_text(score.max_points)} points" if record.problem is None else "not graded"
    return [
        display({"text/html": table, "text/plain": text}),
        result({"text/html": f"<b>{worth}</b>", "text/plain": repr(got)}),
    ]


def points(record: Record, exercise: str) -> float:
    """Return an exercise's points, between 0 and its maximum, because nbgrader takes any other number for full marks."""
    score = _score(record, exercise)
    return min(max(float(score.points), 0.0), float(score.max_points))


def _score(record: Record, exercise: str) -> ExerciseScore:
    return next(s for s in record.scores if s.exercise == exercise)


def shown(verdict: Verdict) -> Verdict:
    """Return the part of a verdict that a student may see. A hidden check shows its title, its outcome and a known mistake, but no values.

    The submission's own words are removed, too, because an exception's message could show the check's inputs.
    """
    if not verdict.hidden:
        return verdict
    cause = None if verdict.cause is not None and is_from_message(verdict) else verdict.cause
    return dataclasses.replace(verdict, message=without_their_words(verdict.message), cause=cause, expected=None, got=None, times={})


RAISED = re.compile(r"your code raised (.*?): ", re.DOTALL)
OWN_WORDS = (
    "not written yet", "the check could not use the result", "the result cannot be used", "the submission's process sent nonsense",
)  # fmt: skip
"""Beginnings of messages that continue with the submission's own words."""
BUILTIN = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}


def without_their_words(message: str) -> str:
    if found := RAISED.match(message):
        return f"your code raised {found[1] if found[1] in BUILTIN else 'an exception'}"
    if message.startswith("len() of "):
        return "the result says that it is longer than any answer"
    for words in OWN_WORDS:
        if message.startswith(words):
            return words
    return message if len(message) <= MAX_HIDDEN_MESSAGE else message[: MAX_HIDDEN_MESSAGE - 1] + "…"


def is_from_message(verdict: Verdict) -> bool:
    """Return whether a cause was derived from an exception's message."""
    found = RAISED.match(verdict.message)
    if found is None or found[1] in ("NameError", "RecursionError"):
        return False
    return verdict.cause == cause_of(found[1], verdict.message[found.end() :], verdict.lines)


def without_repeats(verdicts: list[Verdict]) -> list[Verdict]:
    """Replace details that an earlier check has already shown by "as above". For example, a missing function fails all checks."""
    shown: list[Verdict] = []
    said: set[tuple[object, ...]] = set()
    for verdict in verdicts:
        detail = (verdict.message, verdict.cause, verdict.expected, verdict.got, *verdict.lines)
        if verdict.failed and detail in said:
            verdict = dataclasses.replace(verdict, message="as above", cause=None, expected=None, got=None, lines=[], times={})
        said.add(detail)
        shown.append(verdict)
    return shown


def head(record: Record) -> str:
    """Return the first cell as HTML: errors that prevented grading, the isolation level and the course version."""
    parts = []
    if record.problem is not None:
        parts.append(f"<p><b>This file could not be graded:</b> {_line(record.problem)}</p>")
    elif record.notes:
        items = "".join(f"<li><code>{_line(name)}</code>: {_line(text)}</li>" for name, text in record.notes.items())
        parts.append(f"<p>These cells need a look:</p><ul>{items}</ul>")
    if record.cells:
        items = "".join(f"<li><code>{_line(name)}</code>: {_line(text)}</li>" for name, text in record.cells.items())
        parts.append(f"<p>These cells did not run to their end:</p><ul>{items}</ul>")
    how = f"Isolation level {record.isolation}, course version {record.course_version}."  # the seed is the staff's
    parts.append(f"<p><small>{_line(how)}</small></p>")
    return f'<div class="verdict-head {NO_TEX}">' + "".join(parts) + "</div>"


def _line(text: str) -> str:
    """Return the text escaped and on one line, so that Markdown takes the whole cell as HTML."""
    return escape(" ".join(text.split()))
