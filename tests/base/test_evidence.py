"""What values show of a wrong answer by themselves: every sentence is true of them, and where there is none nothing is said."""

import math

import pytest
import torch

from autograder.authoring import CheckFailed, close, equal

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
