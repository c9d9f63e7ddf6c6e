"""`autograder reset`: one cell, or a day, as it was released; nothing is lost."""

import json

import pytest
from typer.testing import CliRunner

from autograder.base.errors import CourseError
from autograder.cli import app
from autograder.lessons import find_day, release_notebook_path
from autograder.lessons.reset import reset
from autograder.lessons.work import copy_to_work

DAY = find_day("softmax")


@pytest.fixture
def path(tmp_path):
    return copy_to_work(DAY, tmp_path)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cell_of(notebook, name, role="exercise"):
    return next(c for c in notebook["cells"] if c["metadata"].get("course", {}) == {"role": role, "exercise": name})


def write(path, change):
    notebook = read(path)
    change(notebook)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path.read_bytes()


def mine(notebook):
    for name in ("softmax", "entropy"):
        cell_of(notebook, name)["source"] = f"# mine\ndef {name}(x): return x"
    notebook["cells"].insert(1, {"cell_type": "markdown", "id": "note", "metadata": {}, "source": "my note"})


def test_one_cell_comes_back_and_all_else_stays(path, tmp_path):
    before = write(path, mine)
    backup = reset(DAY, tmp_path, "softmax")
    after = read(path)
    assert cell_of(after, "softmax") == cell_of(read(release_notebook_path(DAY)), "softmax")
    assert cell_of(after, "entropy")["source"].startswith("# mine")
    assert after["cells"][1]["source"] == "my note"
    assert backup.read_bytes() == before


def test_a_deleted_cell_comes_back_to_its_place(path, tmp_path):
    order = [c["id"] for c in read(path)["cells"]]

    def delete(notebook):
        gone = [cell_of(notebook, "log_softmax"), cell_of(notebook, "log_softmax", "check")]
        notebook["cells"] = [c for c in notebook["cells"] if c not in gone]

    write(path, delete)
    reset(DAY, tmp_path, "log_softmax")
    assert [c["id"] for c in read(path)["cells"]] == order


def test_the_whole_day_even_where_the_file_is_damaged(path, tmp_path):
    path.write_text("{ cut off", encoding="utf-8")
    with pytest.raises(CourseError, match="without --exercise"):
        reset(DAY, tmp_path, "softmax")
    backup = reset(DAY, tmp_path)
    assert path.read_bytes() == release_notebook_path(DAY).read_bytes()
    assert backup.read_text() == "{ cut off"


def test_backups_of_one_second_do_not_meet(path, tmp_path):
    backups = {reset(DAY, tmp_path, "softmax") for _ in range(3)}
    assert len(backups) == 3


def test_the_command_says_what_it_did_and_what_it_cannot_do(path, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    run = CliRunner().invoke
    done = run(app, ["reset", "day01", "--exercise", "softmax"])
    assert done.exit_code == 0
    assert "backups" in done.output
    wrong = run(app, ["reset", "day01", "--exercise", "softmaxx"])
    assert isinstance(wrong.exception, CourseError)
    assert "log_softmax" in str(wrong.exception)
