"""What a lesson asks beside its points: a bug to find, a sentence to refute, a challenge. Answers right and wrong, in the lesson's cell.

An answer is written as a specimen is (docs/contributing.md), in `tests/asides/<topic>/<name>.py`, where `name` is what the student
writes or changes: a value or a function of the cell. It takes that place, the cell runs, and must say that it is right, or not say so.
A colleague's version, in which the bug is, is held against the checks of the exercise that comes after it: it loses points there, and
mended it loses none.
"""

from __future__ import annotations

import ast
import importlib
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.grading.near import Near
from autograder.lessons import find_day, lesson
from autograder.runner import run_checks, select
from autograder.specimen_files import find_specimens
from autograder.verdicts import PASS

FOLDER = Path(__file__).parent / "asides"


@dataclass(frozen=True)
class Aside:
    """How a lesson's cell judges one answer."""

    topic: str
    name: str
    """What the student writes or changes; also the file with the answers."""
    found: str
    """What the cell says of a right answer, and of no other."""
    exercise: str = ""
    """The exercise whose checks judge the repair of a bug."""
    colleague: str = ""
    """The cell's function in which the bug is."""
    bug: str = ""
    repair: str = ""
    """The same lines without the bug."""

    def __str__(self) -> str:
        return f"{self.topic}/{self.name}"


ASIDES = [
    Aside("softmax", "my_scores", "refuted:"),
    Aside(
        "softmax", "my_rows", "you have found it", "softmax", "colleagues_softmax",
        "logits - logits.max()", "logits - logits.amax(dim=-1, keepdim=True)",
    ),
    Aside(
        "softmax", "my_probs", "you have found it", "entropy", "colleagues_entropy",
        "(probs * (probs + 1e-6).log())", "torch.where(probs > 0, probs * probs.log(), 0)",
    ),
    Aside("softmax", "take_in", "right after every score"),
]  # fmt: skip
BUGS = [aside for aside in ASIDES if aside.bug]
ANSWERS = [(aside, listed) for aside in ASIDES for listed in find_specimens(FOLDER, [aside.topic]) if listed.path.stem == aside.name]


def cell_of(aside: Aside) -> tuple[str, ast.stmt]:
    """The lesson's cell in which the name gets its value for the first time, and that statement."""
    for cell in lesson(find_day(aside.topic)).cells:
        if cell.role == "demo":
            for node in ast.parse(cell.source).body:
                named = getattr(node, "name", None) or next((t.id for t in getattr(node, "targets", []) if isinstance(t, ast.Name)), None)
                if named == aside.name:
                    return cell.source, node
    raise AssertionError(f"no cell of {aside.topic} gives {aside.name} a value")


def with_answer(aside: Aside, answer: str | None) -> str:
    source, node = cell_of(aside)
    if answer is None:
        return source
    lines = source.split("\n")
    return "\n".join([*lines[: node.lineno - 1], answer, *lines[node.end_lineno :]])


def names_of(topic: str) -> dict[str, Any]:
    """What a cell finds when it runs: the reference for every exercise, and what setup cells import."""
    found: dict[str, Any] = dict(vars(importlib.import_module(f"solutions.{topic}")))
    found |= {"torch": torch, "math": math, "Tensor": torch.Tensor, "if_solved": lambda *_: True}
    for cell in lesson(find_day(topic)).cells:  # what earlier cells define without running anything
        if cell.role == "demo":
            body = [node for node in ast.parse(cell.source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            exec(compile(ast.Module(body, []), "<cells>", "exec"), found)
    return found


def said_by(aside: Aside, source: str, capsys: pytest.CaptureFixture[str]) -> str:
    torch.manual_seed(0)
    exec(source, names_of(aside.topic))
    return capsys.readouterr().out


@pytest.mark.parametrize(("aside", "answer"), ANSWERS, ids=[f"{aside}-{listed.name}" for aside, listed in ANSWERS])
def test_the_cell_tells_right_answers_from_wrong_ones(aside: Aside, answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert not answer.fault
    said = said_by(aside, with_answer(aside, answer.text), capsys)
    assert said.strip(), "the cell says something of every answer"
    assert (aside.found in said) == answer.right, said


def test_there_are_enough_answers_of_each_kind() -> None:
    stems = {(path.parent.name, path.stem) for path in FOLDER.glob("*/*.py")}
    assert stems == {(aside.topic, aside.name) for aside in ASIDES}, "every file of answers is of an aside, and every aside has one"
    count = Counter((str(aside), listed.right) for aside, listed in ANSWERS)
    assert {str(aside): (count[str(aside), True] >= 3, count[str(aside), False] >= 6) for aside in ASIDES} == {
        str(aside): (True, True) for aside in ASIDES
    }


@pytest.mark.parametrize("aside", ASIDES, ids=str)
def test_the_cell_as_it_stands_finds_nothing(aside: Aside, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_by(aside, with_answer(aside, None), capsys)
    assert said.strip()
    assert aside.found not in said


@pytest.mark.parametrize("aside", BUGS, ids=str)
def test_what_finds_the_bug_finds_nothing_once_it_is_mended(aside: Aside, capsys: pytest.CaptureFixture[str]) -> None:
    for found, listed in ANSWERS:
        if found == aside and listed.right:
            source = with_answer(aside, listed.text)
            assert source.count(aside.bug) == 1
            assert aside.found not in said_by(aside, source.replace(aside.bug, aside.repair), capsys), listed.name


@pytest.mark.parametrize("aside", BUGS, ids=str)
def test_the_checks_of_the_exercise_refuse_the_bug_and_accept_its_repair(aside: Aside) -> None:
    source, _ = cell_of(aside)
    node = next(node for node in ast.parse(source).body if getattr(node, "name", None) == aside.colleague)
    written = ast.get_source_segment(source, node)
    assert written
    for text, fails in ((written, True), (written.replace(aside.bug, aside.repair), False)):
        namespace = names_of(aside.topic) | {"__name__": __name__}
        exec(text, namespace)
        namespace[aside.exercise] = namespace[aside.colleague]
        verdicts = run_checks(aside.topic, select(aside.topic, exercise=aside.exercise, hidden=False, timing=False), Near(namespace))
        assert any(verdict.outcome != PASS for verdict in verdicts) == fails, [v.title for v in verdicts if v.outcome != PASS]
