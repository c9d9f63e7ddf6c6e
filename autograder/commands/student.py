"""Commands for a student at a terminal: check, judge-test, progress, reset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..base.errors import CourseError
from .grading import tell

if TYPE_CHECKING:
    from ..base.verdicts import Verdict
    from ..lessons import Day

console = Console()
REPORTED = ("check", "title", "weight", "outcome", "message", "expected", "got", "cause", "same_as", "lines", "ratio", "ratio_limit")
"""The fields of a verdict with --json."""


def register(app: typer.Typer) -> None:
    app.command()(check)
    app.command()(judge_test)
    app.command()(progress)
    app.command()(reset)


def day_and_notebook(target: str | None) -> tuple[Day, Path | None]:
    """Return the day, and the notebook if the target is a path or the current folder is a day's. Raises CourseError."""
    from ..gradebook.lms.naming import day_of
    from ..lessons import syllabus
    from .course import chosen_days

    if target is None:
        here = Path.cwd()
        day = next((day for day in syllabus() if day.slug == here.name or (here / f"{day.slug}.ipynb").exists()), None)
        if day is None:
            raise CourseError("no day given: give one (day05, 5, samplers) or a notebook, or run this in a day's folder")
        path = here / f"{day.slug}.ipynb"
        return day, path if path.exists() else None
    path = Path(target)
    if path.suffix == ".ipynb" or path.is_file():
        try:
            found = day_of(path.name, path.read_bytes())
        except OSError as error:
            raise CourseError(f"{path}: {error.strerror}") from None
        if found is None:
            raise CourseError(f"{path}: neither its name nor its metadata names a day: rename it, for example day05_samplers.ipynb")
        return found, path
    (day,) = chosen_days(target)
    return day, None


def check(
    target: Annotated[
        str | None, typer.Argument(metavar="DAY|NOTEBOOK", help="day05, samplers, or a notebook's path; default: the day of this folder.")
    ] = None,
    exercise: Annotated[str | None, typer.Option(help="One exercise; default: all of the day.")] = None,
    notebook: Annotated[Path | None, typer.Option(help="Notebook; default: work/<day>/<day>.ipynb.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
    graded: Annotated[bool, typer.Option("--graded", help="Grade the notebook in the sandbox, with hidden checks too.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="With --graded: the seed of the inputs, to repeat a run; default: drawn.")] = None,
) -> None:
    """Run the visible checks on your notebook, as `check(...)` does. With --graded: all checks, as in grading, and nothing is stored."""
    from ..base.verdicts import only_stubs, share
    from ..lessons import lesson
    from ..notebook import render, workspace
    from ..notebook.session import Session

    found, given = day_and_notebook(target)
    if notebook is None and given is not None and given.resolve() != workspace.notebook_path(found).resolve():
        notebook = given
    exercises = [e for e in lesson(found).exercises if exercise in (None, e.name)]
    if not exercises:
        raise CourseError(f"no exercise {exercise!r} in {found.slug}: choose one of {', '.join(e.name for e in lesson(found).exercises)}")
    path = notebook or workspace.notebook_path(found)
    if not path.exists():
        raise CourseError(f"no notebook at {path}: run `autograder work` to get the released one, or name yours with --notebook")
    if graded:
        _grade(found, path, found.slug if notebook is None else str(path), exercise, seed, as_json)
        return
    if seed is not None:
        raise CourseError("--seed is for hidden checks with fresh inputs: add --graded, or leave it out")
    session = Session(found, path)
    outcomes = []
    try:
        for each in exercises:
            verdicts = session.verdicts(each.name)
            points, passed = each.points * share(verdicts), not any(v.failed for v in verdicts)
            outcomes.append(_as_data(each.name, verdicts, points, each.points, passed))
            if not as_json and only_stubs(each.name, verdicts):
                tell(f"{each.name}: not written yet")
            elif not as_json:
                console.print(render.text_table(each.name, verdicts, points, each.points), markup=False, highlight=False, soft_wrap=True)
            if notebook is None:
                workspace.note_standing(found.topic, each.name, round(points, 4), each.points, passed)
    finally:
        session.close()
    if as_json:
        print(json.dumps({"day": found.slug, "exercises": outcomes}, indent=1, ensure_ascii=False))
    if not all(each["passed"] for each in outcomes):
        raise typer.Exit(1)


def _grade(day: Day, path: Path, target: str, exercise: str | None, seed: int | None, as_json: bool) -> None:
    """Grade a notebook, as `autograder grade` does, and print the report.

    target: the notebook as named in the command that repeats the run.
    """
    from ..notebook.graded import report_table
    from .graded import judged, report, tell_level

    found = report(day, judged(day, path, exercise, seed), exercise, target)
    tell_level()
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        tell(repr(report_table(found)))
    if not all(each["passed"] for each in found["exercises"]):
        raise typer.Exit(1)


def _as_data(exercise: str, verdicts: list[Verdict], points: float, max_points: float, passed: bool) -> dict[str, Any]:
    checks = [{name: getattr(verdict, name) for name in REPORTED} for verdict in verdicts]
    return {"exercise": exercise, "points": round(points, 4), "max_points": max_points, "passed": passed, "checks": checks}


def judge_test(
    exercise: Annotated[str, typer.Argument(help="Exercise, for example causal_mask.")],
    file: Annotated[Path, typer.Argument(help="A Python file with the function test_EXERCISE(x).")],
) -> None:
    """Run your test on correct and incorrect solutions of an exercise, as `judge_test(...)` does."""
    from ..certification.written_tests.report import report_on_source
    from ..certification.written_tests.tasks import task

    which = task(exercise)
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{file} cannot be read ({error})") from None
    if f"def test_{exercise}(" not in source:
        raise CourseError(f"{file} has no function `test_{exercise}(x)`")
    for line in report_on_source(which, source, f"test_{exercise}"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def progress() -> None:
    """Show days, exercises and points so far."""
    from ..notebook.progress import progress as show

    show()


def reset(
    day: Annotated[str, typer.Argument(help="A day: day05, 5, samplers.")],
    exercise: Annotated[str | None, typer.Option(help="One exercise; default: the whole notebook.")] = None,
) -> None:
    """Reset an exercise's cell, or a whole day, to its released state. Your file is saved in backups/."""
    from ..lessons.reset import reset as give_back
    from ..notebook import workspace
    from .course import chosen_days

    (found,) = chosen_days(day)
    backup = give_back(found, workspace.workspace_folder() or Path("work"), exercise)
    what = f"{exercise} in {found.slug} is" if exercise else f"{found.slug} is"
    console.print(f"{what} as it was released; your previous version: {backup}", markup=False, highlight=False, soft_wrap=True)
    console.print("If the notebook is open in Lab: File, Reload Notebook from Disk.", markup=False, highlight=False)
