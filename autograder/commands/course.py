"""Commands that make and check the course itself: build, release, work, doctor."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from ..base.errors import CourseError

console = Console()
DayArgument = Annotated[str | None, typer.Argument(help="A day (day05, 5, samplers); default: all.")]


def register(app: typer.Typer) -> None:
    for function in (build, release, work, doctor):
        app.command()(function)


def chosen_days(day: str | None) -> list:
    """Return the named day, or all days that have a lesson. Raises CourseError for a day without a lesson."""
    from ..lessons import find_day, syllabus

    if day is None:
        return [d for d in syllabus() if d.ready]
    found = find_day(day)
    if not found.ready:
        ready = ", ".join(d.slug for d in syllabus() if d.ready)
        raise CourseError(f"day {found.number} ({found.topic}) is not available yet: choose one of {ready}")
    return [found]


def build(day: DayArgument = None) -> None:
    """Build the instructor's notebooks, with solutions, in build/source/."""
    from ..lessons import build_source

    for each in chosen_days(day):
        console.print(f"{build_source(each)}", markup=False, highlight=False, soft_wrap=True)


def release(day: DayArgument = None) -> None:
    """Build the students' notebooks in course/ with nbgrader's release step."""
    from ..lessons import build_capstone, build_release, build_source, build_start

    for each in chosen_days(day):
        build_source(each)
        console.print(f"{build_release(each)}", markup=False, highlight=False, soft_wrap=True)
    for path in filter(None, (build_start(), build_capstone())):
        console.print(f"{path}", markup=False, highlight=False, soft_wrap=True)


def work() -> None:
    """Copy missing notebooks to work/. Overwrites nothing."""
    from ..lessons import prepare_work

    for path in prepare_work():
        console.print(f"new: {path}", markup=False, highlight=False, soft_wrap=True)


def doctor() -> None:
    """Check this machine and suggest fixes."""
    from ..doctor import findings

    worst = 0
    for finding in findings():
        mark = {"ok": "ok     ", "note": "note   ", "missing": "MISSING"}[finding.state]
        console.print(f"{mark} {finding.what}: {finding.found}", markup=False, highlight=False, soft_wrap=True)
        if finding.remedy:
            console.print(f"        {finding.remedy}", markup=False, highlight=False, soft_wrap=True)
        worst = max(worst, finding.state == "missing")
    if worst:
        raise typer.Exit(1)
