"""Commands for a student at a terminal: check, progress."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..errors import CourseError

console = Console()


def register(app: typer.Typer) -> None:
    app.command()(check)
    app.command()(progress)


def check(
    day: Annotated[str, typer.Argument(help="A day: day05, 5, samplers.")],
    exercise: Annotated[str | None, typer.Option(help="One exercise; all of the day's if left out.")] = None,
    notebook: Annotated[Path | None, typer.Option(help="Another file than work/<day>/<day>.ipynb.")] = None,
) -> None:
    """Holds your notebook against the checks you may see, as `check(...)` in the notebook does."""
    from .. import desk, render
    from ..course_table import earlier_sources
    from ..grading.grade import explain_missing, our_cells
    from ..grading.namespaces import Cell, Far
    from ..grading.submission import read_submission
    from ..lessons import lesson
    from ..runner import run_checks, select, share
    from .course import chosen_days

    (found,) = chosen_days(day)
    exercises = [e for e in lesson(found).exercises if exercise in (None, e.name)]
    if not exercises:
        raise CourseError(f"no exercise {exercise!r} in {found.slug}; it has {', '.join(e.name for e in lesson(found).exercises)}")
    path = notebook or (desk.desk_folder() or Path("work")) / found.slug / f"{found.slug}.ipynb"
    if not path.exists():
        raise CourseError(f"no notebook at {path}: `autograder work` puts the released one there, or name yours with --notebook")
    submission = read_submission(path, found.slug, our_cells(found))
    far = Far(found.topic, [Cell("setup", lesson(found).setup), *submission.cells], earlier_sources(found.topic))
    everything = True
    try:
        far.start()
        for each in exercises:
            verdicts = run_checks(found.topic, select(found.topic, exercise=each.name, hidden=False), far)
            for verdict in verdicts:
                explain_missing(verdict, far, submission.homes)
            everything &= not any(v.failed for v in verdicts)
            points = each.points * share(verdicts)
            console.print(render.text_table(each.name, verdicts, points, each.points), markup=False, highlight=False, soft_wrap=True)
            if notebook is None:
                desk.note_standing(found.topic, each.name, round(points, 4), each.points, not any(v.failed for v in verdicts))
    finally:
        far.close()
    if not everything:
        raise typer.Exit(1)


def progress() -> None:
    """Days, exercises and points so far."""
    from ..student import progress as show

    show()
