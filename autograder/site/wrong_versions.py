"""One incorrect version of an exercise for each day, with the table that `check` shows for it, as an example of the checker's output."""

from __future__ import annotations

import functools
from typing import Any

from autograder.base.course_table import earlier_sources, solution_source
from autograder.base.errors import CourseError
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.base.verdicts import Verdict, share
from autograder.certification.certify import Specimen, read_specimen
from autograder.checking.runner import run_checks, select
from autograder.lessons import Day, lesson
from autograder.notebook import render
from autograder.sandbox.process.remote_student import RemoteStudent
from autograder.sandbox.submission import Cell
from course.kit.threads import one_thread

from .checks_page import escaped

SUMMARY = "The checker's report on an incorrect solution"
FEW = 3
"""The number of checks below which a table shows little."""
MOST_TRIED = 12


def fold(made: dict[str, Any]) -> str:
    """Return Markdown of an incorrect version and its table, folded."""
    return (
        f'<details class="wrong"><summary>{SUMMARY}</summary>\n\n{escaped(capital(made["difference"]))}.\n\n'
        f"```python\n{made['source']}\n```\n\n```{{raw}} html\n{made['table']}\n```\n\n</details>"
    )


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@functools.cache
def chosen(day: Day) -> dict[str, Any]:
    """Return the named incorrect version with the shortest table, preferably one that passes some of its checks.

    Named means that the checker recognises its mistake.

    Raises CourseError if none of the first MOST_TRIED is suitable.
    """

    def length(specimen: Specimen) -> tuple[bool, int, int]:
        num_checks = len(select(day.topic, exercise=specimen.exercise, hidden=False, timing=False))
        return num_checks < FEW, num_checks, len(specimen.source)

    wrong = [read_specimen(each) for each in find_specimens(SPECIMENS, [day.topic]) if not each.right]
    named = None
    for specimen in sorted(wrong, key=length)[:MOST_TRIED]:
        verdicts = judged(day, specimen)
        if any(verdict.cause for verdict in verdicts if verdict.failed):
            named = named or as_entry(day, specimen, verdicts)
            if any(verdict.passed for verdict in verdicts):
                return as_entry(day, specimen, verdicts)
    if named is None:
        raise CourseError(f"{day.slug}: the checker recognises the mistake in none of {MOST_TRIED} incorrect solutions")
    return named


def judged(day: Day, specimen: Specimen) -> list[Verdict]:
    """Return the verdicts of the visible checks of the specimen's exercise except timing checks, as a student sees them."""
    cells = [Cell("setup", lesson(day).setup), Cell("reference", solution_source(day.topic)), Cell(specimen.file, specimen.source)]
    remote = RemoteStudent(day.topic, cells, earlier_sources(day.topic))
    try:
        with one_thread():
            return run_checks(day.topic, select(day.topic, exercise=specimen.exercise, hidden=False, timing=False), remote)
    finally:
        remote.close()


def as_entry(day: Day, specimen: Specimen, verdicts: list[Verdict]) -> dict[str, Any]:
    points = next(each.points for each in lesson(day).exercises if each.name == specimen.exercise)
    source = "\n".join(line for line in specimen.source.strip().split("\n") if not line.startswith(("# exercise:", "# WRONG:", "# SAYS:")))
    return {
        "file": specimen.file,
        "exercise": specimen.exercise,
        "difference": specimen.difference,
        "source": source.strip(),
        "table": render.html_table(specimen.exercise, verdicts, points * share(verdicts), points),
    }
