"""The first code cell of a notebook in a kernel that does not find the course."""

from __future__ import annotations

import json
import sys
import tomllib
import types
from pathlib import Path

import pytest

from autograder.grading.grade import our_cells
from autograder.lessons import ROOT, find_day, lesson, release_notebook_path, solved_notebook, syllabus
from autograder.lessons.first_cell import GUARD, MESSAGE, with_guard, without_guard
from autograder.notebook import workspace
from autograder.sandbox.submission import read_submission

DAYS = [day for day in syllabus() if day.ready]
NOTEBOOKS = [*map(release_notebook_path, DAYS), ROOT / "course" / "start_here.ipynb"]


def first_code(path: Path) -> str:
    return next("".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_without_the_course_the_first_cell_says_in_one_line_how_to_install_it(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "autograder", None)  # as if it was not installed
    with pytest.raises(ModuleNotFoundError) as error:
        exec(compile(first_code(path), "<first cell>", "exec"), {})
    said = str(error.value)
    assert "\n" not in said
    assert said == " ".join(MESSAGE)
    assert error.value.__suppress_context__
    for command in ("`%pip install ./from_prompt_to_token-", "`make wheel`", "`!prompt-to-token --no-lab`"):
        assert command in said


def test_the_line_names_the_file_that_make_wheel_writes():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"./from_prompt_to_token-{version}-py3-none-any.whl`" in " ".join(MESSAGE)


def test_another_package_of_that_name_is_not_the_course(monkeypatch):
    monkeypatch.setitem(sys.modules, "autograder", types.ModuleType("autograder"))
    monkeypatch.delitem(sys.modules, "autograder.notebook", raising=False)
    with pytest.raises(ModuleNotFoundError, match="This kernel does not find the course"):
        exec(compile(first_code(NOTEBOOKS[0]), "<first cell>", "exec"), {})


def test_another_missing_module_keeps_its_own_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match="torch"):
        exec(compile(first_code(NOTEBOOKS[0]), "<first cell>", "exec"), {})


@pytest.mark.parametrize("day", DAYS, ids=lambda day: day.topic)
def test_graders_run_the_cell_without_the_guard(day):
    setup = lesson(day).setup
    assert "import autograder.notebook\n" not in setup
    assert first_code(release_notebook_path(day)) == with_guard(setup)
    assert without_guard(with_guard(setup)) == setup


def test_an_import_from_the_future_stays_the_first_statement():
    compile(with_guard("from __future__ import annotations\n\nimport math"), "<cell>", "exec")
    assert with_guard("from __future__ import annotations\n\nimport math").startswith("from __future__ import annotations\n\ntry:\n")
    assert with_guard("import math") == GUARD + "import math"


CHANGES = [lambda cell: cell, without_guard, lambda cell: cell.replace("0.1.0", "0.0.9"), lambda cell: f"{cell}\n"]


@pytest.mark.parametrize("change", CHANGES)
def test_the_day_is_recognized_with_the_guard_without_it_and_with_another_versions(change, monkeypatch, tmp_path):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    cell = first_code(release_notebook_path(find_day("paging")))
    assert workspace.day_of_notebook({"_ih": ["", change(cell)]}) == find_day("paging")


@pytest.mark.parametrize("change", CHANGES)
def test_the_setup_cell_of_a_submission_is_never_the_students_own(change, tmp_path):
    """Day 10's setup defines a class: run as a student's cell, it would replace the class that the course's functions raise."""
    day = find_day("kv_cache")
    notebook = solved_notebook(day)
    setup = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert "class CacheFull" in setup.source
    setup.source, setup.id = change(setup.source), "another"
    path = tmp_path / "handed_in.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    for ours in (our_cells(day), {"setup": lesson(day).setup}):
        assert not any("class CacheFull" in cell.source for cell in read_submission(path, day.slug, ours).cells)
