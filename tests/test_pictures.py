"""What a student sees of a failed check: a picture where it helps, one story told once."""

import pytest

from autograder.pictures import picture
from autograder.render import html_table, text_table
from autograder.runner import Verdict


def test_two_distributions_are_drawn_as_pairs_of_bars_and_said_in_words():
    drawn = picture("[0.5000, 0.3000, 0.2000]", "[0.5000, 0.2000, 0.3000]")
    assert 'role="img"' in drawn
    assert "differ at: 1, 2" in drawn
    assert drawn.count("width:9px") == 6
    assert "height:44px" in drawn


def test_a_mask_is_drawn_as_two_grids():
    drawn = picture("[[True, False], [True, True]]", "[[True, True], [True, True]]")
    assert "row 0, column 1" in drawn
    assert drawn.count("width:12px") == 8
    assert drawn.count("#d54309") == 1


def test_a_batch_of_one_row_is_a_row():
    assert picture("[[0.5, 0.3, 0.2]]", "[[0.2, 0.3, 0.5]]")


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (None, None),
        ("3", "4"),
        ("[1.0, 2.0, 3.0]", "[1.0, 2.0]"),
        ("[0.5, 0.5, 0.0]", "[nan, 0.5, 0.0]"),
        ("[-1.0, 2.0, 3.0]", "[1.0, 2.0, 3.0]"),
        ("tensor of shape (30,), float32", "[1.0]"),
        ("[[True], [True, False]]", "[[True], [True, False]]"),
        ("[" * 500, "[" * 500),
        ("[__import__('os').getpid(), 1, 2]", "[1, 2, 3]"),
    ],
)
def test_anything_else_is_not_drawn(expected, got):
    assert picture(expected, got) == ""


def verdict(title, outcome="error", **more):
    return Verdict(title, "softmax", title, 1.0, False, outcome, **more)


def test_the_same_exception_is_told_once():
    same = {"message": "your code raised ValueError: no", "lines": ["softmax, line 2: raise ValueError('no')"]}
    verdicts = [verdict("first", **same), verdict("second", **same), verdict("third", message="another", lines=["softmax, line 3: x"])]
    for shown in (html_table("softmax", verdicts, 0, 4), text_table("softmax", verdicts, 0, 4)):
        assert shown.count("ValueError: no") == 1
        assert "the same as at “first”" in shown
        assert "another" in shown


def test_a_failed_distribution_shows_its_picture_in_the_table():
    failed = verdict("five logits", "fail", message="wrong values", expected="[0.5, 0.3, 0.2]", got="[0.2, 0.3, 0.5]")
    assert 'role="img"' in html_table("softmax", [failed], 0, 4)
    assert 'role="img"' not in html_table("softmax", [verdict("fine", "pass")], 4, 4)
