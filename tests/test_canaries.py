"""What canaries have shown is kept, and shown again where something that they test has changed."""

from dataclasses import replace

import pytest

from autograder.errors import InfrastructureFault
from autograder.grading import canaries as kept
from autograder.grading import grade, zygotes
from autograder.grading.grade import Options
from autograder.grading.limits import Limits
from autograder.lessons import find_day

DAY = find_day("softmax")
OPTIONS = Options(seed=5)


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """The days whose canaries were graded; nothing is kept at first."""
    seen: list[str] = []
    monkeypatch.setattr(kept, "NOTED", tmp_path / "canaries")
    monkeypatch.setattr(grade, "canaries", lambda day, options: seen.append(day.slug))
    return seen


def test_what_came_out_right_is_not_graded_again(shown):
    for _ in range(3):
        kept.canaries(DAY, OPTIONS)
    assert shown == [DAY.slug]
    kept.canaries(find_day("tokenizer"), OPTIONS)
    assert len(shown) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda monkeypatch: {"seed": 6},
        lambda monkeypatch: {"limits": replace(Limits(), cell_seconds=3.0)},
        lambda monkeypatch: monkeypatch.setattr(zygotes, "level", lambda: "another"),
        lambda monkeypatch: monkeypatch.setattr(kept, "course_sha256", lambda day: "another lesson"),
        lambda monkeypatch: monkeypatch.setattr(kept.metadata, "version", lambda name: "99"),
        lambda monkeypatch: monkeypatch.setattr(kept.platform, "platform", lambda: "another kernel"),
    ],
)
def test_they_are_graded_again_where_what_they_test_is_another(change, shown, monkeypatch):
    kept.canaries(DAY, OPTIONS)
    kept.canaries(DAY, replace(OPTIONS, **(change(monkeypatch) or {})))
    assert len(shown) == 2


def test_each_file_that_grades_counts(tmp_path):
    files = ["autograder/runner.py", "autograder/grading/executors/local.py", "autograder/checks/stages.py", "course/kit/serving/web.py"]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1")
    before = kept.digest(DAY, OPTIONS, tmp_path)
    assert before == kept.digest(DAY, OPTIONS, tmp_path)
    digests = {before}
    for name in files:
        (tmp_path / name).write_text("x = 2")
        digests.add(kept.digest(DAY, OPTIONS, tmp_path))
    assert len(digests) == 5


def test_a_fault_is_never_kept(shown, monkeypatch):
    def fault(day, options):
        shown.append("fault")
        raise InfrastructureFault("the reference got nothing")

    monkeypatch.setattr(grade, "canaries", fault)
    for _ in range(2):
        with pytest.raises(InfrastructureFault, match="got nothing"):
            kept.canaries(DAY, OPTIONS)
    assert shown == ["fault", "fault"]


def test_where_nothing_can_be_written_they_are_graded_each_time(shown, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(kept, "NOTED", tmp_path / "file" / "canaries")
    for _ in range(2):
        kept.canaries(DAY, OPTIONS)
    assert len(shown) == 2


def test_old_notes_go(shown, monkeypatch, tmp_path):
    monkeypatch.setattr(kept, "MOST", 3)
    for seed in range(6):
        kept.canaries(DAY, Options(seed=seed))
    assert len(list((tmp_path / "canaries" / DAY.slug).iterdir())) == 3
    kept.canaries(DAY, Options(seed=5))
    assert len(shown) == 6
