"""The wheel: built, installed into an empty environment, and a day done from it. Nothing hidden and no answer to read is in it."""

from __future__ import annotations

import ast
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

import nbformat
import pytest

from autograder.gradebook.lms import bundle
from autograder.lessons import ROOT, lesson, solved_notebook, syllabus
from autograder.wheel import build as wheel

from ..gradebook.lms.test_bundle import answers, given_away, texts
from ..support.submissions import SOFTMAX

pytestmark = pytest.mark.slow
READY = [day for day in syllabus() if day.ready]
NOTEBOOK = f"work/{SOFTMAX.slug}/{SOFTMAX.slug}.ipynb"
ANSWERS = "solutions/answers.zip"
WRONG = "def softmax(logits):\n    return logits.exp() / logits.exp().sum()"
IDIOMS = {
    "B, H, Tq, Dh = q.shape\nK, Tk = k.shape[1:3]",
    "with torch.no_grad():\nfor _ in range(max_new_tokens):",
}
"""Two lines in a row that an answer shares with a check or its helper, and that say nothing about the exercise."""
DO = """
import sys, nbformat
from nbclient import NotebookClient
path, folder = sys.argv[1:]
notebook = nbformat.read(path, as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
nbformat.write(notebook, path)
"""
ASK = """
import torch
from autograder.base.course_table import solution_source
from autograder.notebook.earlier import earlier_module
module, line = earlier_module("softmax")
print(module.softmax(torch.tensor([[1.0, 1000.0]])).sum().item())
print(line)
print(solution_source("softmax"))
"""
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def command(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Run a command of an environment in which the wheel is all that is installed of the course."""
    folder = tmp_path_factory.mktemp("environment")
    home = tmp_path_factory.mktemp("home")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", *options, built], check=True)
    # The packages of others, after the installation: pip would find the course's own there.
    asked = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True, text=True
    )
    (Path(asked.stdout.strip()) / "packages_of_others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    def run(name: str, *arguments: object, at: Path, fails: bool = False) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": os.environ["PATH"], "HOME": str(home), "OMP_NUM_THREADS": "1"}
        words = [folder / "bin" / name, *map(str, arguments)]
        done = subprocess.run(words, cwd=at, env=variables, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def place(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder as `prompt-to-token` lays it out."""
    folder = tmp_path_factory.mktemp("learner") / "course"
    output = command("prompt-to-token", "--no-lab", folder, at=folder.parent).stdout
    assert f"The course is in {folder}" in output
    assert "work/start_here.ipynb" in output
    assert not (folder / "datasets" / "models").exists()
    return folder


@pytest.fixture(scope="module")
def readable(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder without the zip of answers: all that a search or an editor shows."""
    folder = tmp_path_factory.mktemp("readable") / "course"
    shutil.copytree(place, folder)
    (folder / ANSWERS).unlink()
    return folder


# The content


def test_the_wheel_holds_one_package_and_asks_for_what_the_course_asks_for(built: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(built) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        (of_it,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        metadata = Parser().parsestr(archive.read(of_it).decode())
    assert tops == {"prompt_to_token", of_it.split("/")[0]}
    assert (metadata["Name"], metadata["Version"]) == (project["name"], project["version"])
    asked = metadata.get_all("Requires-Dist")
    assert len([one for one in asked if "extra ==" not in one]) == len(project["dependencies"])
    assert {"smollm2", "serve", "class", "dev"} <= set(metadata.get_all("Provides-Extra"))
    assert any(one.startswith("torch>=") for one in asked)


def test_nothing_hidden_and_nothing_of_staff_is_inside(readable: Path) -> None:
    place = readable
    names = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert {n for n in names if n.startswith("autograder/checking/hidden")} == {"autograder/checking/hidden/__init__.py"}
    assert (place / "autograder/checking/hidden/__init__.py").read_text() == ""
    staff = ("specimens", "autograder/certification", "autograder/gradebook/books", "autograder/grading/run", "autograder/wheel")
    assert [n for n in names if n.startswith(staff) or n.endswith((".pyc", "figures.py", "gradebook.py"))] == []
    hidden = {
        node.name
        for module in (ROOT / "autograder" / "checking" / "hidden").glob("test_*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert len(hidden) > 100
    assert [(n, name) for n, text in texts(place).items() for name in hidden if f"def {name}(" in text] == []
    specimens = {path.read_bytes() for path in (ROOT / "specimens").rglob("*.py")}
    assert [n for n in names if (place / n).read_bytes() in specimens - {b""}] == []


def test_no_answer_of_any_day_can_be_read(readable: Path) -> None:
    for day in READY:
        for answer, (name, text) in itertools.product(answers(day.solutions_path), texts(readable).items()):
            assert [pair for pair in given_away(text, answer) if pair not in IDIOMS] == [], f"{name} gives away {day.topic}"


def test_everything_else_is_in_the_bundle_of_the_last_day(place: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(bundle.bundle_bytes(READY[-1]))) as archive:
        bundled = {name.removeprefix(f"{bundle.UNPACKED}/"): archive.read(name) for name in archive.namelist()}
    replaced = {"README.md", "solutions/__init__.py", *wheel.NOT_FOR_LEARNERS, *(f"solutions/{day.topic}.py" for day in READY)}
    assert [name for name, content in bundled.items() if name not in replaced and (place / name).read_bytes() != content] == []
    own = {p.relative_to(place).as_posix() for p in place.rglob("*.py")} - bundled.keys()
    assert {name.split("/")[0] for name in own} == {"autograder"}


def test_the_zip_of_answers_holds_the_solutions_and_the_engine_alone(place: Path) -> None:
    with zipfile.ZipFile(place / ANSWERS) as archive:
        names = archive.namelist()
        assert all(archive.read(name) == (ROOT / "solutions" / name).read_bytes() for name in names)
    assert {name for name in names if "/" not in name} == {"__init__.py", *(f"{day.topic}.py" for day in READY)}
    assert {name.split("/")[0] for name in names if "/" in name} == {"engine"}
    assert not any("capstone" in name for name in names)


def test_later_days_get_the_reference_solutions_and_their_source(command: Command, place: Path) -> None:
    output = command("python", "-c", ASK, at=place).stdout
    sums, text, source = output.split("\n", 2)
    assert sums == "1.0"
    assert "using the course's functions" in text
    assert source.rstrip("\n") == SOFTMAX.solutions_path.read_text().rstrip("\n")


def test_each_day_has_its_notebook(place: Path) -> None:
    for day in READY:
        notebook = place / "work" / day.slug / f"{day.slug}.ipynb"
        assert notebook.read_bytes() == (place / "course" / day.slug / notebook.name).read_bytes()


def test_the_same_course_gives_the_same_bytes(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        assert archive.read(f"{wheel.PACKAGE}/{wheel.ARCHIVE}") == wheel.archive_bytes()


# Day 1


def with_answers(path: Path, **others: str) -> None:
    """Put the reference's answers into the stubs of a notebook, or others where they are given."""
    solved = {c.metadata.course.exercise: c.source for c in solved_notebook(SOFTMAX).cells if c.metadata.course.role == "exercise"}
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.course.role == "exercise":
            name = cell.metadata.course.exercise
            assert "NotImplementedError" in cell.source
            cell.source = others.get(name, solved[name])
    nbformat.write(notebook, path)


def points(place: Path) -> dict[str, float]:
    return {name: entry["points"] for name, entry in json.loads((place / "work" / "progress.json").read_text())["exercises"].items()}


def printed(path: Path, exercise: str) -> str:
    """The output of an exercise's check."""
    cells = nbformat.read(path, as_version=4).cells
    (check,) = (c for c in cells if c.metadata.course.role == "check" and c.metadata.course.exercise == exercise)
    return "\n".join(output.get("text", "") or str(output.get("data", {}).get("text/plain", "")) for output in check.outputs)


def without_demonstrations(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.metadata.course.role in ("setup", "exercise", "check")]
    nbformat.write(notebook, path)


def do(command: Command, place: Path) -> None:
    """Execute Day 1's notebook in a kernel of the environment, as VS Code starts one: no variable names the folder."""
    command("python", "-c", DO, place / NOTEBOOK, (place / NOTEBOOK).parent, at=place)


def test_day_1_is_done_and_the_folder_laid_out_again_keeps_it(command: Command, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    command("prompt-to-token", "--no-lab", place, at=tmp_path)
    with_answers(place / NOTEBOOK)
    do(command, place)
    worth = {f"softmax/{each.name}": each.points for each in lesson(SOFTMAX).exercises}
    assert points(place) == worth
    assert "11 of 11 checks pass" in printed(place / NOTEBOOK, "softmax")
    mine = (place / NOTEBOOK).read_bytes()
    checked = command("autograder", "check", "day01", at=place).stdout
    assert "softmax: 11 of 11 checks pass" in checked
    assert command("autograder", "progress", at=tmp_path).stdout.startswith("Day  1  Softmax                            3/3")

    (place / "course" / "start_here.md").unlink()
    output = command("prompt-to-token", "--no-lab", at=place / "work").stdout  # it finds the folder around it
    assert f"The course is in {place}\n" in output
    assert "Not updated, because you changed them: 1 notebook;" in output
    assert (place / NOTEBOOK).read_bytes() == mine
    assert (place / "course" / "start_here.md").exists()
    assert points(place) == worth


def test_a_wrong_softmax_fails_and_the_terminal_says_where_hidden_checks_are(command: Command, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    command("from-prompt-to-token", "--no-lab", "mine", at=tmp_path)
    with_answers(place / NOTEBOOK, softmax=WRONG)
    without_demonstrations(place / NOTEBOOK)
    do(command, place)
    worth = {each.name: each.points for each in lesson(SOFTMAX).exercises}
    found = points(place)
    assert found["softmax/softmax"] < worth["softmax"]
    assert found["softmax/entropy"] == worth["entropy"]
    passed = re.search(r"softmax: (\d+) of 11 checks pass(?:es)?, ", printed(place / NOTEBOOK, "softmax"))
    assert passed is not None
    assert 0 < int(passed[1]) < 11  # it is right where nothing overflows and float64 comes in
    assert passed[0] in command("autograder", "check", "day01", "--exercise", "softmax", at=place, fails=True).stdout

    output = command("autograder", "check", "day01", "--graded", at=place, fails=True).stderr
    assert len(output.splitlines()) == 1
    assert "this copy of the course has no hidden checks" in output
    assert "git clone" in output
    as_module = command("python", "-m", "autograder.cli", "check", "day01", "--graded", at=place, fails=True)
    assert as_module.stderr == output
    assert "this copy of the course has no `grade`" in command("autograder", "grade", "day01", at=place, fails=True).stderr
