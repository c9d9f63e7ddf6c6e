"""The results of mutation testing: a section of "How the grader is graded", and the page of all equivalent mutants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autograder.base.errors import CourseError
from autograder.base.wording import counted
from autograder.lessons import Day

KINDS = ("made", "killed", "equivalent", "surviving")


FILES = ("mutants.json", "mutants_right.json")
"""The results of `autograder certify --mutate --into FILE`, for the reference and correct versions. Each topic has its date and commit."""


def read_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the runs whose files exist."""
    return [read(folder / name) for name in FILES if (folder / name).exists()]


def read(path: Path) -> dict[str, Any]:
    """Return a run. Raises CourseError unless `autograder certify --mutate --into` wrote the file."""
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CourseError(f"{path}: {error}; make it with `autograder certify --mutate --into {path}`") from None
    if not isinstance(figures, dict) or not {"run", "origin", "topics", *KINDS} <= set(figures):
        raise CourseError(f"{path}: not what `autograder certify --mutate --into` writes")
    return figures


def section(runs: list[dict[str, Any]], days: list[Day]) -> list[str]:
    """Return for each run a table of days and a list of the surviving mutants."""
    if not runs:
        return ["No mutants were made for this page."]
    lines = []
    for figures in runs:
        lines += [
            f"**{figures['made']:,} mutants of {whose(figures)} were judged: {figures['killed']:,} killed, "
            f"{figures['equivalent']:,} equivalent, {figures['surviving']:,} surviving**.",
            "",
            "| day | judged | killed | equivalent | surviving | when |",
            "|---|---|---|---|---|---|",
        ]
        rows = [(day, figures["topics"][day.topic]) for day in days if day.topic in figures["topics"]]
        lines += [f"| Day {day.number}, {day.title} | {cells(topic)} | {when(topic.get('run', figures['run']))} |" for day, topic in rows]
        lines += [f"| **all** | {cells(figures)} | |", ""]
        alive = [(day.topic, entry) for day, topic in rows for entry in topic["survivors"]]
        lines += [f"- survives: a change in `{topic}/{entry['origin']}`, `{entry['where']}`" for topic, entry in alive]
        lines += [""] if alive else []
    return [*lines, "[Equivalent mutants](mutants.md) lists every mutant that no check can kill, with the reason."]


def whose(figures: dict[str, Any]) -> str:
    """Return which programs the mutants were made from. Of correct solutions' mutants usually only a part, drawn by digest, is judged."""
    what = {"reference": "the reference", "right": "correct solutions", "all": "the reference and of correct solutions"}[figures["origin"]]
    if figures.get("left_out", 0):
        return f"{what} (one of {figures['share']}, drawn by digest; {figures['left_out']:,} more were not judged)"
    return what


def when(run: dict[str, Any]) -> str:
    return run["date"] + (f", commit {run['commit']}" if run.get("commit") else "")


def cells(counts: dict[str, Any]) -> str:
    return " | ".join(f"{counts[kind]:,}" for kind in KINDS)


def inline(text: str) -> str:
    """Return inline Markdown code on one line, also for code with backticks."""
    text = " ⏎ ".join(line.strip() for line in text.split("\n"))
    return f"`` {text} ``" if "`" in text else f"`{text or ' '}`"


SURVIVES = "**Survives**: no check distinguishes it from its original, and no reason is listed"

INTRO = """# Equivalent mutants

A mutant is a correct solution with one automatic change: a reversed comparison, another constant, a missing argument,
a tensor changed in place.
[Nearly all mutants](certification.md#mutants) lose points.
The mutants below lose none, and should lose none: no caller that the rules allow can tell them from the original.
Each is listed with the reason, which comes from `specimens/<topic>/equivalent.toml`.
If a check fails a mutant on this list, or an entry no longer matches any mutant, `autograder certify --mutate` reports the entry.
"""


WITHOUT_CODE = "This copy of the site shows no answers, so the changed lines are left out."


def page(runs: list[dict[str, Any]], days: list[Day], *, answers: bool = True) -> str:
    """Return the page of surviving and equivalent mutants by day and function, grouped by changed lines and reason.

    answers: whether to show the changed lines, which are lines of the solutions.
    """
    lines = [INTRO, *([] if answers else [WITHOUT_CODE, ""])]
    for day in days:
        topics = [figures["topics"].get(day.topic, {}) for figures in runs]
        entries = [entry for kind in ("survivors", "equivalents") for topic in topics for entry in topic.get(kind, [])]
        if not entries:
            continue
        lines += [f"## Day {day.number}, {day.title}", ""]
        together: dict[tuple[str, str, str, str], list[str]] = {}
        for entry in entries:
            reason = f"Reason: {entry['reason']}" if "reason" in entry else SURVIVES
            of = (entry["origin"], entry["where"], entry["before"] if answers else "", reason)
            together.setdefault(of, []).append(entry["after"])
        for (origin, where, before, reason), afters in together.items():
            place = f"`{where}`" if origin == "reference" else f"`{where}` in `{origin}`"
            becomes = "; or ".join(inline(after) for after in afters)
            changed = f"{inline(before)} becomes {becomes}" if answers else counted(len(afters), "change")
            lines.append(f"- {place}: {changed}.\n  {reason.rstrip('.')}.")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"
