"""What a student reads: the head of a graded notebook, and under each grade cell its table of verdicts."""

from __future__ import annotations

import dataclasses
from html import escape

from nbformat import NotebookNode

from .. import render
from ..grading.records import ExerciseScore, Record
from ..runner import Verdict
from .cells import display, result

MAX_HIDDEN_MESSAGE = 200


def outputs(record: Record, exercise: str, note: str = "") -> list[NotebookNode]:
    """A grade cell's outputs: the table, and the one result that nbgrader reads as the points."""
    score, got = _score(record, exercise), points(record, exercise)
    verdicts = without_repeats([shown(v) for v in record.exercise(exercise)])
    if record.problem is not None:
        text, table = "not graded: see the top of the page", "<p>Not graded: see the top of the page.</p>"
    else:
        text = render.text_table(exercise, verdicts, got, score.max_points, note=note)
        table = render.html_table(exercise, verdicts, got, score.max_points, note=note)
    worth = f"{render.points_text(got)} of {render.points_text(score.max_points)} points"
    return [
        display({"text/html": table, "text/plain": text}),
        result({"text/html": f"<b>{worth}</b>", "text/plain": repr(got)}),
    ]


def points(record: Record, exercise: str) -> float:
    """An exercise's points, within what it is worth: nbgrader would take anything else for full marks."""
    score = _score(record, exercise)
    return min(max(float(score.points), 0.0), float(score.max_points))


def _score(record: Record, exercise: str) -> ExerciseScore:
    return next(s for s in record.scores if s.exercise == exercise)


def shown(verdict: Verdict) -> Verdict:
    """What a student may see of a verdict: of a hidden check its title, message and likely cause, and no values."""
    if not verdict.hidden:
        return verdict
    message = verdict.message
    if len(message) > MAX_HIDDEN_MESSAGE:
        message = message[: MAX_HIDDEN_MESSAGE - 1] + "…"
    return dataclasses.replace(verdict, message=message, expected=None, got=None, times={})


def without_repeats(verdicts: list[Verdict]) -> list[Verdict]:
    """What stands at one check already is not said again at the next: a missing function fails them all."""
    kept: list[Verdict] = []
    said: set[tuple[object, ...]] = set()
    for verdict in verdicts:
        detail = (verdict.message, verdict.cause, verdict.expected, verdict.got, *verdict.lines)
        if verdict.failed and detail in said:
            verdict = dataclasses.replace(verdict, message="as above", cause=None, expected=None, got=None, lines=[], times={})
        said.add(detail)
        kept.append(verdict)
    return kept


def head(record: Record) -> str:
    """The first cell, in HTML: what stopped the file or a cell from being graded, and how it was graded."""
    parts = []
    if record.problem is not None:
        parts.append(f"<p><b>This file could not be graded:</b> {_line(record.problem)}</p>")
    elif record.cells:
        items = "".join(f"<li><code>{_line(name)}</code>: {_line(text)}</li>" for name, text in record.cells.items())
        parts.append(f"<p>These cells did not run to their end:</p><ul>{items}</ul>")
    how = f"Isolation level {record.isolation}, seed {record.seed}, course version {record.course_version}."
    parts.append(f"<p><small>{_line(how)}</small></p>")
    return '<div class="verdict-head">' + "".join(parts) + "</div>"


def _line(text: str) -> str:
    """Escaped, and on one line, so that Markdown takes the whole cell as HTML."""
    return escape(" ".join(text.split()))
