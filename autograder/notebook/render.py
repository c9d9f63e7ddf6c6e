"""The verdicts as a table: HTML for notebooks and feedback pages, text for terminals. All text from a student is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from ..base.verdicts import Verdict
from ..base.wording import agreeing, counted
from .pictures import picture, race, race_in_words

WORDS = {
    "pass": "pass",
    "fail": "fail",
    "error": "error",
    "timeout": "timed out",
    "memory": "out of memory",
    "crashed": "crashed",
    "inconclusive": "inconclusive",
    "infrastructure": "not graded",
    "skipped": "skipped",
    "stopped": "stopped",
}
# Colours with a contrast of at least 4.5 on white and on Lab's dark background alike; the words say the same.
COLOURS = {"pass": "#2e8540", "fail": "#d54309", "error": "#d54309", "timeout": "#b3590a", "memory": "#b3590a", "crashed": "#b3590a"}
CELL = "text-align:left;vertical-align:top;padding:4px 10px;white-space:normal;"


def points_text(points: float) -> str:
    return f"{points:.2f}".rstrip("0").rstrip(".")


def summary(exercise: str, verdicts: Sequence[Verdict], points: float, max_points: float) -> str:
    """Return one line: how many checks pass, and the points."""
    passed = sum(v.passed for v in verdicts)
    checks = counted(sum(v.passed or v.failed for v in verdicts), "check")
    passing = f"{passed} of {checks} {agreeing(passed, 'passes', 'pass')}"
    return f"{exercise}: {passing}, {points_text(points)} of {points_text(max_points)} points"


def html_table(exercise: str, verdicts: Sequence[Verdict], points: float, max_points: float, *, note: str = "") -> str:
    """Return a table with one row a check: title, verdict, and for a failed check the expected value, the result and an explanation."""
    failed = any(not v.passed for v in verdicts)
    heads = ["check", "verdict", *(["what was found"] if failed else [])]
    seen: dict[tuple[str, ...], str] = {}
    rows = "".join(_html_row(v, failed, earlier_title(v, seen)) for v in verdicts)
    head = "".join(f'<th scope="col" style="{CELL}">{h}</th>' for h in heads)
    caption = summary(exercise, verdicts, points, max_points)
    parts = [
        '<div class="check-table">',
        '<table style="border-collapse:collapse;margin:4px 0;">',
        f'<caption style="text-align:left;font-weight:bold;padding:4px 0;color:inherit;">{escape(caption)}</caption>',
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>",
    ]
    if note:
        parts.append(f'<p style="margin:2px 0;opacity:0.85;">{escape(note)}</p>')
    return "".join(parts) + "</div>"


def plain_table(heads: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "") -> str:
    """Return a table of cells in HTML, with heads and a caption in plain words."""
    head = "".join(f'<th scope="col" style="{CELL}">{each}</th>' for each in heads)
    body = "".join("<tr>" + "".join(f'<td style="{CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    above = f'<caption style="text-align:left;font-weight:bold;padding:4px 0;">{caption}</caption>' if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def with_code(text: str) -> str:
    """Return the text escaped, with `...` set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def earlier_title(verdict: Verdict, seen: dict[tuple[str, ...], str]) -> str | None:
    """Return the title of an earlier check that ended in the same way, or None: identical failures are reported once."""
    if not verdict.failed:
        return None
    report = (verdict.outcome, verdict.message, str(verdict.expected), str(verdict.got), *verdict.lines)
    first = seen.setdefault(report, verdict.title)
    return first if first != verdict.title else None


def _html_row(verdict: Verdict, with_detail: bool, earlier: str | None) -> str:
    colour = COLOURS.get(verdict.outcome, "#6f6f6f")
    word = WORDS.get(verdict.outcome, verdict.outcome)
    hidden = ' <span style="opacity:0.7;">(hidden)</span>' if verdict.hidden else ""
    cells = [
        f'<td style="{CELL}">{escape(verdict.title)}{hidden}</td>',
        f'<td style="{CELL}color:{colour};font-weight:bold;white-space:nowrap;">{escape(word)}</td>',
    ]
    if with_detail:
        detail = "" if verdict.passed else f"the same as at “{escape(earlier)}”" if earlier else _html_detail(verdict)
        cells.append(f'<td style="{CELL}">{detail}</td>')
    return f'<tr style="border-top:1px solid rgba(128,128,128,0.35);">{"".join(cells)}</tr>'


def _html_detail(verdict: Verdict) -> str:
    parts = []
    if verdict.cause:
        parts.append(f"<div><b>Found:</b> {with_code(verdict.cause)}</div>")
    if verdict.same_as:
        parts.append(f"<div>probably the same mistake as at “{escape(verdict.same_as)}”</div>")
    parts.append(f"<div>{escape(verdict.message)}</div>")
    pairs = [(label, value) for label, value in (("expected", verdict.expected), ("got", verdict.got)) if value is not None]
    if pairs:
        # One grid, so that the numbers of expected and got are aligned.
        grid = "".join(f"<span>{label}</span><code>{escape(value)}</code>" for label, value in pairs)
        parts.append(f'<div style="display:grid;grid-template-columns:max-content auto;column-gap:10px;">{grid}</div>')
    parts.append(picture(verdict.expected, verdict.got))
    parts.append(race(verdict.times))
    if verdict.lines:
        parts.append(f'<pre style="margin:2px 0;white-space:pre-wrap;">{escape(chr(10).join(verdict.lines))}</pre>')
    return "".join(parts)


def text_table(exercise: str, verdicts: Sequence[Verdict], points: float, max_points: float, *, note: str = "") -> str:
    """Return the table of `html_table` as text, for a terminal or a plain notebook front end."""
    lines = [summary(exercise, verdicts, points, max_points)]
    seen: dict[tuple[str, ...], str] = {}
    for verdict in verdicts:
        earlier = earlier_title(verdict, seen)
        lines.append(f"  {WORDS.get(verdict.outcome, verdict.outcome):<9} {verdict.title}{' (hidden)' if verdict.hidden else ''}")
        if not verdict.passed:
            detail = [f"the same as at “{earlier}”"] if earlier else text_detail(verdict)
            lines += [f"            {line}" for line in detail]
    if note:
        lines.append(note)
    return "\n".join(lines)


def text_detail(verdict: Verdict) -> list[str]:
    lines = [f"found: {verdict.cause}"] if verdict.cause else []
    lines += [f"probably the same mistake as at “{verdict.same_as}”"] if verdict.same_as else []
    lines.append(verdict.message)
    lines += [f"expected {verdict.expected}"] if verdict.expected is not None else []
    lines += [f"got      {verdict.got}"] if verdict.got is not None else []
    lines += [race_in_words(verdict.times)] if verdict.times else []
    return lines + [f"in {line}" for line in verdict.lines]
