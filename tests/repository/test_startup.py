"""Commands that run no check start without torch: it takes longer to import than they take to do their work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from autograder.base.verdicts import PASS, Verdict
from autograder.cli import app
from autograder.gradebook.books.bulk import ClassFolder
from autograder.gradebook.books.gradebook import enter_day
from autograder.gradebook.books.writer import WriterThread
from autograder.grading.grade import Options, new_record, scores
from autograder.grading.records import write_record
from autograder.lessons import lesson

from ..support.submissions import SOFTMAX, hand_in, solved

WITH_TORCH = {"chat", "check", "grade", "demo", "regrade", "certify", "doctor", "race", "round", "serve", "judge-test"}
"""They run checks (a round with nothing new does not: `test_round.py`); the doctor asks torch about the GPU, and loads a model."""
WRITE_THE_CHECKOUT = {"build", "hub", "release", "work"}
"""A test leaves the checkout as it is: what they make is made in memory."""
DAY = SOFTMAX.slug
WITHOUT = (
    ["progress"],
    ["reset", DAY],
    ["class", "another"],
    ["bundle", DAY],
    ["gradescope", DAY],
    ["feedback", DAY],  # before somebody is collected who has no page
    ["collect", "downloads"],
    ["roster", "people.csv"],
    ["due", DAY, "2026-12-01 23:59"],
    ["due"],
    ["due", DAY, "2026-12-08 23:59", "--student", "ada"],
    ["late", "10% a day, at most 50%"],
    ["late"],
    ["weights", "day05=2, best 10"],
    ["report", DAY],
    ["similar", DAY],
    ["export", DAY],
    ["export", DAY, "--to", "gradescope"],
    ["new", "day", "twice"],
)
SCRIPT = """
import importlib.abc, json, sys, traceback
from pathlib import Path

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("torch", "numpy", "matplotlib"):
            raise AssertionError(f"{name} is imported")

sys.meta_path.insert(0, Refuse())
from autograder.cli import app
from autograder.lessons import find_day, prepare_work, release_bytes, start_bytes

release_bytes(find_day("softmax"))
start_bytes()
prepare_work(Path("work"))
for arguments in json.loads(sys.argv[1]):
    try:
        assert not app(arguments, standalone_mode=False)
    except BaseException:
        print("autograder", *arguments)
        traceback.print_exc(file=sys.stdout)
        sys.exit(1)
"""


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """A class of one with a record, a gradebook and a desk: what grading leaves, without grading."""
    task = hand_in(tmp_path, "ada", solved())
    folder = ClassFolder.of(tmp_path / "submitted")
    record = new_record(task, Options(), level="none")
    record.verdicts = [Verdict("test", e.name, "a title", 1.0, False, PASS) for e in lesson(SOFTMAX).exercises]
    record.scores = scores(SOFTMAX, record)
    write_record(folder.records, record)
    enter_day(SOFTMAX, folder.db_url)
    with WriterThread(folder) as writer:
        writer.put(task, record)
    assert writer.failures == {}
    downloads = tmp_path / "downloads" / "bob" / DAY
    downloads.mkdir(parents=True)
    (tmp_path / "people.csv").write_text("Identifier,Full name,Email address\nParticipant 1,Ada Lovelace,ada@uni.edu\n", encoding="utf-8")
    (downloads / f"{DAY}.ipynb").write_text(json.dumps(solved()), encoding="utf-8")
    return tmp_path


def test_commands_that_run_no_check_start_without_torch(graded: Path):
    environment = {**os.environ, "COURSE_WORK": str(graded / "work")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(WITHOUT)], cwd=graded, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (graded / "report" / "index.html").exists()
    assert list((graded / "feedback").rglob("*.html"))


def test_every_command_is_known_to_need_torch_or_not_to():
    commands = set(typer.main.get_command(app).commands)
    without = {arguments[0] for arguments in WITHOUT} | WRITE_THE_CHECKOUT
    assert commands == WITH_TORCH | without
    assert WITH_TORCH.isdisjoint(without)


def test_the_kit_gives_each_of_its_names_when_it_is_asked_for():
    code = "import sys, course.kit as kit; print('torch' in sys.modules, all(hasattr(kit, n) and n in dir(kit) for n in kit.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
