"""Tests that students write: what is said of good ones, weak ones, strict ones, and of those that look for more than they are given.

Each test in `written_tests/<exercise>.py` says what it is due: `all` (accepts every right version, rejects every wrong one),
`9 of 20` (accepts every right one, rejects so many), or `says "..."`, which is part of the message to the student.
"""

from __future__ import annotations

import random
import re
import types
from pathlib import Path
from typing import Any

import pytest

from autograder import student
from autograder.base.course_table import solution_source
from autograder.base.errors import CourseError
from autograder.base.specimen_files import Listed, listed
from autograder.certification.written_tests import collect, counting, inspection, judging, report
from autograder.certification.written_tests.tasks import name_of, names, task
from autograder.lessons import find_day, lesson
from autograder.sandbox.protocol.handles import Handle

FOLDER = Path(__file__).parent / "written_tests"
TOLD = re.compile(r"# (?:RIGHT|WRONG): (?:(all)|says \"(.*)\"|(\d+) of (\d+)): (.*)")
ALSO = re.compile(r"; (\d+) of (\d+)$")
ANSWERS = [(exercise, each) for exercise in names() for each in listed(FOLDER / f"{exercise}.py", task(exercise).topic)]


def text(answer: Listed) -> str:
    return "\n".join(answer.text.split("\n")[2:]).strip("\n")


def tell(exercise: str, source: str, runs: int = judging.RUNS) -> tuple[judging.Judged | None, str]:
    """What came of a test, and what is said of it."""
    name = f"test_{exercise}"
    try:
        judged = judging.judge(task(exercise), source, name, runs=runs, draw=1)
    except judging.TestDoesNotRun as error:
        return None, f"{name} does not run: {error}"
    return judged, "\n".join(report.summary(judged, name, inspection.remarks(source)))


def draws(source: str) -> bool:
    """Return whether a test draws random numbers, so that a second run of it may differ."""
    return re.search("rand|rng|seed", source) is not None


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "answer"), ANSWERS, ids=[f"{exercise}-{each.name}" for exercise, each in ANSWERS])
def test_a_written_test_gets_what_it_is_due(exercise: str, answer: Listed) -> None:
    assert not answer.fault
    due = TOLD.match(answer.text.split("\n")[1])
    assert due is not None, answer.text
    every, says, rejected, total, note = due.groups()
    if also := ALSO.search(note):
        rejected, total = also.groups()
    again = draws(text(answer)) and len(task(exercise).versions) < 30
    judged, said = tell(exercise, text(answer), runs=judging.RUNS if again else 1)
    assert (says or "") in said, said
    if every or rejected is not None:
        assert judged is not None, said
        assert judged.refused is None, said
        assert judged.right_accepted == judged.right_total
        assert judged.rejected == (judged.wrong_total if every else int(rejected)), said
        assert every or judged.wrong_total == int(total)
        assert sum(judged.through.values()) == judged.wrong_total - judged.rejected
    else:
        assert judged is None or judged.refused is not None or judged.returned or judged.unsure, said


def test_every_task_has_a_test_that_rejects_all_and_some_that_do_not() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(names())
    for exercise in names():
        tests = [each.text for other, each in ANSWERS if other == exercise]
        assert any("# RIGHT: all: " in each for each in tests), exercise
        assert sum("# WRONG: " in each for each in tests) >= 4, exercise


@pytest.mark.parametrize("exercise", names())
def test_every_wrong_version_of_an_exercise_is_sorted_once(exercise: str) -> None:
    which = task(exercise)
    named = [name for versions in which.rules.values() for name in versions] + which.left_out
    assert sorted(named) == sorted(name_of(each) for each in which.specimens if not each.right)
    assert len(which.rules) == len(set(which.rules)) >= 6
    assert sum(each.right for each in which.versions) >= 4


@pytest.mark.parametrize("exercise", names())
def test_the_lesson_asks_for_the_test_and_shows_a_weak_one(exercise: str) -> None:
    which = task(exercise)
    cells = [cell.source for cell in lesson(find_day(which.topic)).cells if cell.role == "demo"]
    stub = next(number for number, each in enumerate(cells) if each.startswith(f"def test_{exercise}(x):"))
    assert cells[stub].endswith(f'raise NotImplementedError("test_{exercise}")')
    assert cells[stub + 1] == f'judge_test("{exercise}", test_{exercise})', "apart: a cell that defines something is run when it is graded"
    shown = [each for each in cells[:stub] if f'judge_test("{exercise}", ' in each]
    assert shown[0].startswith("from autograder.student import judge_test\n")
    assert all("assert" in each for each in shown)


@pytest.mark.parametrize(
    ("exercise", "count"),
    [
        ("causal_mask", "21 wrong ones"),
        ("StopStrings", "55 wrong ones"),
        ("KVCache", "63 versions do count"),
        ("PrefixPool", "There are 34 of these"),
        ("sse_event", "the 21 wrong versions"),
    ],
)
def test_the_lesson_says_how_many_wrong_versions_there_are(exercise: str, count: str) -> None:
    which = task(exercise)
    number = sum(not each.right for each in which.versions)
    assert str(number) in count
    assert count in find_day(which.topic).lesson_path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("exercise", names())
def test_the_versions_that_count_are_those_that_a_test_can_see(exercise: str) -> None:
    """Of each exercise some versions, drawn again in each run; `python -m autograder.certification.written_tests.counting` takes all."""
    which = task(exercise)
    drawn = random.sample([each for each in which.specimens if not each.right], 12)
    for name, titles in counting.sort(which, drawn).items():
        assert (name in which.left_out) != all(titles), name


@pytest.mark.slow
@pytest.mark.parametrize("exercise", names())
def test_what_a_lesson_shows_before_the_student_writes_is_as_it_says(exercise: str) -> None:
    """A weak test lets some through, a strict one does not accept all right ones, and the stub says that it is not written."""
    which = task(exercise)
    scores = []
    for cell in lesson(find_day(which.topic)).cells:
        source = re.sub(r"from autograder\.student import judge_test|judge_test\(.*\)", "", cell.source).strip()
        if not (source and f'judge_test("{exercise}", ' in cell.source) and not source.startswith(f"def test_{exercise}(x)"):
            continue
        name = re.search(r"def (\w+)\(x\)", source)[1]  # type: ignore[index]
        judged = judging.judge(which, source, name, runs=1)
        said = "\n".join(report.summary(judged, name, []))
        if name == f"test_{exercise}":
            assert said == f"{name}: not written yet. Write the test in the cell above, run that cell, then this one."
        elif name in ("test_to_the_last_bit", "test_the_event_of_the_lesson"):
            assert "does not accept a correct version" in said
        else:
            scores.append(judged.score)
    assert scores
    assert all(0 < score < 0.5 for score in scores), "more than half of the wrong versions get through"


def test_nothing_of_a_version_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    which = task("causal_mask")
    judged = judging.Judged(4, 20, list(which.rules), right_accepted=4)
    for version in which.versions:
        judging.note(judged, version, [judging.Run("accepts"), judging.Run("accepts")])
    said = "\n".join(report.summary(judged, "test_causal_mask", []))
    assert "rejects 0 of 20" in said
    assert "3 more promises" in said
    for each in which.specimens:
        assert name_of(each) not in said
        assert each.difference not in said
        assert not any(line.strip() in said for line in each.source.split("\n")[2:] if len(line.strip()) > 8)


@pytest.mark.parametrize("name", ["__class__", "__init__", "__setattr__", "_session", "_number", "type_name", "wire_tree", "_ask", "_own"])
@pytest.mark.parametrize("op", ["attr", "setattr"])
def test_a_test_gets_and_sets_no_name_of_the_judges_own_object(name: str, op: str) -> None:
    """By its stack a test reaches the function that asks the judge, who would ask its own handle."""
    passing_on = judging.PassingOn(None, "KVCache")  # type: ignore[arg-type]
    handle = Handle(None, 1, "KVCache", 0, False)  # type: ignore[arg-type]  # asking it would fail
    passing_on.things.append(handle)
    before = dict(vars(handle))
    reply = passing_on({"op": op, "thing": 0, "args": [name] if op == "attr" else [name, 5]})
    assert reply == {"raised": ["AttributeError"], "message": f"{name!r} is not a public attribute of a KVCache"}
    assert vars(handle) == before


def test_a_verdict_counts_only_if_every_run_gives_it() -> None:
    accepts, rejects = judging.Run("accepts"), judging.Run("rejects", "no", "test_x, line 2: assert no", "AssertionError")
    which = task("causal_mask")
    right, wrong = which.versions[0], which.versions[-1]
    judged = judging.Judged(1, 1, list(which.rules))
    judging.note(judged, right, [accepts, accepts])
    judging.note(judged, wrong, [rejects, accepts])
    assert (judged.rejected, judged.unsure, judged.score) == (0, 1, 0.0)
    judged = judging.Judged(1, 1, list(which.rules))
    judging.note(judged, right, [accepts, rejects])
    judging.note(judged, wrong, [rejects, rejects])
    assert judged.score == 0.0
    assert judged.refused is rejects


def test_what_got_through_is_a_list_in_a_notebook() -> None:
    table = report.shown(["Two `x`:", "- one", "- two", "The end."])
    assert table._repr_html_() == "<p>Two <code>x</code>:</p><ul><li>one</li><li>two</li></ul><p>The end.</p>"
    assert repr(table) == "Two `x`:\n- one\n- two\nThe end."


def test_an_unknown_exercise_is_named() -> None:
    with pytest.raises(CourseError, match="tests can be written for KVCache, PrefixPool, StopStrings, causal_mask"):
        task("softmax")


def test_what_a_test_uses_is_taken_along() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    source = (
        "import math\nfrom itertools import product as pairs\nLENGTHS = [(1, 2), (3, 4)]\n\n\n"
        "def helper(n):\n    return math.floor(n) if n else helper(n)\n\n\n"
        "def test_it(x, causal_mask=None):\n    for q, k in LENGTHS:\n        assert x(helper(q), k) is not causal_mask, pairs\n"
    )
    module = as_cell(source, namespace)
    uses, own = collect.gathered(module.test_it, namespace, exercise="causal_mask", given=set())
    assert own.startswith("def test_it(x")
    again: dict[str, Any] = {}
    exec(uses + "\n" + own, again)
    again["test_it"](lambda q, k: q)
    assert "import math as math" in uses
    assert "from itertools import product as pairs" in uses
    assert uses.count("def helper") == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def causal_mask(q, k):\n    return q\n\n\ndef test_it(x):\n    assert x(1, 1) == causal_mask(1, 1)\n", "repeats its mistakes"),
        ("model = object()\n\n\ndef test_it(x):\n    assert x(model)\n", "`model` of your notebook, a value that cannot be copied"),
        ("test_it = 3\n", "the second argument must be a function"),
    ],
)
def test_what_cannot_be_taken_along_is_named(source: str, message: str) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    module = as_cell(source, namespace)
    with pytest.raises(CourseError, match=re.escape(message)):
        collect.gathered(module.test_it, namespace, exercise="causal_mask", given=set())


def as_cell(source: str, namespace: dict[str, Any]) -> types.SimpleNamespace:
    """Runs a cell whose text can be found again, as in a notebook."""
    import linecache

    name = f"<cell {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
    return types.SimpleNamespace(**namespace)


def test_an_honest_test_gets_no_remark() -> None:
    assert not any(inspection.remarks(text(each)) for _, each in ANSWERS if each.right)


def test_a_copy_without_the_versions_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(student.importlib, "import_module", missing)
    student.judge_test("causal_mask", lambda x: None)
    assert "has no solutions to judge a test on" in capsys.readouterr().out


def test_the_references_own_answer_is_the_first_right_version() -> None:
    which = task("causal_mask")
    assert which.versions[0].source is None
    assert which.reference == solution_source("attention")
