"""nbgrader's own exchange, there and back: released, fetched, submitted, collected, noted, graded."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.commands.handing_out import make_class
from autograder.gradebook.lms.collecting import Collector
from autograder.grading.grade import grade_file
from autograder.grading.tasks import find_tasks, left_out
from autograder.lessons import build_source, lesson, syllabus

from ..support.submissions import QUICK, SOFTMAX, solved

SLUG = SOFTMAX.slug
BIN = Path(sys.executable).parent
pytestmark = pytest.mark.slow


def nbgrader(folder: Path, command: str) -> None:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run([BIN / "nbgrader", command, SLUG], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_what_nbgrader_collects_is_graded_and_a_given_time_counts(tmp_path):
    exchange, teacher, student = tmp_path / "exchange", tmp_path / "class", tmp_path / "student"
    exchange.mkdir()
    exchange.chmod(0o777)
    student.mkdir()
    make_class(teacher)
    ours = f'c.CourseDirectory.course_id = "course"\nc.Exchange.root = {str(exchange)!r}\n'
    with (teacher / "nbgrader_config.py").open("a") as config:
        config.write(ours)
    (student / "nbgrader_config.py").write_text("c = get_config()\n" + ours)

    build_source(SOFTMAX)
    nbgrader(teacher, "generate_assignment")
    nbgrader(teacher, "release_assignment")
    nbgrader(student, "fetch_assignment")
    assert list((student / SLUG / "figures").glob("*.svg"))
    (student / SLUG / f"{SLUG}.ipynb").write_text(json.dumps(solved()))
    nbgrader(student, "submit")
    nbgrader(teacher, "collect")

    submitted = teacher / "submitted"
    (task,) = find_tasks(submitted, [SOFTMAX])
    assert left_out(submitted, [day.slug for day in syllabus()]) == []
    stamp = (task.path.parent / "timestamp.txt").read_text().strip()
    now = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
    assert [outcome.kind for outcome in Collector(submitted, now).note_in_place()] == ["new"]
    assert (task.path.parent / "timestamp.txt").read_text()[:19] == stamp[:19]  # nbgrader's own
    assert [outcome.kind for outcome in Collector(submitted, now, at_given=True).note_in_place()] == ["same"]
    assert (task.path.parent / "timestamp.txt").read_text().startswith("2030-01-01 00:00:00")
    assert grade_file(task, QUICK).points == lesson(SOFTMAX).points
