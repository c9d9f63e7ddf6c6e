"""A class's own hidden checks, `own/hidden/test_<topic>.py` in its folder: they count as the course's do, in every way of grading."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import solutions.softmax
from autograder.base import own
from autograder.base.course_table import check_own_names
from autograder.base.errors import CourseError
from autograder.certification.certify import certify
from autograder.checking import mistakes
from autograder.checking.runner import load_checks, run_checks, select
from autograder.gradebook.lms.gradescope_zip import write_zip
from autograder.grading import verdict_inputs
from autograder.grading.executors import dask_worker, processes
from autograder.grading.executors.processes import Processes
from autograder.grading.grade import Options
from autograder.grading.records import read_record
from autograder.grading.run import fresh_record, grade_all
from autograder.lessons import ROOT, lesson
from autograder.sandbox.process.forkserver_pool import SAFE_LEVELS, level
from autograder.sandbox.process.local import LocalStudent
from tests.support.submissions import QUICK, SOFTMAX, graded, hand_in, solved

GUIDE = (ROOT / "docs" / "instructor.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"cat > own/hidden/test_softmax.py <<'END'\n(.*?)END\n", GUIDE, re.DOTALL)
NAME = "test_ours_scaled_logits"
TAKEN = "test_softmax_by_hand"
HEAD = "from autograder.authoring import checks, close, that\n"
LENIENT = HEAD + '@checks("softmax")\ndef test_ours(student):\n    """any result will do"""\n    student.softmax\n'
STRICT = HEAD + '@checks("softmax", weight=3)\ndef test_ours(student):\n    """no result will do"""\n    that(False, "never so")\n'
HALVED = "def softmax(logits):\n    return (logits / 2).softmax(-1)\n"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """A function that writes a class's own checks of a topic and uses them until the test ends."""

    def written(text: str = EXAMPLE, name: str = "test_softmax") -> Path:
        path = tmp_path / "own" / "hidden" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        own.use(own.folder_of(tmp_path))
        return path

    yield written
    own.use(None)


def autograder(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200"}
    command = [sys.executable, "-m", "autograder.cli", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_they_are_hidden_checks_after_all_others_and_of_their_topic_alone(write):
    before = load_checks("softmax"), load_checks("samplers")
    write()
    *others, mine = load_checks("softmax")
    assert (tuple(others), load_checks("samplers")) == before
    assert (mine.name, mine.exercise, mine.title) == (NAME, "softmax", "softmax of scaled logits is right")
    assert mine.hidden
    assert mine.own
    assert mine in select("softmax", exercise="softmax", hidden=True)
    own.use(None)
    assert load_checks("softmax") == before[0]


def test_the_example_of_the_docs_passes_the_answer_and_catches_a_mistake(write):
    write()
    (check,) = (check for check in load_checks("softmax") if check.own)
    (right,) = run_checks("softmax", [check], LocalStudent(vars(solutions.softmax)), seed=7)
    assert right.passed, right.message
    (wrong,) = run_checks("softmax", [check], LocalStudent({"softmax": lambda logits: solutions.softmax.softmax(logits / 2)}), seed=7)
    assert wrong.failed


def test_a_class_without_own_checks_has_none_and_a_link_may_lead_to_them(tmp_path, write):
    assert own.folder_of(tmp_path) is None
    path = write()
    other = tmp_path / "class2027"
    other.mkdir()
    (other / "own").symlink_to(path.parents[1])
    own.use(own.folder_of(other))
    assert load_checks("softmax")[-1].own
    (tmp_path / "own").rename(tmp_path / "moved")
    with pytest.raises(CourseError, match="is missing on this machine: copy the folder to this path"):
        own.use(own.folder_of(other))


TWICE = 'two = 2\n\n\n@checks("softmax")\ndef test_ours(student):\n    """again"""\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import torch\nfrom autograder.authoring import chekcs\n", r":2: cannot be imported \(ImportError: cannot import name 'chekcs'"),
        ("import torch\n\ndef test_(:\n", r":3: cannot be imported \(SyntaxError: "),
        ("from helpers import x\n", r":1: cannot be imported \(ModuleNotFoundError: No module named 'helpers'\): fix it, or move the file"),
        (HEAD + '@checks("softmax")\ndef test_ours(student): pass\n', r":2: cannot be imported \(TypeError: .*test_ours has no docstring"),
        ("import torch\n", r'py holds no check: put @checks\("softmax"\) above a function$'),
        (LENIENT.replace('"softmax"', '"softmx"'), "test_ours is for 'softmx'.* of softmax: choose one of softmax, "),
        (LENIENT.replace("test_ours", TAKEN), f"{TAKEN} is the name of another check: choose another name"),
        (LENIENT + TWICE, "test_ours is defined more than once: give each check a name of its own"),
        (LENIENT.replace("(student)", "(student, rgn)"), "test_ours asks for 'rgn': a check gets student, reference, hand, rng, and race"),
        (LENIENT.replace("(student)", "(student, race)"), "test_ours asks for 'race'"),
        (STRICT.replace("weight=3", "weight=0"), "test_ours has the weight 0: give a number above 0"),
    ],
)
def test_a_check_that_could_not_count_is_refused_in_one_line(write, text, message):
    path = write(text)
    with pytest.raises(CourseError, match=message) as refused:
        load_checks("softmax")
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_a_file_that_is_named_for_no_topic_is_refused(tmp_path, write):
    for name in ("test_sofmax", "softmax", "helpers"):
        write(name=name)
        with pytest.raises(CourseError, match=f"{name}.py is named for no topic: name it test_<topic>.py; topics are softmax, "):
            check_own_names()
        (tmp_path / "own" / "hidden" / f"{name}.py").unlink()


def test_a_changed_file_is_read_again(write):
    write(LENIENT)
    assert load_checks("softmax")[-1].weight == 1
    write(STRICT)
    assert load_checks("softmax")[-1].weight == 3


def test_a_verdict_depends_on_them_and_on_what_they_import(write):
    course = verdict_inputs.of_day(SOFTMAX)
    write(EXAMPLE, "test_samplers")
    assert verdict_inputs.of_day(SOFTMAX) == course
    write(LENIENT)
    mine = verdict_inputs.of_day(SOFTMAX)
    assert mine != course
    write(LENIENT + "# a reason\n")
    assert verdict_inputs.of_day(SOFTMAX) == mine
    write(LENIENT + "MORE = 1\n")
    assert verdict_inputs.of_day(SOFTMAX) not in (mine, course)
    helper, kit = Path("autograder/checking/helpers/paged.py"), Path("course/kit/serving/requests.py")
    assert not {helper, kit} & set(verdict_inputs.files("softmax"))
    write("from autograder.checking.helpers import paged\nfrom course.kit.serving import requests\n" + LENIENT)
    assert {helper, kit} <= set(verdict_inputs.files("softmax"))
    own.use(None)
    assert verdict_inputs.of_day(SOFTMAX) == course


def test_a_known_mistake_is_still_named_where_they_fail_too(write, monkeypatch):
    profiles: list[dict[str, object]] = []
    monkeypatch.setattr(mistakes, "recognised", lambda topic, exercise, found, hidden: profiles.append(found) or ["negated"])

    def verdicts() -> dict[str, tuple[str | None, str | None]]:
        student = LocalStudent({"softmax": lambda logits: (-logits).softmax(dim=-1)})
        found = run_checks("softmax", select("softmax", exercise="softmax", timing=False), student, seed=5)
        return {verdict.check: (verdict.cause, verdict.same_as) for verdict in found if verdict.failed}

    before = verdicts()
    assert [cause for cause, _ in before.values() if cause] == ["Your output matches a known mistake: negated."]
    write(STRICT)
    assert verdicts() == before | {"test_ours": (None, None)}
    assert profiles[0] == profiles[1]


def test_their_weight_counts_and_the_reason_is_in_the_record(tmp_path, write):
    before = graded(tmp_path, solved())
    write(STRICT)
    record = graded(tmp_path, solved())
    here = [check.weight for check in load_checks("softmax") if check.exercise == "softmax" and not check.timing]
    exercise, *others = record.scores
    assert exercise.points == pytest.approx(exercise.max_points * (1 - 3 / sum(here)), abs=1e-4)
    assert others == before.scores[1:]
    assert record.verdicts[-1].check == "test_ours"
    assert (record.verdicts[-1].message, record.verdicts[-1].hidden) == ("never so", True)
    assert record.course_sha256 != before.course_sha256


def test_a_submission_cannot_read_them(tmp_path, write):
    if level() not in SAFE_LEVELS:
        pytest.skip("no level of this machine hides files from a submission")
    path = write()
    record = graded(tmp_path, solved(softmax=f"open({str(path)!r}).read()\n{HALVED}"))
    (outcome,) = record.cells.values()
    assert "FileNotFoundError" in outcome or "PermissionError" in outcome


def test_a_record_without_them_is_graded_again(tmp_path, write):
    task = hand_in(tmp_path, "ada", solved())
    grade_all([task], QUICK, tmp_path / "records")
    assert fresh_record(tmp_path / "records", task, QUICK) is not None
    write()
    assert fresh_record(tmp_path / "records", task, QUICK) is None
    (record,) = grade_all([task], QUICK, tmp_path / "records", resume=True)
    assert [v.check for v in record.verdicts if v.check == NAME] == [NAME]
    assert record.status == "pass"


@pytest.mark.slow
def test_commands_in_the_class_folder_use_them_and_say_so(tmp_path, write):
    path = write()
    hand_in(tmp_path, "ada", solved())
    hand_in(tmp_path, "bela", solved(softmax=HALVED))
    done = autograder(tmp_path, "grade", "day01")
    assert done.returncode == 0, done.stderr
    assert f"with checks of your own: {path}" in done.stderr
    verdicts = {name: read_record(tmp_path / "records" / SOFTMAX.slug / f"{name}.json").verdicts for name in ("ada", "bela")}
    assert {name: next(v.passed for v in found if v.check == NAME) for name, found in verdicts.items()} == {"ada": True, "bela": False}
    for command in (["report", "day01"], ["feedback", "day01"], ["export", "--to", "csv"]):
        done = autograder(tmp_path, *command)
        assert done.returncode == 0, done.stderr
    assert NAME in (tmp_path / "report" / "items.csv").read_text()
    page = (tmp_path / "feedback" / "bela" / SOFTMAX.slug / f"{SOFTMAX.slug}.html").read_text()
    assert "softmax of scaled logits is right" in page
    assert "torch.randn(4, 7" not in page
    path.write_text(EXAMPLE.replace('@checks("softmax")', '@checks("softmax", weight=2)'))
    done = autograder(tmp_path, "regrade", "day01")
    assert "1 student with a changed score" in done.stdout, done.stdout + done.stderr
    done = autograder(tmp_path, "round", "day01")
    assert "2 graded now, 0 unchanged" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (STRICT, 1, "the reference of day01_softmax got "),
        (LENIENT, 1, "the blank notebook of day01_softmax got "),
        (EXAMPLE.replace("import torch", "import tocrh"), 2, ":1: cannot be imported (ModuleNotFoundError: No module named 'tocrh')"),
    ],
)
def test_a_check_that_is_wrong_stops_the_run_before_any_submission(tmp_path, write, text, status, message):
    write(text)
    hand_in(tmp_path, "ada", solved())
    done = autograder(tmp_path, "grade", "day01")
    assert done.returncode == status
    assert message in done.stderr.splitlines()[-1]
    assert status == 2 or "test_ours" in done.stderr.splitlines()[-1]
    assert not list((tmp_path / "records").glob("*/*.json"))


@pytest.mark.slow
def test_several_graders_use_them(tmp_path, write, monkeypatch):
    write()
    monkeypatch.setattr(processes, "WORTH_IT", 2)
    tasks = [hand_in(tmp_path, f"s{n}", solved() if n else solved(softmax=HALVED)) for n in range(3)]
    records = grade_all(tasks, Options(jobs=2), tmp_path / "records", executor=Processes("auto"))
    assert [next(v.passed for v in r.verdicts if v.check == NAME) for r in records] == [False, True, True]


def test_a_worker_that_cannot_read_them_or_has_others_refuses(write):
    path = write()
    handshake = dask_worker.handshake(SOFTMAX, QUICK, "auto")
    assert handshake["own"] == str(path.parents[1])
    refused = dask_worker.agree(handshake | {"own": "/no/such/own"})
    assert "/no/such/own, the folder of the class's own material, is missing on this machine" in refused["refused"]
    assert refused["ours"] is False
    assert "differ from those here" in dask_worker.agree(handshake | {"own": ""})["refused"]
    with dask_worker._at("auto"):
        assert "another run grades there with its class's own checks" in dask_worker.agree(handshake)["refused"]


@pytest.mark.slow
def test_gradescopes_zip_has_them_and_grades_with_them(tmp_path, write):
    write()
    base = tmp_path / "gradescope"
    with zipfile.ZipFile(write_zip(SOFTMAX, base)) as archive:
        archive.extractall(base / "source")
    own.use(None)
    assert (base / "source" / "course" / "own" / "hidden" / "test_softmax.py").read_text() == EXAMPLE
    (base / "source" / "course" / ".venv").symlink_to(Path(sys.prefix))
    (base / "submission").mkdir()
    (base / "submission" / f"{SOFTMAX.slug}.ipynb").write_text(json.dumps(solved()))
    subprocess.run(["bash", base / "source" / "run_autograder", base], check=True, timeout=300, capture_output=True)
    results = json.loads((base / "results" / "results.json").read_text())
    assert results["score"] == lesson(SOFTMAX).points
    assert NAME in [check["check"] for check in results["extra_data"]["hidden_checks"]]


@pytest.mark.slow
def test_certification_judges_with_them(tmp_path, write):
    folder = tmp_path / "specimens" / "softmax"
    folder.mkdir(parents=True)
    (folder / "right_torch.py").write_text("# exercise: softmax\n# RIGHT: torch's own\n" + HALVED.replace("(logits / 2)", "logits"))
    (folder / "wrong_halved.py").write_text("# exercise: softmax\n# WRONG: halves the logits\n" + HALVED)
    write()
    (result,) = certify("softmax", folder=folder.parent, seeds=1)
    assert (result.right_passed, result.wrong_killed, NAME in result.never_failed) == (1, 1, False)
    write(STRICT)
    done = autograder(tmp_path, "certify", "softmax", "--specimens", "specimens", "--seeds", "1")
    assert done.returncode == 1
    assert "with checks of your own: " in done.stderr
    assert "test_ours: never so" in done.stdout

