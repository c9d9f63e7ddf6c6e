"""For each day one wrong version of an exercise with the table that `check` shows for it: a reader sees what the checker says.

Judged once and kept in docs/site/wrong_versions.json, for judging takes longer than building the site; `python -m
autograder.site.wrong_versions` judges those anew that have changed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from autograder import render
from autograder.certified import what_counts
from autograder.certify import Specimen, read_specimen
from autograder.course_table import earlier_sources, solution_source
from autograder.errors import CourseError
from autograder.grading.far import Far
from autograder.grading.submission import Cell
from autograder.grading.threads import one_thread
from autograder.lessons import ROOT, Day, lesson, syllabus
from autograder.runner import run_checks, select
from autograder.specimen_files import SPECIMENS, find_specimens
from autograder.verdicts import Verdict, share

from .checks_page import escaped

MADE = ROOT / "docs" / "site" / "wrong_versions.json"
SUMMARY = "What the checker says to a wrong version"
FEW = 3
"""Checks. A table of fewer shows little."""
MOST_TRIED = 12


def fold(made: dict[str, Any]) -> str:
    """Markdown of a wrong version and its table, folded."""
    return (
        f'<details class="wrong"><summary>{SUMMARY}</summary>\n\n{escaped(capital(made["difference"]))}.\n\n'
        f"```python\n{made['source']}\n```\n\n```{{raw}} html\n{made['table']}\n```\n\n</details>"
    )


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def read(path: Path = MADE) -> dict[str, dict[str, Any]]:
    """{topic: what is kept of its wrong version}."""
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def current(day: Day, made: dict[str, Any]) -> bool:
    """Whether the version, the day's checks and its answers are those that were judged."""
    return any(each.file == made["file"] and digest(day, each.text) == made["of"] for each in find_specimens(SPECIMENS, [day.topic]))


def digest(day: Day, text: str) -> str:
    checks = day.root / "autograder" / "checks"
    files = [checks / f"test_{day.topic}.py", day.solutions_path]
    found = [text.encode(), *map(what_counts, files)]
    mistakes = checks / "mistakes" / f"{day.topic}.json"
    found += [mistakes.read_bytes()] if mistakes.exists() else []
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def chosen(day: Day) -> dict[str, Any]:
    """The wrong version with the shortest table whose mistake the checker names, at best one that passes some of its checks. Raises
    CourseError where none of the first MOST_TRIED will do.
    """

    def length(specimen: Specimen) -> tuple[bool, int, int]:
        num_checks = len(select(day.topic, exercise=specimen.exercise, hidden=False, timing=False))
        return num_checks < FEW, num_checks, len(specimen.source)

    wrong = [read_specimen(each) for each in find_specimens(SPECIMENS, [day.topic]) if not each.right]
    named = None
    for specimen in sorted(wrong, key=length)[:MOST_TRIED]:
        verdicts = judged(day, specimen)
        if any(verdict.cause for verdict in verdicts if verdict.failed):
            named = named or told(day, specimen, verdicts)
            if any(verdict.passed for verdict in verdicts):
                return told(day, specimen, verdicts)
    if named is None:
        raise CourseError(f"{day.slug}: the checker names the mistake of none of {MOST_TRIED} wrong versions")
    return named


def judged(day: Day, specimen: Specimen) -> list[Verdict]:
    """As at a student's desk: the visible checks of its exercise that measure no speed."""
    cells = [Cell("reference", solution_source(day.topic)), Cell(specimen.file, specimen.source)]
    far = Far(day.topic, cells, earlier_sources(day.topic))
    try:
        far.start()
        return run_checks(day.topic, select(day.topic, exercise=specimen.exercise, hidden=False, timing=False), far)
    finally:
        far.close()


def told(day: Day, specimen: Specimen, verdicts: list[Verdict]) -> dict[str, Any]:
    points = next(each.points for each in lesson(day).exercises if each.name == specimen.exercise)
    source = "\n".join(line for line in specimen.source.strip().split("\n") if not line.startswith(("# exercise:", "# WRONG:", "# SAYS:")))
    return {
        "file": specimen.file,
        "exercise": specimen.exercise,
        "of": digest(day, specimen.source),
        "difference": specimen.difference,
        "source": source.strip(),
        "table": render.html_table(specimen.exercise, verdicts, points * share(verdicts), points),
    }


def main() -> int:
    made = read()
    days = [day for day in syllabus() if day.ready]
    for day in days:
        if day.topic in made and current(day, made[day.topic]):
            continue
        with one_thread():
            made[day.topic] = chosen(day)
        print(f"{day.slug}: {made[day.topic]['file']}", flush=True)
        kept = {other.topic: made[other.topic] for other in days if other.topic in made}
        MADE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
