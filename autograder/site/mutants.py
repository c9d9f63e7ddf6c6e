"""What the mechanical adversary found: a section of "How the grader is graded", and the page of all mutants that no caller can tell
from the program they were made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autograder.errors import CourseError
from autograder.lessons import Day

KINDS = ("made", "killed", "equivalent", "surviving")


def read(path: Path) -> dict[str, Any] | None:
    """None where there is no such run. Raises CourseError where the file is not what `autograder certify --mutate --json` prints."""
    if not path.exists():
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CourseError(f"{path}: {error}; make it with `autograder certify --mutate --json > {path}`") from None
    if not isinstance(told, dict) or not {"run", "origin", "topics", *KINDS} <= set(told):
        raise CourseError(f"{path}: not the output of `autograder certify --mutate --json`")
    return told


def section(told: dict[str, Any] | None, days: list[Day]) -> list[str]:
    """A table of days; what survived is named under it."""
    if told is None:
        return ["No mutants were made for this page."]
    made_of = {"reference": "the reference", "right": "right versions"}.get(told["origin"], "the reference and of right versions")
    lines = [
        f"**{told['made']:,} mutants were made: {told['killed']:,} killed, {told['equivalent']:,} equivalent, "
        f"{told['surviving']:,} surviving.** They were made of {made_of}, on {told['run']['date']}.",
        "",
        "| day | made | killed | equivalent | surviving |",
        "|---|---|---|---|---|",
    ]
    rows = [(day, told["topics"][day.topic]) for day in days if day.topic in told["topics"]]
    lines += [f"| Day {day.number}, {day.title} | {cells(topic)} |" for day, topic in rows]
    lines += [f"| **all** | {cells(told)} |", ""]
    lines += ["[Equivalent mutants](mutants.md) lists each of those that no check can kill, with the reason."]
    survivors = [f"- survives: a change in `{day.topic}/{e['origin']}`, `{e['where']}`" for day, topic in rows for e in topic["survivors"]]
    return [*lines, *(["", *survivors] if survivors else [])]


def cells(counts: dict[str, Any]) -> str:
    return " | ".join(f"{counts[kind]:,}" for kind in KINDS)


def inline(text: str) -> str:
    """Code in one line, whatever backticks it holds."""
    text = " ⏎ ".join(line.strip() for line in text.split("\n"))
    return f"`` {text} ``" if "`" in text else f"`{text or ' '}`"


SURVIVES = "**Survives**: no check tells it from the program it was made of, and no reason is listed"

INTRO = """# Equivalent mutants

A mutant is a right version with one change, made by a machine: a comparison turned, a constant moved, an argument left out, a tensor
changed in place. [Nearly all](certification.md#mutants) lose points. Those below do not, and should not: to every caller that the
rules allow they are the same program. Each stands here with the reason why, as in `autograder/specimens/<topic>/equivalent.toml`;
`autograder certify --mutate` tells of any entry that is killed or matches no mutant any more.
"""


WITHOUT_CODE = "This copy of the site holds no answers, so the changed lines themselves are left out."


def page(told: dict[str, Any] | None, days: list[Day], *, answers: bool = True) -> str:
    """What survives, then all equivalences, by day and function; changes of the same lines for the same reason stand together.

    answers: whether the changed lines are shown. They are lines of the solutions.
    """
    lines = [INTRO, *([] if answers else [WITHOUT_CODE, ""])]
    for day in days:
        topic = told["topics"].get(day.topic, {}) if told else {}
        entries = [*topic.get("survivors", []), *topic.get("equivalents", [])]
        if not entries:
            continue
        lines += [f"## Day {day.number}, {day.title}", ""]
        together: dict[tuple[str, str, str, str], list[str]] = {}
        for entry in entries:
            of = (entry["origin"], entry["where"], entry["before"] if answers else "", entry.get("reason", SURVIVES))
            together.setdefault(of, []).append(entry["after"])
        for (origin, where, before, reason), afters in together.items():
            place = f"`{where}`" if origin == "reference" else f"`{where}` in `{origin}`"
            becomes = "; or ".join(inline(after) for after in afters)
            changed = f"{inline(before)} becomes {becomes}" if answers else f"{len(afters)} change{'s' if len(afters) > 1 else ''}"
            lines.append(f"- {place}: {changed}.\n  {reason[0].upper()}{reason[1:].rstrip('.')}.")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"
