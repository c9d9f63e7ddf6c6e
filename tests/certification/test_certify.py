"""Certification judges right and wrong versions by real grading, its own folder or another's."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.base.errors import CourseError
from autograder.base.specimen_files import SPECIMENS, find_specimens
from autograder.certification import certify
from autograder.commands import certifying
from autograder.lessons import ROOT
from autograder.sandbox.confine.limits import Limits

RIGHT = "# exercise: softmax\n# RIGHT: torch's own\ndef softmax(logits):\n    return torch.softmax(logits, dim=-1)\n"
WRONG = "# exercise: softmax\n# WRONG: over the first dimension\ndef softmax(logits):\n    return torch.softmax(logits, dim=0)\n"


def folder_with(tmp_path: Path, **files: str) -> Path:
    (tmp_path / "softmax").mkdir()
    for name, source in files.items():
        (tmp_path / "softmax" / f"{name}.py").write_text(source)
    return tmp_path


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "autograder.cli", *arguments], capture_output=True, text=True)


def test_another_folder_is_judged(tmp_path):
    folder = folder_with(tmp_path, right_torch=RIGHT, wrong_dim=WRONG)
    (result,) = certify.certify("softmax", folder=folder, seeds=2)
    assert (result.right_passed, result.right_total) == (1, 1)
    assert (result.wrong_killed, result.wrong_total) == (1, 1)
    assert result.clean


def test_a_surviving_wrong_version_and_a_failing_right_one_are_named_with_the_reason(tmp_path):
    mislabelled_wrong = WRONG.replace("dim=0", "dim=-1")
    mislabelled_right = RIGHT.replace("dim=-1", "dim=0")
    folder = folder_with(tmp_path, wrong_is_right=mislabelled_wrong, right_is_wrong=mislabelled_right)
    (result,) = certify.certify("softmax", folder=folder, seeds=1)
    assert [s["file"] for s in result.survivors] == ["wrong_is_right.py"]
    assert [f["file"] for f in result.false_failures] == ["right_is_wrong.py"]
    assert "test_" in result.false_failures[0]["reason"]


def test_a_version_that_hangs_dies_or_does_not_define_anything_is_judged_too(tmp_path):
    folder = folder_with(
        tmp_path,
        wrong_hangs="# exercise: softmax\n# WRONG: never ends\ndef softmax(logits):\n    while True:\n        pass\n",
        wrong_dies="# exercise: softmax\n# WRONG: ends the process\nimport os\ndef softmax(logits):\n    os._exit(0)\n",
        wrong_stub="# exercise: softmax\n# WRONG: not written\ndef softmax(logits):\n    raise NotImplementedError('softmax')\n",
        right_helper="# exercise: softmax\n# RIGHT: nothing of its own\npass\n",
    )
    (result,) = certify.certify("softmax", folder=folder, seeds=1)
    assert result.clean
    assert result.wrong_killed == 3


def test_how_near_the_right_versions_come_to_a_time_limit(tmp_path):
    slow = "import time\nENDS = time.process_time() + {}\nwhile time.process_time() < ENDS: pass\n"
    folder = folder_with(
        tmp_path, right_a=RIGHT, right_b=RIGHT + slow.format(0.8), wrong_a=WRONG + slow.format(1.6)
    )
    (result,) = certify.certify("softmax", folder=folder, seeds=1, limits=replace(Limits(), cell_seconds=2.0))
    assert result.nearest_limit["file"] == "right_b.py"
    assert 0.4 <= result.nearest_limit["share"] < 0.8


def test_what_a_brief_look_holds_a_right_version_against():
    def exercises(topic: str, exercise: str, **how: bool) -> set[str]:
        specimen = certify.Specimen(topic, "right_a.py", exercise, True, "", "")
        return {c.exercise for c in certify.held_against(specimen, **{"timing": False, "briefly": True, **how})}

    assert exercises("softmax", "entropy") == {"entropy"}
    assert exercises("kv_cache", "decode_step") == {"decode_step", "generate_cached"}
    assert exercises("kv_cache", "KVCache") == {"KVCache", "forward_cached", "prefill", "decode_step", "generate_cached"}
    assert exercises("kv_cache", "prefill", timing=True) == set()
    assert exercises("kv_cache", "prefill", timing=True, briefly=False) == {"forward_cached", "generate_cached"}
    assert exercises("softmax", "entropy", briefly=False) == {"softmax", "log_softmax", "entropy"}


def test_json_and_exit_status(tmp_path):
    good = run("certify", "softmax", "--specimens", str(folder_with(tmp_path, right_a=RIGHT, wrong_a=WRONG)), "--json", "--seeds", "1")
    assert good.returncode == 0, good.stderr
    topic = json.loads(good.stdout)["topics"]["softmax"]
    assert {k: topic[k] for k in ("right_total", "right_passed", "wrong_total", "wrong_killed")} == {
        "right_total": 1, "right_passed": 1, "wrong_total": 1, "wrong_killed": 1,
    }  # fmt: skip
    assert topic["survivors"] == topic["false_failures"] == []
    assert good.stderr == ""


def test_an_interrupted_run_leaves_the_topics_that_it_has_judged(tmp_path, monkeypatch):
    folder, into = folder_with(tmp_path, right_a=RIGHT, wrong_a=WRONG), tmp_path / "figures.json"
    (tmp_path / "samplers").mkdir()
    judge = certifying.judge_specimens

    def judge_one(topic, *options):
        if topic != "softmax":
            raise KeyboardInterrupt
        return judge(topic, *options)

    monkeypatch.setattr(certifying, "judge_specimens", judge_one)
    monkeypatch.setattr(certify, "require_commit", lambda: None)
    with pytest.raises(KeyboardInterrupt):
        certifying.certify_topics(None, folder, 1, None, False, into)
    figures = json.loads(into.read_text())
    assert list(figures["topics"]) == ["softmax"]
    assert figures["topics"]["softmax"]["run"]["commit"] == certify.commit()
    assert (figures["right_passed"], figures["wrong_killed"]) == (1, 1)


def test_an_unexpected_judgement_is_reported_at_once_with_exit_status_1(tmp_path):
    folder = folder_with(tmp_path, wrong_in_name=RIGHT.replace("# RIGHT:", "# WRONG:"), right_in_name=WRONG.replace("# WRONG:", "# RIGHT:"))
    done = run("certify", "softmax", "--specimens", str(folder), "--json", "--seeds", "1")
    assert done.returncode == 1
    assert sorted(done.stderr.splitlines()) == ["false failure: softmax/right_in_name.py", "survivor: softmax/wrong_in_name.py"]


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("wrong_no_head", "def softmax(x): return x\n", "first two lines"),
        ("right_mislabelled", WRONG, "named right_"),
        ("wrong_unknown", WRONG.replace("exercise: softmax", "exercise: softmin"), "softmin"),
    ],
)
def test_a_specimen_out_of_form_is_one_line_and_the_rest_is_judged(tmp_path, name, source, says):
    folder = folder_with(tmp_path, right_torch=RIGHT, **{name: source})
    (result,) = certify.certify("softmax", folder=folder, seeds=1)
    assert result.right_passed == 1
    assert len(result.invalid) == 1
    assert says in result.invalid[0]["reason"]


def test_unknown_topic_or_folder_is_one_line_and_exit_2(tmp_path):
    for arguments in (("certify", "softmin"), ("certify", "softmax", "--specimens", str(tmp_path / "none"))):
        result = run(*arguments)
        assert result.returncode == 2
        assert len(result.stderr.strip().splitlines()) == 1
    with pytest.raises(CourseError, match="has no folder of a topic"):
        certify.certify(folder=tmp_path)


def test_published_figures_need_a_commit(tmp_path, monkeypatch):
    def git(*words: str) -> None:
        who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "docs" / "data").mkdir(parents=True)
    for name in ("docs/data/certification.json", "Makefile"):
        (tmp_path / name).write_text("before")
    git("init")
    git("add", ".")
    git("commit", "-m", "Begin")
    monkeypatch.setattr(certify, "ROOT", tmp_path)
    certify.require_commit()
    (tmp_path / "docs" / "data" / "certification.json").write_text("{}")
    certify.require_commit()  # its own file of figures may differ
    (tmp_path / "Makefile").write_text("")
    (tmp_path / "new.py").write_text("")
    with pytest.raises(CourseError, match="commit Makefile and 1 more first"):
        certify.require_commit()
    shutil.rmtree(tmp_path / ".git")
    with pytest.raises(CourseError, match="not a git repository"):
        certify.require_commit()


def test_the_published_figures_name_a_commit_of_this_history():
    figures = json.loads((ROOT / "docs" / "data" / "certification.json").read_text(encoding="utf-8"))
    for run in {repr(sorted(topic["run"].items())): topic["run"] for topic in figures["topics"].values()}.values():
        found = subprocess.run(["git", "-C", ROOT, "merge-base", "--is-ancestor", run["commit"], "HEAD"], capture_output=True, text=True)
        if found.returncode and "true" in subprocess.run(
            ["git", "-C", ROOT, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True
        ).stdout:
            pytest.skip("a shallow clone does not have that commit")
        assert found.returncode == 0, f"{run['commit']}: {found.stderr}"


def test_every_exercise_has_enough_specimens():
    from autograder.lessons import lesson, syllabus

    short = []
    for day in syllabus():
        if not day.ready:
            continue
        specimens = [certify.read_specimen(listed) for listed in find_specimens(SPECIMENS, [day.topic])]
        for exercise in lesson(day).exercises:
            right = sum(s.right and s.exercise == exercise.name for s in specimens)
            wrong = sum(not s.right and s.exercise == exercise.name for s in specimens)
            if right < 3 or wrong < 6:
                short.append((exercise.name, right, wrong))
    assert short == []
