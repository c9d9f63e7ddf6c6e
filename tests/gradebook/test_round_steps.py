"""The steps of a round by themselves: which are done, which hold, and what is said where one fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.base.errors import CourseError, InfrastructureFault
from autograder.commands.rounds import Outcome, Step, walk
from autograder.gradebook.policy.rounds import Done, Steps, digest
from autograder.lessons import find_day

SLUG = find_day("softmax").slug


class Day:
    """Three steps that note what they do; `of` says what each is made from."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.done: list[str] = []
        self.of = dict.fromkeys(("collect", "grade", "report"), "first")
        self.fails: dict[str, BaseException] = {}
        self.outcome = {name: Outcome(f"{name} is done") for name in self.of}

    def run(self) -> bool:
        self.done.clear()
        return walk(tuple(Step(name, lambda name=name: self.of[name], self.does(name)) for name in self.of), Steps(self.root, SLUG))

    def does(self, name: str) -> Callable[[], Outcome]:
        def run() -> Outcome:
            if name in self.fails:
                raise self.fails[name]
            self.done.append(name)
            return self.outcome[name]

        return run


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path)


def test_each_step_is_done_once_and_again_when_what_it_is_made_from_changes(day, capsys):
    assert not day.run()
    assert day.done == ["collect", "grade", "report"]
    assert capsys.readouterr().out.splitlines()[1] == "2 of 3, grade: grade is done"
    assert not day.run()
    assert day.done == []
    assert capsys.readouterr().out.splitlines()[1] == "2 of 3, grade: nothing new; the last result: grade is done"
    day.of["report"] = "second"
    day.run()
    assert day.done == ["report"]


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (CourseError("no submission"), CourseError, "no submission"),
        (InfrastructureFault("no worker.\nmore"), InfrastructureFault, "no worker"),
        (OSError(28, "No space left on device", "/x/y"), InfrastructureFault, "/x/y: No space left on device"),
    ],
)
def test_a_step_that_fails_stops_the_round_and_says_what_is_done_and_what_comes_next(day, error, kind, said):
    day.fails["grade"] = error
    with pytest.raises(kind) as stopped:
        day.run()
    assert str(stopped.value) == (
        f"the round stopped at grade: {said}. Finished steps: collect. Fix this and run the same command again: it continues with grade"
    )
    assert day.done == ["collect"]
    day.fails.clear()
    day.run()
    assert day.done == ["grade", "report"]


def test_an_error_that_nobody_foresaw_is_not_hidden_and_loses_nothing(day):
    day.fails["report"] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        day.run()
    day.fails.clear()
    day.run()
    assert day.done == ["report"]


def test_what_is_for_a_person_is_reported_each_time_until_it_is_gone(day, capsys):
    day.outcome["collect"] = Outcome("1 file", look=("left out: essay.pdf",))
    for _ in range(2):
        assert day.run()
        assert "left out: essay.pdf" in capsys.readouterr().err
    day.of["collect"], day.outcome["collect"] = "second", Outcome("1 file")
    assert not day.run()


def test_a_step_that_is_not_through_is_done_again(day):
    day.outcome["grade"] = Outcome("one is for a person", again=True)
    day.run()
    day.run()
    assert day.done == ["grade"]


def test_inputs_that_cannot_be_read_stop_the_round_in_one_line(day):
    def of() -> str:
        raise OSError(5, "Input/output error", "/x/y")

    step = Step("grade", of, lambda: Outcome("graded"))
    with pytest.raises(InfrastructureFault, match=r"^the round stopped at grade: /x/y: Input/output error\. Finished steps: nothing\. "):
        walk((step,), Steps(day.root, SLUG))


# Stored between two rounds


def test_a_step_holds_while_its_inputs_and_its_files_are_the_same(tmp_path):
    made = tmp_path / "exports" / "a.csv"
    made.parent.mkdir()
    made.write_text("a")
    Steps(tmp_path, SLUG).note("export", "digest", [made], "a line", ("look",))
    steps = Steps(tmp_path, SLUG)
    assert steps.done == {"export": Done("digest", ("exports/a.csv",), "a line", ("look",))}
    assert steps.holds("export", "digest")
    assert not steps.holds("export", "another")
    assert not steps.holds("report", "digest")
    made.unlink()
    assert not steps.holds("export", "digest")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "steps": {"grade": 1}}', '{"format": 99, "steps": {}}', "[" * 99_999])
def test_a_damaged_note_is_none(tmp_path, text):
    (tmp_path / "rounds").mkdir()
    (tmp_path / "rounds" / f"{SLUG}.json").write_text(text)
    assert Steps(tmp_path, SLUG).done == {}


def test_a_digest_is_of_contents_and_names(tmp_path):
    one = tmp_path / "one"
    one.mkdir()
    seen = {digest(one)}
    for name, text in (("a", "x"), ("a", "y"), ("b", "y")):
        (one / name).write_text(text)
        seen.add(digest(one))
    seen.add(digest(one / "a"))
    seen.add(digest(one / "missing"))
    assert len(seen) == 6
    assert digest(one, 1) != digest(one, 2)
    assert digest(one) == digest(one)


NOT_UTF8 = os.fsdecode(b"caf\xe9.ipynb")
needs_any_name = pytest.mark.skipif(sys.platform != "linux", reason="the disk takes names in UTF-8 only")


@needs_any_name
def test_a_digest_takes_any_name_that_the_disk_takes(tmp_path):
    (tmp_path / NOT_UTF8).write_bytes(b"a")
    first = digest(tmp_path), digest(tmp_path / NOT_UTF8), digest(NOT_UTF8)
    (tmp_path / NOT_UTF8).rename(tmp_path / os.fsdecode(b"caf\xe8.ipynb"))
    assert digest(tmp_path) != first[0]
    assert len(set(first)) == 3


def test_a_file_that_cannot_be_read_has_a_digest_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x")
    before = digest(tmp_path)

    def refuse(*ignored: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("autograder.gradebook.policy.rounds.hashlib.file_digest", refuse)
    assert digest(tmp_path) not in (before, digest(tmp_path / "missing"))


@needs_any_name
def test_a_path_that_is_not_utf_8_is_noted_and_found_again(tmp_path):
    made = tmp_path / NOT_UTF8
    made.write_text("a")
    Steps(tmp_path, SLUG).note("export", "digest", [made], f"1 file: {made}", ())
    assert Steps(tmp_path, SLUG).holds("export", "digest")
