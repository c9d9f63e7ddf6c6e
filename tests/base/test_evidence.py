"""What a message infers from values, and nouns and verbs that agree with its numbers."""

from __future__ import annotations

import math
import re
import types
from pathlib import Path

import pytest
import torch

import autograder
from autograder.authoring import CheckFailed, close, equal
from autograder.base import evidence
from autograder.base.verdicts import FAIL, PASS, Verdict
from autograder.base.wording import agreeing, counted
from autograder.commands import handing_in
from autograder.notebook import render

ROWS = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.25, 0.15, 0.6]])


def cause_of(call, *arguments, **options):
    with pytest.raises(CheckFailed) as failed:
        call(*arguments, **options)
    return failed.value.cause


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (ROWS.flip(-1), "wrong places of the row"),
        (ROWS.flip(0).flip(-1), "in the wrong places."),
        (ROWS.T, "dimensions 0 and 1 exchanged"),
        (ROWS / math.log(2), "1 / ln 2 times"),
        (ROWS * 3, "3 times"),
        (-ROWS, "sign"),
        (ROWS - 0.25, "0.25 less"),
        (torch.stack([ROWS[0], ROWS[0], ROWS[2]]), "Rows 0 and 2 are right; 1 is not"),
        (ROWS.unsqueeze(0), "size 1"),
        (ROWS.reshape(9), "in another shape"),
        (ROWS[:, :-1], "in dimension 1 the last one is missing"),
        (ROWS[1:], "in dimension 0 the first one is missing"),
        (torch.cat([ROWS, ROWS], dim=0), "in dimension 0 the last 3 are too many"),
        (None, "`return`"),
        (torch.max(torch.ones(2, 3), dim=-1), "values and indices"),
        ([0.1], "a list"),
    ],
)
def test_what_the_values_show_is_reported(got, words):
    assert words in cause_of(close, got, ROWS)


def test_what_is_refused_for_its_last_digits_has_no_place_factor_or_amount_reported():
    want = ROWS.double()
    for got in (want + 1e-7, want * (1 + 1e-6), want.flip(-1).flip(-1) - torch.tensor([0, 1e-7, 0])):
        assert cause_of(close, got, want, atol=1e-9, rtol=1e-9) is None


def test_no_factor_of_one_and_no_amount_of_nothing_is_reported():
    want = ROWS.double()
    assert cause_of(close, want * 1.0003, want) is None
    large = 1e6 * want
    assert cause_of(close, large + torch.tensor([0.0, 0.0, 0.5]), large, atol=1e-3, rtol=0) is None


def test_where_the_values_show_nothing_nothing_is_reported():
    noise = torch.tensor([[0.31, 0.11, 0.42], [0.17, 0.05, 0.33], [0.9, 0.71, 0.01]])
    assert cause_of(close, noise, ROWS) is None
    assert cause_of(close, noise[:, :2], ROWS) is None
    assert cause_of(close, torch.zeros(3, 2), torch.zeros(3, 3)) is None  # of numbers that are all one, any part fits
    assert cause_of(equal, torch.tensor([3]), torch.tensor([4])) is None


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        ([1, 2], [1, 2, 3], "the last one is missing"),
        ([2, 3], [1, 2, 3], "the first one is missing"),
        ([1, 2, 3, 4], [1, 2, 3], "1 more"),
        ([2, 1, 3], [1, 2, 3], "another order"),
        ("ab", "abc", "its end is missing: 'c'"),
        ("abc", "ab", "after it comes 'c'"),
        (1024 * 7, 7, "1,024 times"),
        (7, -7, "sign"),
    ],
)
def test_lists_texts_and_numbers(got, want, words):
    assert words in cause_of(equal, got, want)


def test_a_suspect_is_named_only_by_its_values():
    suspects = [(ROWS.exp(), "the exponentials"), (ROWS.log(), "the logarithms")]
    assert cause_of(close, ROWS.log(), ROWS, suspects=suspects) == "the logarithms"
    assert cause_of(close, ROWS.sin() + ROWS.T, ROWS, suspects=suspects) is None


def test_complex_numbers_are_no_real_ones():
    with pytest.raises(CheckFailed, match="complex"):
        close(torch.complex(ROWS, ROWS), ROWS)
    with pytest.raises(CheckFailed):
        equal(torch.complex(ROWS, ROWS), ROWS)


def test_expected_and_got_are_distinguished_or_not_shown():
    with pytest.raises(CheckFailed) as failed:
        close(0.00481, 0.00479)
    assert (failed.value.expected, failed.value.got) == ("0.00479", "0.00481")
    with pytest.raises(CheckFailed) as failed:
        close(1.0000002, 1.0000001, atol=0, rtol=0)
    assert failed.value.expected != failed.value.got
    with pytest.raises(CheckFailed) as failed:
        equal(torch.zeros(100), torch.ones(100))
    assert failed.value.expected is failed.value.got is None


def test_a_row_that_the_check_accepts_is_called_right():
    want = torch.arange(1.0, 9.0).view(2, 4)
    got = want + torch.tensor([[0.01, -0.01, 0.01, 0.0], [1.0, -2.0, 0.5, 3.0]])
    assert cause_of(close, got, want, atol=0.02) == "Row 0 is right; 1 is not."
    assert cause_of(close, got, want, atol=0.001) is None


def test_a_tensor_of_twenty_million_empty_rows_is_shown_in_a_line():
    from autograder.authoring import show

    assert show(torch.empty(20_000_000, 0)) == "tensor of shape (20000000, 0), float32"


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
