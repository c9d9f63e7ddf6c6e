"""A grading run that is stopped at any moment loses nothing: `--resume` ends with the scores of a run that nobody disturbed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from autograder.base.errors import CourseError
from autograder.gradebook.books.gradebook import check_gradebook
from autograder.grading.records import alone, read_records
from autograder.lessons import ROOT, lesson
from tests.support.submissions import SOFTMAX, hand_in, released, solved

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes left behind through Linux's means")

KILLS = int(os.environ.get("KILLS", "5"))
LEFT_SECONDS = 30.0
CLASS = {
    "ada": solved(),
    "bela": released(),
    "chidi": solved(log_softmax=None, entropy=None),
    "dara": solved(entropy="def entropy(probs):\n    return probs.sum()"),
    "emeka": solved(entropy="import os\ndef entropy(probs):\n    os._exit(0)"),
    "fatima": "{",
}
STATUS = 1  # one file is damaged

# The grader's warm imports are the launcher's, so that a run costs no start of Python: it forks once for each line it reads. Processes
# that lose their parent become its children (PR_SET_CHILD_SUBREAPER), so that none can hide.
LAUNCHER = """
import ctypes, json, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
import autograder.cli, autograder.grading.grade, autograder.gradebook.books.bulk, autograder.sandbox.process.channel
import nbgrader.apps, sqlalchemy.dialects.sqlite
for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.chdir(order["folder"])
        os.setpgid(0, 0)
        out = os.open(order["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1), os.dup2(out, 2), os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ["TMPDIR"] = order["tmp"]
        sys.argv = ["autograder", *order["arguments"]]
        autograder.cli.main()
        os._exit(0)
    print(json.dumps({"pid": pid}), flush=True)
    print(json.dumps({"status": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}), flush=True)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError:
        pass
"""


def lives(process: psutil.Process) -> bool:
    """Whether it still runs; it may end while it is asked."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Runs:
    """Grading runs in one class's folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.tmp, self.out = root / "class", root / "tmp", root / "out.txt"
        self.tmp.mkdir(parents=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )  # fmt: skip
        for student, content in CLASS.items():
            hand_in(self.root, student, content)

    def start(self, *arguments: str) -> int:
        order = {"folder": str(self.root), "out": str(self.out), "tmp": str(self.tmp), "arguments": ["grade", "softmax", *arguments]}
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return int(self.answer()["pid"])

    def answer(self) -> dict[str, int]:
        return dict(json.loads(self.process.stdout.readline()))

    def run(self, *arguments: str) -> tuple[int, str]:
        self.start(*arguments)
        return self.answer()["status"], self.out.read_text()

    def stop_when(self, moment: Callable[[], bool], after: float, how: signal.Signals, *arguments: str) -> tuple[int, str]:
        """Starts a run and stops it `after` seconds from the moment. -> (status, what it said); status 0 or more: it had ended before."""
        pid = self.start(*arguments)
        while not moment() and psutil.pid_exists(pid):
            time.sleep(0.005)
        time.sleep(after)
        if psutil.pid_exists(pid):  # its number is its own until the launcher has waited for it
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        return self.answer()["status"], self.out.read_text()

    def anew(self) -> None:
        for name in ("records", "autograded"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        for path in self.root.glob("*gradebook*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def assert_nothing_left(self) -> None:
        until = time.monotonic() + LEFT_SECONDS
        while True:
            left = [p for p in psutil.Process(self.process.pid).children(recursive=True) if lives(p)]
            folders = list(self.tmp.iterdir())
            if not left and not folders:
                return
            assert time.monotonic() < until, (left, folders)
            time.sleep(0.05)

    def scores(self) -> dict[str, dict[str, float]]:
        """All records, each of which can be read."""
        return {r.student: {s.exercise: s.points for s in r.scores} for r in read_records(self.root / "records")}

    def booked(self) -> list[tuple[str, str, float]]:
        """All grades in the gradebook, a row for each, in order; none while it is not there."""
        path = self.root / "gradebook.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
            return connection.execute(
                "select submitted_assignment.student_id, base_cell.name, grade.auto_score from grade"
                " join submitted_notebook on grade.notebook_id = submitted_notebook.id"
                " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"
                " join base_cell on grade.cell_id = base_cell.id order by 1, 2"
            ).fetchall()

    def half_written(self) -> list[Path]:
        return [*self.root.glob("records/*/.record-*"), *self.root.glob(".gradebook*"), *self.root.glob("*-journal")]

    def graded(self) -> int:
        return len(list(self.root.glob("records/*/*.json")))

    def stored(self) -> int:
        return len(list(self.root.glob("autograded/*/*/*.ipynb")))


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Iterator[Runs]:
    runs = Runs(tmp_path_factory.mktemp("resume"))
    yield runs
    runs.process.stdin.close()
    runs.process.wait(60)


@pytest.fixture(scope="module")
def undisturbed(runs) -> tuple[dict, list]:
    status, said = runs.run()
    assert status == STATUS, said
    assert "6 submissions: pass 1, partial 2, zero 1, timed out 0, crashed 1, unreadable 1, needs a person 0" in said
    runs.assert_nothing_left()
    scores, booked = runs.scores(), runs.booked()
    assert len(booked) == len(CLASS) * len(lesson(SOFTMAX).exercises)
    unread = {record.student for record in read_records(runs.root / "records") if record.problem is not None}
    assert len(unread) == 1
    assert {
        (student, f"check_{name}", None if student in unread else points) for student, by in scores.items() for name, points in by.items()
    } == set(booked)  # a file that cannot be read has no score
    return scores, booked


def moments(runs: Runs) -> dict[str, Callable[[], bool]]:
    """Moments of a run, from which a random time is waited: the time between them differs too much between machines."""
    graded, stored = runs.graded(), runs.stored()
    return {
        "at the start": lambda: True,
        "when the fork server starts": lambda: len(psutil.Process(runs.process.pid).children(recursive=True)) > 1,
        "at a record": lambda: runs.graded() > graded,
        "when the gradebook is made": lambda: any(runs.root.glob("*gradebook*")),
        "when scores are stored": lambda: runs.stored() > stored,
    }  # fmt: skip


def kill_again_and_again(runs: Runs, undisturbed: tuple[dict, list], kills: int, seed: int) -> int:
    """Stops runs at random moments until `kills` of them were hit; every few, lets one finish and compares. -> how many were hit"""
    scores, booked = undisturbed
    rng, hit, tried = random.Random(seed), 0, 0
    runs.anew()
    while hit < kills:
        tried += 1
        assert tried < 4 * kills + 10, "most runs end before they are stopped"
        names = list(moments(runs))
        name = names[tried % len(names)]
        how = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
        status, said = runs.stop_when(moments(runs)[name], rng.random() ** 2 * 1.5, how, "--resume")
        hit += status in (-how, 130)
        assert status in (-how, 130, STATUS), (name, said)
        if status == 130:
            assert len(said.strip().splitlines()) == 1
            assert "--resume" in said or said == "autograder: stopped\n"  # before there was anything to go on with
        runs.assert_nothing_left()
        found = runs.scores()
        assert all(scores[student] == found[student] for student in found), name
        rows = runs.booked()
        assert len({row[:2] for row in rows}) == len(rows), "something stands twice in the gradebook"
        assert all(row in booked or row[2] is None for row in rows), name
        if status == STATUS or tried % 7 == 0 or hit == kills:
            modified = {path: path.stat().st_mtime_ns for path in runs.root.glob("records/*/*.json")}
            status, said = runs.run("--resume")
            assert status == STATUS, said
            assert runs.scores() == scores
            assert runs.booked() == booked
            assert runs.half_written() == []
            assert all(path.stat().st_mtime_ns == when for path, when in modified.items()), "something was graded twice"
            runs.anew()
    return hit


@pytest.mark.slow
def test_a_run_killed_again_and_again_finishes_with_the_same_scores(runs, undisturbed):
    assert kill_again_and_again(runs, undisturbed, KILLS, seed=2) == KILLS


@pytest.mark.slow
def test_without_a_private_root_nothing_stays_behind_either(runs, undisturbed):
    runs.anew()
    for after in (0.0, 0.3):
        status, said = runs.stop_when(lambda: runs.graded() > 1, after, signal.SIGKILL, "--isolation", "landlock", "--resume")
        assert status in (-signal.SIGKILL, STATUS), said
        runs.assert_nothing_left()
    runs.anew()


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_in_one_line(runs, undisturbed):
    runs.anew()
    status, said = runs.stop_when(lambda: runs.graded() > 1, 0, signal.SIGINT, "--jobs", "1")
    assert status == 130, said
    assert len(said.splitlines()) == 1
    assert "of 6 submissions are graded and saved" in said
    assert "autograder grade softmax --jobs 1 --resume" in said
    runs.assert_nothing_left()


def test_two_runs_do_not_grade_into_the_same_records(tmp_path):
    with alone(tmp_path), pytest.raises(CourseError, match="another `autograder grade` is running"), alone(tmp_path):
        pass


def test_what_a_killed_run_left_half_written_is_swept_up(tmp_path):
    (tmp_path / "day01_softmax").mkdir()
    left = tmp_path / "day01_softmax" / ".record-abc"
    left.write_text("{")
    with alone(tmp_path):
        assert not left.exists()


def test_a_gradebook_that_was_killed_while_it_was_written_is_still_one(tmp_path):
    """SQLite rolls the half of a transaction back when the file is opened for writing; only looking at it cannot."""
    from autograder.gradebook.books.gradebook import enter_day, gradebook_url

    path = tmp_path / "gradebook.db"
    enter_day(SOFTMAX, gradebook_url(path))
    killed = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("pragma cache_size = 1")
connection.executemany("insert into student (id) values (?)", ((f"student {n}",) for n in range(3000)))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", killed, path], check=False)
    assert path.with_name("gradebook.db-journal").exists()
    check_gradebook(gradebook_url(path))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select count(*) from student").fetchone() == (0,)


def test_ctrl_c_before_a_command_has_begun_is_one_line_too(monkeypatch, capsys):
    from autograder import cli

    for interrupted in (KeyboardInterrupt(), SystemExit(130)):  # what typer makes of it

        def app(ended: BaseException = interrupted) -> None:
            raise ended

        monkeypatch.setattr(cli, "app", app)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 130
        assert capsys.readouterr().err == "autograder: stopped\n"
