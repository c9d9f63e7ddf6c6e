"""The gradebook: nbgrader's database, checked before it is changed, and filled with the course's days."""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ...base.errors import CourseError, Unavailable, first_line
from ...lessons import Day, build_source, release_bytes, release_notebook_path, source_path

if TYPE_CHECKING:
    from sqlalchemy import Connection, Update

    from ..policy.roster import Person

VERSIONS = "select version_num from alembic_version"
REVISION = re.compile(r"^(revision|down_revision) = (?:'(\w+)'|None)$", re.MULTILINE)


def gradebook_url(text: str | Path) -> str:
    """Return a database's URL, from a URL or from the path of an SQLite file."""
    text = str(text)
    return text if "://" in text else f"sqlite:///{Path(text).absolute()}"


@contextlib.contextmanager
def one_engine() -> Iterator[None]:
    """Let all gradebooks that are opened in the body share one engine for each URL, with its compiled statements.

    nbgrader opens the gradebook ten times a submission, each time with a new engine. Compiling the statements again takes longer than
    running them. Closing a gradebook still closes the engine's connections.
    """
    from nbgrader import api

    made = api.create_engine
    api.create_engine = functools.cache(made)
    try:
        yield
    finally:
        api.create_engine = made


def check_gradebook(db_url: str) -> None:
    """Raise CourseError if the gradebook is damaged or has another version than the installed nbgrader's.

    A missing gradebook is not an error. The function changes nothing.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(db_url)
    except ArgumentError:
        form = "give the path of a file, or a URL such as postgresql://user@host/name"
        raise CourseError(f"{db_url!r} is not a database: {form}") from None
    if url.get_backend_name() == "sqlite":
        if url.database and url.database != ":memory:":
            _check_file(Path(url.database))
    else:
        _check_server(db_url, url.render_as_string(hide_password=True))


def enter_day(day: Day, db_url: str) -> None:
    """Add this day with its cells and points to the gradebook. This is cheap if the gradebook has the day already.

    nbgrader's own `generate_assignment` does the work. Raises CourseError.
    """
    put_alembic_on_path()
    path = _file_of(db_url)
    if path is None:
        _prepare_server(db_url)
    with _temporary_folder(path) as temporary:
        if path is not None and temporary is not None and not (path.exists() and path.stat().st_size):
            _make_file(path, temporary)
        if not _has_day(day, db_url):
            _enter_day(day, db_url, temporary)
    if not source_path(day).exists():  # formgrader lists the days of which there is one
        build_source(day)


def set_due_date(day: Day, when: datetime.datetime | None, db_url: str) -> None:
    """Set a day's due date, for formgrader and nbgrader's late penalties; do nothing if the gradebook has no such day yet.

    nbgrader stores the date in UTC, without a zone.
    """
    import sqlalchemy as sql

    table = sql.table("assignment", sql.column("name"), sql.column("duedate", sql.DateTime()))
    naive = when.astimezone(datetime.UTC).replace(tzinfo=None) if when else None
    _update(db_url, sql.update(table).where(table.c.name == day.slug).values(duedate=naive))


def set_extension(day: Day, student: str, more: datetime.timedelta | None, db_url: str) -> None:
    """Set a student's extra time beyond the class's due date; do nothing if the gradebook does not have the submission yet."""
    import sqlalchemy as sql

    days = sql.table("assignment", sql.column("id"), sql.column("name"))
    table = sql.table(
        "submitted_assignment", sql.column("assignment_id"), sql.column("student_id"), sql.column("extension", sql.Interval())
    )
    of_day = table.c.assignment_id.in_(sql.select(days.c.id).where(days.c.name == day.slug))
    _update(db_url, sql.update(table).where((table.c.student_id == student) & of_day).values(extension=more))


def set_people(people: Iterable[Person], db_url: str) -> None:
    """Set names and addresses of these students, and add missing students. Empty fields change nothing."""
    import sqlalchemy as sql

    table = sql.table("student", *(sql.column(name) for name in ("id", "first_name", "last_name", "email")))
    with _there(db_url, "student") as connection:
        if connection is None:
            return
        there = set(connection.execute(sql.select(table.c.id)).scalars())
        for person in people:
            first, last = person.first_and_last
            known = {key: text for key, text in (("first_name", first), ("last_name", last), ("email", person.email)) if text}
            if person.id not in there:
                connection.execute(sql.insert(table).values(id=person.id, **known))
            elif known:
                connection.execute(sql.update(table).where(table.c.id == person.id).values(**known))


def set_penalty(day: Day, points: Mapping[str, float], db_url: str) -> None:
    """Set the points subtracted for lateness, by student; do nothing for a student without a submission in the gradebook."""
    import sqlalchemy as sql

    days = sql.table("assignment", sql.column("id"), sql.column("name"))
    submissions = sql.table("submitted_assignment", sql.column("id"), sql.column("assignment_id"), sql.column("student_id"))
    table = sql.table("submitted_notebook", sql.column("assignment_id"), sql.column("late_submission_penalty"))
    of_day = submissions.c.assignment_id.in_(sql.select(days.c.id).where(days.c.name == day.slug))
    mine = sql.select(submissions.c.id).where((submissions.c.student_id == sql.bindparam("student")) & of_day)
    statement = sql.update(table).where(table.c.assignment_id.in_(mine)).values(late_submission_penalty=sql.bindparam("points"))
    if points:
        _update(db_url, statement, [{"student": student, "points": taken or None} for student, taken in points.items()])


def _update(db_url: str, statement: Update, rows: Sequence[dict[str, Any]] = ()) -> None:
    """Execute a statement if there is a gradebook."""
    with _there(db_url, "submitted_assignment") as connection:
        if connection is not None:
            connection.execute(statement, rows or None)


@contextlib.contextmanager
def _there(db_url: str, table: str) -> Iterator[Connection | None]:
    """Yield a connection to the gradebook in one transaction; None if the gradebook or this table does not exist yet."""
    import sqlalchemy as sql

    path = _file_of(db_url)
    if path is not None and not path.exists():
        yield None
        return
    engine = sql.create_engine(db_url)
    with engine.begin() as connection:
        yield connection if sql.inspect(connection).has_table(table) else None
    engine.dispose()


def _enter_day(day: Day, db_url: str, temporary: Path | None) -> None:
    try:
        release_bytes(day, db_url, temporary)
    except CourseError as error:
        if "there are submissions associated" not in str(error):
            raise
        raise CourseError(
            f"the gradebook has submissions of {day.slug} from before its exercises changed: "
            "move the gradebook away, or name a new one with --db"
        ) from None


@contextlib.contextmanager
def _temporary_folder(path: Path | None) -> Iterator[Path | None]:
    """Yield a temporary folder beside the gradebook's file; None for a database on a server.

    Folders that killed runs left there are removed first.
    """
    if path is None:
        yield None
        return
    prefix = f".{path.name}-"
    for left in path.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=prefix) as folder:
        yield Path(folder)


def _file_of(db_url: str) -> Path | None:
    from sqlalchemy.engine import make_url

    url = make_url(db_url)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:") else None


def _make_file(path: Path, temporary: Path) -> None:
    """Make an empty gradebook in the temporary folder, then move it to its path. A killed process leaves no incomplete gradebook there."""
    from sqlalchemy import create_engine

    made = temporary / path.name
    engine = create_engine(gradebook_url(made))
    with engine.begin() as connection:
        _make_tables(connection)
    engine.dispose()
    os.replace(made, path)


def _prepare_server(db_url: str) -> None:
    """Make the tables in a server's database, all or none of them, and the course with an empty name.

    If no course is configured, nbgrader uses this course for all assignments, but does not make its row. SQLite accepts the missing row.
    """
    from nbgrader.api import Course
    from sqlalchemy import create_engine, insert, inspect, select

    engine, course = create_engine(db_url), Course.__table__
    with engine.begin() as connection:
        if not inspect(connection).get_table_names():
            _make_tables(connection)
        if connection.execute(select(course.c.id).where(course.c.id == "")).first() is None:
            connection.execute(insert(course).values(id=""))
    engine.dispose()


def _make_tables(connection: Connection) -> None:
    from nbgrader.api import Base
    from sqlalchemy import text

    Base.metadata.create_all(bind=connection)
    connection.execute(text("create table alembic_version (version_num varchar(32) not null)"))
    connection.execute(text("insert into alembic_version (version_num) values (:version)"), {"version": schema_version()})


def put_alembic_on_path() -> None:
    """Put `alembic` on the PATH.

    nbgrader calls this command to make a gradebook. Without the command nbgrader leaves an incomplete gradebook.
    """
    beside = str(Path(sys.executable).parent)
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", "")])


@functools.cache
def schema_version() -> str:
    """Return the version of gradebooks that the installed nbgrader makes and reads: the last of its migrations.

    The function reads the migrations' files, as alembic does, because importing nbgrader would take longer than most commands.
    """
    spec = importlib.util.find_spec("nbgrader")
    assert spec is not None
    assert spec.origin is not None
    files = (Path(spec.origin).parent / "alembic" / "versions").glob("*.py")
    steps = [dict(REVISION.findall(path.read_text(encoding="utf-8"))) for path in files]
    (last,) = {step["revision"] for step in steps} - {step["down_revision"] for step in steps}
    return last


def _uri(path: Path, mode: str) -> str:
    """Return SQLite's address of a file. The name of a folder above it need not be UTF-8."""
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def _check_file(path: Path) -> None:
    if path.is_dir() or not path.parent.is_dir():
        raise CourseError(f"{path} cannot be a gradebook: give a file in a folder that exists")
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        # A run that was killed can leave a journal: the file is whole again only when it has been opened for writing.
        mode = "rw" if path.with_name(f"{path.name}-journal").exists() else "ro"
        with closing(sqlite3.connect(_uri(path, mode), uri=True, timeout=1)) as connection:
            tables = {row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")}
            versions = [row[0] for row in connection.execute(VERSIONS)] if "alembic_version" in tables else []
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from None
    _check_version(str(path), tables, versions)


MAX_LOST = 3
"""The number of submissions in a row without an answer from the database after which the others are not tried."""
IN_USE_NOW = "the gradebook is in use by another program"
IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
NOT_READABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH)
NO_DATABASE = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def is_in_use(error: BaseException) -> bool:
    """Return whether a database error, or SQLAlchemy's error around it, says that another program holds the gradebook's file."""
    error = getattr(error, "orig", None) or error
    return isinstance(error, sqlite3.DatabaseError) and getattr(error, "sqlite_errorcode", 0) & 0xFF in IN_USE


def check_writable(db_url: str) -> None:
    """Raise CourseError if the gradebook cannot be written now, in a short wait. The function changes nothing."""
    path = _file_of(db_url)
    if path is None:
        check_gradebook(db_url)
        return
    try:
        with closing(sqlite3.connect(_uri(path, "rw"), uri=True, timeout=1, isolation_level=None)) as connection:
            connection.execute("begin immediate")
            connection.execute("rollback")
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: sqlite3.DatabaseError) -> CourseError:
    """Return the error with the problem of a gradebook's file, and the remedy. Only a file that is not a database should be moved away."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says more exactly
    if code in IN_USE:
        return Unavailable(f"{path} is in use by another program: try again when that program has finished")
    if code in NOT_READABLE:
        return Unavailable(f"{path} cannot be opened ({error}): look at its permissions and those of its folder")
    if code in NO_DATABASE:
        return CourseError(f"{path} is not a gradebook ({error}): move it away, or name another with --db")
    return Unavailable(f"{path} cannot be read ({error}): make a copy of it and try again")


def _check_server(db_url: str, shown: str) -> None:
    from sqlalchemy import create_engine, inspect, text
    from sqlalchemy.exc import OperationalError, SQLAlchemyError

    try:
        engine = create_engine(db_url)
        with engine.connect() as connection:
            tables = set(inspect(connection).get_table_names())
            versions = [row[0] for row in connection.execute(text(VERSIONS))] if "alembic_version" in tables else []
        engine.dispose()
    except (SQLAlchemyError, ImportError) as error:
        kind = Unavailable if isinstance(error, OperationalError) else CourseError
        raise kind(f"the gradebook {shown} cannot be reached: {first_line(error)}") from None
    _check_version(shown, tables, versions)


def _check_version(name: str, tables: set[str], versions: list[str]) -> None:
    if not tables:
        return
    if not versions or "submitted_assignment" not in tables:
        raise CourseError(f"{name} is a database, but not a gradebook: move it away, or name another with --db")
    if versions != [schema_version()]:
        raise CourseError(
            f"{name} is a gradebook of schema version {versions[0]}, this nbgrader reads {schema_version()}: "
            "make a copy of it and run `nbgrader db upgrade`, or name another with --db"
        )


def _has_day(day: Day, db_url: str) -> bool:
    """Return whether the gradebook's cells of this day are exactly those of the release notebook."""
    from nbgrader.api import Gradebook, MissingEntry

    path = release_notebook_path(day)
    if not path.exists():
        return False
    with Gradebook(db_url) as gradebook:
        try:
            notebook = gradebook.find_notebook(day.slug, day.slug)
        except MissingEntry:
            return False
        sources = {cell.name: (cell.cell_type, cell.source, bool(cell.locked)) for cell in notebook.source_cells}
        points = {cell.name: float(cell.max_score) for cell in notebook.grade_cells}
    wanted = graded_cells(path)
    return sources == {name: cell["cell"] for name, cell in wanted.items()} and points == {
        name: cell["points"] for name, cell in wanted.items() if cell["points"] is not None
    }


def graded_cells(path: Path) -> dict[str, dict[str, Any]]:
    """Return {grade id: {"cell": (type, source, locked), "points": float or None}} of the cells that nbgrader knows."""
    found = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        meta = cell["metadata"].get("nbgrader")
        if meta:
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            locked = not meta["solution"] and (meta["grade"] or meta["locked"])
            points = float(meta["points"]) if meta["grade"] else None
            found[meta["grade_id"]] = {"cell": (cell["cell_type"], source, bool(locked)), "points": points}
    return found
