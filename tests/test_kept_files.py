"""What is kept of whole files of tests: what the file system says they read, when they have to run all the same, and what pytest says."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from . import kept_files
from .kept_files import digest, forget_reading, kept_tests, was_read
from .test_shared_out import as_here, by_two

TESTS = Path(__file__).parent


@pytest.fixture(autouse=True)
def memories(monkeypatch):
    """Of this test alone: the run's own stay as they are."""
    for name in ("contents", "project"):
        monkeypatch.setattr(kept_files, name, functools.cache(getattr(kept_files, name).__wrapped__))


@pytest.fixture
def project(tmp_path):
    """A small one: a text, a folder with two, a module, something ignored."""
    for name in ("said.txt", "folder/one.txt", "folder/two.txt", "made/out.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / ".gitignore").write_text("made/\n__pycache__/\n")
    (tmp_path / "autograder").mkdir()
    (tmp_path / "autograder" / "box.py").write_text("from . import inside\n")
    (tmp_path / "autograder" / "inside.py").write_text("")
    (tmp_path / "module.py").write_text("answer = 42\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    if not read_by("open('said.txt').read()", tmp_path):
        pytest.skip("this file system does not note when a file is read")
    kept_files.project.cache_clear()
    return tmp_path


def ran(code, folder):
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, env={"PYTHONPATH": "."})


def read_by(code, folder):
    forget_reading(folder)
    ran(code, folder)
    return set(was_read(folder)) - set(kept_files.ALWAYS)


def test_what_a_process_reads_is_known_and_nothing_else(project):
    assert read_by("pass", project) == set()
    assert read_by("open('said.txt').read()", project) == {"said.txt"}
    assert read_by("open('folder/one.txt').read(); open('made/out.txt').read()", project) == {"folder/one.txt"}
    assert read_by("import os; os.listdir('folder')", project) == {"folder"}
    assert read_by("import subprocess; subprocess.run(['cat', 'said.txt'])", project) == {"said.txt"}, "whichever process"
    assert read_by("import os; os.stat('said.txt')", project) == set()


def test_a_module_is_read_where_only_what_was_compiled_of_it_is(project):
    ran("import module", project)
    assert len(kept_files.compiled(project / "module.py")) == 1
    read = read_by("import module", project)
    assert read == {"module.py"}


def test_what_a_module_may_import_counts_where_it_left_no_trace(project):
    read = read_by("open('autograder/box.py').read()", project)
    assert read == {"autograder/box.py", "autograder/inside.py"}


@pytest.mark.parametrize(
    ("change", "due"),
    [
        (lambda root: (root / "said.txt").write_text("other"), True),
        (lambda root: (root / "said.txt").unlink(), True),
        (lambda root: (root / "folder" / "three.txt").write_text(""), True),
        (lambda root: (root / "folder" / "two.txt").unlink(), True),
        (lambda root: (root / "folder" / "two.txt").write_text("only its name was asked for"), False),
        (lambda root: (root / "module.py").write_text("answer = 43"), False),
        (lambda root: (root / "made" / "more.txt").write_text("ignored"), False),
    ],
)
def test_a_change_of_what_was_read_makes_it_due_and_no_other(project, change, due):
    read = ["folder", "said.txt", "was never there"]
    before = digest(read, project)
    assert digest(read, project) == before
    change(project)
    kept_files.contents.cache_clear()
    kept_files.project.cache_clear()
    assert (digest(read, project) != before) == due


def test_another_system_finds_out_for_itself(monkeypatch):
    before = digest([])
    monkeypatch.setattr(sys, "version_info", (3, 12, 0))
    other_python = digest([])
    monkeypatch.setattr(kept_files.platform, "machine", lambda: "another")
    assert len({before, other_python, digest([])}) == 3


def test_only_tests_that_passed_on_what_is_there_are_kept(tmp_path):
    assert kept_tests("test_some", tmp_path) == set()
    for told, kept in ((digest([]), {"test_one[none]"}), ("another", set())):
        (tmp_path / "test_some.json").write_text(json.dumps({"digest": told, "passed": ["test_one[none]"], "read": []}))
        assert kept_tests("test_some", tmp_path) == kept


ONE_KEPT = """
import pytest

@pytest.fixture(scope="module")
def server():
    raise AssertionError("nothing is set up for what is kept")

def test_kept(server): pass
def test_not_kept(): pass
"""


def with_one_kept(folder):
    as_here(folder)
    (folder / "test_ladder.py").write_text(ONE_KEPT)
    (folder / "test_other.py").write_text("def test_kept(): pass\n")
    (folder / "kept" / "files").mkdir(parents=True)
    (folder / "kept" / "files" / "test_ladder.json").write_text(json.dumps({"digest": digest([]), "passed": ["test_kept"], "read": []}))


def test_pytest_says_what_is_kept_and_runs_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("KEPT_DRAW", "none")
    with_one_kept(tmp_path)
    run = by_two(tmp_path)
    assert run.returncode == 0, run.stdout
    assert "2 passed, 1 kept in" in run.stdout
    assert "KEPT test_ladder.py::test_kept" in run.stdout
    assert "test_ladder: test_not_kept: not kept" in run.stdout


def test_where_no_test_may_start_a_process_it_is_kept_too(tmp_path, monkeypatch):
    monkeypatch.setenv("KEPT_DRAW", "none")
    with_one_kept(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "--one-process"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed, 1 kept in" in run.stdout


@pytest.mark.parametrize("draw", ["all", "ladder"])
def test_what_is_drawn_runs_and_is_named(tmp_path, monkeypatch, draw):
    monkeypatch.setenv("KEPT_DRAW", draw)
    with_one_kept(tmp_path)
    run = by_two(tmp_path)
    assert run.returncode == 1
    assert "nothing is set up for what is kept" in run.stdout
    assert "test_ladder: test_kept: drawn" in run.stdout
    assert "2 passed, 1 error in" in run.stdout


@pytest.mark.parametrize("name", [["test_ladder.py"], ["test_ladder.py::test_kept"], ["-k", "test_kept"]])
def test_who_names_a_test_runs_it(tmp_path, monkeypatch, name):
    monkeypatch.delenv("KEPT_DRAW", raising=False)
    with_one_kept(tmp_path)
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", *name], cwd=tmp_path, capture_output=True, text=True)
    assert "1 error" in run.stdout
    assert "kept in" not in run.stdout


def test_a_test_whose_end_failed_did_not_pass(tmp_path):
    as_here(tmp_path)
    (tmp_path / "test_three.py").write_text(
        "import pytest\n\n@pytest.fixture\ndef bad():\n    yield\n    raise ValueError\n\n"
        "def test_bad_end(bad): pass\ndef test_good(): pass\ndef test_wrong(): assert False\ndef test_skipped(): pytest.skip('no')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--passed", str(tmp_path / "told"), "test_three.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert (tmp_path / "told").read_text() == "test_good\n"


def test_what_is_kept_is_of_files_that_are_there_and_may_be():
    assert all((TESTS / f"{file}.py").is_file() for file in kept_files.FILES)
    assert {path.stem for path in kept_files.FOLDER.glob("*.json")} <= set(kept_files.FILES)


@pytest.mark.parametrize("edited", [False, True])
def test_what_was_edited_while_it_was_tested_is_not_kept(project, monkeypatch, tmp_path, edited):
    """Else it would be kept as it is now, and what passed was as it was then."""
    (project / "tests").mkdir()
    (project / "tests" / "test_one.py").write_text("")
    real = subprocess.run

    def run(command, **how):
        if command[0] == "git":
            return real(command, **how)
        (project / "tests" / "test_one.py").read_text()
        (project / "said.txt").read_text()
        if edited:
            (project / "said.txt").write_text("other")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(kept_files, "ROOT", project)
    monkeypatch.setattr(kept_files.subprocess, "run", run)
    assert kept_files.find_out("test_one", tmp_path / "kept") is not edited
    assert (tmp_path / "kept" / "test_one.json").exists() is not edited
