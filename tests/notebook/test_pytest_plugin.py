"""pytest on a student's notebook: what is collected, that the verdicts are those of `autograder check`, and that nobody else notices."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from typer.testing import CliRunner

from autograder.certification.certify import specimen_named
from autograder.checking.runner import load_checks, select
from autograder.cli import app
from autograder.lessons import find_day, syllabus
from autograder.notebook.pytest_plugin import holds_notebooks, short_name

from ..support.submissions import SOFTMAX, released, solved

ROOT = Path(__file__).parents[2]
WRONG = "wrong_softmax_dim0.py", "wrong_entropy_bits.py", "wrong_log_softmax_log_of_softmax.py"
ENDLESS = "def entropy(probs):\n    while True:\n        pass\n"
SYNTAX = "def softmax(logits)\n    return logits\n"
NAME = f"{SOFTMAX.slug}/{SOFTMAX.slug}.ipynb"


def put(folder: Path, notebook: dict | str, day=SOFTMAX) -> Path:
    path = folder / day.slug / f"{day.slug}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook if isinstance(notebook, str) else json.dumps(notebook))
    return path


def specimen(name: str) -> dict:
    """A notebook with a specimen's functions in the cell of the exercise that it is named for, and the reference's for the rest."""
    version = specimen_named(name, SOFTMAX.topic)
    return solved(**{version.exercise: version.source})


def run(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess:
    """pytest as a person runs it: in a process of its own, without what the run of these tests has set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COURSE_WORK"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, arguments)], cwd=folder, capture_output=True, text=True, env={**kept, **environment}
    )


def cases(path: Path) -> dict[str, tuple[str, str, str]]:
    """{"<folder>.<exercise>::<check>": (outcome by pytest, by the course, the message)} of a junit file."""
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        ours = {p.get("name"): p.get("value") for p in case.iter("property")}.get("outcome", "")
        other = next((each for each in case if each.tag in ("failure", "error", "skipped")), None)
        names = case.get("classname", "").split(".")
        report = "" if other is None else f"{other.get('message')}\n{other.text}"
        found[f"{names[0]}.{names[-1]}::{case.get('name')}"] = ("passed" if other is None else other.tag, ours, report)
    return found


@pytest.fixture(scope="module")
def everybody(tmp_path_factory):
    """A folder of students, and one run over all of them."""
    folder = tmp_path_factory.mktemp("everybody")
    put(folder / "right", solved())
    put(folder / "unwritten", released())
    put(folder / "endless", solved(entropy=ENDLESS))
    put(folder / "syntax", solved(softmax=SYNTAX))
    for name in WRONG:
        put(folder / name.removesuffix(".py"), specimen(name))
    put(folder / "damaged", "{ not json")
    (folder / "right" / "elsewhere").mkdir()
    (folder / "right" / "elsewhere" / f"{SOFTMAX.slug}.ipynb").write_text("a copy that is nobody's: not in the folder of its day")
    ran = run(folder, folder, "--junitxml", folder / "all.xml")
    return folder, ran, cases(folder / "all.xml")


def test_each_visible_check_is_an_item_and_pytest_counts_them(everybody):
    _, ran, found = everybody
    checks = select("softmax", hidden=False)
    assert ran.returncode == 1
    assert len(found) == (5 + len(WRONG)) * len(checks)
    assert {f"right.{c.exercise}::{short_name(c)}" for c in checks} == {name for name in found if name.startswith("right.")}
    assert {outcome for name, (outcome, _, _) in found.items() if name.startswith("right.")} == {"passed"}


@pytest.mark.parametrize("who", ["right", "unwritten", "endless", "syntax", *(name.removesuffix(".py") for name in WRONG)])
def test_verdicts_are_those_of_autograder_check(everybody, who):
    folder, _, found = everybody
    result = CliRunner().invoke(app, ["check", "day01", "--notebook", str(folder / who / NAME), "--json"])
    exercises = json.loads(result.stdout)["exercises"]
    assert result.exit_code == (who != "right")
    by_name = {c.name: c for c in load_checks("softmax")}
    for verdict in (verdict for exercise in exercises for verdict in exercise["checks"]):
        check = by_name[verdict["check"]]
        outcome, ours, text = found[f"{who}.{check.exercise}::{short_name(check)}"]
        assert ours == verdict["outcome"]
        assert (outcome == "passed") == (ours == "pass")
        assert outcome == "passed" or verdict["message"] in text or "the same as at" in text


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("wrong_softmax_dim0.softmax::last_dimension", "found: Your output matches a known mistake"),
        ("unwritten.softmax::by_hand", "not written yet"),
        ("endless.entropy::by_hand", "does it end?"),
        ("syntax.softmax::by_hand", "did not run to its end: SyntaxError"),
        ("damaged.softmax::by_hand", "is not JSON"),
    ],
)
def test_the_report_is_ours_and_no_traceback(everybody, item, words):
    _, ran, found = everybody
    assert words in found[item][2]
    assert words in ran.stdout
    assert "Traceback" not in ran.stdout
    assert "autograder/" not in ran.stdout
    assert f"{item.split('.')[1].split('::')[0]}: " in ran.stdout  # the headline names the exercise


@pytest.mark.slow
def test_pytest_s_own_ways_to_choose_work_and_whole_exercises_are_noted(tmp_path):
    path = put(tmp_path, specimen("wrong_softmax_dim0.py"))
    desk = {"COURSE_WORK": str(tmp_path)}
    first = run(tmp_path, path.parent, "-k", "by_hand or last_dimension", "-x", **desk)
    assert first.returncode == 1
    assert "stopping after 1 failures" in first.stdout
    assert not (tmp_path / "progress.json").exists()  # no exercise was asked for as a whole
    again = run(tmp_path, "--lf", path, **desk)
    assert re.search(r"1 failed, \d+ deselected", again.stdout) or "1 failed in" in again.stdout
    whole = run(tmp_path, f"{path}::entropy", **desk)
    assert whole.returncode == 0
    assert "entropy: 6 of 6 checks pass, 3 of 3 points" in whole.stdout
    noted = json.loads((tmp_path / "progress.json").read_text())["exercises"]
    assert noted.keys() == {"softmax/entropy"}
    assert noted["softmax/entropy"]["passed"]


@pytest.mark.slow
def test_two_processes_take_a_day_each_and_leave_speed_alone(tmp_path):
    pytest.importorskip("xdist")
    put(tmp_path, specimen("wrong_softmax_dim0.py"))
    put(tmp_path, solved(find_day("kv_cache")), find_day("kv_cache"))
    ran = run(tmp_path, ".", "-n", "2", "-v", "-rs", "-k", "entropy or softmax or step_hardly_grows")
    assert ran.returncode == 1
    assert "speed is measured alone: run without -n" in ran.stdout
    assert "entropy: 6 of 6 checks pass" in ran.stdout
    assert len({who for who, day in re.findall(r"\[(gw\d)\].*?/(day\d\d)_\w+\.ipynb", ran.stdout) if day == "day01"}) == 1


def test_what_measures_speed_comes_last(tmp_path):
    put(tmp_path, released(find_day("kv_cache")), find_day("kv_cache"))
    put(tmp_path / "zoe", released())
    listed = [line for line in run(tmp_path, "--collect-only", "-q", ".").stdout.splitlines() if "::" in line]
    timed = {f"{c.exercise}::{short_name(c)}" for c in select("kv_cache", hidden=False) if c.timing}
    assert {line.split(".ipynb::")[1] for line in listed[-len(timed) :]} == timed
    assert "zoe/" in listed[-len(timed) - 1]


# The files of the checks


@pytest.mark.slow
def test_a_file_of_checks_judges_a_notebook_or_the_course_s_own_answers(tmp_path):
    path = put(tmp_path, specimen("wrong_softmax_dim0.py"))
    checks, hidden = (f"autograder/checking/{kind}/test_softmax.py" for kind in ("checks", "hidden"))
    wrong = run(ROOT, checks, "-p", "no:cacheprovider", "--notebook", path)
    assert wrong.returncode == 1
    assert f"FAILED {checks}::test_softmax_last_dimension" in wrong.stdout
    assert f"FAILED {checks}::test_entropy_by_hand" not in wrong.stdout
    course = run(ROOT, checks, hidden, "-q", "-p", "no:cacheprovider", "--course")
    assert course.returncode == 0, course.stdout
    assert f"{len(load_checks('softmax'))} passed" in course.stdout


def test_hidden_checks_are_refused_in_one_line():
    refused = run(ROOT, "autograder/checking/hidden/test_softmax.py", "-p", "no:cacheprovider")
    assert refused.returncode == 2
    assert "hidden checks run when your work is graded" in refused.stdout
    assert "passed" not in refused.stdout


# A person's own tests

MINE = """
import pytest, torch
from autograder.authoring import close

def test_rows_sum_to_one(student, reference, hand, rng):
    logits = torch.randn(3, 5, generator=rng)
    close(student.entropy(torch.softmax(logits, -1)), reference.entropy(torch.softmax(logits, -1)))
    assert hand["five_logits"]

def test_that_fails(student):
    close(student.softmax(torch.zeros(1, 4)), [[0.25] * 4])

def test_that_raises(student):
    student.softmax("text")

@pytest.mark.day("samplers")
def test_of_a_day_that_is_not_there(student):
    pass
"""
UNCLEAR = """
from autograder.notebook.session import Session

judged = Session.verdict

def verdict(self, check):
    given = judged(self, check)
    if check.name == "test_entropy_by_hand":
        given.outcome, given.message = "inconclusive", "the rounds do not agree"
    return given

Session.verdict = verdict
"""


def test_fixtures_for_own_tests_and_what_is_inconclusive(tmp_path):
    path = put(tmp_path, specimen("wrong_softmax_dim0.py"))
    (path.parent / "test_mine.py").write_text(MINE)
    (tmp_path / "conftest.py").write_text(UNCLEAR)
    ran = run(tmp_path, ".", "-rs", "-k", "mine or (entropy and by_hand)", "--strict-markers", COURSE_WORK=str(tmp_path))
    assert "2 failed, 1 passed, 1 skipped" in ran.stdout
    assert "1 error" in ran.stdout
    assert re.search(r"SKIPPED \[1\] .*\.ipynb:\d+: inconclusive: the rounds do not agree", ran.stdout)
    assert ">       close(student.softmax(torch.zeros(1, 4)), [[0.25] * 4])" in ran.stdout
    assert re.search(r"^E +in softmax, line \d+: ", ran.stdout, re.MULTILINE)
    assert "no notebook at" in ran.stdout
    assert "remote_student.py" not in ran.stdout


@pytest.mark.slow
def test_the_commands_of_the_workflow_run_as_they_stand(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci_template.md").read_text(), re.DOTALL)
    job = yaml.safe_load(text)["jobs"]["checks"]
    set_up, *steps = [step["run"] for step in job["steps"] if "run" in step]
    assert subprocess.run(["make", "-n", *set_up.split()[3:]], cwd=ROOT, capture_output=True).returncode == 0
    put(tmp_path / "work", specimen("wrong_softmax_dim0.py"))
    (tmp_path / ".course" / ".venv").mkdir(parents=True)
    (tmp_path / ".course" / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    environment = {**os.environ, "COURSE_WORK": job["env"]["COURSE_WORK"].replace("${{ github.workspace }}", str(tmp_path))}
    ended = [subprocess.run(["bash", "-e", "-c", step], cwd=tmp_path, env=environment, capture_output=True).returncode for step in steps]
    assert ended == [1, 0]
    assert len(cases(tmp_path / "checks.xml")) == len(select("softmax", hidden=False))
    stored = json.loads((tmp_path / f"{SOFTMAX.slug}.json").read_text())
    assert {e["exercise"]: e["passed"] for e in stored["exercises"]} == {"softmax": False, "log_softmax": True, "entropy": True}


# Everybody else's tests


def test_the_environment_has_the_plugin():
    names = [entry.name for entry in entry_points(group="pytest11") if entry.value == "autograder.notebook.pytest_plugin"]
    assert names == ["from_prompt_to_token"], "installed before the plugin was there: `make test` installs the course anew"


def test_a_run_without_notebooks_loads_nothing(tmp_path):
    (tmp_path / "test_theirs.py").write_text("def test_theirs(): pass\n")
    (tmp_path / "notes.ipynb").write_text("{}")
    code = (
        "import sys, pytest; assert pytest.main(['-q', '.']) == 0; assert 'autograder.notebook.pytest_plugin' in sys.modules; "
        "assert not {'torch', 'numpy', 'typer', 'nbformat', 'autograder.checking.runner'} & sys.modules.keys()"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_other_folder_is_taken_for_a_desk(tmp_path):
    assert not holds_notebooks(ROOT / "tests")
    put(tmp_path / "work", released())
    assert holds_notebooks(tmp_path)
    assert holds_notebooks(tmp_path / "work" / SOFTMAX.slug)
    listed = run(ROOT, "--collect-only", "-q", "-p", "no:cacheprovider", f"course/{SOFTMAX.slug}")
    assert listed.returncode == 5, listed.stdout


def test_short_names_tell_the_checks_of_an_exercise_apart():
    for day in (day for day in syllabus() if day.ready):
        names = [(c.exercise, short_name(c)) for c in select(day.topic, hidden=False)]
        assert len(names) == len(set(names)), day.slug
