"""The gradebook on a real PostgreSQL server, started here on loopback and gone with the tests."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import cli
from autograder.gradebook.books.gradebook import check_gradebook, enter_day
from autograder.lessons import lesson
from tests.support.submissions import SOFTMAX, hand_in, released, solved

psycopg = pytest.importorskip("psycopg", reason="no PostgreSQL driver is installed: pip install -e '.[postgresql]'")

pytestmark = pytest.mark.slow
PASSWORD = "pass word/with@signs"
CLASS = {
    "ada": (solved(), {"softmax": 1, "log_softmax": 1, "entropy": 1}),
    "bela": (released(), {}),
    "chidi": (solved(log_softmax=None), {"softmax": 1, "entropy": 1}),
    "dara": ("{", {}),
}
STATUS = 1  # one file is damaged


def programs() -> Path:
    """The folder of initdb and pg_ctl, which Debian keeps off the PATH."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    folders = [folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()]
    if not folders:
        pytest.skip("no PostgreSQL server is installed; on Debian: apt-get install postgresql")
    return folders[-1]


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of a server on loopback."""
    bin_folder = programs()
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    as_user: dict = {}
    if os.getuid() == 0:  # PostgreSQL does not run as root
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o644)
    data = str(folder / "data")

    def run(*command: str) -> None:
        # Its output goes into a file: a pipe would stay open in the server.
        with (folder / "said.txt").open("w+") as said:
            done = subprocess.run([bin_folder / command[0], *command[1:]], cwd=folder, stdout=said, stderr=said, check=False, **as_user)
            assert done.returncode == 0, (folder / "said.txt").read_text()

    try:
        run("initdb", "-D", data, "-U", "grader", "-E", "UTF8", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}")
        options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        run("pg_ctl", "-D", data, "-w", "-t", "300", "-o", options, "-l", str(folder / "log"), "start")
        try:
            yield port
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def connect(port: int, name: str) -> psycopg.Connection:
    return psycopg.connect(host="127.0.0.1", port=port, user="grader", password=PASSWORD, dbname=name, autocommit=True)


@pytest.fixture
def database(server, request) -> Iterator[tuple[str, Callable]]:
    """An empty database: its URL, and a function that asks it."""
    from sqlalchemy.engine import URL

    name = f"test_{os.getpid()}_{abs(hash(request.node.name))}"
    with contextlib.closing(connect(server, "postgres")) as admin:
        admin.execute(f"create database {name}")
        with contextlib.closing(connect(server, name)) as connection:
            url = URL.create("postgresql+psycopg", "grader", PASSWORD, "127.0.0.1", server, name)

            def ask(query: str) -> list[tuple]:
                cursor = connection.execute(query)
                return cursor.fetchall() if cursor.description else []

            yield url.render_as_string(hide_password=False), ask
        admin.execute(f"drop database {name} with (force)")


def command(monkeypatch, capsys, folder: Path, *arguments: str) -> tuple[int, str]:
    """Runs `autograder` here. -> (status, all that it said)"""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["autograder", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out + said.err


def booked(url: str) -> dict[str, dict[str, float | None]]:
    """{student: {cell: score}} by nbgrader's own reading."""
    from nbgrader.api import Gradebook

    with Gradebook(url) as gradebook:
        return {
            submission.student.id: {grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades}
            for submission in gradebook.assignment_submissions(SOFTMAX.slug)
        }


def due() -> dict[str, dict[str, float | None]]:
    """A damaged file has no score, which is no zero."""
    points = {e.name: e.points for e in lesson(SOFTMAX).exercises}
    return {
        student: {f"check_{name}": None if content == "{" else points[name] * shares.get(name, 0) for name in points}
        for student, (content, shares) in CLASS.items()
    }


def rows(ask: Callable) -> list[tuple]:
    tables = "grade", "comment", "submitted_notebook", "submitted_assignment", "student", "course", "assignment", "notebook", "base_cell"
    return [(table, *ask(f"select count(*) from {table}")[0]) for table in tables]


@pytest.mark.parametrize("through", ["bulk", "nbgrader"])
def test_scores_reach_a_server_and_stay_what_they_are(through, database, tmp_path, monkeypatch, capsys):
    url, ask = database
    for student, (content, _) in CLASS.items():
        hand_in(tmp_path, student, content)
    arguments = ("grade", "softmax", "--db", url, "--through", through)
    status, said = command(monkeypatch, capsys, tmp_path, *arguments)
    assert status == STATUS, said
    assert "not in the gradebook" not in said
    assert not any(part in said for part in ("pass word", "pass%20word", "with@signs", "with%40signs"))
    assert "grader:***@127.0.0.1" in said
    assert booked(url) == due()
    before = rows(ask)
    assert dict(before)["grade"] == len(CLASS) * len(lesson(SOFTMAX).exercises)

    # Again, with nothing to do; then with one file that is new and one that has become better.
    status, said = command(monkeypatch, capsys, tmp_path, *arguments, "--resume")
    assert (status, booked(url), rows(ask)) == (STATUS, due(), before), said
    hand_in(tmp_path, "chidi", solved())
    hand_in(tmp_path, "emeka", released())
    status, said = command(monkeypatch, capsys, tmp_path, *arguments, "--resume")
    assert status == STATUS, said
    assert booked(url) == due() | {"chidi": due()["ada"], "emeka": due()["bela"]}

    status, said = command(monkeypatch, capsys, tmp_path, "feedback", "softmax", "--db", url)
    assert status == 0, said
    assert len(list(tmp_path.glob("feedback/*/*/*.html"))) == len(CLASS) + 1
    assert not (tmp_path / "gradebook.db").exists()


def test_both_ways_store_the_same_rows_on_a_server(database, tmp_path, monkeypatch, capsys):
    url, ask = database
    query = (
        "select s.student_id, c.name, g.auto_score, g.manual_score, g.needs_manual_grade, n.late_submission_penalty from grade g"
        " join submitted_notebook n on g.notebook_id = n.id join submitted_assignment s on n.assignment_id = s.id"
        " join base_cell c on g.cell_id = c.id order by 1, 2"
    )
    for student, (content, _) in CLASS.items():
        hand_in(tmp_path, student, content)
    command(monkeypatch, capsys, tmp_path, "grade", "softmax", "--db", url)
    bulk = ask(query)
    ask("truncate submitted_assignment, submitted_notebook, grade, comment cascade")
    command(monkeypatch, capsys, tmp_path, "grade", "softmax", "--db", url, "--resume", "--through", "nbgrader")
    assert ask(query) == bulk
    assert len(bulk) == len(CLASS) * len(lesson(SOFTMAX).exercises)


def test_a_gradebook_that_nbgrader_made_itself_can_be_used(database, monkeypatch):
    """It has nbgrader's tables, but no row for the course without a name, which PostgreSQL asks for."""
    from nbgrader.api import Gradebook

    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # nbgrader runs alembic by its name
    url, ask = database
    with Gradebook(url):
        pass
    assert ask("select id from course where id = ''") == []
    check_gradebook(url)
    enter_day(SOFTMAX, url)
    enter_day(SOFTMAX, url)
    assert ask("select name, course_id from assignment") == [(SOFTMAX.slug, "")]


def test_what_is_no_gradebook_is_one_line(database, tmp_path, monkeypatch, capsys):
    url, ask = database
    hand_in(tmp_path, "ada", solved())
    wrong = url.rpartition("/")[0] + "/not_there"
    status, said = command(monkeypatch, capsys, tmp_path, "grade", "softmax", "--db", wrong)
    assert status == 1
    assert "cannot be reached" in said
    assert "does not exist" in said
    assert "with%40signs" not in said
    assert len(said.strip().splitlines()) == 1

    ask("create table something (n int)")
    status, said = command(monkeypatch, capsys, tmp_path, "grade", "softmax", "--db", url)
    assert status == 2
    assert "is a database, but not a gradebook" in said
    assert not (tmp_path / "records").exists()


def test_a_server_that_cuts_every_connection_in_mid_run_loses_no_score(database, tmp_path, monkeypatch, capsys):
    from autograder.gradebook.books.writer import Writer

    url, ask = database
    for student, (content, _) in CLASS.items():
        hand_in(tmp_path, student, content)
    stock = Writer.write_files

    def cut(self, task, notebook):
        ask("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
        stock(self, task, notebook)

    monkeypatch.setattr(Writer, "write_files", cut)
    status, said = command(monkeypatch, capsys, tmp_path, "grade", "softmax", "--db", url)
    assert status == STATUS, said
    assert "not in the gradebook" not in said
    assert booked(url) == due()


def test_a_server_that_is_gone_in_mid_run_is_a_line_each_and_the_rest_is_stored_later(database, tmp_path, monkeypatch, capsys):
    from autograder.gradebook.books import writer

    url, _ = database
    for student, (content, _) in CLASS.items():
        hand_in(tmp_path, student, content)
    stock = writer.Writer.__init__

    def without_a_server(self, folder):
        """It looks for the database at a port at which nobody listens any more."""
        stock(self, folder)
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            address = writer.sql.make_url(folder.db_url).set(port=nobody.getsockname()[1])
        self.engine = writer.sql.create_engine(address, connect_args=writer.patience(folder.db_url))

    with monkeypatch.context() as patched:
        patched.setattr(writer.Writer, "__init__", without_a_server)
        status, said = command(monkeypatch, capsys, tmp_path, "grade", "softmax", "--db", url)
    assert said.count("not in the gradebook: ") == len(CLASS)
    assert len(list(tmp_path.glob("records/*/*.json"))) == len(CLASS)
    assert "Traceback" not in said
    status, said = command(monkeypatch, capsys, tmp_path, "grade", "softmax", "--db", url, "--resume")
    assert status == STATUS
    assert booked(url) == due()
