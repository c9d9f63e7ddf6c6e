"""What is typed into a cell comes in the cell's form, or one line says which form that is."""

import numpy as np
import pytest
import torch

from autograder.base.errors import CourseError
from autograder.notebook.parse_input import typed


@pytest.mark.parametrize(
    ("value", "like", "formed"),
    [
        (3, 3, 3),
        (np.int64(3), 3, 3),
        (torch.tensor(3), 3, 3),
        (3, 0.5, 3.0),
        (np.float32(0.5), 0.5, 0.5),
        ("text", "a", "text"),
        ((1, 2), [3], [1, 2]),
        (range(3), [3], [0, 1, 2]),
        ([], [3], []),
        (torch.tensor([[1, 2], [3, 4]]), [[3]], [[1, 2], [3, 4]]),
        (np.array([1.0, 2.0]), [0.5], [1.0, 2.0]),
        ([1, 2.5], [0.5], [1.0, 2.5]),
        ([4, 5], (3, 3), (4, 5)),
        ([(0, 3), [1, 2]], [(0, 3)], [(0, 3), (1, 2)]),
        (([1], [2, 3]), ([0.5], [0.5]), ([1.0], [2.0, 3.0])),
        ([torch.tensor(1), 2], [3], [1, 2]),
    ],
)
def test_what_has_the_form_comes_in_it(value, like, formed):
    got = typed(value, like=like)
    assert got == formed
    assert type(got) is type(formed)
    assert repr(got) == repr(formed)


@pytest.mark.parametrize(
    ("value", "like", "said"),
    [
        (None, [3], "Your value should be a list of whole numbers, such as [3]; it is None."),
        (True, 3, "Your value should be a whole number, such as 3; it is True."),
        (3.0, 3, "a whole number, such as 3; it is 3.0."),
        ("12", 0.5, "a number, such as 0.5; it is '12'."),
        ("ab", ["a word"], "a list of texts, such as ['a word']; it is 'ab'."),
        ({1, 2}, [3], "it is {1, 2}."),
        (b"ab", (3, 3), "2 whole numbers, such as (3, 3); it is b'ab'."),
        ((1, 2, 3), (3, 3), "2 whole numbers, such as (3, 3); it is (1, 2, 3)."),
        ([1, [2]], [[3]], "a list of lists of whole numbers, such as [[3]]; it is [1, [2]]."),
        ([(0, 3, 1)], [(0, 3)], "a list of groups of 2 whole numbers, such as [(0, 3)]"),
        ((1, "a"), (3, 0.5), "a whole number, then a number, such as (3, 0.5); it is (1, 'a')."),
        (torch.tensor([0.5]), [3], "a list of whole numbers"),
        ([10**400], [0.5], "a list of numbers"),
        (1 + 2j, 0.5, "a number"),
        ([True], [3], "it is [True]."),
    ],
)  # fmt: skip
def test_what_has_not_is_refused_in_one_line(value, like, said):
    with pytest.raises(CourseError) as refused:
        typed(value, like=like)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200
    assert refused.value._render_traceback_() == [str(refused.value)]


def test_a_repr_that_raises_or_runs_over_lines_does_not_get_out():
    class Odd:
        def __repr__(self):
            raise RuntimeError

    for value, said in ((Odd(), "an object of type Odd"), (torch.zeros(3, 3), "tensor("), (["a" * 500], "...")):
        with pytest.raises(CourseError, match="Your value") as refused:
            typed(value, like=3)
        assert said in str(refused.value)
        assert "\n" not in str(refused.value)
