"""What a student sees of a failed check: a picture where it helps, each failure reported once."""

import pytest

from autograder.base.verdicts import Verdict
from autograder.notebook.pictures import HEIGHT, picture, race, race_in_words
from autograder.notebook.render import html_table, text_table


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


CURVE = {"128": {"reference": 1.0, "yours": 1.0}, "256": {"reference": 1.1, "yours": 2.0}, "512": {"reference": 1.2, "yours": 4.1}}


def test_the_times_of_a_lost_race_are_drawn_as_a_curve_of_bars_and_said_in_words():
    drawn = race(CURVE)
    words = "times at 128, 256, 512, the shortest as 1: reference 1.0, 1.1, 1.2; yours 1.0, 2.0, 4.1"
    assert race_in_words(CURVE) == words
    assert f'aria-label="{words}"' in drawn
    assert drawn.count("width:28px") == 6
    assert f"height:{HEIGHT}px;background:#d54309" in drawn  # the highest is the student's at 512
    assert f"height:{round(HEIGHT / 4.1)}px;background:#2a6f97" in drawn
    assert race({}) == ""


def test_a_race_against_a_naive_version_is_one_group():
    times = {"": {"reference": 1.0, "yours": 11.25, "naive version": 21.0}}
    assert race_in_words(times) == "times, the shortest as 1: reference 1.0; yours 11.2; naive version 21.0"
    assert race(times).count("width:28px") == 3
    assert "#888" in race(times)


def test_a_lost_race_shows_in_both_tables():
    lost = verdict("speed", "fail", message="too slow", times=CURVE)
    assert "width:28px" in html_table("softmax", [lost], 0, 4)
    assert "times at 128, 256, 512" in text_table("softmax", [lost], 0, 4)
    assert "times" not in text_table("softmax", [verdict("speed", "fail", message="too slow")], 0, 4)


def verdict(title, outcome="error", **more):
    return Verdict(title, "softmax", title, 1.0, False, outcome, **more)


def test_the_same_exception_is_reported_once():
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
