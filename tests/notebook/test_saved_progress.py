"""Where a learner's progress is saved, and the sentence if it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.lessons import ROOT
from autograder.notebook import workspace

from ..support.kernel import Kernel

TABLE = {"exercises": {"softmax/softmax": {"points": 4, "max_points": 4, "passed": True, "when": 0.0}}}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sentences that a notebook shows."""
    sentences: list[str] = []
    monkeypatch.setattr(workspace, "in_notebook", lambda: True)
    monkeypatch.setattr(workspace, "show_line", sentences.append)
    monkeypatch.setattr(workspace, "_said", set())
    monkeypatch.delenv("COURSE_WORK", raising=False)
    return sentences


def test_a_missing_folder_is_made(shown, tmp_path):
    folder = tmp_path / "course" / "work"
    workspace.write_progress(folder, TABLE)
    assert workspace.standings(folder)["softmax/softmax"].passed
    assert [path.name for path in folder.iterdir()] == ["progress.json"]
    assert shown == []


def test_a_folder_that_cannot_be_written_to_is_said_once(shown, tmp_path):
    (tmp_path / "file").write_text("mine")
    folder = tmp_path / "file" / "work"
    workspace.write_progress(folder, TABLE)
    workspace.write_progress(folder, TABLE)
    (sentence,) = shown
    assert sentence.startswith(f"Your progress is not saved: {folder} cannot be written to (Not a directory). Set `COURSE_WORK` to")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_disk_that_is_full_is_said_and_leaves_no_part(shown, tmp_path, monkeypatch):
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    workspace.write_progress(tmp_path, {"exercises": {}})
    monkeypatch.setattr(workspace.os, "replace", full)
    workspace.write_progress(tmp_path, TABLE)
    assert "(No space left on device)" in shown[0]
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]
    assert workspace.standings(tmp_path) == {}


def test_outside_a_notebook_a_missing_folder_is_made_only_if_it_was_named(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("COURSE_WORK", raising=False)
    workspace.write_progress(tmp_path / "work", TABLE)
    assert not (tmp_path / "work").exists()
    monkeypatch.setenv("COURSE_WORK", str(tmp_path / "named"))
    workspace.write_progress(workspace.workspace_folder(), TABLE)
    assert workspace.standings(tmp_path / "named")
    assert capsys.readouterr().out == ""


def test_a_notebook_in_the_folder_of_releases_says_that_nothing_is_saved(shown, monkeypatch):
    monkeypatch.chdir(ROOT / "course" / "day01_softmax")
    workspace.note_standing("softmax", "softmax", 4, 4, True)
    workspace.note_standing("softmax", "entropy", 4, 4, True)
    (sentence,) = shown
    assert sentence == "Your progress is not saved, because this notebook is in `course/`: work in your own copy, in `work/`."
    assert not (ROOT / "course" / "progress.json").exists()


@pytest.mark.slow
def test_a_kernel_makes_the_folder_that_course_work_names(tmp_path: Path):
    kernel = Kernel(tmp_path)
    try:
        named = tmp_path / "not" / "there"
        kernel.run(f"import os; os.environ['COURSE_WORK'] = {str(named)!r}")
        kernel.run("from autograder.student import set_record")
        kernel.run('set_record(15, 3, "passes", text=14)')
        assert (named / "progress.json").is_file()
    finally:
        kernel.close()
