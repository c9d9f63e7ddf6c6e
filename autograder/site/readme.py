"""The parts of README.md and docs/grading.md that come from measurements and the syllabus: the days, speed, grading, certification.

`make generate` writes them between their marks, `<!-- figures -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.base.errors import CourseError
from autograder.base.files import write_whole
from autograder.lessons import ROOT, Day, syllabus
from autograder.lessons.start_page import in_hours, linked, minutes, ways

PAGES = ("README.md", "docs/grading.md")
PART = re.compile(r"<!-- (\w+) -->\n.*?<!-- end -->", re.DOTALL)
PROMPT = 64
NOT_MEASURED = "not measured"

OURS = {
    "Day 7, float32": "Day 7, the loop: the whole text again for each token",
    "Day 10, float32": "Day 10, a KV cache: only the new token",
}
IN_4_BITS = {
    "ours, quantized": "the course's engine, the model's 4-bit file (Q4_1)",
    "llama.cpp, same file": "*llama.cpp, the same file*",
    "llama.cpp, its fastest format": "*llama.cpp, its fastest format here*",
}
WHERE = {"Day 7, float32": (1,), "Day 10, float32": (1,)}
"""The batches of the rows that do not have both."""
BATCHES = (1, 16)


@dataclass(frozen=True, eq=False)
class Run:
    """A file of results.

    decode, prefill: {(contender, batch): tokens a second}, for decoding after a prompt of PROMPT tokens and for the prefill of that prompt.
    """

    page: str
    machine: str
    decode: dict[tuple[str, int], float]
    prefill: dict[tuple[str, int], float]


def runs(results: Path) -> list[Run]:
    """Return the existing runs with speeds of the engines, the preferred source first."""
    found = []
    for name in ("ladder", "engine", "quantized"):
        try:
            measured = json.loads((results / "data" / f"{name}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        behind = [row for row in measured["rows"] if row.get("prompt") == PROMPT]
        decode, prefill = ({key: value for row in behind for key, value in speeds(row, what).items()} for what in ("decode", "prefill"))
        found.append(Run(f"benchmarks/results/{name}.md", measured["machine"], decode, prefill))
    return found


def speeds(row: dict[str, Any], what: str) -> dict[tuple[str, int], float]:
    """Return {(contender, batch): tokens a second} of a row. what: "decode" or "prefill"."""
    if "contender" in row:
        return {(row["contender"], row["batch"]): row[what]}
    if f"{what}_llama" in row:  # benchmarks/quantized.py measures just these two
        return {(name, row["batch"]): row[f"{what}_{whose}"] for name, whose in zip(IN_4_BITS, ("ours", "llama"), strict=False)}
    return {}


def figures(results: Path) -> str:
    """Return the table of tokens a second.

    Rows to be compared come from one run: the first run that has the most of their values. Missing values are marked.
    """
    lines = ["| tokens a second (total) | prompt, one text | decode, one text | decode, sixteen |", "|---|---:|---:|---:|"]
    found, sources = runs(results), []
    for rows in (OURS, IN_4_BITS):
        wanted = [(name, batch) for name in rows for batch in WHERE.get(name, BATCHES)]
        best = max(found, key=lambda run: sum(key in run.decode for key in wanted), default=None)
        have = best.decode if best else {}
        if best and any(key in have for key in wanted):
            sources.append(best)
        for name, words in rows.items():
            prompt = best.prefill.get((name, 1)) if best else None
            cells = [speed(prompt) if 1 in WHERE.get(name, BATCHES) else "–"]
            cells += [speed(have.get((name, batch))) if batch in WHERE.get(name, BATCHES) else "–" for batch in BATCHES]
            lines.append(f"| {words} | {' | '.join(cells)} |")
    source = "; ".join(f"[{Path(run.page).stem}]({run.page}) on {run.machine.split(', load')[0]}" for run in dict.fromkeys(sources))
    what = (
        f"Medians, for SmolLM2-135M and a prompt of {PROMPT} tokens.\nThe first two rows run the reference solutions of your exercises "
        "in float32; the other rows read 4-bit weights.\nA – means that this method was not run with sixteen texts."
    )
    return "\n".join([*lines, "", f"{what}\n{f'Source: {source}' if source else NOT_MEASURED.capitalize()}."])


def speed(tokens_a_second: float | None) -> str:
    if tokens_a_second is None:
        return NOT_MEASURED
    return f"{tokens_a_second:.1f}" if tokens_a_second < 100 else f"{tokens_a_second:.0f}"


def grading(results: Path) -> str:
    """Return a row for each graded class, with those graded by stock nbgrader, for a page in docs/."""
    measured = json.loads((results / "data" / "grading.json").read_text(encoding="utf-8"))
    lines = ["| | submissions | seconds each | the class | a submission can reach |", "|---|---:|---:|---:|---|"]
    for path, words in (("bulk", "`autograder grade`"), ("stock", "*stock nbgrader*")):
        for row in sorted((row for row in measured["rows"] if row["path"] == path), key=lambda row: row["count"]):
            reach = f"what level `{row['isolation']}` allows" if path == "bulk" else "whatever its user can"
            took = f"{row['seconds'] / 60:.1f} minutes" if row["seconds"] >= 100 else f"{row['seconds']:.0f} s"
            lines.append(f"| {words} | {row['count']:,} | {row['seconds_per_submission']:.3f} | {took} | {reach} |")
    return "\n".join([*lines, "", f"Day 1, [measured](../benchmarks/results/grading.md) on {measured['machine']}."])


def certified(docs: Path) -> str:
    counts = json.loads((docs / "data" / "certification.json").read_text(encoding="utf-8"))
    return (
        f"In the [last runs](docs/certification.md) of real grading, {counts['right_passed']:,} of {counts['right_total']:,} correct "
        f"solutions passed, {counts['wrong_killed']:,} of {counts['wrong_total']:,} incorrect ones were caught, and "
        f"{counts['attacks_honest']:,} of {counts['attacks_total']:,} cheating submissions scored exactly what their honest code earns."
    )


def lesson_link(day: Day) -> str | None:
    """Return the path of the day's notebook, which forges render."""
    return f"course/{day.slug}/{day.slug}.ipynb" if day.ready else None


def days(root: Path = ROOT) -> str:
    lines = ["| day | title | minutes |", "|---:|---|---:|"]
    lines += [f"| {day.number} | {linked(day.title, lesson_link(day))} | {day.minutes} |" for day in syllabus(root)]
    return "\n".join([*lines, "", f"The minutes are our estimates, {minutes(tuple(syllabus(root))) / 60:.0f} hours in all."])


def short_ways(root: Path = ROOT) -> str:
    """Return a row for each way through the course, the shortest first."""
    total = len(syllabus(root))
    lines = ["| You have | Days | Hours | What you have afterwards |", "|---|---|---|---|"]
    for way in sorted(ways(root), key=lambda way: minutes(way.days)):
        spans = sorted(minutes(part) for part in way.timetable)
        each = " to ".join(dict.fromkeys(in_hours(span) for span in (spans[0], spans[-1])))
        hours = each if len(spans) == 1 else f"{len(spans)} {way.sitting}s of {each}"
        chosen = f"all {total}" if len(way.days) == total else ", ".join(str(day.number) for day in way.days)
        lines.append(f"| **{way.title}** | {chosen} | {hours} | {way.gives} |")
    return "\n".join(lines)


def filled(text: str, root: Path = ROOT) -> str:
    """Return a page with its parts regenerated. Raises CourseError for an unknown part."""
    results, docs = root / "benchmarks" / "results", root / "docs"
    parts = {
        "days": lambda: days(root),
        "ways": lambda: short_ways(root),
        "figures": lambda: figures(results),
        "grading": lambda: grading(results),
        "certified": lambda: certified(docs),
    }

    def one(found: re.Match[str]) -> str:
        if found[1] not in parts:
            raise CourseError(f"no part is called {found[1]!r}; there are {', '.join(parts)}")
        return f"<!-- {found[1]} -->\n\n{parts[found[1]]()}\n\n<!-- end -->"

    return PART.sub(one, text)


def main() -> None:
    for page in PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        new = filled(text)
        write_whole(path, new.encode())
        print(f"{page}: " + ("unchanged" if new == text else "regenerated"))


if __name__ == "__main__":
    main()
