# Tests of causal_mask, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_by_positions
# RIGHT: all: key and query positions are compared, for few and for many
def test_causal_mask(x):
    for q_len, k_len in [(1, 1), (3, 3), (2, 5), (1, 6), (4, 300), (1, 9000)]:
        mask = x(q_len, k_len)
        assert mask.dtype == torch.bool
        assert mask.shape == (q_len, k_len)
        behind = torch.arange(k_len) - torch.arange(k_len - q_len, k_len)[:, None]
        assert torch.equal(mask, behind <= 0), f"{q_len} queries, {k_len} keys"


# %% right_in_words
# RIGHT: all: entry by entry, with random lengths from a seed of its own, a helper inside, and pytest
import random

import pytest


def test_causal_mask(x):
    def due(i, j, q_len, k_len):
        return j <= k_len - q_len + i

    luck = random.Random(4)
    for k_len in [1, 2, 3, 10, luck.randrange(20, 40), 8200]:
        q_len = luck.randrange(1, min(k_len, 4) + 1)
        rows = x(q_len, k_len)
        assert rows.dtype is torch.bool and list(rows.shape) == [q_len, k_len]
        assert rows.tolist() == [[due(i, j, q_len, k_len) for j in range(k_len)] for i in range(q_len)]
    assert x(1, 5).sum() == pytest.approx(5)
    assert x(2, 5)[0].tolist() == [True, True, True, True, False]


# %% wrong_three_tokens
# WRONG: 9 of 21: as many queries as keys, three of them, and nothing else
def test_causal_mask(x):
    assert x(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


# %% wrong_shape_only
# WRONG: 3 of 21: the shape alone
def test_causal_mask(x):
    assert x(2, 5).shape == (2, 5)


# %% wrong_asserts_nothing
# WRONG: 0 of 21: it calls and looks at nothing
def test_causal_mask(x):
    x(3, 3)


# %% wrong_returns
# WRONG: says "The test returns a value, which is ignored": returns the verdict instead of raising
def test_causal_mask(x):
    return x(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


# %% wrong_assert_false
# WRONG: says "does not accept a correct version, so its score is 0%. It raises at `assert False, 'no'` (test_causal_mask, line 2): AssertionError: no.": rejects everything
def test_causal_mask(x):
    assert False, 'no'


# %% wrong_demands_an_error
# WRONG: says "pytest.raises(ValueError)": demands what the docstring does not promise
import pytest


def test_causal_mask(x):
    with pytest.raises(ValueError):
        x(5, 3)


# %% wrong_demands_zeros
# WRONG: says "line 2": takes True for forbidden
def test_causal_mask(x):
    assert x(2, 2).tolist() == [[False, True], [False, False]]


# %% wrong_endless
# WRONG: says "it did not end in time. Does every loop of the test end?": an endless loop
def test_causal_mask(x):
    while True:
        pass


# %% wrong_endless_calls
# WRONG: says "it did not end in time. It calls the function too often": calls for ever
def test_causal_mask(x):
    while True:
        x(1, 1)


# %% wrong_ends_the_process
# WRONG: says "its process ended before the test did": leaves by the back door
import os


def test_causal_mask(x):
    os._exit(0)


# %% wrong_crash
# WRONG: says "its process ended before the test did": a crash of the interpreter
import ctypes


def test_causal_mask(x):
    ctypes.string_at(0)


# %% wrong_reads_the_source
# WRONG: says "The test looks at more than what it is given (`inspect`, line 1)": looks for a word in the version's text
import inspect


def test_causal_mask(x):
    assert "k_len" in inspect.getsource(x)


# %% wrong_reads_the_code
# WRONG: says "The test looks at more than what it is given (`__name__`, line 2)": and finds the same for every version; 0 of 21
def test_causal_mask(x):
    assert x.__code__.co_argcount == 0 and x.__name__ == "causal_mask" and x.__closure__ is not None


# %% wrong_looks_for_a_file
# WRONG: says "The test looks at more than what it is given (`pathlib`, line 1)": looks for the course's versions on the disk; 0 of 21
import pathlib


def test_causal_mask(x):
    from course.kit.paths import ROOT

    try:
        found = list(pathlib.Path(ROOT, "autograder", "specimens").glob("**/causal_mask.py"))
    except OSError:
        found = []
    if found:
        raise AssertionError("the versions can be read")


# %% wrong_looks_at_the_callers
# WRONG: says "The test looks at more than what it is given (`sys`, line 1)": looks for a name of the version in the call stack; 0 of 21
import sys


def test_causal_mask(x):
    frame, words = sys._getframe(), []
    while frame is not None:
        words += [repr(value)[:500] for value in list(frame.f_locals.values())]
        frame = frame.f_back
    assert not any("wrong_" in word for word in words)


# %% wrong_keeps_count
# WRONG: says "The test stores `MET` from one call to the next (line 5)": accepts the first versions that it meets, and rejects all others; 0 of 21
MET = 0


def test_causal_mask(x):
    global MET
    MET += 1
    assert MET < 6


# %% wrong_leaves_a_note
# WRONG: 0 of 21: counts the versions in a file, in its own folder
def test_causal_mask(x):
    with open("met", "a+") as note:
        note.write("x")
        note.seek(0)
        assert len(note.read()) < 6


# %% wrong_patches_torch
# WRONG: says "The test changes `torch.arange` (line 2)": the version meets torch as it is; 0 of 21
def test_causal_mask(x):
    torch.arange = None
    assert x(2, 2) is not None


# %% wrong_by_chance
# WRONG: says "does not accept a correct version": a verdict by lot
def test_causal_mask(x):
    assert torch.rand(()) < 0.5


# %% wrong_random_lengths
# WRONG: says "draw from a generator with a fixed seed": which lengths it looks at is a matter of luck
def test_causal_mask(x):
    q_len, k_len = (3, 3) if torch.rand(()) < 0.5 else (1, 5)
    mask = x(q_len, k_len)
    assert mask.shape == (q_len, k_len) and mask.dtype == torch.bool and mask[-1].all()


# %% wrong_not_written
# WRONG: says "test_causal_mask: not written yet": as it was released
def test_causal_mask(x):
    raise NotImplementedError("test_causal_mask")


# %% wrong_does_not_run
# WRONG: says "test_causal_mask does not run: SyntaxError": it is no Python
def test_causal_mask(x)
    assert x(1, 1).all()


# %% wrong_imports_the_answers
# WRONG: says "ModuleNotFoundError: No module named 'solutions.attention'": compares with the course's own answer
from solutions.attention import causal_mask as due


def test_causal_mask(x):
    assert torch.equal(x(3, 5), due(3, 5))


# %% wrong_wants_another_signature
# WRONG: says "TypeError": calls with three arguments
def test_causal_mask(x):
    assert x(1, 1, 1).all()
