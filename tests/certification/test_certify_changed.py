"""CI's choice of specimens: a small repository of its own, with a release's figures and a change after them."""

import json
import subprocess
from pathlib import Path

import pytest

from autograder import cli
from autograder.base.course_table import known_topics
from autograder.certification import certify, certify_changed
from autograder.certification.certify import Judgement, Specimen
from autograder.grading import verdict_inputs
from autograder.lessons import ROOT

LESSON = "{prose}\n\n```python setup\n{setup}\n```\n\n```python\nsoftmax(x)\n```\n"
NUMBERS = "[softmax.one]\nvalue = {softmax}\n[samplers.one]\nvalue = {samplers}\n"
LOCK = "numpy=={numpy}\nrich=={rich}\ntorch==2.13.0\n"
VERSION = "# %% {name}\n# {kind}: in some way\ndef softmax(logits):\n    return {value}\n\n\n"


def git(root: Path, *command: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", "-C", str(root), *who, *command], capture_output=True, text=True, check=True).stdout.strip()


def commit(root: Path) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    return git(root, "rev-parse", "--short=12", "HEAD")


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def versions(count: int) -> str:
    return "".join(VERSION.format(name=f"wrong_{i}", kind="WRONG", value=i) for i in range(count))


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """(root, the commit of its figures). One helper belongs to softmax alone, `certify.py` to all topics."""
    write(tmp_path, "autograder/certification/certify.py", "X = 1\n")
    write(tmp_path, "autograder/checking/checks/helper.py", "X = 1\n")
    write(tmp_path, "datasets/hand_computed.toml", NUMBERS.format(softmax=1, samplers=1))
    for folder in ("day01_softmax", "day05_samplers"):
        write(tmp_path, f"course/{folder}/lesson.md", LESSON.format(setup="import torch", prose="Words."))
    write(tmp_path, "requirements.lock", LOCK.format(numpy="2.4.0", rich="1"))
    for topic in ("softmax", "samplers"):
        write(tmp_path, f"specimens/{topic}/softmax.py", versions(40))
    git(tmp_path, "init", "-q")
    monkeypatch.setattr(certify_changed, "ROOT", tmp_path)
    monkeypatch.setattr(certify_changed, "SPECIMENS", tmp_path / "specimens")
    monkeypatch.setattr(verdict_inputs, "files", lambda topic: [Path("autograder/checking/checks/helper.py")] if topic == "softmax" else [])
    for cached in ("means_otherwise", "is_commit", "differing", "specimens_at"):
        getattr(certify_changed, cached).cache_clear()
    return tmp_path, commit(tmp_path)


def chosen(root: Path, at: str | None, draw: int = 7) -> certify_changed.Draw:
    found = []
    for topic in ("softmax", "samplers"):
        for listed in certify.find_specimens(root / "specimens", [topic]):
            found.append(Specimen(topic, listed.file, "softmax", listed.right, "", listed.text))
    return certify_changed.choose(found, {"softmax": at, "samplers": at} if at else {}, draw)


def test_without_a_change_a_tenth_is_drawn_and_the_same_one_again(repository):
    root, at = repository
    one, again, other = chosen(root, at), chosen(root, at), chosen(root, at, draw=8)
    assert (one.own, one.affected, len(one.others), one.num_others) == ([], [], 8, 80)
    assert {s.topic for s in one.others} == {"softmax", "samplers"}
    assert one.order == again.order != other.order


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("autograder/checking/checks/helper.py", "X = 2\n", ["softmax"]),
        ("autograder/checking/checks/helper.py", "X = 1  # a reason\n", []),
        ("autograder/certification/certify.py", "X = 2\n", ["softmax", "samplers"]),
        ("datasets/hand_computed.toml", NUMBERS.format(softmax=1, samplers=2), ["samplers"]),
        ("requirements.lock", LOCK.format(numpy="2.5.0", rich="1"), ["softmax", "samplers"]),
        ("requirements.lock", LOCK.format(numpy="2.4.0", rich="2"), []),
        ("README.md", "another\n", []),
        ("course/day01_softmax/lesson.md", LESSON.format(setup="import math", prose="Words."), ["softmax"]),
        ("course/day01_softmax/lesson.md", LESSON.format(setup="import torch", prose="Other words."), []),
    ],
)
@pytest.mark.parametrize("committed", [False, True])
def test_a_topic_whose_input_has_changed_is_judged_as_far_as_time_allows(repository, name, text, changed, committed):
    root, at = repository
    write(root, name, text)
    if committed:
        commit(root)
    draw = chosen(root, at)
    assert draw.changed == dict.fromkeys(changed, name)
    assert {topic: sum(s.topic == topic for s in draw.affected) for topic in changed} == dict.fromkeys(changed, 40)
    assert len(draw.others) == 4 * (2 - len(changed))


def test_topics_are_drawn_evenly_and_a_changed_specimen_comes_first(repository):
    root, at = repository
    write(root, "autograder/certification/certify.py", "X = 2\n")
    new = VERSION.format(name="wrong_new", kind="WRONG", value=40)
    write(root, "specimens/samplers/softmax.py", versions(40).replace("return 3\n", "return 33\n") + new)
    draw = chosen(root, at)
    assert {s.file for s in draw.own} == {"wrong_3.py", "wrong_new.py"}
    assert draw.order[:2] == draw.own
    first = [s.topic for s in draw.affected[:20]]
    assert 9 <= first.count("softmax") <= 11
    assert len(draw.affected) == 79


@pytest.mark.parametrize("at", [None, "", "7b97e315, with changes", "0123456789ab"])
def test_figures_of_an_unknown_commit_make_everything_changed(repository, at):
    root, _ = repository
    draw = chosen(root, at)
    assert list(draw.changed) == ["softmax", "samplers"]
    assert len(draw.affected) == 80


def test_what_there_was_no_time_for_is_counted_and_not_judged(repository, monkeypatch):
    root, at = repository
    write(root, "autograder/certification/certify.py", "X = 2\n")
    draw = chosen(root, at)
    seen = []

    def judge(specimen, *args, **how):
        seen.append(specimen)
        return Judgement(specimen, as_expected=True)

    monkeypatch.setattr(certify, "judge", judge)
    monkeypatch.setattr(certify, "needs_measuring", lambda judgement, *, briefly=False: False)
    monkeypatch.setattr(certify, "SHARE_SIDE_BY_SIDE", 1.0)
    clock = iter(range(10_000))
    monkeypatch.setattr(certify.time, "monotonic", lambda: next(clock))
    results = {topic: certify.TopicResult(topic) for topic in ("softmax", "samplers")}
    certify_changed.judge_drawn(results, draw, minutes=0.5, jobs=1)
    assert seen == draw.order[: len(seen)]
    assert 20 < len(seen) < 40
    assert draw.left == draw.order[len(seen) :]
    assert f"specimens of topics with a changed input: {len(seen)} judged, {80 - len(seen)} not judged" in draw.summary()
    assert sum(result.wrong_killed for result in results.values()) == len(seen)


def test_the_course_itself_is_read(monkeypatch, capsys):
    """Every topic has a commit or a reason, and the command says what it judged."""
    monkeypatch.setattr(certify, "judge", lambda specimen, *args, **how: Judgement(specimen, as_expected=True))
    monkeypatch.setattr(certify, "needs_measuring", lambda judgement, *, briefly=False: False)
    monkeypatch.setattr("sys.argv", ["autograder", "certify", "--changed", "--draw", "5"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    output = capsys.readouterr().out
    assert ended.value.code == 0, output
    assert "draw 5: the same ones again with --draw 5" in output
    assert "not judged" in output
    assert set(certify_changed.commits_of(certify_changed.FIGURES)) == set(known_topics())


@pytest.mark.parametrize("more", [["softmax"], ["--json"], ["--into", "x.json"], ["--specimens", "here"]])
def test_it_judges_the_courses_own_specimens_of_all_topics_only(more, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["autograder", "certify", *more, "--changed"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "leave out the topic" in capsys.readouterr().err


def test_figures_are_read_with_each_topics_own_run(tmp_path):
    figures = {"run": {"commit": "a"}, "topics": {"softmax": {"run": {"commit": "b"}}, "samplers": {}}}
    (tmp_path / "figures.json").write_text(json.dumps(figures))
    assert certify_changed.commits_of(tmp_path / "figures.json") == {"softmax": "b", "samplers": "a"}
    assert certify_changed.commits_of(tmp_path / "none.json") == {}
    assert ROOT
