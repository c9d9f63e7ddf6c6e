"""Nouns and verbs agree with the numbers of a message."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest
import torch

import autograder
from autograder.authoring import CheckFailed, close
from autograder.base import evidence
from autograder.base.verdicts import FAIL, PASS, Verdict
from autograder.base.wording import agreeing, counted
from autograder.commands import handing_in
from autograder.notebook import render

SOURCES = sorted(Path(autograder.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize(
    ("number", "thing", "things", "words"),
    [
        (0, "file", None, "0 files"),
        (1, "file", None, "1 file"),
        (2, "file", None, "2 files"),
        (1200, "more check", None, "1,200 more checks"),
        (1, "entry", "entries", "1 entry"),
        (3, "entry", "entries", "3 entries"),
    ],
)
def test_a_noun_agrees_with_its_number(number, thing, things, words):
    assert counted(number, thing, things) == words


def test_a_verb_agrees_with_its_number():
    assert [agreeing(number, "is", "are") for number in (0, 1, 2)] == ["are", "is", "are"]


@pytest.mark.parametrize(("nans", "says"), [(1, "1 of 10,000 numbers is nan."), (2, "2 of 10,000 numbers are nan.")])
def test_numbers_that_are_nan(nans, says):
    got = torch.zeros(10_000)
    got[:nans] = torch.nan
    with pytest.raises(CheckFailed) as failed:
        close(got, torch.zeros(10_000))
    assert failed.value.cause == says


@pytest.mark.parametrize(("wrong", "says"), [(1, "wrong values at index [0] (1 of 30 differs)"), (2, "(2 of 30 differ)")])
def test_numbers_that_differ(wrong, says):
    want = torch.zeros(30)
    got = want.clone()
    got[:wrong] = torch.tensor([7.0, 5.0])[:wrong]
    with pytest.raises(CheckFailed) as failed:
        close(got, want)
    assert failed.value.what.endswith(says)


def test_rows_that_are_right():
    want = torch.arange(12.0).reshape(4, 3) ** 2
    got = want.clone()
    got[1] = torch.tensor([1.0, 7.0, 70.0])
    assert evidence.of_values(got, want) == "Rows 0, 2 and 3 are right; 1 is not."
    got[2:] = torch.tensor([1.0, 7.0, 70.0])
    assert evidence.of_values(got, want) == "Row 0 is right; 1, 2 and 3 are not."


def test_the_summary_of_an_exercise():
    verdicts = [Verdict(outcome, "softmax", "a title", 1.0, False, outcome) for outcome in (PASS, FAIL)]
    assert render.summary("softmax", verdicts, 1, 2) == "softmax: 1 of 2 checks passes, 1 of 2 points"
    assert render.summary("softmax", verdicts[:1], 2, 2) == "softmax: 1 of 1 check passes, 2 of 2 points"
    assert render.summary("softmax", verdicts[1:] * 2, 0, 2) == "softmax: 0 of 2 checks pass, 0 of 2 points"


def test_the_files_of_a_download():
    new = types.SimpleNamespace(kind="new")
    assert handing_in.counts_text([new]) == "1 file: new 1"
    assert handing_in.counts_text([new, new]) == "2 files: new 2"


def test_no_message_leaves_the_number_to_its_reader():
    """`1 row(s)` is not English, and an s that is added in place is easily forgotten in the next message: `counted` does both."""
    home_made = re.compile(r"\} ?[a-z ]+\(s\)|\{'s' \*|\{\"s\" \*|\{'s' if|'s' if len")
    lines = [(path.name, line.strip()) for path in SOURCES for line in path.read_text(encoding="utf-8").splitlines()]
    found = [line for line in lines if home_made.search(line[1])]
    assert found == []
