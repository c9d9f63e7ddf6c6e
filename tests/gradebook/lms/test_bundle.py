"""What students are handed: a zip with everything that checks need and no answer, and it works with nothing else on the path."""

from __future__ import annotations

import ast
import functools
import inspect
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
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from autograder.base.datafiles import hand_computed
from autograder.base.errors import CourseError
from autograder.checking.runner import Check, select
from autograder.gradebook.lms import bundle
from autograder.lessons import ROOT, Day, find_day, lesson, marks, release_notebook_path, solved_notebook, syllabus

READY = [day for day in syllabus() if day.ready]
SAMPLERS = find_day("samplers")
HINT = re.compile(r'<details class="hint".*?</details>', re.DOTALL)
PICTURES = (".svg", ".safetensors", ".png")
Checks = Callable[[Path, Day, Path], str]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> dict[Day, Path]:
    """Every ready day's bundle, unpacked in a folder of its own."""
    places = {}
    for day in READY:
        place = tmp_path_factory.mktemp(day.slug)
        with zipfile.ZipFile(bundle.write_bundle(day, place)) as archive:
            archive.extractall(place)
        places[day] = place / bundle.UNPACKED
    return places


def answers(module: Path) -> list[list[str]]:
    """Each answer of a module, as those of its lines that say something and stand nowhere else in the module."""
    source = module.read_text()
    lines = [line.strip() for line in source.split("\n")]
    inside = {number for begin, end in marks.regions(source) for number in range(begin, end - 1)}
    outside = "\n".join(line for number, line in enumerate(lines) if number not in inside)
    regions = ([line for line in lines[begin : end - 1] if len(line) >= 12 and line not in outside] for begin, end in marks.regions(source))
    return [region for region in regions if region]


@functools.cache
def texts(place: Path) -> dict[str, str]:
    """{name: every line without its indentation}; of notebooks the cells. The third hint is nearly the code, on purpose."""
    found = {}
    for path in sorted(p for p in place.rglob("*") if p.is_file() and p.suffix not in PICTURES):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        found[path.relative_to(place).as_posix()] = "\n".join(line.strip() for line in HINT.sub("", text).split("\n"))
    return found


def given_away(text: str, answer: list[str]) -> list[str]:
    """Two lines of an answer in a row, or its only one; a single line such as `probs = softmax(logits)` may stand in a demo."""
    pairs = [f"{first}\n{second}" for first, second in itertools.pairwise(answer)] or [f"\n{answer[0]}\n"]
    return [pair for pair in pairs if pair in text]


@pytest.mark.slow
@pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)
def test_no_answer_of_the_day_or_a_later_one_is_inside(day: Day, unpacked: dict[Day, Path]) -> None:
    inside = dict(texts(unpacked[day]))
    later = [each for each in syllabus() if each.number >= day.number and each.solutions_path.exists()]
    # What a later answer has in common with an earlier day's is no secret any more.
    known = "\n".join(inside.pop(f"solutions/{each.topic}.py") for each in READY if each.number < day.number)
    for each in later:
        for answer, (name, text) in itertools.product(answers(each.solutions_path), inside.items()):
            assert [pair for pair in given_away(text, answer) if pair not in known] == [], f"{name} gives away {each.topic}"


@pytest.mark.slow
@pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)
def test_the_notebook_imports_only_modules_that_are_inside(day: Day, unpacked: dict[Day, Path]) -> None:
    """Outside a `try`, an `if` or a function, where a missing module is expected."""
    place = unpacked[day]
    notebook = json.loads((place / release_notebook_path(day).relative_to(ROOT)).read_text())
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code" or source.startswith("%"):
            continue
        for node in ast.parse(source).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("autograder", "course", "solutions"):
                path = place.joinpath(*node.module.split("."))
                assert path.with_suffix(".py").exists() or (path / "__init__.py").exists() or path.is_dir(), node.module


@pytest.mark.slow
def test_a_line_of_an_answer_would_be_found(unpacked: dict[Day, Path]) -> None:
    """Day 6 is given Day 5's answers, so there they are found."""
    inside = texts(unpacked[find_day("steering")])
    found = [given_away(inside["solutions/samplers.py"], answer) for answer in answers(SAMPLERS.solutions_path)]
    assert found
    assert all(found)


@pytest.mark.slow
@pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)
def test_nothing_hidden_is_inside(day: Day, unpacked: dict[Day, Path]) -> None:
    place = unpacked[day]
    names = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    assert {n for n in names if n.startswith("autograder/checking/hidden")} == {"autograder/checking/hidden/__init__.py"}
    assert (place / "autograder/checking/hidden/__init__.py").read_text() == ""
    assert not [n for n in names if "specimens" in n or "gradebook/" in n or n.endswith((".pyc", "figures.py", "gradebook.py"))]
    hidden = {
        node.name
        for module in (ROOT / "autograder" / "checking" / "hidden").glob("test_*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert [(n, name) for n, text in texts(place).items() for name in hidden if f"def {name}(" in text] == []
    for each in (each for each in syllabus() if each.number > day.number):
        assert [n for n in names if each.slug in n or n.endswith((f"solutions/{each.topic}.py", f"/test_{each.topic}.py"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)
def test_numbers_are_those_that_visible_checks_ask_for(day: Day, unpacked: dict[Day, Path]) -> None:
    table = tomllib.loads((unpacked[day] / "datasets" / "hand_computed.toml").read_text())
    assert table.keys() <= {each.topic for each in READY if each.number <= day.number}
    for topic, sections in table.items():
        assert sections == {name: hand_computed(topic)[name] for name in sections}


# Packages of others are imported once; what is of the course, each bundle imports for itself, in a process of its own.
CHECKS = """
import codeop, json, os, sys, traceback
import nbformat, numpy, torch

def check(place, slug, notebook):
    sys.path.insert(0, place)
    os.environ["HOME"] = place
    os.makedirs(place + "/work", exist_ok=True)
    os.chdir(place + "/work")
    import autograder, course, solutions
    from autograder.notebook import workspace; from autograder import student
    from autograder.lessons import find_day
    for module in (autograder, course, solutions):
        assert module.__file__.startswith(place), module.__file__
    find_day(slug)
    compiler = codeop.Compile()  # as in a notebook, what the first cell takes from __future__ holds for all
    scope = globals()
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.metadata.course.role in ("setup", "exercise", "check"):
            exec(compiler(cell.source, "<cell>", "exec"), scope)
    print(json.dumps({name: entry.points for name, entry in workspace.standings(workspace.workspace_folder()).items()}))

def one(place, slug, notebook, into):
    with open(into, "w") as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        try:
            check(place, slug, notebook)
            status = 0
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork() or one(*asked)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checks]:
    """Runs a notebook's setup, answers and checks with nothing of the course on the path but the bundle: what was printed."""
    folder = tmp_path_factory.mktemp("printed")
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHECKS]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def checked(place: Path, day: Day, notebook: Path) -> str:
            into = folder / f"{notebook.stem}-{day.slug}.txt"
            process.stdin.write(json.dumps([str(place), day.slug, str(notebook), str(into)]) + "\n")
            process.stdin.flush()
            status = process.stdout.readline()
            assert status == "0\n", into.read_text()
            return into.read_text()

        yield checked
        process.stdin.close()


@pytest.mark.slow
@pytest.mark.parametrize("day", READY, ids=lambda day: day.slug)
def test_from_the_bundle_right_answers_pass_every_visible_check(
    day: Day, unpacked: dict[Day, Path], checks: Checks, tmp_path: Path
) -> None:
    notebook = tmp_path / "right.ipynb"
    nbformat.write(solved_notebook(day), notebook)
    printed = checks(unpacked[day], day, notebook)
    points = ast.literal_eval(printed.splitlines()[-1])
    # What compares with the course's own answer, or needs a GPU, says that it is skipped; no exercise has nothing else.
    checked = {c.exercise for c in select(day.topic, hidden=False) if not asked(c) & {"reference", "race"} and not c.gpu}
    assert checked == {e.name for e in lesson(day).exercises}
    assert points == {f"{day.topic}/{e.name}": e.points for e in lesson(day).exercises}, printed
    if any(asked(c) & {"reference", "race"} for c in select(day.topic, hidden=False)):
        assert "the check compares with the reference solution" in printed


def asked(check: Check) -> set[str]:
    return set(inspect.signature(check.function).parameters)


@pytest.mark.slow
def test_from_the_bundle_a_wrong_answer_gets_a_report_of_what_is_wrong(unpacked: dict[Day, Path], checks: Checks, tmp_path: Path) -> None:
    day = find_day("softmax")
    wrong = solved_notebook(day)
    for cell in wrong.cells:
        if cell.metadata.course.get("exercise") == "softmax" and cell.metadata.course.role == "exercise":
            cell.source = "def softmax(logits):\n    return logits.exp() / logits.exp().sum()"
    nbformat.write(wrong, tmp_path / "wrong.ipynb")
    printed = checks(unpacked[day], day, tmp_path / "wrong.ipynb")
    points = ast.literal_eval(printed.splitlines()[-1])
    worth = {e.name: e.points for e in lesson(day).exercises}
    assert points["softmax/softmax"] < worth["softmax"]
    assert points["softmax/entropy"] == worth["entropy"]
    assert "found:" in printed


@pytest.mark.slow
def test_start_copies_notebooks_once_and_a_later_day_lands_beside_the_earlier(unpacked: dict[Day, Path], tmp_path: Path) -> None:
    place = tmp_path / "term"
    for day in (find_day("softmax"), find_day("tokenizer")):
        with zipfile.ZipFile(tmp_path / bundle.write_bundle(day, tmp_path).name) as archive:
            archive.extractall(place)
        subprocess.run([sys.executable, "start.py", "--copy-only"], cwd=place / bundle.UNPACKED, check=True, capture_output=True)
        work = place / bundle.UNPACKED / "work"
        notebook = work / day.slug / f"{day.slug}.ipynb"
        assert notebook.exists()
        if day.topic == "softmax":
            assert list((work / day.slug / "figures").glob("*.svg"))
            notebook.write_text("mine")
    assert (work / "day01_softmax" / "day01_softmax.ipynb").read_text() == "mine"


def test_after_the_start_any_kernel_of_its_environment_finds_the_course(unpacked: dict[Day, Path], tmp_path: Path) -> None:
    place = tmp_path / "there"
    shutil.copytree(unpacked[SAMPLERS], place)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / ".venv"], check=True)
    python, libraries = place / ".venv" / "bin" / "python", Path(sysconfig.get_path("purelib"))
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    own = subprocess.run(asked, check=True, capture_output=True, text=True)
    (Path(own.stdout.strip()) / "as_if_installed.pth").write_text(f"{libraries}\n")
    where = [python, "-c", "import autograder.student; print(autograder.student.__file__)"]
    assert "No module named 'autograder'" in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True).stderr
    subprocess.run([python, "start.py", "--copy-only"], cwd=place, check=True, capture_output=True)
    found = subprocess.run(where, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == str(place / "autograder" / "student.py")
    assert not (libraries / "from_prompt_to_token.pth").exists()  # whoever else started one, with another environment


def test_the_same_course_gives_the_same_bytes(tmp_path: Path) -> None:
    day = find_day("softmax")
    first = bundle.bundle_bytes(day)
    assert first == bundle.bundle_bytes(day)
    path = bundle.write_bundle(day, tmp_path)
    assert path.read_bytes() == first
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names == sorted(names)
        assert {entry.date_time for entry in archive.infolist()} == {bundle.FIXED_TIME}


def test_a_module_that_no_student_may_have_stops_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "autograder" / "demo").mkdir(parents=True)
    for name in ("__init__", "doctor", "authoring", "demo/__init__", "demo/demo"):
        (tmp_path / "autograder" / f"{name}.py").write_text("")
    (tmp_path / "autograder" / "student.py").write_text("def f():\n    from .demo import demo\n")
    with pytest.raises(CourseError, match=r"import autograder\.demo"):
        bundle.imported_modules(tmp_path)
