# Tests of sse_event, as students may write them, with what each is due: so many of the wrong versions rejected, or what is said.


# %% right_a_reader_of_its_own
# RIGHT: all: a reader of events gets back what was sent, and the bytes have one form
import copy
import json


def read(event):
    """The text of an event, read as a client reads it."""
    assert isinstance(event, bytes)
    assert event.endswith(b"\n\n") and b"\r" not in event
    lines = event[:-2].decode("utf-8").split("\n")
    assert all(line.startswith("data: ") for line in lines)
    return "\n".join(line.removeprefix("data: ") for line in lines)


def test_sse_event(x):
    odd = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"
    for text in ("", "a", "a\nb", "a\n\nb", "\n", "a\n", "\na", "  a  ", "[DONE]", '{"a":1}', "é😀", "e\u0301", odd, "\n".join(map(str, range(300))), "x" * 100_000):
        assert read(x(text)) == text
    for event in ({}, {"a": 1}, {"b": "é😀", "a": [1.5, None, True]}, {"text": "two\nlines"}, {"text": odd}, {"deep": {"z": {"y": "\u2028"}}}):
        given = copy.deepcopy(event)
        text = read(x(given))
        assert "\n" not in text and json.loads(text) == event and given == event
        assert "\\u" not in text.replace("\\u000b", "").replace("\\u001c", "")


# %% wrong_the_event_of_the_lesson
# WRONG: says "does not accept a correct version": JSON may have spaces or not
def test_sse_event(x):
    assert x({"a": 1}) == b'data: {"a": 1}\n\n'


# %% wrong_two_lines
# WRONG: 8 of 21: a text of two lines
def test_sse_event(x):
    assert x("a\nb") == b"data: a\ndata: b\n\n"


# %% wrong_json_comes_back
# WRONG: 5 of 21: the object, but not its form
import json


def test_sse_event(x):
    assert json.loads(x({"t": "é"})[6:]) == {"t": "é"}


# %% wrong_asserts_nothing
# WRONG: 0 of 21: calls it
def test_sse_event(x):
    x("a")
