"""The notebook that students get, made by nbgrader's own `generate_assignment`, with stubs that name their exercise."""

from __future__ import annotations

import io
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.base.errors import CourseError
from autograder.lessons.notebooks import as_bytes, source_notebook, write_if_changed
from autograder.lessons.syllabus import Day

if TYPE_CHECKING:
    from traitlets.config import Config


def release_notebook_path(day: Day) -> Path:
    return day.folder / f"{day.slug}.ipynb"


def build_release(day: Day) -> Path:
    """Write course/<slug>/<slug>.ipynb if it changed, and no other file. Return its path."""
    path = release_notebook_path(day)
    write_if_changed(path, release_bytes(day))
    return path


def release_bytes(day: Day, db_url: str | None = None, parent: Path | None = None) -> bytes:
    """Return the release notebook. Each build has a workspace of its own (in `parent`), so builds can run in parallel.

    With a db_url nbgrader also enters the day, its cells and points into that gradebook. Raises CourseError with nbgrader's own message if
    nbgrader refuses the notebook.
    """
    with tempfile.TemporaryDirectory(prefix="release-", dir=parent) as folder:
        source = Path(folder) / "source" / day.slug / f"{day.slug}.ipynb"
        source.parent.mkdir(parents=True)
        source.write_bytes(as_bytes(source_notebook(day)))
        _generate_assignment(Path(folder), day, db_url)
        released = Path(folder) / "release" / day.slug / f"{day.slug}.ipynb"
        return released.read_bytes().rstrip(b"\n") + b"\n"


def generate_assignment_config(db_url: str | None = None) -> Config:
    """Return nbgrader's settings for a release: its own steps, but our ClearAnswers for ClearSolutions.

    `nbgrader_config.py` uses these settings, too. Without a db_url nothing is written to a gradebook.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import ClearSolutions
    from traitlets.config import Config

    from autograder.lessons.clear_answers import ClearAnswers

    steps: list[Any] = GenerateAssignment.preprocessors.default_args[0]
    config = Config()
    config.GenerateAssignment.preprocessors = [ClearAnswers if step is ClearSolutions else step for step in steps]
    if db_url is None:
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
    return config


def _generate_assignment(folder: Path, day: Day, db_url: str | None) -> None:
    from nbgrader.converters import GenerateAssignment
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    # nbgrader calls `alembic` as a command when it makes a gradebook; it is beside the interpreter.
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ.get("PATH", "")

    words = io.StringIO()
    log = logging.getLogger("autograder.release")
    log.propagate = False
    log.handlers = [logging.StreamHandler(words)]
    config = generate_assignment_config(db_url)
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.assignment_id = day.slug
    if db_url is not None:
        config.CourseDirectory.db_url = db_url
    try:
        GenerateAssignment(coursedir=CourseDirectory(config=config, log=log), config=config, log=log).start()
    except NbGraderException:
        reason = _last_error(words.getvalue())
        raise CourseError(f"nbgrader refuses the notebook of {day.slug}: {reason}") from None


def _last_error(words: str) -> str:
    """Return the line that ends the traceback in nbgrader's log."""
    lines = [line for line in words.splitlines() if line.strip()]
    in_traceback = False
    found = lines[-1] if lines else "it gave no reason"
    for line in lines:
        if line.startswith("Traceback"):
            in_traceback = True
        elif in_traceback and not line.startswith(" "):
            found, in_traceback = line, False
    return found
