"""A direct writer of records into nbgrader's gradebook: it stores the same rows as nbgrader's converters, without running them.

For each submission nbgrader opens the gradebook ten times, commits twenty-three times and runs two notebook conversions. Here
one connection stays open, a submission is one transaction, and the graded notebook is made in memory from the same parts.
`tests/gradebook/test_writer.py` compares both ways, row by row and cell by cell.
"""

from __future__ import annotations

import contextlib
import json
import queue
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import sqlalchemy as sql
from nbformat import NotebookNode
from nbgrader import api, utils

from ...base.errors import typed_line
from ...base.files import write_whole
from ...grading.records import Record
from ...grading.tasks import Task
from ...lessons import Day
from ..policy.deadlines import due_dates, extensions
from ..policy.timestamps import submitted_at
from . import pages
from .cells import notebook_text
from .gradebook import IN_USE_NOW, MAX_LOST, enter_day, is_in_use
from .preprocessors import Known, exercises_by_grade_id, known_cells, put_cells_right, write_verdicts
from .reading import put_beside, release_notebook, submitted_notebook

if TYPE_CHECKING:
    from .bulk import ClassFolder

PATIENCE_SECONDS = 180.0
"""The seconds for one submission after everything else is done: the limit for a database that neither answers nor refuses."""
DATABASE_ERRORS = ("OperationalError", "InterfaceError", "DatabaseError", "InternalError", "ProgrammingError", "OSError")
GONE = "the gradebook no longer answers; `autograder grade --resume` stores the graded submissions"
STUDENT, SUBMISSION, NOTEBOOK = api.Student.__table__, api.SubmittedAssignment.__table__, api.SubmittedNotebook.__table__
GRADE, COMMENT = api.Grade.__table__, api.Comment.__table__

# Made once: making a statement takes longer than carrying it out.
FIND_STUDENT = sql.select(STUDENT.c.id).where(STUDENT.c.id == sql.bindparam("student"))
FIND_SUBMISSION = sql.select(SUBMISSION.c.id).where(
    (SUBMISSION.c.student_id == sql.bindparam("student")) & (SUBMISSION.c.assignment_id == sql.bindparam("assignment"))
)
FIND_NOTEBOOK = sql.select(NOTEBOOK.c.id).where(
    (NOTEBOOK.c.assignment_id == sql.bindparam("submission")) & (NOTEBOOK.c.notebook_id == sql.bindparam("notebook"))
)
WRITE_GRADE = (
    sql.update(GRADE)
    .where((GRADE.c.notebook_id == sql.bindparam("of_notebook")) & (GRADE.c.cell_id == sql.bindparam("of_cell")))
    .values(auto_score=sql.bindparam("points"), needs_manual_grade=GRADE.c.manual_score.is_not(None) | sql.bindparam("unread"))
)
WRITE_COMMENT = (
    sql.update(COMMENT)
    .where((COMMENT.c.notebook_id == sql.bindparam("of_notebook")) & (COMMENT.c.cell_id == sql.bindparam("of_cell")))
    .values(auto_comment=sql.bindparam("words"))
)
EXTEND = (
    sql.update(SUBMISSION)
    .where((SUBMISSION.c.student_id == sql.bindparam("student")) & (SUBMISSION.c.assignment_id == sql.bindparam("assignment")))
    .values(extension=sql.bindparam("more"))
)
NO_PENALTY = sql.update(NOTEBOOK).where(NOTEBOOK.c.id == sql.bindparam("of_notebook")).values(late_submission_penalty=None)


class DayInGradebook:
    """A day's data from the gradebook and the release notebook, read once per run."""

    def __init__(self, day: Day, db_url: str) -> None:
        self.release = release_notebook(day)
        self.exercises = exercises_by_grade_id(self.release)
        with api.Gradebook(db_url) as gradebook:
            notebook = gradebook.find_notebook(day.slug, day.slug)
            self.assignment_id, self.notebook_id = notebook.assignment_id, notebook.id
            self.kernelspec = json.loads(notebook.kernelspec) if notebook.kernelspec else None
            self.grade_cells = {cell.name: cell.id for cell in notebook.grade_cells}
            self.solution_cells = {cell.name: cell.id for cell in notebook.solution_cells}
            self.known: dict[str, Known] = known_cells(notebook)

    def graded_notebook(self, task: Task, record: Record) -> NotebookNode:
        """Return the submission as formgrader and feedback show it, after the same steps as in `settings.configure`."""
        notebook = submitted_notebook(task.path, task.day, self.release)
        put_cells_right(notebook, self.known, self.release)
        if self.kernelspec:
            notebook.metadata["kernelspec"] = self.kernelspec
        write_verdicts(notebook, record, self.exercises)
        return notebook


class Writer:
    """A writer of records to one gradebook, from one thread."""

    def __init__(self, folder: ClassFolder) -> None:
        self.folder = folder
        self.days: dict[str, DayInGradebook] = {}
        self.engine = sql.create_engine(folder.db_url, connect_args=patience(folder.db_url))
        self.connection: sql.Connection | None = None
        due = due_dates(folder.root)
        self.more_time = {key: when - due[key[1]] for key, when in extensions(folder.root).items() if key[1] in due and when > due[key[1]]}

    def close(self) -> None:
        """Close the connection, even if the database is gone; the next store opens a new one."""
        with contextlib.suppress(sql.exc.SQLAlchemyError):
            if self.connection is not None:
                self.connection.close()
        self.connection = None
        self.engine.dispose()

    def store(self, task: Task, record: Record) -> None:
        """Write the graded notebook to autograded/ and the scores to the gradebook. Repeating it changes nothing."""
        day = self.day(task.day)
        notebook = day.graded_notebook(task, record)
        self.write_files(task, notebook)
        if self.connection is None:
            self.connection = self.engine.connect()
        with self.connection.begin():
            self.write_rows(self.connection, day, task, record, notebook)
            if (more := self.more_time.get((task.student, task.day.slug))) is not None:
                self.connection.execute(EXTEND, {"student": task.student, "assignment": day.assignment_id, "more": more})

    def day(self, day: Day) -> DayInGradebook:
        if day.slug not in self.days:
            enter_day(day, self.folder.db_url)
            self.days[day.slug] = DayInGradebook(day, self.folder.db_url)
        return self.days[day.slug]

    def write_files(self, task: Task, notebook: NotebookNode) -> None:
        target = self.folder.autograded / task.student / task.day.slug
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        put_beside(task.day, task.path.parent, target)  # a student's other files stay where they are
        write_whole(target / f"{task.day.slug}.ipynb", notebook_text(notebook).encode(), mode=0o444)

    @staticmethod
    def write_rows(connection: sql.Connection, day: DayInGradebook, task: Task, record: Record, notebook: NotebookNode) -> None:
        if connection.execute(FIND_STUDENT, {"student": task.student}).first() is None:
            connection.execute(sql.insert(STUDENT).values(id=task.student))
        timestamp = submitted_at(task.path.parent)
        found = connection.execute(FIND_SUBMISSION, {"student": task.student, "assignment": day.assignment_id}).scalar()
        if found is None:
            submitted = add_rows(connection, day, task.student, timestamp)
        else:
            if timestamp is not None:
                connection.execute(sql.update(SUBMISSION).where(SUBMISSION.c.id == found).values(timestamp=timestamp))
            submitted = connection.execute(FIND_NOTEBOOK, {"submission": found, "notebook": day.notebook_id}).scalar_one()
        unread = record.problem is not None  # no score, and formgrader lists it for a person
        scores = {exercise: None if unread else pages.points(record, exercise) for exercise in day.exercises.values()}
        grades = [
            {"of_notebook": submitted, "of_cell": cell_id, "points": scores[day.exercises[grade_id]], "unread": unread}
            for grade_id, cell_id in day.grade_cells.items() if grade_id in day.exercises
        ]  # fmt: skip
        if grades:
            connection.execute(WRITE_GRADE, grades)
        comments = []
        for cell in notebook.cells:
            meta = cell.metadata.get("nbgrader", {})
            if meta.get("solution"):
                unchanged = meta.get("checksum") == utils.compute_checksum(cell)
                words = "No response." if unchanged else None
                comments.append({"of_notebook": submitted, "of_cell": day.solution_cells[meta["grade_id"]], "words": words})
        if comments:
            connection.execute(WRITE_COMMENT, comments)
        connection.execute(NO_PENALTY, {"of_notebook": submitted})


def patience(db_url: str) -> dict[str, Any]:
    """Return the time-outs of a database server, so that a run does not wait for hours for a server that is gone."""
    if sql.make_url(db_url).get_backend_name() != "postgresql":
        return {}
    return {"connect_timeout": 10, "tcp_user_timeout": 60_000, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def add_rows(connection: sql.Connection, day: DayInGradebook, student: str, timestamp: Any) -> str:
    """Add a new submission with an empty row for each cell, as nbgrader's `add_submission` does. Return its notebook's id."""
    submission, notebook = api.new_uuid(), api.new_uuid()
    new = {"id": submission, "assignment_id": day.assignment_id, "student_id": student, "timestamp": timestamp}
    connection.execute(sql.insert(SUBMISSION).values(new))
    connection.execute(sql.insert(NOTEBOOK).values(id=notebook, assignment_id=submission, notebook_id=day.notebook_id))
    for table, cells in ((GRADE, day.grade_cells), (COMMENT, day.solution_cells)):
        rows = [{"id": api.new_uuid(), "notebook_id": notebook, "cell_id": cell_id} for cell_id in cells.values()]
        if rows:
            connection.execute(sql.insert(table), rows)
    return notebook


def reason_of(error: Exception) -> str:
    """Return the line on a submission that was not stored: the error's type, then its first line."""
    return f"{type(error).__name__}: {IN_USE_NOW}" if is_in_use(error) else typed_line(error)


def is_of_the_gradebook(reason: str) -> bool:
    """Return whether a submission was not stored because of the gradebook or the disk, so that other submissions may fail, too."""
    return reason == GONE or reason.partition(":")[0] in DATABASE_ERRORS


class WriterThread:
    """One thread that stores queued records while other threads grade. failures: {(student, slug): error}.

    If the gradebook is lost, the thread tries each further submission, up to MAX_LOST failures in a row. `--resume` stores the rest.
    """

    def __init__(self, folder: ClassFolder, progress: Callable[[str], None] | None = None) -> None:
        self.failures: dict[tuple[str, str], str] = {}
        self.progress = progress
        self.folder = folder
        self.queue: queue.Queue[tuple[Task, Record] | None] = queue.Queue()
        self.waiting: dict[tuple[str, str], None] = {}
        self.last = time.monotonic()
        self.thread = threading.Thread(target=self.work, name="gradebook", daemon=True)

    def put(self, task: Task, record: Record) -> None:
        self.waiting[task.student, task.day.slug] = None
        self.queue.put((task, record))

    def of(self, tasks: Iterable[Task]) -> Callable[[int, int, Record], None]:
        """Return a step for `grade_all` that stores each record except those with an infrastructure fault."""
        by_name = {(task.student, task.day.slug): task for task in tasks}

        def step(done: int, total: int, record: Record) -> None:
            if record.infrastructure is None:
                self.put(by_name[record.student, record.slug], record)

        return step

    def work(self) -> None:
        lost_in_a_row = 0
        with contextlib.closing(Writer(self.folder)) as writer:
            while (item := self.queue.get()) is not None:
                task, record = item
                key = task.student, task.day.slug
                if lost_in_a_row < MAX_LOST:
                    error = self.stored(writer, task, record)
                    lost_in_a_row = lost_in_a_row + 1 if isinstance(error, sql.exc.OperationalError) else 0
                    reason = None if error is None else reason_of(error)
                else:
                    reason = GONE
                if reason is not None:
                    self.failures[key] = reason
                self.waiting.pop(key, None)
                self.last = time.monotonic()
                if self.progress is not None:
                    self.progress(task.student)

    @staticmethod
    def stored(writer: Writer, task: Task, record: Record) -> Exception | None:
        """Store a record; after a database error, try once more over a new connection. Return the error, or None."""
        for last in (False, True):
            try:
                writer.store(task, record)
                return None
            except Exception as error:  # the next one may go well
                if last or not isinstance(error, sql.exc.DBAPIError):
                    return error
                writer.close()
        return None

    def __enter__(self) -> WriterThread:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.queue.put(None)
        self.last = time.monotonic()
        while self.thread.is_alive() and time.monotonic() - self.last < PATIENCE_SECONDS:
            self.thread.join(0.2)
        for key in list(self.waiting) if self.thread.is_alive() else []:
            self.failures[key] = GONE
