"""The books of a whole class at once: nbgrader's own converters store records and make feedback pages, without their log messages."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from nbgrader.converters import Autograde, GenerateFeedback, NbGraderException
from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import OperationalError
from traitlets.config import Config

from ...grading.tasks import Task
from ...lessons import Day
from ..policy.class_tables import book_class
from ..policy.timestamps import submitted_at
from .class_folder import ClassFolder
from .gradebook import IN_USE_NOW, MAX_LOST, enter_day, is_in_use, one_engine
from .settings import configure

Progress = Callable[[str], None]
NO_ANSWER = "the gradebook no longer answers"


def store(folder: ClassFolder, tasks: Iterable[Task], progress: Progress | None = None) -> dict[tuple[str, str], str]:
    """Store the records of these submissions in the gradebook. Return {(student, slug): error}.

    progress: called with the student's id after each submission. Raises CourseError if the gradebook cannot be used.
    """
    by_day: dict[Day, list[Task]] = {}
    for task in tasks:
        by_day.setdefault(task.day, []).append(task)
    failures: dict[tuple[str, str], str] = {}
    for day, of_day in by_day.items():
        enter_day(day, folder.db_url)
        book_class(folder.root, folder.db_url, [day])
        students = [task.student for task in of_day]
        failures |= _run(_ClassAutograde, folder, day, students, folder.autograded, ".ipynb", progress)
    return failures


def write_feedback(folder: ClassFolder, day: Day, progress: Progress | None = None) -> dict[tuple[str, str], str]:
    """Write feedback/<student>/<slug>/<slug>.html for every graded submission of the day. Return {(student, slug): error}."""
    students = graded_students(folder, day)
    return _run(_ClassFeedback, folder, day, students, folder.feedback, ".html", progress)


def booked_scores(folder: ClassFolder, days: Iterable[Day]) -> dict[tuple[str, str], float]:
    """Return {(student, slug): score} of all submissions in the gradebook."""
    from nbgrader.api import Gradebook, MissingEntry

    scores: dict[tuple[str, str], float] = {}
    with Gradebook(folder.db_url) as gradebook:
        for day in days:
            with contextlib.suppress(MissingEntry):
                scores |= {(s.student.id, day.slug): s.score for s in gradebook.assignment_submissions(day.slug)}
    return scores


def graded_students(folder: ClassFolder, day: Day) -> list[str]:
    return sorted(path.parents[1].name for path in folder.autograded.glob(f"*/{day.slug}/{day.slug}.ipynb"))


def _run(
    kind: type[_OneByOne],
    folder: ClassFolder,
    day: Day,
    students: list[str],
    results: Path,
    suffix: str,
    progress: Progress | None,
) -> dict[tuple[str, str], str]:
    if not students:
        return {}
    log = _Log()
    config = _config(folder, day)
    converter = kind(coursedir=_ClassDirectory(config=config, log=log), config=config, log=log)
    converter.force = True
    converter.students, converter.words, converter.progress = students, log.words, progress
    converter.left = set(students)
    with one_engine(), warnings.catch_warnings(), contextlib.suppress(NbGraderException):  # errors are reported below, by name
        warnings.simplefilter("ignore")
        converter.start()
    if progress is not None and log.words.student:
        progress(log.words.student)
    missing = [s for s in students if s in converter.left or not (results / s / day.slug / f"{day.slug}{suffix}").exists()]
    return {(s, day.slug): NO_ANSWER if s in converter.left else log.words.reason(s) for s in missing}


def _config(folder: ClassFolder, day: Day) -> Config:
    config = Config()
    configure(config)
    config.CourseDirectory.root = str(folder.root)
    config.CourseDirectory.submitted_directory = folder.submitted.name
    config.CourseDirectory.source_directory = os.path.relpath(day.root / "build" / "source", folder.root)
    config.CourseDirectory.db_url = folder.db_url
    config.CourseDirectory.assignment_id = day.slug
    return config


class _OneByOne(BaseConverter):
    """nbgrader's converter for a list of students, with a record of errors by student."""

    students: Sequence[str] = ()
    words: _Words
    progress: Progress | None = None
    left: set[str]
    """The students whose turn has not come."""

    def init_notebooks(self) -> None:
        slug = self.coursedir.assignment_id
        folders = [self._format_source(slug, student) for student in self.students]
        self.assignments = {folder: [os.path.join(folder, f"{slug}.ipynb")] for folder in folders}
        self.of_folder = dict(zip(folders, self.students, strict=True))

    def convert_notebooks(self) -> None:
        """Convert one submission after the other. An error of one does not stop the others; a database that is gone does."""
        lost_in_a_row = 0
        for folder, notebooks in sorted(self.assignments.items()):
            self.assignments = {folder: notebooks}
            self.left.discard(self.of_folder[folder])
            try:
                super().convert_notebooks()
                lost_in_a_row = 0
            except NbGraderException as error:  # logged already
                lost_in_a_row = lost_in_a_row + 1 if isinstance(error.__context__, OperationalError) else 0
                if error.__context__ is not None and is_in_use(error.__context__):
                    self.log.error("OperationalError: %s", IN_USE_NOW)
            except Exception as error:  # of the clearing up after an error, such as a full disk
                self.log.error("%s: %s", type(error).__name__, error)
            if lost_in_a_row == MAX_LOST:
                break

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        if self.words.student and self.progress is not None:
            self.progress(self.words.student)
        self.words.student = student_id
        return bool(super().init_destination(assignment_id, student_id))


class _ClassAutograde(_OneByOne, Autograde):
    pass


class _ClassFeedback(_OneByOne, GenerateFeedback):
    pass


class _Words(logging.Handler):
    """The errors that nbgrader logs, by student."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.student = ""
        self.lines: dict[str, list[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.setdefault(self.student, []).append(record.getMessage())

    def reason(self, student: str) -> str:
        """Return the line of the student's last exception, or else the last line."""
        lines = [line for text in self.lines.get(student, []) for line in text.splitlines() if line.strip()]
        ends = [line for line in lines if line[0].isalpha() and ": " in line and not line.startswith("There was")]
        return (ends or lines or ["nbgrader gave no reason"])[-1]


class _ClassDirectory(CourseDirectory):
    """nbgrader's course directory, which ignores invalid timestamps of students."""

    def get_existing_timestamp(self, dest_path: str) -> Any:
        return submitted_at(Path(dest_path))


class _Log(logging.Logger):
    def __init__(self) -> None:
        super().__init__("autograder.nbgrader")
        self.words = _Words()
        self.addHandler(self.words)

    def __reduce__(self) -> Any:
        return _Log, ()
