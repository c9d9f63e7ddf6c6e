"""Commands that begin a class and give it work: class, new, bundle, and gradescope, for a class that is graded there."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ..base import own
from .course import DayArgument, chosen_days
from .grading import use_own_checks

if TYPE_CHECKING:
    from ..lessons import Day

console = Console()


def register(app: typer.Typer) -> None:
    app.command("class")(make_class)
    app.command()(new)
    app.command()(bundle)
    app.command()(gradescope)


NBGRADER_CONFIG = '''"""nbgrader's settings for this class: its folders and the course's own steps; written by `autograder class`."""

import os
from pathlib import Path

from autograder.base import own
from autograder.lessons import ROOT
from autograder.gradebook.books.settings import configure

c = get_config()  # noqa: F821 - nbgrader gives it
configure(c)
here = Path(__file__).resolve().parent
own.use(own.folder_of(here))
c.CourseDirectory.root = str(here)
c.CourseDirectory.source_directory = os.path.relpath(ROOT / "build" / "source", here)
c.CourseDirectory.release_directory = "release"
'''
ROSTER_HEAD = "id,lms_id,name,email\n"


def make_class(folder: Annotated[Path, typer.Argument(help="A folder for one class and one term.")] = Path()) -> None:
    """Prepare a folder for a class: nbgrader's settings, an empty roster, formgrader's list of days. Overwrites nothing."""
    from ..lessons import build_source, syllabus

    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("nbgrader_config.py", NBGRADER_CONFIG), ("roster.csv", ROSTER_HEAD)):
        path = folder / name
        if path.exists():
            console.print(f"already exists: {path}", markup=False, highlight=False, soft_wrap=True)
        else:
            path.write_text(text, encoding="utf-8")
            console.print(f"new: {path}", markup=False, highlight=False, soft_wrap=True)
    (folder / "submitted").mkdir(exist_ok=True)
    for day in syllabus():
        if day.ready:
            build_source(day)


class Kind(enum.StrEnum):
    day = "day"


def new(
    kind: Annotated[Kind, typer.Argument(help="Kind of material: day.")],
    name: Annotated[str, typer.Argument(help="Its topic, a Python name: eta_sampling.")],
    folder: Annotated[Path, typer.Option("--into", help="Folder of the class's own material.")] = Path(own.FOLDER),
) -> None:
    """Begin a day of your own: lesson, reference solution, checks and specimens, all green. Overwrites nothing."""
    from ..lessons.scaffold import write_day

    for path in write_day(name, folder.absolute()):
        console.print(f"new: {path}", markup=False, highlight=False, soft_wrap=True)


def bundle(
    day: DayArgument = None,
    folder: Annotated[Path, typer.Option("--to", help="Output folder.")] = Path("bundles"),
) -> None:
    """Pack a day for students: notebook, visible checks and kit, without solutions of this or a later day."""
    from ..gradebook.lms.bundle import write_bundle

    _write_zips(write_bundle, day, folder)


def gradescope(
    day: DayArgument = None,
    folder: Annotated[Path, typer.Option("--to", help="Output folder.")] = Path("gradescope"),
) -> None:
    """Pack a day's autograder for Gradescope, with hidden checks. For staff only."""
    from ..gradebook.lms.gradescope_zip import write_zip

    use_own_checks(Path(), (each.topic for each in chosen_days(day)))
    _write_zips(write_zip, day, folder)


def _write_zips(write: Callable[[Day, Path], Path], day: str | None, folder: Path) -> None:
    for each in chosen_days(day):
        path = write(each, folder)
        console.print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)", markup=False, highlight=False, soft_wrap=True)
