"""Visible checks of the serving day. Coroutines run on a clock of their own: no socket, no waiting, the same every time."""

from __future__ import annotations

import copy
import functools
import json
import math
from collections.abc import Sequence
from typing import Any

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.helpers.served import (
    AgainBooks,
    Answer,
    Books,
    headers_of,
    loaded,
    played,
    played_again,
    played_at_the_same_time,
    reader,
    whole,
)
from autograder.sandbox.protocol.worker_errors import StudentRaised
from course.kit import Tokenizer, load_tokenizer


def asked(student, body: dict[str, Any], *, chat: bool = False, room: int = 100) -> dict[str, Any]:
    """The fields of the params that a body stands for; fails where it is refused."""
    came = student.scenario("attempt", student.parse_params, [body], {"chat": chat, "room": room}).result
    that("returned" in came, f"{body} was refused, and nothing is wrong with it", got=came.get("refused", {}).get("message"))
    params = came["returned"]
    that(isinstance(params, dict), "parse_params returns a SamplingParams", got=params)
    kinds = {"stop": tuple, "stream": bool, "include_usage": bool}
    found = {name: type(params[name]).__name__ for name in kinds}
    equal(found, {name: kind.__name__ for name, kind in kinds.items()}, what="wrong types of fields")
    return params


def one_of_them(student, body: dict[str, Any], name: str, **how: Any) -> dict[str, Any]:
    """One field of the params, with its name: a None alone would look like a function that returns nothing."""
    return {name: asked(student, body, **how)[name]}


def refused(student, body: dict[str, Any], param: str, *, chat: bool = False, room: int = 100, code: str | None = None) -> None:
    """Fails unless a body is refused with status 400 for this field."""
    came = student.scenario("attempt", student.parse_params, [body], {"chat": chat, "room": room}).result
    that("refused" in came, f"{body} was taken{' in a chat' if chat else ''}; {param} is at fault", got=came.get("returned"))
    error = came["refused"]["body"]["error"]
    equal([came["refused"]["status"], error["param"]], [400, param], what=f"the status and param of the refusal of {body}")
    equal({"code": error["code"]}, {"code": code}, what=f"the code of the refusal of {body}")
    that(isinstance(error["message"], str) and error["message"], f"the refusal of {body} has no message", got=error["message"])


EOS = 2
"""<|im_end|>, of the tiny model and of SmolLM2."""


def parsed(student, pieces: list[bytes]) -> list[list[str]]:
    return student.scenario("pushes", student.SSEParser, [[]], [[0, piece] for piece in pieces], None).result


OWN = {"eos_token_id": EOS}


def streamed(student, ids: list[int], tokenizer: dict[str, Any] = OWN, **params: Any) -> tuple[list[str], list[str | None]]:
    """(the texts of the pushes, finish_reason after each) of one answer. tokenizer: what differs from the tiny model's."""
    given, order = [[student.tokenizer("tiny"), student.SamplingParams(**params)]], [[0, i] for i in ids]
    came = student.scenario("pushes", student.TextStream, given, order, "finish_reason", tokenizer).result
    return [text for text, _ in came], [reason for _, reason in came]


@functools.cache
def tokenizer_of(name: str) -> Tokenizer:
    return load_tokenizer(name)


def encoded(text: str, name: str = "tiny") -> list[int]:
    return tokenizer_of(name).encode(text)


# ---- sse_event -----------------------------------------------------------------------------------------------------


def json_event(got: Any, want: bytes, *, what: str = "wrong value", suspects: Sequence[tuple[bytes, str]] = ()) -> None:
    """Fail unless `got` is the event `want`, with or without the space that JSON may have after a name."""
    spaced = isinstance(got, bytes) and got.replace(b'":', b'": ').replace(b'":  ', b'": ')
    equal(want if spaced == want else got, want, what=what, suspects=suspects)


@checks("sse_event")
def test_three_events_by_hand(student, hand):
    """a dict is sent as JSON, a text of two lines in two data lines, [DONE] and other strings as they are"""
    case = hand["events"]
    json_event(student.sse_event({"a": 1}), case["json"].encode(), what="wrong bytes for {'a': 1}")
    equal(student.sse_event("a\nb"), case["two_lines"].encode(), what="wrong bytes for a text of two lines")
    equal(student.sse_event("[DONE]"), case["done"].encode(), what="wrong bytes for a string, which is sent unchanged")
    for text in ('{"b":2.0e1}', "{'b': 2}", '"c"', "null"):
        equal(student.sse_event(text), f"data: {text}\n\n".encode(), what=f"wrong bytes for the string {text!r}, which is no object")


@checks("sse_event")
def test_characters_stay_as_they_are(student, hand):
    """é is sent as two bytes of UTF-8, not as an escape; an emoji and a combining accent are not escaped either"""
    got = student.sse_event({"a": "é"})
    escaped = "This is the escaped form: ensure_ascii=False leaves the characters as they are."
    json_event(got, 'data: {"a": "é"}\n\n'.encode(), suspects=[(b'data: {"a": "\\u00e9"}\n\n', escaped)])
    that(len(got) <= hand["events"]["accent_bytes"], "too many bytes", expected=hand["events"]["accent_bytes"], got=len(got))
    for letters in ("🗼", "o\u0308"):
        equal(student.sse_event(letters), f"data: {letters}\n\n".encode(), what=f"wrong bytes for the characters {letters!a}")
        got = student.sse_event({"b": letters})
        that(letters.encode() in got, f"an object's characters {letters!a} are not sent as they are", got=got)


@checks("sse_event")
def test_a_dict_is_read_and_sent_whole(student):
    """the JSON decodes to the same dict, with nulls, numbers and newlines; {} is sent; the dict is not changed"""
    for index in range(8):
        data = {"choices": [{"index": index, "text": "one\ntwo \n", "finish_reason": None}], "usage": None}
        got = student.sse_event(data, _unchanged=True)
        that(got.endswith(b"\n\n"), "no empty line ends the event", got=got)
        that(got.startswith(b"data:") and got.count(b"\n") == 2, "JSON is sent in one data line", got=got)
        equal(json.loads(got[5:]), data, what="wrong data in the JSON")
    equal(student.sse_event({}).replace(b" ", b""), b"data:{}\n\n", what="wrong bytes for an empty object")


@checks("sse_event")
def test_every_line_has_its_own_data(student):
    """every line of a text gets a data line, also an empty line and an empty last line; spaces are kept"""
    equal(student.sse_event("a\n\nb\n"), b"data: a\ndata: \ndata: b\ndata: \n\n", what="wrong bytes for 'a\\n\\nb\\n'")
    equal(student.sse_event(""), b"data: \n\n", what="wrong bytes for an empty text")
    equal(student.sse_event(" a \n  b "), b"data:  a \ndata:   b \n\n", what="wrong bytes for lines with spaces at both ends")


@checks("sse_event")
def test_a_long_text_of_many_lines(student):
    """100 lines and a line of 70,000 characters: nothing is cut off"""
    lines = [f"line {i}" for i in range(100)] + ["y" * 70_000]
    equal(student.sse_event("\n".join(lines)), "".join(f"data: {line}\n" for line in [*lines, ""]).encode()[:-7] + b"\n")


# ---- SSEParser -----------------------------------------------------------------------------------------------------


@checks("SSEParser")
def test_whole_events(student):
    """a piece with two events, the second with two data lines: the push returns two strings"""
    equal(parsed(student, [b'data: {"a": 1}\n\ndata: x\ndata: y\n\n']), [['{"a": 1}', "x\ny"]])


@checks("SSEParser", weight=2)
def test_every_cut(student):
    """a stream of three events, cut in two at any byte, even inside a character: the same three events"""
    stream = "data: é€\n\ndata: [DONE]\n\ndata: two\ndata: lines\n\n".encode()
    due = ["é€", "[DONE]", "two\nlines"]
    for cut in range(len(stream) + 1):
        got = parsed(student, [stream[:cut], stream[cut:]])
        equal([event for events in got for event in events], due, what=f"wrong events of {stream[:cut]!r} and {stream[cut:]!r}")


@checks("SSEParser")
def test_an_event_is_given_with_its_empty_line(student):
    """an event is returned by the push that completes its empty line, not before or after; an empty piece adds nothing"""
    equal(parsed(student, [b"data: a\n", b"\n", b"data", b": b\n\ndata: c", b"\n", b"\n"]), [[], ["a"], [], ["b"], [], ["c"]])
    equal(parsed(student, [b"data: a\n", b"", b"da", b"", b"ta: b\n", b"\n", b""]), [[], [], [], [], [], ["a\nb"], []])


@checks("SSEParser")
def test_two_parsers(student):
    """two parsers, used in turns: each parser keeps its own unfinished lines and events"""
    order = [[0, b"data: a\n"], [1, b"data: b\nda"], [0, b"data: c\nda"], [1, b"ta: d\n\n"], [0, b"ta: e\n\n"]]
    got = student.scenario("pushes", student.SSEParser, [[], []], order, None).result
    equal(got, [[], [], [], ["b\nd"], ["a\nc\ne"]], what="wrong events of two streams, one after the other's piece")


@checks("SSEParser")
def test_carriage_returns_comments_and_other_fields(student):
    """lines may end in CR LF, also with the cut between CR and LF; comments and other fields are ignored"""
    equal(parsed(student, [b": ping\r\n\r\nid: 3\r\ndata: a\r\nevent: x\r\n\r\n"]), [["a"]])
    cut = [b"data: a\r", b"\n\r", b"\ndata: b\r\n\r\n"]
    equal(parsed(student, cut), [[], [], ["a", "b"]], what="wrong events, cut between \\r and \\n")
    others = [b"data: a\n: data: b\ndataset: 7\nnote: data: c\ndata: d\n\n"]
    equal(parsed(student, others), [["a\nd"]], what="wrong event with a comment and other fields between its data lines")


@checks("SSEParser")
def test_one_space_and_no_more(student):
    """one space after the colon is dropped, a second space is data; the space may be missing"""
    equal(parsed(student, [b"data:a\n\ndata:  b\n\ndata:\n\n"]), [["a", " b", ""]])


@checks("SSEParser")
def test_equal_events_and_long_lines(student):
    """three equal events are returned three times; a line of 90,000 bytes and an event of 100 lines are complete"""
    equal(parsed(student, [b"data: a\n\ndata: a\n\n", b"data: a\n\n"]), [["a", "a"], ["a"]])
    stream = b"data: " + b"x" * 90_000 + b"\n\n" + b"data: y\n" * 100 + b"\n"
    got = parsed(student, [stream[i : i + 9_000] for i in range(0, len(stream), 9_000)])
    equal([len(event) for events in got for event in events], [90_000, 199], what="wrong lengths of a long event and of one of 100 lines")


@checks("SSEParser")
def test_what_belongs_to_a_line(student):
    """a carriage return inside a line and a byte order mark are data; a line "data" without a colon is ignored"""
    equal(parsed(student, [b"data: a\rb\n\n"]), [["a\rb"]], what="wrong event with a carriage return inside its line")
    equal(parsed(student, ["data: \ufeffa\n\n".encode()]), [["\ufeffa"]], what="wrong event that begins with a byte order mark")
    equal(parsed(student, [b"data: a\ndata\n\ndata\n\n"]), [["a"]], what='wrong events beside a line "data" without a colon')


# ---- parse_params --------------------------------------------------------------------------------------------------


@checks("parse_params")
def test_what_is_missing_has_its_default(student):
    """an empty body, or all fields null: every field has its default, in completions and in chats"""
    due = {"max_tokens": 16, "temperature": 1.0, "top_p": 1.0, "seed": None, "stop": (), "logprobs": None}
    due |= {"stream": False, "include_usage": False}
    names = ("max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "n", "stop", "logprobs", "stream", "stream_options")
    for body in ({}, dict.fromkeys(names)):
        equal(asked(student, body), due, what=f"wrong params of {body}")
        equal(asked(student, body, chat=True, room=9), due | {"max_tokens": 9}, what=f"wrong params of {body} in a chat")


@checks("parse_params", weight=2)
def test_everything_given(student):
    """every given field is returned, unknown fields are ignored; in a chat, max_completion_tokens replaces max_tokens"""
    body = {
        "model": "m", "prompt": "p", "user": "u", "max_tokens": 40, "temperature": 0, "top_p": 0.25, "seed": 7, "n": 1, "stop": ["a", "bc"],
        "logprobs": 5, "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    due = {"max_tokens": 40, "temperature": 0, "top_p": 0.25, "seed": 7, "stop": ("a", "bc"), "logprobs": 5}
    due |= {"stream": True, "include_usage": True}
    equal(asked(student, body), due)
    chat = {**body, "logprobs": True, "top_logprobs": 20, "max_completion_tokens": 30}
    equal(asked(student, chat, chat=True), due | {"logprobs": 20, "max_tokens": 30}, what="wrong params of a chat")
    both = asked(student, {**body, "max_completion_tokens": 30, "top_logprobs": "7"})
    equal(both["max_tokens"], 40, what="wrong max_tokens of a completion, for which max_completion_tokens is an unknown field")
    for ignored in (2_000, -1, "many"):
        newer = one_of_them(student, {"max_tokens": ignored, "max_completion_tokens": 8}, "max_tokens", chat=True)
        equal(newer, {"max_tokens": 8}, what=f"wrong max_tokens of a chat whose max_tokens, {ignored!r}, is ignored")
    null = one_of_them(student, {"max_tokens": 7, "max_completion_tokens": None}, "max_tokens", chat=True)
    equal(null, {"max_tokens": 7}, what="wrong max_tokens of a chat whose max_completion_tokens is null")
    for options, due_usage in (({"include_usage": True}, True), ({}, False), ({"other": 1}, False)):
        equal(asked(student, {"stream_options": options})["include_usage"], due_usage, what=f"wrong include_usage of {options}")


@checks("parse_params")
def test_zero_is_a_value(student):
    """temperature 0, seed 0 and logprobs 0 are values, not missing fields"""
    due = {"temperature": 0, "seed": 0, "logprobs": 0}
    taken = "0 is a value, and `value or default` takes it for a missing one: compare with None."
    got = {name: value for name, value in asked(student, dict(due)).items() if name in due}
    defaults = {"temperature": 1.0, "seed": None, "logprobs": None}
    # A temperature that alone is 1 may be another mistake's: top_p's default, exchanged with it.
    kinds = [set(), {"temperature"}, {"seed"}, {"logprobs"}, {"temperature", "seed"}, {"temperature", "logprobs"}]
    suspects = [({name: due[name] if name in kept else defaults[name] for name in due}, taken) for kept in kinds]
    equal({name: got[name] for name in due}, due, suspects=suspects)


@checks("parse_params")
def test_large_and_small_values(student):
    """20,000 tokens, a temperature near 0, extreme seeds, long or equal stop strings: all values are returned unchanged"""
    body = {"max_tokens": 20_000, "temperature": 0.005, "top_p": 0.005, "stop": ["b" * 100, "a", "b", "a"]}
    due = {**body, "stop": tuple(body["stop"])}
    got = asked(student, body, room=30_000)
    for name, value in due.items():
        equal({name: got[name]}, {name: value}, what=f"wrong {name}")
    for body in ({"temperature": 2, "top_p": 1, "seed": -(2**63)}, {"temperature": 1.99, "max_tokens": 1, "seed": 2**63 - 1}):
        equal({name: value for name, value in asked(student, body).items() if name in body}, body, what="wrong params at the borders")


@checks("parse_params")
def test_one_stop_string_is_one(student):
    """a string is one stop string, not a list of its letters; white space is a valid stop string"""
    got = asked(student, {"stop": "ab"})["stop"]
    equal(got, ("ab",), suspects=[(("a", "b"), "These are the letters of the string.")])
    equal(asked(student, {"stop": "Observation:"})["stop"], ("Observation:",), what="wrong stop of a long string")
    equal(asked(student, {"stop": "\n\n"})["stop"], ("\n\n",), what="wrong stop of two newlines")
    equal(asked(student, {"stop": ["  ", "\n"]})["stop"], ("  ", "\n"), what="wrong stop of strings of white space")


@checks("parse_params")
def test_log_probabilities_of_a_chat(student):
    """logprobs of a chat: true without top_logprobs gives 0; false or missing gives None, whatever top_logprobs is"""
    for body, due in (({"logprobs": True}, 0), ({"logprobs": False, "top_logprobs": 3}, None), ({"top_logprobs": 3}, None)):
        equal(one_of_them(student, body, "logprobs", chat=True), {"logprobs": due}, what=f"wrong logprobs of {body} in a chat")
    equal(one_of_them(student, {"logprobs": 0}, "logprobs"), {"logprobs": 0}, what="wrong logprobs of a completion that asks for 0")


@checks("parse_params")
def test_the_body_is_only_read(student):
    """the client's body is not changed"""
    bodies: list[dict[str, Any]] = [
        {},
        {"stop": ["a"], "stream_options": {"include_usage": None}, "temperature": None, "max_tokens": None},
        {"stop": "ab", "max_completion_tokens": 4, "logprobs": None, "stream_options": {}},
    ]
    for body in bodies:
        for chat in (False, True):
            _, after = student.parse_params(copy.deepcopy(body), chat=chat, room=30, _arguments=True)
            equal(after[0], body, what="the client's body after the call")


@checks("parse_params", weight=2)
def test_what_is_refused_names_its_field(student):
    """a number out of range: refused with status 400, and the error names the field"""
    bad = {"max_tokens": [0, -1], "temperature": [-0.1, 2.1, math.nan, 10**400], "top_p": [0, 1.5, math.nan]}
    bad |= {"n": [2, 0], "logprobs": [6, -1], "seed": [2**63, 2**63 + 7, -(2**63) - 1, -(2**63) - 7]}
    for name, values in bad.items():
        for value in values:
            refused(student, {"max_tokens": 5, name: value}, name)
    for value in (21, -1):
        refused(student, {"logprobs": True, "top_logprobs": value}, "top_logprobs", chat=True)
        refused(student, {"logprobs": False, "top_logprobs": value}, "top_logprobs", chat=True)


@checks("parse_params", weight=2)
def test_other_kinds_are_refused(student):
    """refused: a bool or a string as a number, 2.0 as an integer, an empty stop string, five stop strings"""
    bad = {
        "max_tokens": [True, 2.0, "3"], "temperature": [True, "1"], "top_p": [True], "seed": [True, 1.5, "1"], "n": [True],
        "stop": ["", [], ["a", ""], [1], 3, list("abcde")], "logprobs": [True], "stream": [1, "true"],
        "stream_options": [True, [], {"include_usage": 2}, {"include_usage": 0}],
    }  # fmt: skip
    for name, values in bad.items():
        for value in values:
            refused(student, {name: value}, name)
    refused(student, {"logprobs": 1}, "logprobs", chat=True)


@checks("parse_params")
def test_a_prompt_that_leaves_no_room(student):
    """max_tokens may fill the room; one token more is refused, and so is a default that does not fit"""
    code = "context_length_exceeded"
    equal(asked(student, {"max_tokens": 20}, room=20)["max_tokens"], 20, what="as many as there is room for are taken")
    refused(student, {"max_tokens": 21}, "max_tokens", room=20, code=code)
    refused(student, {"max_completion_tokens": 21, "max_tokens": 5}, "max_completion_tokens", chat=True, room=20, code=code)
    refused(student, {}, "max_tokens", room=15, code=code)
    refused(student, {}, "max_tokens", chat=True, room=0, code=code)


# ---- token_logprobs ------------------------------------------------------------------------------------------------


@checks("token_logprobs")
def test_five_tokens_by_hand(student, hand):
    """five tokens with weights 8, 4, 2, 1, 1, worked out by hand"""
    case = hand["logprobs"]
    logits = torch.tensor(case["weights"]).log()
    for token, due in enumerate(case["logprobs"]):
        logprob, best = student.token_logprobs(logits, token, 3, _unchanged=True)
        close(logprob, due, atol=5e-5, what=f"wrong log probability of token {token}")
        equal([each[0] for each in best], [0, 1, 2], what="wrong tokens among the three best")
        for i, (_, value) in enumerate(best):
            close(value, case["logprobs"][i], atol=5e-5, what=f"wrong log probability of token {i} among the best")


@checks("token_logprobs")
def test_best_first_and_none(student):
    """the k best tokens in descending order, including equal tokens and tokens of probability 0; k = 0: an empty list"""
    logits = torch.tensor([0.5, 3.0, -1.0, 2.0, 2.5])
    equal([token for token, _ in student.token_logprobs(logits, 2, 5)[1]], [1, 4, 3, 0, 2], what="wrong order of the tokens")
    even = student.token_logprobs(torch.zeros(6), 2, 6)[1]
    equal(sorted(token for token, _ in even), [0, 1, 2, 3, 4, 5], what="wrong tokens among the 6 best of 6 equal ones")
    impossible = student.token_logprobs(torch.tensor([0.5, -math.inf, 3.0]), 2, 3)[1]
    equal([token for token, _ in impossible], [2, 0, 1], what="wrong tokens among the 3 best of 3, one of them with a logit of -inf")
    logprob, best = student.token_logprobs(logits, 2, 0)
    equal(best, [])
    close(logprob, torch.log_softmax(logits.double(), dim=-1)[2].item(), what="wrong log probability of the token")


@checks("token_logprobs")
def test_a_large_vocabulary_and_small_numbers(student):
    """the 30 best of 50,000 tokens; the log probability of a nearly certain token is not rounded to 0"""
    logits = torch.zeros(50_000)
    logits[40_000:40_030] = torch.arange(1.0, 31.0)
    best = student.token_logprobs(logits, 40_029, 30)[1]
    equal([token for token, _ in best], list(range(40_029, 39_999, -1)), what="wrong tokens among the 30 best of 50,000")
    logprob, best = student.token_logprobs(torch.tensor([0.0, -8.0]), 0, 1)
    for value in (logprob, best[0][1]):
        close(value, -math.log1p(math.exp(-8)), atol=1e-6, rtol=0.0, what="wrong log probability of a token that is nearly certain")


@checks("token_logprobs")
def test_numbers_of_python(student):
    """Python ints and floats for logits of any dtype; with 16-bit logits, the log probabilities are not rounded to 16 bits"""
    logits = torch.tensor([0.5, 3.0, -1.0, 2.0, 2.5])
    due = torch.log_softmax(logits.double(), dim=-1)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        logprob, best = student.token_logprobs(logits.to(dtype), 3, 2)
        that(type(logprob) is float, "the log probability is a Python float", got=logprob)
        that(all(type(i) is int and type(value) is float for i, value in best), "a pair is a Python int and a float", got=best)
        close(logprob, due[3].item(), atol=1e-4, what=f"wrong log probability of logits in {dtype}")
        close(best[1][1], due[4].item(), atol=1e-4, what=f"wrong log probability among the best, of logits in {dtype}")


@checks("token_logprobs")
def test_a_token_that_is_next_to_impossible(student):
    """a probability too small for a float: the log probability is still finite and right"""
    logits = torch.tensor([0.0, -80.0, -200.0, -1000.0])
    became_nothing = "This is the logarithm of a probability, which is too small for a number and has become 0: log_softmax needs none."
    for dtype in (torch.float32, torch.float64):
        given = logits.to(dtype)
        got = [student.token_logprobs(given, token, 0)[0] for token in range(4)]
        suspects = [(given.to(kind).softmax(dim=-1).log(), became_nothing) for kind in (torch.float32, torch.float64)]
        close(torch.tensor(got), logits, atol=1e-4, rtol=1e-4, what=f"wrong log probabilities, {dtype}", suspects=suspects)
        got = [student.token_logprobs(given + 900, token, 0)[0] for token in range(4)]
        close(torch.tensor(got), logits, atol=1e-3, rtol=1e-4, what=f"wrong log probabilities, every logit 900 higher, {dtype}")


# ---- TextStream ----------------------------------------------------------------------------------------------------


@checks("TextStream")
def test_an_answer_that_ends_in_eos(student):
    """EOS adds no text and gives "stop", even if EOS is the last token allowed"""
    ids = encoded("The capital of France is Paris.")
    for tokens in (50, len(ids) + 1):
        texts, reasons = streamed(student, [*ids, EOS], max_tokens=tokens)
        equal("".join(texts), "The capital of France is Paris.", what="wrong text")
        equal(reasons, [None] * len(ids) + ["stop"], what=f"wrong finish_reason after each token, max_tokens={tokens}")


@checks("TextStream")
def test_the_eos_of_another_tokenizer(student):
    """only the tokenizer's eos_token_id is EOS, even if that is 0; with None, no token is EOS"""
    ids = encoded(" the capital")
    text, first, end = " the capital", tokenizer_of("tiny").decode([0]), tokenizer_of("tiny").decode([EOS])
    for eos, due in ((0, [text, "stop"]), (None, [f"{text}{first} the", None]), (EOS, [f"{text}{first} the", None])):
        texts, reasons = streamed(student, [*ids, 0, ids[0]], {"eos_token_id": eos}, max_tokens=50)
        equal(["".join(texts), reasons[-1]], due, what=f"wrong text and finish_reason after token 0, tokenizer.eos_token_id={eos}")
    texts, reasons = streamed(student, [*ids, EOS], {"eos_token_id": None}, max_tokens=50)
    equal(["".join(texts), reasons[-1]], [f"{text}{end}", None], what="wrong text and finish_reason of a tokenizer without EOS")


@checks("TextStream")
def test_an_answer_of_full_length(student):
    """the reason is "length" after max_tokens tokens, not before; a later token adds no text"""
    ids = encoded("The capital of France is Paris.")
    texts, reasons = streamed(student, [*ids, ids[0]], max_tokens=len(ids))
    equal("".join(texts), "The capital of France is Paris.", what="wrong text")
    equal(reasons, [None] * (len(ids) - 1) + ["length"] * 2, what="wrong finish_reason after each token")


@checks("TextStream", weight=2)
def test_a_stop_string_across_tokens(student):
    """a stop string of several tokens: neither the stop string nor later text is returned, and the reason stays "stop" afterwards"""
    ids = encoded("The capital of France is Paris.")
    texts, reasons = streamed(student, ids, max_tokens=len(ids) - 1, stop=("pital of",))
    equal("".join(texts), "The ca", what="wrong text")
    before = next(n for n in range(len(ids)) if "pital of" in tokenizer_of("tiny").decode(ids[: n + 1]))
    equal(reasons, [None] * before + ["stop"] * (len(ids) - before), what="wrong finish_reason after each token")


@checks("TextStream")
def test_text_comes_as_soon_as_it_is_certain(student):
    """only text that may begin a stop string is held back; leading white space is kept"""
    ids = encoded(" the capital of France")
    texts, _ = streamed(student, ids, max_tokens=50, stop=("Berlin and the rest", "zebra"))
    equal(texts, [tokenizer_of("tiny").decode([i]) for i in ids], what="wrong text of each push, where no stop string can have begun")
    texts, _ = streamed(student, encoded("one the"), max_tokens=50, stop=("thermometer",))
    equal(texts, ["one", " "], what="wrong text of each push of 'one the', with the stop string 'thermometer'")


@checks("TextStream")
def test_half_a_character_in_the_end(student):
    """half a character at the end becomes U+FFFD, at "length" and at EOS, and may complete a stop string"""
    ids = encoded("to 🗼")[:-1]
    for more, tokens, reason in (([], len(ids), "length"), ([EOS], 50, "stop")):
        for stops, due in (((), "to \ufffd"), (("to x",), "to \ufffd"), (("o \ufffd",), "t")):
            texts, reasons = streamed(student, [*ids, *more], max_tokens=tokens, stop=stops)
            due_reason = "stop" if due == "t" else reason
            about = f"wrong text and finish_reason with the stop strings {[*map(ascii, stops)]}, half a character before the end"
            equal(["".join(texts), reasons[-1]], [due, due_reason], what=about)


@checks("TextStream")
def test_what_is_held_back_comes_out_in_the_end(student):
    """an answer ends in the beginning of a stop string: that text is returned, at "length" and at EOS"""
    ids = encoded("one two thr")
    for more, tokens, reason in (([], len(ids), "length"), ([EOS], 50, "stop")):
        texts, reasons = streamed(student, [*ids, *more], max_tokens=tokens, stop=("three",))
        equal(["".join(texts), reasons[-1]], ["one two thr", reason], what="wrong text and finish_reason")


@checks("TextStream")
def test_a_stop_string_with_the_last_token(student):
    """the last token allowed completes a stop string: "stop", not "length", is the reason"""
    ids = encoded("one two three")
    texts, reasons = streamed(student, ids, max_tokens=len(ids), stop=("three",))
    equal(["".join(texts), reasons[-1]], ["one two ", "stop"], what="wrong text and finish_reason")


@checks("TextStream")
def test_a_long_answer_and_a_long_stop_string(student):
    """a push does not decode the whole answer again; a stop string of 115 characters is found after 600 tokens"""
    decoded: list[int] = []

    def token_bytes(token_id: int) -> bytes:
        decoded.append(token_id)
        return tokenizer_of("tiny").token_bytes(token_id)

    def decode(token_ids: list[int]) -> str:
        decoded.extend(token_ids)
        return tokenizer_of("tiny").decode(token_ids)

    ids = encoded("zero" + " one two" * 14)
    streamed(student, ids, OWN | {"token_bytes": token_bytes, "decode": decode}, max_tokens=500, stop=("ten",))
    # A table of all tokens, or a look at the last few, decodes a token more than once: a few times, however long the answer is.
    times = decoded.count(ids[0])
    that(times <= 10, f"the first of {len(ids)} tokens was decoded {times} times: the work of a push grows with the answer", got=times)
    stop = "the end of the answer, " * 5
    text = "one two three " * 150 + stop[:90]
    ids = encoded(f"{text}: {stop} four")
    texts, reasons = streamed(student, ids, max_tokens=5_000, stop=(stop, "five", stop))
    equal(["".join(texts), reasons[-1]], [f"{text}: ", "stop"], what="wrong text and finish_reason")


@checks("TextStream")
def test_two_stop_strings_in_one_token(student):
    """one token completes several stop strings: the first complete one ends the text; if two end together, the longer one does"""
    for stops, due in ((("the", "h"), "one t"), (("he", "the"), "one "), (("e", " the", "he"), "on")):
        texts, reasons = streamed(student, encoded("one the"), max_tokens=50, stop=stops)
        equal(["".join(texts), reasons[-1]], [due, "stop"], what=f"wrong text and finish_reason with the stop strings {list(stops)}")


@checks("TextStream")
def test_characters_are_whole(student):
    """a character of several tokens is returned with its last token; every token counts towards max_tokens"""
    ids = encoded("a 😀!")
    texts, reasons = streamed(student, [*ids, *ids], max_tokens=len(ids))
    equal("".join(texts), "a 😀!", what="wrong text")
    that(all("\ufffd" not in text for text in texts), "a part of a character was shown", got=texts)
    equal(reasons, [None] * (len(ids) - 1) + ["length"] * (len(ids) + 1), what="wrong finish_reason after each token")


@checks("TextStream")
def test_two_answers_at_a_time(student):
    """two answers, pushed in turns: each stream keeps its own unfinished characters and stop strings"""
    ids = [encoded("é🗼 one two"), encoded("🗼é two one")]
    given = [[student.tokenizer("tiny"), student.SamplingParams(max_tokens=50, stop=(stop,))] for stop in ("two", "one")]
    order = [[which, i] for pair in zip(*ids, strict=True) for which, i in enumerate(pair)]
    came = student.scenario("pushes", student.TextStream, given, order, "finish_reason").result
    for which, due in enumerate((["é🗼 one ", "stop"], ["🗼é two ", "stop"])):
        pushes = came[which::2]
        equal(["".join(text for text, _ in pushes), pushes[-1][1]], due, what="wrong text and finish_reason of one of two answers")


# ---- AsyncEngine ---------------------------------------------------------------------------------------------------


@checks("AsyncEngine", weight=2)
def test_five_requests_by_hand(student, hand):
    """five requests, two slots, two may wait: the fifth is refused, the second leaves early; 9 steps make 17 tokens"""
    case = hand["engine"]
    books = Books(2)
    others = [reader(name, at, case["other_tokens"]) for name, at in (("c", 0.010), ("d", 0.011), ("e", 0.012))]
    plan = [reader("a", 0.0, case["a_tokens"]), reader("b", 0.0, case["b_tokens"], leaves_after=case["b_leaves_after"]), *others]
    played(student, books, 2, plan)
    equal([len(books.steps), books.num_tokens], [case["steps"], case["tokens"]], what="wrong numbers of steps and of tokens made")


@checks("AsyncEngine", weight=2)
def test_however_a_reader_ends(student):
    """a reader ends by break, cancellation or an exception: the request is aborted at once, the next one starts"""
    plan = [
        reader("a", 0.0, 50, leaves_after=2),
        reader("b", 0.101, 50, cancelled_at=0.2033),
        reader("c", 0.301, 50, raises_after=3),
        reader("d", 0.501, 50, leaves_after=2, drops=True),
        reader("e", 0.701, 4),
        reader("f", 0.702, 50, cancelled_at=0.7033),
        reader("g", 0.95, 5, never=True),
        *({"do": "peek", "at": at} for at in (0.015, 0.25, 0.3111, 0.7034)),
    ]
    played(student, Books(1), 4, plan)


@checks("AsyncEngine")
def test_idle_it_waits(student):
    """an hour without requests: the core is neither stepped nor asked; the next request is served at once"""
    played(student, Books(2), 4, [reader("a", 1.0, 3), reader("b", 3600.0, 2), reader("c", 3600.003, 2)])
    played(student, Books(2), 4, [reader("a", 0.0, 5, pause=0.3001), reader("b", 0.75, 3), reader("c", 1.0, 2)])


@checks("AsyncEngine", weight=2)
def test_a_full_queue_refuses(student):
    """max_waiting 2: a third waiting request gets 429 and is not added, running ones do not count; max_waiting 0: all get 429"""
    plan = [reader(name, at, 6) for name, at in (("a", 0.0), ("b", 0.021), ("c", 0.022), ("d", 0.023), ("e", 0.031))]
    books = played(student, Books(1), 2, [*plan, reader("f", 1.0, 2)])
    that(set(books.added) == set("abcf"), "wrong requests were served", expected=list("abcf"), got=sorted(books.added))
    books = played(student, Books(2), 0, [reader("a", 0.0, 2)])
    equal(list(books.added), [], what="wrong list of added requests, when no request may wait")


@checks("AsyncEngine")
def test_a_step_that_fails(student):
    """a step raises: every open reader gets the exception after the unread tokens, and the request is aborted at once"""
    plan = [reader(name, 0.001 * i, 5) for i, name in enumerate("abcdef")] + [reader("g", 0.5, 3)]
    played(student, Books(6, faults={3: "a broken engine"}), 4, plan)
    plan = [reader(name, 0.5 * i, 3) for i, name in enumerate("abcdef")]
    played(student, Books(2, faults={number: f"fault {number}" for number in range(1, 6)}), 4, plan)
    slow = [reader("a1", 0.0, 8, pause=0.0431), reader("a2", 0.001, 8), reader("b", 1.5, 2)]
    played(student, Books(2, faults={5: "while one lags"}), 4, [*slow, {"do": "peek", "at": 0.0507}])


@checks("AsyncEngine")
def test_steps_that_take_their_time(student):
    """a step of several minutes, or without a token for a request, is no failure; the core gets the params unchanged"""
    warm = {"temperature": 0.75, "seed": 11, "stop": ["y"]}
    plan = [reader("a", 0.0, 2), reader("b", 30.0, 3)]
    plan[0]["params"] |= warm
    books = played(student, Books(2, seconds=420.0, quiet={"a": 2, "b": 1}), 4, plan)
    equal(len(books.steps), 5, what="wrong number of steps")


@checks("AsyncEngine")
def test_a_run_that_is_cancelled(student):
    """run is cancelled while waiting or during a step: run ends, and no step counts as failed"""
    for plan in ([reader("a", 0.0, 3)], [reader("a", 0.0, 40, cancelled_at=0.9)]):
        played(student, Books(2), 4, [*plan, {"do": "stop", "at": 0.5307}])


@checks("AsyncEngine")
def test_what_the_core_refuses(student):
    """the core's add raises: the reader gets the exception, nothing is aborted, and the request leaves no queue"""
    plan = [reader("a", 0.0, 3), reader("u", 0.011, 4), {"do": "peek", "at": 0.012}, reader("b", 0.5, 2)]
    played(student, Books(2, unserved=("u",)), 4, plan)


@checks("AsyncEngine")
def test_many_readers_two_of_whom_lag(student):
    """twenty requests: a reader 290 tokens behind gets every token; a reader 240 tokens behind leaves and is aborted"""
    lag = [reader("a", 0.0, 300, pause=5.0), reader("b", 0.001, 300, pause=5.0, leaves_after=2)]
    others = [reader(name, 0.002 + 0.0001 * i, 4 + i) for i, name in enumerate("cdefghijklmnopqrst")]
    played(student, Books(20), 20, [*lag, *others, reader("u", 5.511, 3), {"do": "peek", "at": 5.111}])


@checks("AsyncEngine")
def test_an_id_comes_again(student):
    """the id of a request that has ended is used again: the new request gets its own tokens"""
    played_again(student, AgainBooks(2), 4, [reader("a", 0.0, 3), reader("b", 0.011, 2), reader("a", 0.5, 4), reader("a", 1.0, 1)])


@checks("AsyncEngine")
def test_it_drains(student):
    """after drain: new requests get 503, open requests get all tokens, and run returns even while readers still read"""
    plan = [reader("a", 0.0, 5), reader("b", 0.001, 4), {"do": "drain", "at": 0.0301}, reader("c", 0.0405, 5), reader("d", 3.0, 2)]
    played(student, Books(1), 1, plan)
    twice = [{"do": "drain", "at": at} for at in (0.5, 0.6)]
    played(student, Books(2), 4, [reader("a", 0.0, 6, pause=0.2501), *twice, reader("b", 0.7, 2), reader("c", 2.0, 2)])


@checks("AsyncEngine")
def test_two_engines_and_an_unknown_id(student):
    """two engines share no requests, no failures and no drain; forget with an unknown id does nothing"""
    plans = (
        [reader("a", 0.0, 6), reader("b", 0.0011, 6), {"do": "peek", "at": 0.0307}],
        [reader("c", 0.0003, 7), {"do": "peek", "at": 0.0305}, {"do": "drain", "at": 0.0401}, reader("d", 0.0433, 2)],
    )
    played_at_the_same_time(student, (Books(2, faults={3: "one engine's step"}), Books(2)), 4, plans)
    try:
        one, other = student.AsyncEngine(None, 2), student.AsyncEngine(None, 2)
    except StudentRaised as error:
        if "NoneType" not in str(error):
            raise
        return  # it asks its core for something at once, which is no mistake: the played scenarios show it
    for request_id in ("a", "b"):
        try:
            one.forget(request_id)
        except StudentRaised as error:
            that(False, "`forget` of an id that is not open raised, or asked the core", expected="it does nothing", got=str(error))
    one.drain()
    one.drain()
    that(one.wake.is_set(), "`drain` has not set `wake`")
    that(not other.wake.is_set(), "one engine drains, and the `wake` of another one is set")
    that(not other.draining, "one engine drains, and another one drains with it")
    equal(sorted(one.queues), [], what="`queues` of an engine without requests")


# ---- send_events ---------------------------------------------------------------------------------------------------

START = {"type": "http.request", "body": b"", "more_body": False}
GONE = {"type": "http.disconnect"}
OTHER = {"type": "extension.note"}


@checks("send_events", weight=2)
def test_an_answer_of_three_events(student):
    """one start message, one message for each event as soon as the event exists, one empty message at the end"""
    events = [[0.5, b"data: a\n\n"], [1.0, b"data: b\n\n"], [0.25, b"data: c\n\n"]]
    answer = Answer(student, events=events, messages=[[0.1, START]])
    whole(answer, [event for _, event in events])
    headers = headers_of(answer)
    that(headers.get(b"content-type", b"").startswith(b"text/event-stream"), "content-type is text/event-stream", got=headers)
    control = [part.strip() for part in headers.get(b"cache-control", b"").split(b",")]
    that(b"no-cache" in control, "cache-control is no-cache", got=headers)
    equal(answer.times[0], 0.0, what="when the start was sent, in seconds")
    equal(answer.times[1:-1], [0.5, 1.5, 1.75], what="when the events were sent, in seconds")
    equal(answer.error, None, what="what the answer raised")


@checks("send_events", weight=2)
def test_a_client_that_hangs_up(student):
    """the client hangs up at 2.2 s: the generator is closed at once and no further event is sent"""
    events = [[1.0, b"data: %d\n\n" % i] for i in range(5)]
    answer = Answer(student, events=events, messages=[[0.1, START], [2.1, OTHER], [2.2, GONE]])
    whole(answer, [b"data: 0\n\n", b"data: 1\n\n"], ended=False)
    equal(answer.closed, 2.2, what="when the generator was closed, in seconds")
    equal(answer.returned[0], 2.2, what="when the answer returned, in seconds")
    equal(answer.error, None, what="the answer raised this; a client that leaves is not an error")


@checks("send_events")
def test_a_client_that_hangs_up_while_it_is_sent_to(student):
    """the client hangs up while an event is being sent: the generator is closed at once and nothing more is sent"""
    answer = Answer(student, events=[[0.5, b"data: a\n\n"]] * 4, messages=[[4.5, GONE]], send_seconds=3.0)
    whole(answer, [b"data: a\n\n"], ended=False)
    equal([answer.closed, answer.returned[0]], [4.5, 4.5], what="wrong times of closing the generator and of returning")


@checks("send_events")
def test_many_events_and_messages(student):
    """no event, or 150 events: all are sent; twenty other messages before the client hangs up are ignored"""
    whole(Answer(student), [])
    events = [[0.5, b"data: %d\n\n" % (i // 2)] for i in range(150)]
    whole(Answer(student, events=events), [event for _, event in events])
    messages = [[0.1 + 0.01 * i, OTHER] for i in range(20)]
    answer = Answer(student, events=events, messages=[*messages, [60.2, GONE]])
    whole(answer, [event for _, event in events[:120]], ended=False)
    equal(answer.closed, 60.2, what="when the generator was closed, in seconds")


@checks("send_events")
def test_closing_takes_its_time(student):
    """the generator needs 0.75 s to close after a failed send or a cancellation: the answer waits, then raises the error"""
    for options, at in (({"send_fault": 2}, 0.5), ({"cancelled_at": 0.6}, 0.6), ({"send_gone": 4}, 1.5)):
        answer = Answer(student, events=[[0.5, b"data: a\n\n"]] * 3, closing=0.75, **options)
        equal([answer.closed, answer.returned[0]], [at + 0.75] * 2, what="wrong times of closing the generator and of returning")
        that(answer.error is not None, "the exception of `send`, or the cancellation, was not passed on")


@checks("send_events")
def test_events_that_fail(student):
    """the generator raises: the exception is passed on, and no final message is sent"""
    answer = Answer(student, events=[[0.5, b"data: a\n\n"]], events_fault="a broken engine")
    whole(answer, [b"data: a\n\n"], ended=False)
    that(answer.error is not None and answer.error != "cancelled", "the generator's exception was not passed on")
    equal(answer.error["message"], "a broken engine", what="which exception was passed on")


# ---- poisson_arrivals ----------------------------------------------------------------------------------------------


@checks("poisson_arrivals")
def test_three_arrivals_by_hand(student, hand):
    """u = 0.5, 0.75 and 0.1 at a rate of 2 requests a second, worked out by hand"""
    case = hand["arrivals"]
    got = student.poisson_arrivals(case["rate"], case["uniforms"])
    equal(len(got), 3, what="wrong number of arrivals")
    gaps = "These are the gaps: each arrival is their sum so far."
    same = [abs(a - b) < 1e-4 for a, b in zip(got, case["gaps"], strict=True)]
    for i, due in enumerate(case["arrivals"]):
        that(abs(got[i] - due) <= 5e-5, f"wrong arrival {i}, in seconds", expected=due, got=got[i], cause=gaps if all(same) else None)


@checks("poisson_arrivals")
def test_arrivals_to_the_last_digit(student):
    """u = 0 gives no gap and u near 1 a long gap, with a Python float's precision; no numbers u give an empty list"""
    got = student.poisson_arrivals(0.01, [0.9, 0.0, 0.0, 0.25, 1 - 2**-30], _unchanged=True)
    that(isinstance(got, list) and all(type(time) is float for time in got), "a list of Python floats is returned", got=got)
    ten, long = 230.25850929940458, 230.25850929940458 + 28.768207245178085  # 100 ln 10, and 100 ln 4/3 more
    due = torch.tensor([ten, ten, ten, long, long + 2079.4415416798357], dtype=torch.float64)  # 3000 ln 2 more
    close(torch.tensor(got, dtype=torch.float64), due, rtol=1e-9, atol=1e-12, what="wrong arrivals")
    equal(student.poisson_arrivals(3.0, []), [], what="wrong arrivals of nobody")


@checks("poisson_arrivals")
def test_a_rate_that_is_none(student):
    """a rate of 0 or below: ValueError, even without numbers u; a rate of NaN: ValueError"""
    for rate in (0.0, -1.5):
        raises(ValueError, lambda rate=rate: student.poisson_arrivals(rate, [0.5]), naming=rate)
        raises(ValueError, lambda rate=rate: student.poisson_arrivals(rate, []))
    raises(ValueError, lambda: student.poisson_arrivals(math.nan, [0.5]))


# ---- run_load ------------------------------------------------------------------------------------------------------


@checks("run_load", weight=2)
def test_a_slow_server_slows_nobody_down(student):
    """a request every 0.5 s, each answered in 3 s: every request is sent at its planned time"""
    arrivals = [0.5, 1.0, 1.5, 2.0]
    traces, sends, seconds = loaded(student, arrivals, [{"gaps": [1.0, 1.0, 1.0]} for _ in arrivals])
    equal([[time, i] for time, i in sends], [[at, i] for i, at in enumerate(arrivals)], what="when which request was sent")
    equal(traces, [[at, [at + 1, at + 2, at + 3]] for at in arrivals], what="wrong traces, as arrival and token times")
    equal(seconds, 5.0, what="how long it took, in seconds")


@checks("run_load")
def test_a_crowd_under_way(student):
    """1,200 requests, 40 a second, none answered until all are sent: every request is sent at its planned time"""
    arrivals = [i / 40 for i in range(1, 1201)]
    traces, sends, _ = loaded(student, arrivals, [{"gaps": [1000.0]} for _ in arrivals])
    equal([i for _, i in sends], list(range(1200)), what="which requests were sent, in order")
    for under_way, (time, i) in enumerate(sends):
        late = f"request {i} is sent late, in seconds; {under_way:,} others were under way then, and in an open loop nobody waits for them"
        that(abs(time - arrivals[i]) < 1e-6, late, expected=arrivals[i], got=time)
    that(all(traces), "a request that was answered has no trace")


@checks("run_load")
def test_whoever_is_refused_is_none(student):
    """a refused request: None at its place in the list, whatever the status, even after some tokens"""
    plans = [{"gaps": [0.5]}, {"gaps": [], "refused": True}, {"gaps": [0.25, 0.5]}, {"gaps": [0.25], "refused": True, "status": 503}]
    traces, _, _ = loaded(student, [0.0, 0.25, 0.5, 0.75], plans)
    equal(traces, [[0.0, [0.5]], None, [0.5, [0.75, 1.25]], None], what="wrong traces, as arrival and token times")


@checks("run_load")
def test_a_failure_is_no_refusal(student):
    """an exception other than RequestError is passed on unchanged"""
    plans = [{"gaps": [0.5, 0.5]}, {"gaps": [], "fault": "no route to this host"}, {"gaps": [0.25]}]
    raises("Fault", lambda: loaded(student, [0.25, 0.5, 0.75], plans), naming="no route to this host")


@checks("run_load")
def test_many_at_one_moment(student):
    """requests planned for the same moment are all sent, even if the clock moves on; no requests: an empty list"""
    got, sends, _ = loaded(student, [0.75] * 3, [{"gaps": [0.25 * gap]} for gap in (2, 3, 1)])
    equal(sends, [[0.75, 0], [0.75, 1], [0.75, 2]], what="when which request was sent")
    equal(got, [[0.75, [1.25]], [0.75, [1.5]], [0.75, [1.0]]], what="wrong traces, as arrival and token times")
    got, sends, _ = loaded(student, [0.0] * 5, [{"gaps": [0.5]}] * 5, tick=2**-12)
    equal(sorted(i for _, i in sends), [0, 1, 2, 3, 4], what="which requests were sent, on a clock that moves on with each reading")
    that(all(got), "a request that was sent late, and answered, has no trace", got=got)
    equal(len({trace[0] for trace in got}), 1, what="number of different arrivals, all planned for one moment")
    equal(loaded(student, [], [])[0], [], what="wrong traces of no request")


@checks("run_load")
def test_a_late_start_is_counted(student):
    """sleeps that last too long, and a clock that does not start at 0: a trace's arrival is still the planned time"""
    traces, sends, _ = loaded(student, [1.0, 2.0], [{"gaps": [0.5]}, {"gaps": [0.5, 0.5]}], start=64.0, late=0.25)
    equal(sends, [[65.25, 0], [66.25, 1]], what="when which request was sent")
    equal(traces, [[65.0, [65.75]], [66.0, [66.75, 67.25]]], what="wrong traces, as arrival and token times")
    traces, sends, _ = loaded(student, [1.0, 2.0], [{"gaps": [0.5]}, {"gaps": [0.5, 0.5]}], late=7200.0)
    equal(sorted(i for _, i in sends), [0, 1], what="which requests were sent, two hours late")
    that(all(traces), "a request that was sent two hours late, and answered, has no trace", got=traces)
    equal([trace[0] for trace in traces], [1.0, 2.0], what="the arrivals of requests that were sent two hours late")
    traces, sends, _ = loaded(student, [1.0, 2.0], [{"gaps": [0.5]}, {"gaps": [0.25]}], ahead=512.0)
    equal(sends, [[1.0, 0], [2.0, 1]], what="when which request was sent, on a clock that is 512 s ahead of the loop's")
    equal(traces, [[513.0, [513.5]], [514.0, [514.25]]], what="wrong traces on a clock that is 512 s ahead of the loop's")


# ---- served_goodput ------------------------------------------------------------------------------------------------


def traced(student, arrival: float, times: list[float]):
    return student.Trace(arrival, times)


@checks("served_goodput")
def test_ten_requests_by_hand(student, hand):
    """of ten requests, two are refused and one is late: the share is 0.7"""
    case = hand["goodput"]
    traces = [traced(student, 0.0, [0.5, 0.6])] * 7 + [None, traced(student, 0.0, [1.5, 1.6]), None]
    served = [(torch.tensor(case["of_those_served"]), "This is the share of those that were served: a refusal is a promise not kept, too.")]
    close(student.served_goodput(traces, 1.0, 0.2), case["share"], suspects=served)


@checks("served_goodput")
def test_both_promises_up_to_their_limits(student):
    """a time exactly at the limit is good; one gap above the limit is not, whatever the mean; one token has no gap"""
    kept = [traced(student, 1.0, [2.0]), traced(student, 1.0, [2.0, 2.5, 3.0]), traced(student, 0.5, [1.0, 1.25])]
    broken = [traced(student, 1.0, [2.0, 2.25, 3.0]), traced(student, 1.0, [2.25, 2.5])]  # the mean gap of the first is 0.5
    close(student.served_goodput(kept, 1.0, 0.5), 1.0, what="wrong share of three that keep to the limits")
    close(student.served_goodput([*kept, *broken], 1.0, 0.5), 0.6, what="wrong share of five of which two break a promise")
    nearly = [traced(student, 0.0, [0.5, 1.0, 1.5004]), traced(student, 0.0, [1.0004, 1.5])]
    close(student.served_goodput([*nearly, *kept], 1.0, 0.5), 0.6, what="wrong share of five of which two break a promise by 0.4 ms")


@checks("served_goodput")
def test_one_long_gap_breaks_the_promise(student):
    """one long gap among 160, at the start, in the middle or at the end, breaks the promise; the list is not changed"""
    traces = [traced(student, 0.0, [0.5 + 0.25 * i + (i > late) for i in range(161)]) for late in (0, 80, 159, 160)]
    share, after = student.served_goodput([None, *traces, traces[-1]], 1.0, 0.25, _arguments=True)
    close(share, 1 / 3, what="wrong share of six: one refused, three with a long gap among 160")
    equal([each is None for each in after[0]], [True] + [False] * 5, what="which of the list's traces are None after the call")


@checks("served_goodput")
def test_nobody_and_nobody_served(student):
    """an empty list raises ValueError; if every request was refused, the share is 0"""
    raises(ValueError, lambda: student.served_goodput([], 1.0, 0.5))
    close(student.served_goodput([None, None], 1.0, 0.5), 0.0)
