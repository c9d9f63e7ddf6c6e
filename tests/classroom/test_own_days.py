"""Days of a class's own: docs/own_days.md, followed in an empty folder, and the day that `autograder new day` begins."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.base import own
from autograder.base.course_table import earlier_sources, known_topics
from autograder.base.errors import CourseError
from autograder.checking.runner import load_checks, reference, run_checks, select
from autograder.grading import verdict_inputs
from autograder.grading.records import read_record
from autograder.hub.course import HubFolder, lay_out
from autograder.lessons import ROOT, find_day, lesson, release_bytes, solved_notebook, start_bytes, syllabus
from autograder.lessons.scaffold import write_day
from autograder.sandbox.process.local import LocalStudent

GUIDE = (ROOT / "docs" / "own_days.md").read_text(encoding="utf-8")
BLOCKS = [text for _, text in re.findall(r"^(`{3,})bash\n(.*?)^\1$", GUIDE, re.MULTILINE | re.DOTALL)]
SLUG = "day101_eta_sampling"
BIN = Path(sys.executable).parent


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A class's own folder with the day `twice`, in use until the test ends."""
    write_day("twice", tmp_path / own.FOLDER)
    own.use(tmp_path / own.FOLDER)
    yield tmp_path / own.FOLDER
    own.use(None)


def test_a_new_day_is_a_day_after_those_of_the_course(folder):
    day = find_day("day101")
    assert (day.slug, day.topic, day.title, find_day("twice")) == ("day101_twice", "twice", "Twice", day)
    assert syllabus() == [*syllabus(ROOT), day]
    assert known_topics()[-1] == "twice"
    assert [exercise.name for exercise in lesson(day).exercises] == ["twice"]
    assert list(earlier_sources("twice")) == list(known_topics()[:-1])
    own.use(None)
    assert day not in syllabus()
    with pytest.raises(CourseError, match="'twice' is not a day"):
        find_day("twice")


def test_its_checks_accept_its_solution_and_a_blank_notebook_fails_them_all(folder):
    assert [(check.name, check.hidden) for check in load_checks("twice")] == [
        ("test_three_probabilities_by_hand", False), ("test_rows_of_random_probabilities", True),
    ]  # fmt: skip
    assert all(v.passed for v in run_checks("twice", select("twice"), LocalStudent(vars(reference("twice"))), seed=3))
    assert not any(v.passed for v in run_checks("twice", select("twice"), LocalStudent({}), seed=3))


def test_its_notebook_is_built_and_the_first_notebook_of_the_course_does_not_name_it(folder):
    day = find_day("twice")
    notebook = json.loads(release_bytes(day))
    assert "Day 101 · 60 minutes · easy · builds on Day 1 (Softmax)" in "".join(notebook["cells"][0]["source"])
    assert 'raise NotImplementedError(\\"twice\\")' in json.dumps(notebook)
    assert b"twice" not in start_bytes()


def test_every_file_of_it_counts_for_its_verdicts_and_for_no_other_days(folder):
    day, softmax = find_day("twice"), verdict_inputs.of_day(find_day("softmax"))
    seen = {verdict_inputs.of_day(day)}
    for name in ("solutions/twice.py", "checks/test_twice.py", "hidden/test_twice.py"):
        path = folder / name
        path.write_text(path.read_text() + "\nMORE = 1\n")
        seen.add(verdict_inputs.of_day(day))
    assert len(seen) == 4
    assert verdict_inputs.of_day(find_day("softmax")) == softmax


def test_a_second_day_comes_after_the_first_and_names_are_checked(folder):
    assert write_day("thrice", folder)[1].parent.name == "day102_thrice"
    assert list(earlier_sources("thrice"))[-1] == "twice"
    for name, message in (
        ("twice", "there is a day 'twice' already"), ("softmax", "there is a day 'softmax' already"), ("Eta", "cannot name a day"),
        ("a-b", "cannot name a day"), ("class", "cannot name a day"),
    ):  # fmt: skip
        with pytest.raises(CourseError, match=message):
            write_day(name, folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("number = 101", "number = 5", "day 5 comes after day"),
        ('topic = "twice"', 'topic = "softmax"', "the topic 'softmax' belongs to an earlier day"),
        ('["softmax"]', '["thrice"]', "the prerequisite 'thrice' is not the topic of an earlier day"),
        ('topic = "twice"', "", "syllabus.toml: KeyError: 'topic'"),
        ("number = 101", "number =", "syllabus.toml: TOMLDecodeError"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(folder, old, new, message):
    table = folder / own.SYLLABUS
    (folder / "hidden" / "test_twice.py").unlink()
    table.write_text(table.read_text().replace(old, new))
    with pytest.raises(CourseError, match=message) as refused:
        known_topics() and syllabus()
    assert str(table) in str(refused.value)
    assert "\n" not in str(refused.value)


# The guide


def download(folder: Path) -> None:
    """What Canvas gives: a solved notebook and the released one."""
    own.use(folder / own.FOLDER)
    try:
        day = find_day("day101")
        released = (day.folder / f"{SLUG}.ipynb").read_text(encoding="utf-8")
        with zipfile.ZipFile(folder / "submissions.zip", "w") as archive:
            archive.writestr(f"lovelaceada_101_9001_{SLUG}.ipynb", json.dumps(solved_notebook(day)))
            archive.writestr(f"hoppergrace_102_9002_{SLUG}.ipynb", released)
    finally:
        own.use(None)


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The class's folder after the whole guide; `printed` has what the commands said."""
    start = tmp_path_factory.mktemp("term")
    folder = start / "class2026"
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    printed = []
    for block in BLOCKS:
        if "submissions.zip" in block:
            download(folder)
        where = folder if folder.exists() else start
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=where, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        printed.append(done.stdout + done.stderr)
    (folder / "printed").write_text("\n".join(printed))
    return folder


@pytest.mark.slow
def test_both_days_of_the_guide_are_certified(term):
    rows = re.findall(r"│ eta_sampling │ (\d/\d) +│ (\d/\d) +│", (term / "printed").read_text())
    assert rows == [("1/1", "1/1"), ("1/1", "3/3")]


@pytest.mark.slow
def test_the_class_has_scores_feedback_and_a_table(term):
    records = {name: read_record(term / "records" / SLUG / f"{name}.json") for name in ("lovelaceada_101", "hoppergrace_102")}
    assert [record.points for record in records.values()] == [4, 0]
    assert [v.hidden for v in records["lovelaceada_101"].verdicts] == [False, False, True]
    with (term / "exports" / "scores.csv").open(newline="") as file:
        assert [(row["day"], row["exercise"], row["points"]) for row in csv.DictReader(file)] == [
            (SLUG, "eta_sampling", "0"), (SLUG, "eta_sampling", "4"),
        ]  # fmt: skip
    page = (term / "feedback" / "hoppergrace_102" / SLUG / f"{SLUG}.html").read_text()
    assert "four probabilities, worked out by hand" in page
    assert "torch.special.entr" not in page
    assert "test_random_etas_and_thresholds" in (term / "report" / "items.csv").read_text()


@pytest.mark.slow
def test_students_get_a_course_with_the_day_and_without_its_answer(term, tmp_path):
    with zipfile.ZipFile(term / "bundles" / f"{SLUG}.zip") as archive:
        archive.extractall(tmp_path)
        texts = [archive.read(name) for name in archive.namelist() if "eta_sampling" in name]
    assert not any(b"math.sqrt(epsilon)" in text or b"test_random_etas" in text for text in texts)
    (course,) = tmp_path.iterdir()
    own.use(term / own.FOLDER)
    answer = next(c.source for c in solved_notebook(find_day(SLUG)).cells if c.metadata.course.role == "exercise")
    own.use(None)
    setup = 'import math\nimport torch\nfrom torch import Tensor\nfrom autograder.student import check, earlier\n'
    setup += 'softmax, entropy = earlier("softmax").softmax, earlier("softmax").entropy\n'
    environment = {**os.environ, "PYTHONPATH": str(course)}
    for source, message in ((answer, "2 of 2 checks pass"), (answer.replace("math.sqrt(epsilon)", "epsilon"), "1 of 2 checks passes")):
        code = f"{setup}{source}\ncheck('eta_sampling')\n"
        done = subprocess.run([sys.executable, "-c", code], cwd=course, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert message in done.stdout


@pytest.mark.slow
def test_a_class_server_lays_it_out_when_it_is_released(term):
    folder = HubFolder(term)
    (folder.released / SLUG).mkdir(parents=True)
    own.use(term / own.FOLDER)
    try:
        place = lay_out(folder)
    finally:
        own.use(None)
    assert place.name.startswith(f"{SLUG}-")
    assert (place / "course" / SLUG / f"{SLUG}.ipynb").is_file()


@pytest.mark.slow
def test_gradescope_grades_it(term, tmp_path):
    with zipfile.ZipFile(term / "gradescope" / f"{SLUG}.zip") as archive:
        archive.extractall(tmp_path / "source")
    (tmp_path / "source" / "course" / ".venv").symlink_to(Path(sys.prefix))
    (tmp_path / "submission").mkdir()
    notebook = term / "submitted" / "lovelaceada_101" / SLUG / f"{SLUG}.ipynb"
    (tmp_path / "submission" / notebook.name).write_bytes(notebook.read_bytes())
    subprocess.run(["bash", tmp_path / "source" / "run_autograder", tmp_path], check=True, timeout=300, capture_output=True)
    assert json.loads((tmp_path / "results" / "results.json").read_text())["score"] == 4
