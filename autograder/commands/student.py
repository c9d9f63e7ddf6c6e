"""Commands for a student at a terminal: check, progress, reset."""

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
    app.command()(reset)


def check(
    day: Annotated[str, typer.Argument(help="A day: day05, 5, samplers.")],
    exercise: Annotated[str | None, typer.Option(help="One exercise; all of the day's if left out.")] = None,
    notebook: Annotated[Path | None, typer.Option(help="Another file than work/<day>/<day>.ipynb.")] = None,
) -> None:
    """Holds your notebook against the checks you may see, as `check(...)` in the notebook does."""
    from .. import desk, render
    from ..course_table import earlier_sources
    from ..grading.far import Cell, Far
    from ..grading.grade import explain_missing, our_cells
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


def reset(
    day: Annotated[str, typer.Argument(help="A day: day05, 5, samplers.")],
    exercise: Annotated[str | None, typer.Option(help="One exercise; the whole notebook if left out.")] = None,
) -> None:
    """Gives an exercise's cell (or the whole day) back as it was released; your file as it was is kept in backups/."""
    from .. import desk
    from ..lessons.reset import reset as give_back
    from .course import chosen_days

    (found,) = chosen_days(day)
    backup = give_back(found, desk.desk_folder() or Path("work"), exercise)
    what = f"{exercise} in {found.slug} is" if exercise else f"{found.slug} is"
    console.print(f"{what} as it was released; what you had: {backup}", markup=False, highlight=False, soft_wrap=True)
    console.print("If the notebook is open in Lab: File, Reload Notebook from Disk.", markup=False, highlight=False)
