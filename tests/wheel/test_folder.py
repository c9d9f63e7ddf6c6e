"""The learner's folder: a later version brings it up to date, and no file that somebody changed is written over."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.wheel.prompt_to_token import folder as folders
from autograder.wheel.prompt_to_token.folder import FolderError, lay_out
from autograder.wheel.prompt_to_token.start import without_lab

NOTEBOOK = "work/day01/day01.ipynb"
FIRST = {"README.md": "one", "course/a.py": "a1", "course/old.py": "old", NOTEBOOK: "stub 1", "work/day02/day02.ipynb": "stub 1"}
SECOND = {"README.md": "one", "course/a.py": "a2", "course/b.py": "b2", NOTEBOOK: "stub 2", "work/day02/day02.ipynb": "stub 2"}


def packed(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def content(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != folders.RECORD)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    assert lay_out(folder, packed(FIRST)).new == list(FIRST)
    return folder


def test_all_is_written_once(place: Path) -> None:
    assert content(place) == FIRST
    again = lay_out(place, packed(FIRST))
    assert (again.new, again.updated, again.kept, again.removed) == ([], [], [], [])


def test_a_later_version_replaces_untouched_files_and_keeps_changed_ones(place: Path) -> None:
    (place / NOTEBOOK).write_text("mine")
    (place / "work" / "progress.json").write_text("{}")
    done = lay_out(place, packed(SECOND))
    assert (done.new, done.kept, done.removed) == (["course/b.py"], [NOTEBOOK], ["course/old.py"])
    assert done.updated == ["course/a.py", "work/day02/day02.ipynb"]
    assert content(place) == {**SECOND, NOTEBOOK: "mine", "work/progress.json": "{}"}


def test_a_changed_file_is_kept_by_every_later_version(place: Path) -> None:
    (place / NOTEBOOK).write_text("mine")
    for files in (SECOND, FIRST, SECOND):
        assert lay_out(place, packed(files)).kept == [NOTEBOOK]
    (place / NOTEBOOK).write_text("stub 1")  # as it was laid out: not a learner's any more
    assert lay_out(place, packed(SECOND)).updated == [NOTEBOOK]


def test_a_changed_file_that_the_course_no_longer_has_stays(place: Path) -> None:
    (place / "course" / "old.py").write_text("mine")
    assert lay_out(place, packed(SECOND)).removed == []
    assert content(place)["course/old.py"] == "mine"


def test_a_deleted_notebook_comes_back(place: Path) -> None:
    (place / NOTEBOOK).unlink()
    assert lay_out(place, packed(FIRST)).new == [NOTEBOOK]


def test_a_run_that_was_cut_off_is_completed_by_the_next(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = folders._write

    def full(path: Path, data: bytes) -> None:
        if path.name == "day01.ipynb":
            raise OSError(28, "No space left on device", str(path))
        write(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(folders, "_write", full)
        with pytest.raises(OSError, match="No space left"):
            lay_out(place, packed(SECOND))
    assert content(place)["course/a.py"] == "a2"
    assert lay_out(place, packed({**SECOND, "course/a.py": "a3"})).kept == []
    assert content(place)["course/a.py"] == "a3"


@pytest.mark.parametrize("there", ["file", "folder", "record"])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, there: str) -> None:
    folder = tmp_path / "course"
    match there:
        case "file":
            folder.write_text("a file")
        case "folder":
            folder.mkdir()
            (folder / "Makefile").write_text("a clone of the course")
        case "record":
            lay_out(folder, packed(FIRST))
            (folder / folders.RECORD).write_text(json.dumps(["files"]))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(FolderError, match="name another folder"):
        lay_out(folder, packed(FIRST))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_folder_is_found_from_inside(place: Path, tmp_path: Path) -> None:
    assert folders.course_around(place / "work" / "day01") == place
    assert folders.course_around(tmp_path) is None


def test_without_a_virtual_environment_a_line_of_python_shows_the_course_to_a_running_kernel(monkeypatch) -> None:
    folder = Path("/content/Ada's course")
    assert len(without_lab(folder, shown=True)) == 1
    monkeypatch.setattr(sys, "path", ["before"])
    exec(without_lab(folder, shown=False)[-1].partition("first instead: ")[2])
    assert sys.path == [str(folder), "before"]
