"""A class graded by several graders of one machine."""

import contextlib
import threading

import psutil
import pytest

from autograder.base.errors import InfrastructureFault
from autograder.grading.executors import processes
from autograder.grading.executors.processes import Processes
from autograder.grading.grade import Options
from autograder.grading.run import grade_all
from tests.support.submissions import hand_in, solved

pytestmark = pytest.mark.slow
WRONG = "def softmax(logits):\n    return logits\n"


def graders() -> list[psutil.Process]:
    """The graders among this process's children: those that multiprocessing started anew."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if any("multiprocessing.spawn" in word for word in child.cmdline()):
                found.append(child)
    return found


def test_two_graders_say_what_one_says(tmp_path, monkeypatch):
    tasks = [hand_in(tmp_path, f"s{n}", solved(softmax=WRONG) if n % 3 == 0 else solved()) for n in range(6)]
    alone = grade_all(tasks, Options(jobs=2), tmp_path / "alone")
    monkeypatch.setattr(processes, "WORTH_IT", 2)
    together = grade_all(tasks, Options(jobs=2), tmp_path / "together", executor=Processes("auto"))
    assert [(r.student, r.points, r.status) for r in together] == [(r.student, r.points, r.status) for r in alone]
    assert {r.isolation for r in together} == {r.isolation for r in alone}
    assert sorted(p.name for p in (tmp_path / "together").glob("*/*.json")) == [f"s{n}.json" for n in range(6)]


def test_a_grader_that_is_killed_ends_the_run_with_what_is_graded_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "WORTH_IT", 2)
    tasks = [hand_in(tmp_path, f"s{n}", solved()) for n in range(8)]
    seen = []

    def progress(done, total, record):
        seen.append(record.student)
        if len(seen) == 2:
            graders()[0].kill()

    with pytest.raises(InfrastructureFault, match="resume"):
        grade_all(tasks, Options(jobs=2), tmp_path / "records", progress=progress, executor=Processes("auto"))
    monkeypatch.undo()
    again = []
    records = grade_all(tasks, Options(jobs=2), tmp_path / "records", resume=True, progress=lambda d, t, r: again.append(r.seconds))
    assert [r.status for r in records] == ["pass"] * 8


def test_graders_end_with_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "WORTH_IT", 2)
    threads = threading.active_count()
    grade_all([hand_in(tmp_path, f"s{n}", solved()) for n in range(3)], Options(jobs=2), tmp_path / "records", executor=Processes("auto"))
    _, left = psutil.wait_procs(graders(), timeout=20)
    assert not left
    assert threading.active_count() <= threads + 1
