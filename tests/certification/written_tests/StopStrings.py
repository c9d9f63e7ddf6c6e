# Tests of StopStrings, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_character_by_character
# RIGHT: all: the docstring again, one character after the other, against texts cut in many ways
import random

import pytest


def due(stops, text):
    """For each length of the text: how many of its characters are out by then, and whether it has stopped."""
    found = []
    for end in range(1, len(text) + 1):
        here = text[:end]
        complete = [stop for stop in stops if here.endswith(stop)]
        if complete:
            return found + [(end - max(map(len, complete)), True)]
        held = max((n for stop in stops for n in range(1, len(stop)) if here.endswith(stop[:n])), default=0)
        found.append((end - held, False))
    return found


def stream(x, stops, text, cuts):
    watcher, states, out = x(stops), [(0, False), *due(stops, text)], ""
    start = 0
    for end in [*cuts, len(text)]:
        num_out, stopped = states[min(end, len(states) - 1)]
        got = watcher.push(text[start:end])
        assert got == (text[len(out) : num_out], stopped), (stops, text, cuts)
        out, start = text[:num_out], end
    num_out, stopped = states[-1]
    assert watcher.flush() == ("" if stopped else text[num_out:])
    assert watcher.flush() == ""
    if stopped:
        assert watcher.push("more") == ("", True) and watcher.flush() == ""


def test_StopStrings(x):
    for stops in ([""], ["a", ""], ["", "a"]):
        with pytest.raises(ValueError):
            x(stops)
    for stops, text in (
        ([" "], "one two"), (["\n"], "  spaces \t\r\nand"), (["END "], "the ENDs, the END of it"), (["..."], "one. two.. three... four"),
        (["(a|b)*"], "a b (a|b)*"), (["STOP"], "stop Stop sto STOP"), (["fin e\u0301"], "fin \xe9 fin e\u0301"),
        (["\r\n\r\n"], "x\r\ny\n\n\r\nz"), (["###"], "a##"), (["cd", "abcd"], "xabcdy"), (["abcd", "bc"], "xabcdy"), (["yes", "no"], "the no, then yes no"),
        (["\nObservation from tool:"], "so\nObservation from tool: 3"), ([2 * c for c in "abcdefghijklm"], "one ad mld kk ll"),
        (["aab"], "aaaab!"), (["abac"], "ababacx"), (["bbaa"], "abbabbaa"), (["aba", "bb"], "abbabab"),
    ):  # fmt: skip
        stream(x, stops, text, range(1, len(text)))
        stream(x, stops, text, [])
    stream(x, ["###"], "a##b###c", [3, 3, 5, 6])  # with an empty piece
    stream(x, ["STOP"], "-" * 998 + "STOP!", [])
    luck = random.Random(1)
    for _ in range(20):
        stops = ["".join(luck.choices("ab", k=luck.randrange(2, 6))) for _ in range(luck.randrange(1, 3))]
        text = "".join(stops[0][: luck.randrange(1, len(stops[0]) + 1)] for _ in range(5))
        stream(x, stops, text, sorted(luck.sample(range(1, len(text)), min(4, len(text) - 1))))
    one, other = x(["###"]), x(["###"])
    assert one.push("a#") == ("a", False) and other.push("##b") == ("##b", False)


# %% wrong_one_piece
# WRONG: 7 of 55: the stop in one piece
def test_StopStrings(x):
    stream = x(["###"])
    assert stream.push("Hello###World") == ("Hello", True)


# %% wrong_hugs_the_first_match
# WRONG: says "does not accept a correct version": takes the stop that begins first for the one that wins
def test_StopStrings(x):
    assert x(["abcd", "bc"]).push("xabcdy") == ("x", True)


# %% wrong_asserts_nothing
# WRONG: 0 of 55: pushes and flushes
def test_StopStrings(x):
    stream = x(["###"])
    stream.push("a")
    stream.flush()


# %% wrong_looks_inside
# WRONG: says "does not accept a correct version": an attribute that the docstring does not promise
def test_StopStrings(x):
    stream = x(["###"])
    stream.push("a#")
    assert stream.held == "#"
