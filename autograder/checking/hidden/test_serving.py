"""Hidden checks of the serving day: fresh streams, bodies and answers, and readers that come and go as drawn."""

from __future__ import annotations

import copy
import json
import math
from itertools import pairwise
from typing import Any

import torch

from autograder.authoring import checks, close, equal, raises, that
from autograder.checking.checks.test_serving import EOS, GONE, OTHER, START, asked, encoded, parsed, refused, streamed, tokenizer_of, traced
from autograder.checking.helpers.paged import one_of
from autograder.checking.helpers.served import (
    AgainBooks,
    Answer,
    Books,
    fraction,
    integer,
    loaded,
    played,
    played_again,
    played_at_the_same_time,
    reader,
    whole,
)

LETTERS = ("a", "b", " ", ":", "é", "€", "😀", '"', "\\", "\t", "\x0b", "\x1c", "\x85", "\u2028", "0", "\u0301")


def text_of(rng, longest: int, letters: tuple[str, ...] = LETTERS) -> str:
    return "".join(one_of(rng, letters) for _ in range(integer(rng, 0, longest)))


def cut_up(rng, stream: bytes, longest: int) -> list[bytes]:
    pieces = []
    while stream:
        size = integer(rng, 1, longest)
        pieces.append(stream[:size])
        stream = stream[size:]
    return pieces


# ---- sse_event -----------------------------------------------------------------------------------------------------


@checks("sse_event")
def test_texts_of_many_lines(student, rng):
    """drawn texts: a new data line after every newline and nowhere else"""
    of_json = ('{ "a":1e3}', '{"\\u00e9":[1,2]}', '["a",\n1]', "true", '"\\n"')
    for text in ["\n", "\n\n", "a\x0bb\x85c\u2028d\n", *of_json, *(text_of(rng, 30, (*LETTERS, "\n", "\n")) for _ in range(30))]:
        due = "".join(f"data: {line}\n" for line in text.split("\n")).encode() + b"\n"
        equal(student.sse_event(text), due, what=f"wrong bytes for {text!r}")


@checks("sse_event")
def test_objects_are_json_on_one_line(student, rng):
    """drawn dicts: JSON in one data line that decodes to the same dict, with no character escaped as ASCII"""
    for _ in range(20):
        values = (text_of(rng, 20, (*LETTERS, "\n")), 3, None, True, 0.25, [{"é": text_of(rng, 4)}])
        data = {text_of(rng, 5) + str(i): one_of(rng, values) for i in range(4)}
        got = student.sse_event(data, _unchanged=True)
        that(isinstance(got, bytes), "an event is bytes", got=got)
        that(got.startswith(b"data: ") and got.endswith(b"\n\n") and got.count(b"\n") == 2, "JSON belongs in one data line", got=got)
        equal(json.loads(got[6:]), data, what="wrong data in the JSON")
        that(not any(letter in got for letter in (b"\\u00e9", b"\\u20ac", b"\\ud83d")), "characters are escaped", got=got)
    equal(student.sse_event({}), b"data: {}\n\n", what="wrong bytes for an empty object")


@checks("sse_event")
def test_longer_texts(student):
    """300 lines of 1,000 characters, and a long string in a dict: nothing is cut off"""
    lines = [f"{i:03} " + "é" * 996 for i in range(300)]
    due = "".join(f"data: {line}\n" for line in lines).encode() + b"\n"
    equal(student.sse_event("\n".join(lines)), due, what="wrong bytes for a text of 300 lines")
    equal(json.loads(student.sse_event({"text": "z" * 150_000})[6:]), {"text": "z" * 150_000}, what="wrong data in long JSON")


# ---- SSEParser -----------------------------------------------------------------------------------------------------


NOISE = (": ping", ":", "id: 4", "event: data: x", "retry: 10", "database: no", " data: no", "Data: no")


def drawn_stream(rng, count: int) -> tuple[bytes, list[str]]:
    """(a stream, the events in it): comments and other fields, events without data, either ending of a line, with and without the space."""
    end = one_of(rng, ("\n", "\r\n"))
    stream, events = "", []
    for _ in range(count):
        lines = [text_of(rng, 8) for _ in range(integer(rng, 0, 3))]
        for line in lines:
            stream += one_of(rng, ("", "", one_of(rng, NOISE) + end))
            stream += ("data: " if line.startswith(" ") else one_of(rng, ("data: ", "data:"))) + line + end
        stream += one_of(rng, ("", one_of(rng, NOISE) + end)) + end
        events += ["\n".join(lines)] if lines else []
    return stream.encode(), events


@checks("SSEParser", weight=2)
def test_drawn_streams_cut_anywhere(student, rng):
    """drawn streams with comments and other fields, in pieces of 1 byte and more: the right events"""
    for longest in (1, 2, 5, 40):
        for _ in range(5):
            stream, events = drawn_stream(rng, integer(rng, 1, 8))
            got = parsed(student, cut_up(rng, stream, longest))
            equal([event for each in got for event in each], events, what=f"wrong events of {stream!r}")


@checks("SSEParser")
def test_every_event_with_its_own_push(student, rng):
    """one byte at a time: an event is returned with the last byte of its empty line"""
    for end in (b"\n", b"\r\n"):
        texts = ["data: a" + text_of(rng, 5) for _ in range(4)]
        stream = b"".join(text.encode() + end + end for text in texts)
        got = parsed(student, [stream[i : i + 1] for i in range(len(stream))])
        places, at = [], -1
        for text in texts:
            at += len(text.encode()) + 2 * len(end)
            places.append(at)
        equal([i for i, events in enumerate(got) if events], places, what=f"which bytes of {stream!r} complete an event")


@checks("SSEParser")
def test_two_streams_side_by_side(student, rng):
    """two parsers, used in turns: the streams are not mixed up, and empty pieces change nothing"""
    streams = [cut_up(rng, f"data: {name * 5}\ndata: {name * 7}\n\ndata: {name}\n\n".encode(), 4) for name in ("é", "b")]
    order = [[which, piece] for pair in zip(*streams, strict=False) for which, piece in enumerate([*pair])]
    order += [[which, piece] for which in (0, 1) for piece in streams[which][min(map(len, streams)) :]]
    order = [step for each in order for step in (each, [each[0], b""])]
    came = student.scenario("pushes", student.SSEParser, [[], []], order, None).result
    for which, name in enumerate(("é", "b")):
        events = [event for (at, _), got in zip(order, came, strict=True) if at == which for event in got]
        equal(events, [f"{name * 5}\n{name * 7}", name], what="wrong events of one of two streams")


@checks("SSEParser")
def test_what_is_not_ended_is_no_event(student):
    """an unfinished event and empty lines without data give no event; [DONE] is an event like any other"""
    equal(parsed(student, [b"\n\n\r\n: a\n\nid: 1\n\n", b"data: a\n", b"data: b"]), [[], [], []])
    equal(parsed(student, [b"data: a\ndata\n\n", b"\n", b"data:b\n\n"])[2], ["b"], what="wrong event after one that has ended")
    behind = parsed(student, [b"data: [DONE]\n\ndata: a\n\n", b"data: b\n\n"])
    equal(behind, [["[DONE]", "a"], ["b"]], what="wrong events after [DONE], which is an event like any other")


@checks("SSEParser")
def test_larger_and_equal_events(student, rng):
    """a line of 200,000 bytes, 300 equal events, an event of 150 lines, CR and byte order mark as data: all complete"""
    text = text_of(rng, 20, (*LETTERS, "\r", "\ufeff")) + "z"
    events = ["é" * 100_000, *["same"] * 300, "\n".join(["line"] * 150), f"\ufeff{text}", f"a\r{text}", "same"]
    stream = "".join("".join(f"data: {line}\n" for line in event.split("\n")) + "data\n\n" for event in events).encode()
    for size in (1_000, len(stream)):
        got = parsed(student, [stream[i : i + size] for i in range(0, len(stream), size)])
        got = [event for each in got for event in each]
        equal([len(event) for event in got], [len(event) for event in events], what="wrong lengths of events")
        equal(got, events)


@checks("SSEParser", timing=True)
def test_old_events_cost_nothing(student, race):
    """speed: 8,000 events against 1,000, in pieces of 16 bytes: events already returned are not read again"""

    def stream(rng, size):
        data = b"".join(b"data: {\"token\": %d}\n\n" % integer(rng, 0, 99_999) for _ in range(size))
        return [[0, data[i : i + 16]] for i in range(0, len(data), 16)]

    def parse(s, inputs, state):
        return s.scenario("pushes", s.SSEParser, [[]], inputs, None).result

    cause = "Events that were already returned are not read again."
    race.growth(stream, lambda s, inputs: None, parse, short=1_000, long=8_000, limit=18.0, slow=6.0, cause=cause)


# ---- parse_params --------------------------------------------------------------------------------------------------

GOOD: dict[str, tuple[Any, ...]] = {
    "max_tokens": (1, 2, 50), "temperature": (0, 0.0, 2, 2.0, 1, 0.7, 0.003), "top_p": (1, 1.0, 0.001, 0.9), "n": (1,),
    "seed": (0, 1, -1, 2**63 - 1, -(2**63)),
    "stop": ("a", "a b\n", "<|im_end|>", ["é"], ["a", "b", "c", "dd"], ["d", "c" * 300, "d"], "\n", [" ", "\t"]),
}  # fmt: skip
BAD: dict[str, tuple[Any, ...]] = {
    "max_tokens": (0, -5, 2.0, 2.5, True, False, "5", [5], {}, math.nan, math.inf),
    "temperature": (-0.001, 2.001, -1, 3, math.nan, math.inf, -math.inf, 10**500, -(10**400), True, False, "1", [], {}),
    "top_p": (0, 0.0, -0.5, 1.001, 2, math.nan, math.inf, 10**500, True, False, "1", []),
    "seed": (1.0, True, False, "1", [1], 2**63, -(2**63) - 1, math.nan),
    "n": (0, 2, -1, True, False, 1.0, 1.5, "1", []),
    "stop": ("", [], [""], ["a", ""], ["a"] * 5, [1], [None], ["a", ["b"]], 1, True, False, 0, {"a": 1}, 1.5),
    "stream": (0, 1, "true", "", [], {}),
    "stream_options": (
        [], True, False, 1, 0, "", "include_usage", {"include_usage": 1}, {"include_usage": "yes"}, {"include_usage": []},
        {"include_usage": 0}, {"include_usage": 0.0}, {"include_usage": ""}, {"include_usage": {}},
    ),
}  # fmt: skip


@checks("parse_params", weight=2)
def test_drawn_bodies(student, rng):
    """drawn bodies with extreme values and with null, missing and unknown fields: the right value of every field"""
    for chat in (False, True):
        for _ in range(20):
            body = {name: one_of(rng, (*values, None)) for name, values in GOOD.items() if integer(rng, 0, 3)}
            body |= {"model": "m", "frequency_penalty": "?", "best_of": True, "stream": one_of(rng, (True, False, None))}
            options = one_of(rng, (None, {}, {"include_usage": None}, {"include_usage": True}, {"include_usage": False, "x": 1}))
            body["stream_options"] = options
            due = {"temperature": 1.0, "top_p": 1.0, "seed": None, "max_tokens": 50 if chat else 16}
            due |= {name: body[name] for name in due if body.get(name) is not None}
            stop = body.get("stop")
            due["stop"] = () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)
            wanted, best = one_of(rng, (True, False, None)), one_of(rng, (0, 1, 20, None))
            if chat:
                body |= {"logprobs": wanted, "top_logprobs": best}
                due["logprobs"] = (best or 0) if wanted else None
                body["max_completion_tokens"] = one_of(rng, (None, 1, 50))
                due["max_tokens"] = body["max_completion_tokens"] or due["max_tokens"]
            else:
                body |= {"logprobs": (count := one_of(rng, (0, 1, 5, None))), "max_completion_tokens": "unknown here", "top_logprobs": 99}
                due["logprobs"] = count
            due |= {"stream": body["stream"] is True, "include_usage": bool((options or {}).get("include_usage"))}
            equal(asked(student, body, chat=chat, room=50), due, what=f"wrong params of {body}{' in a chat' if chat else ''}")


@checks("parse_params", weight=2)
def test_every_wrong_kind(student):
    """every field with wrong types and values, in completions and chats: status 400, and the error names the field"""
    for chat in (False, True):
        for name, values in BAD.items():
            for value in values:
                refused(student, {"temperature": 1, name: value}, name, chat=chat)


@checks("parse_params")
def test_wrong_log_probabilities(student):
    """logprobs must be an integer in completions, and true or false in chats, where top_logprobs is the integer"""
    for value in (-1, 6, 20, True, False, 1.0, "1", [], math.nan):
        refused(student, {"logprobs": value}, "logprobs")
    for value in (0, 1, 5, "true", [], 1.0):
        refused(student, {"logprobs": value, "top_logprobs": 2}, "logprobs", chat=True)
    for value in (-1, 21, True, False, 2.0, "2", [], math.nan):
        for wanted in (True, False, None):
            refused(student, {"logprobs": wanted, "top_logprobs": value}, "top_logprobs", chat=True)
    for value in (0, -1, True, 2.0, "2"):
        refused(student, {"max_completion_tokens": value, "max_tokens": 3}, "max_completion_tokens", chat=True)


@checks("parse_params")
def test_borders_of_the_room(student, rng):
    """max_tokens may fill the room; one token more is refused; in a chat, max_completion_tokens replaces max_tokens"""
    code = "context_length_exceeded"
    for _ in range(5):
        room = integer(rng, 17, 400_000)
        for chat in (False, True):
            equal(asked(student, {"max_tokens": room}, chat=chat, room=room)["max_tokens"], room, what="wrong max_tokens")
            refused(student, {"max_tokens": room + 1}, "max_tokens", chat=chat, room=room, code=code)
        equal(asked(student, {}, chat=True, room=room)["max_tokens"], room, what="wrong max_tokens of a chat by default")
        equal(asked(student, {}, room=room)["max_tokens"], 16, what="wrong max_tokens of a completion by default")
        got = asked(student, {"max_completion_tokens": room, "max_tokens": room + 1}, chat=True, room=room)
        equal(got["max_tokens"], room, what="wrong max_tokens where max_completion_tokens goes before")
        refused(student, {"max_completion_tokens": room + 1}, "max_completion_tokens", chat=True, room=room, code=code)
        for ignored in (0, True, 2.5, [], math.nan):
            got = asked(student, {"max_completion_tokens": 17, "max_tokens": ignored}, chat=True, room=room)
            equal(got["max_tokens"], 17, what=f"wrong max_tokens where max_completion_tokens goes before {ignored!r}")
    equal(asked(student, {}, room=16)["max_tokens"], 16, what="wrong max_tokens where there is room for 16")
    for room in (0, -1, 15):
        refused(student, {}, "max_tokens", room=room, code=code)
    for room in (0, -1):
        refused(student, {}, "max_tokens", chat=True, room=room, code=code)
        refused(student, {"max_tokens": 1}, "max_tokens", chat=True, room=room, code=code)


@checks("parse_params")
def test_the_body_stays_as_it_was(student, rng):
    """the client's body is not changed, nor are the lists and objects in the body"""
    bodies: list[dict[str, Any]] = [
        {"stop": ["a", "b"], "stream_options": {"include_usage": True}, "max_tokens": None, "temperature": None},
        {"stop": "ab", "stream_options": {}, "max_tokens": 4, "max_completion_tokens": 5, "top_p": 1, "temperature": 0},
        {"stop": None, "stream_options": {"include_usage": None}, "seed": None, "n": None, "stream": None},
        {},
    ]
    for chat in (True, False):
        for body in bodies:
            before = copy.deepcopy(body | {"logprobs": True} if chat else body)
            _, after = student.parse_params(copy.deepcopy(before), chat=chat, room=integer(rng, 20, 50), _arguments=True)
            equal(after[0], before, what="the client's body after the call")


# ---- token_logprobs ------------------------------------------------------------------------------------------------


@checks("token_logprobs", weight=2)
def test_drawn_logits(student, rng):
    """drawn logits of several dtypes, near 0, far from 0 and with -inf: the right log probabilities and the right k best"""
    tolerance = 1e-4  # float32 will do, of float64 logits too
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        for vocab, offset in ((7, 0.0), (50, 100.0), (1000, -300.0)):
            logits = (torch.randn(vocab, generator=rng) * 4 + offset).to(dtype)
            if dtype == torch.float32:
                logits[integer(rng, 0, vocab - 1)] = -math.inf
            token, k = integer(rng, 0, vocab - 1), one_of(rng, (0, 1, 5, vocab))
            logprob, best = student.token_logprobs(logits, token, k, _unchanged=True)
            due = torch.log_softmax(logits.double(), dim=-1)
            that(type(logprob) is float, "the log probability is a Python float", got=logprob)
            pairs = isinstance(best, list) and all(isinstance(each, tuple | list) and len(each) == 2 for each in best)
            that(pairs, "the best are a list of pairs", got=best)
            that(all(type(i) is int and type(value) is float for i, value in best), "a pair is a Python int and a float", got=best[:2])
            close(logprob, due[token].item(), atol=tolerance, rtol=tolerance, what=f"wrong log probability of token {token}, {dtype}")
            equal([len(best), len({i for i, _ in best})], [k, k], what="wrong number of best tokens, and of different ones")
            for (i, value), rank in zip(best, due.topk(k).values.tolist(), strict=True):
                close(value, rank, atol=tolerance, rtol=tolerance, what="wrong log probability among the best")
                close(value, due[i].item(), atol=tolerance, rtol=tolerance, what=f"wrong log probability of token {i} among the best")


@checks("token_logprobs")
def test_many_tokens_and_certain_ones(student, rng):
    """the 50 best of 70,000 tokens, in order; the log probability of a nearly certain token is not rounded to 0"""
    logits = torch.randn(70_000, generator=rng, dtype=torch.float64)
    logits[69_000:] += 20
    best = student.token_logprobs(logits, 69_500, 50)[1]
    equal([token for token, _ in best], logits.topk(50).indices.tolist(), what="wrong tokens among the 50 best of 70,000")
    for gap in (5.0, 7.5, 9.0):
        logprob, best = student.token_logprobs(torch.tensor([-gap, 0.0, -gap]), 1, 2)
        due = -math.log1p(2 * math.exp(-gap))
        close(logprob, due, atol=1e-6, rtol=0.0, what="wrong log probability of a token that is nearly certain")
        close(best[0][1], due, atol=1e-6, rtol=0.0, what="wrong log probability of the best token, which is nearly certain")


# ---- TextStream ----------------------------------------------------------------------------------------------------


def shown(data: bytes, stops: tuple[str, ...]) -> tuple[str, bool]:
    """(the text that may be shown of so many bytes, whether a stop string is in it), by trying everything."""
    cut = next(n for n in range(len(data), -1, -1) if _whole(data[:n]))
    text = data[:cut].decode()
    for end in range(1, len(text) + 1):
        starts = [end - len(stop) for stop in stops if text[:end].endswith(stop)]
        if starts:
            return text[: min(starts)], True
    held = max((n for n in range(len(text) + 1) for stop in stops if n < len(stop) and text.endswith(stop[:n])), default=0)
    return text[: len(text) - held], False


def _whole(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def look_at_stream(student, ids: list[int], tokens: int, stops: tuple[str, ...], extra: list[int]) -> None:
    """Compare every push of an answer with the text that may be shown; after the end nothing may be shown."""
    tokenizer = tokenizer_of("tiny")
    texts, reasons = streamed(student, [*ids, *extra], max_tokens=tokens, stop=stops)
    data, before, reason, due, whys = b"", "", None, [], []
    for number, i in enumerate([*ids, *extra], start=1):
        if reason is None:
            data += b"" if i == tokenizer.eos_token_id else tokenizer.token_bytes(i)
            text, stopped = shown(data, stops)
            last = i == tokenizer.eos_token_id or number == tokens
            if last and not stopped:
                text = data.decode(errors="replace")
            reason = "stop" if stopped or i == tokenizer.eos_token_id else "length" if last else None
            due.append(text[len(before) :])
            before = text
        else:
            due.append("")
        whys.append(reason)
    about = f"{tokenizer.decode(ids)!r} with stop={stops} and max_tokens={tokens}"
    equal("".join(texts), "".join(due), what=f"wrong text of {about}")
    equal(reasons, whys, what=f"wrong finish_reason after each token of {about}")
    equal(texts, due, what=f"wrong text of each push of {about}")


WORDS = ("one", " two", " three", " é€", " 😀", "\n", " the", " thr", ".", " STOP", "three")


@checks("TextStream", weight=3)
def test_drawn_answers(student, rng):
    """drawn texts and stop strings: the right text and finish_reason after every push"""
    for _ in range(30):
        ids = encoded("".join(one_of(rng, WORDS) for _ in range(integer(rng, 1, 7))))
        text = tokenizer_of("tiny").decode(ids)
        stops: list[str] = []
        for _ in range(integer(rng, 0, 3)):
            begin = integer(rng, 0, max(0, len(text) - 1))
            part = text[begin : begin + integer(rng, 1, 5)]
            stops.append(part if integer(rng, 0, 1) else part + one_of(rng, ("z", "e", "!")))
        tokens = one_of(rng, (len(ids), max(1, len(ids) - 1), 100))
        ids = ids[:tokens]
        extra = one_of(rng, ([], [EOS], [EOS, ids[0]])) if tokens == 100 else [ids[0], EOS]
        look_at_stream(student, ids, tokens, tuple(stops), extra)


@checks("TextStream", weight=2)
def test_ends_that_meet(student):
    """EOS, max_tokens, a stop string or half a character end the answer at the same token: the right text and finish_reason"""
    ids = encoded("one two three")
    look_at_stream(student, [EOS], 1, ("a",), ids[:1])
    look_at_stream(student, [*ids, EOS], len(ids) + 1, ("threes",), ids[:1])
    look_at_stream(student, ids, len(ids), ("three", "two three"), [EOS])
    look_at_stream(student, ids, len(ids), ("ee!", "three!"), [EOS])
    look_at_stream(student, ids[:1], 1, ("one",), ids[:1])
    broken = encoded("a 😀")[:-1]
    look_at_stream(student, broken, len(broken), ("\ufffd!",), ids[:1])
    look_at_stream(student, [*broken, EOS], 50, (), ids[:1])
    for text in ("a😀", "one 😀"):  # the last token gives no character at all
        for cut in (1, 2):
            ids = encoded(text)[:-cut]
            look_at_stream(student, ids, len(ids), ("a!",), ids[:1])
            look_at_stream(student, [*ids, EOS], 50, (), ids[:1])
    for ids, tokens in (([*broken, EOS], 50), (broken, len(broken))):
        texts, reasons = streamed(student, ids, max_tokens=tokens, stop=(" \ufffd",))
        equal(["".join(texts), reasons[-1]], ["a", "stop"], what="wrong text and finish_reason, where half a character completes a stop")


@checks("TextStream")
def test_long_answers(student):
    """long answers, stop strings of 300 characters, equal stop strings, several completed by one token: the right text"""
    text, stop = "three two one. " * 280, "now the answer has come to its end. " * 9
    ids = encoded(f"{text}{stop}!")
    texts, reasons = streamed(student, ids, max_tokens=9_000, stop=(stop + "?", stop, stop))
    equal(["".join(texts), reasons[-1]], [text, "stop"], what="wrong text and finish_reason of a long answer with a long stop string")
    texts, reasons = streamed(student, ids, max_tokens=len(ids), stop=(stop + "?",))
    equal(["".join(texts), reasons[-1]], [f"{text}{stop}!", "length"], what="wrong text and finish_reason of a long answer")
    for stops in (("here", "er"), ("there", "the", "her"), ("re", " there"), ("e", "he", "th"), ("re", "re")):
        look_at_stream(student, encoded("a there b"), 50, stops, [EOS])


@checks("TextStream")
def test_other_special_tokens_have_their_names(student):
    """only the tokenizer's eos_token_id ends an answer, whatever the id; other special tokens are text"""
    ids = encoded("<|im_start|>user<|endoftext|> a")
    texts, reasons = streamed(student, ids, max_tokens=50)
    equal(["".join(texts), reasons[-1]], ["<|im_start|>user<|endoftext|> a", None], what="wrong text and finish_reason")
    texts, reasons = streamed(student, ids, {"eos_token_id": None}, max_tokens=len(ids))
    equal(["".join(texts), reasons[-1]], ["<|im_start|>user<|endoftext|> a", "length"], what="wrong text and finish_reason without an EOS")
    texts, reasons = streamed(student, ids, {"eos_token_id": 0}, max_tokens=50)
    equal(["".join(texts), reasons[-1]], ["<|im_start|>user", "stop"], what="wrong text and finish_reason with token 0 as EOS")


@checks("TextStream")
def test_two_answers_side_by_side(student, rng):
    """two answers, pushed in turns, with different stop strings and max_tokens: the answers are not mixed up"""
    texts = ["😀 one two three four", "three 😀 two one one"]
    ids = [encoded(text) for text in texts]
    limits = [100, len(ids[1]) - 1]
    stops = (("four",), ("fourth",))
    given = [[student.tokenizer("tiny"), student.SamplingParams(max_tokens=limits[i], stop=stops[i])] for i in (0, 1)]
    order, left = [], [list(each) for each in ids]
    order += [[which, left[which].pop(0)] for _ in range(6) for which in (0, 1)]
    while any(left):
        which = integer(rng, 0, 1)
        if left[which]:
            order.append([which, left[which].pop(0)])
    came = student.scenario("pushes", student.TextStream, given, order, "finish_reason").result
    for which in (0, 1):
        got = [each for (at, _), each in zip(order, came, strict=True) if at == which]
        due = ["😀 one two three ", "stop"] if which == 0 else [tokenizer_of("tiny").decode(ids[1][:-1]), "length"]
        equal(["".join(text for text, _ in got), got[-1][1]], due, what="wrong text and finish_reason of one of two streams")


@checks("TextStream", timing=True)
def test_a_long_answer_costs_no_more_a_token(student, race):
    """speed: 2,048 tokens against 256: text that was already returned is not read again"""

    def answer(rng, size):
        return [[0, integer(rng, 300, 1_000)] for _ in range(size)]

    def push(s, inputs, state):
        given = [[s.tokenizer("tiny"), s.SamplingParams(max_tokens=10_000, stop=("\n\n\nEND",))]]
        return s.scenario("pushes", s.TextStream, given, inputs, "finish_reason").result

    cause = "Text that was already shown is not read again."
    race.growth(answer, lambda s, inputs: None, push, short=256, long=2_048, limit=18.0, slow=6.0, cause=cause)


# ---- AsyncEngine ---------------------------------------------------------------------------------------------------


def drawn_plan(rng, books: Books, count: int) -> list[dict[str, Any]]:
    """Readers at distinct times, each with an end of its own."""
    plan: list[dict[str, Any]] = []
    at = 0.0
    for number in range(count):
        at += one_of(rng, (0.0013, 0.0071, 0.0331, 0.1701, 1.5)) + 0.0001 * fraction(rng)
        name, tokens = f"{'abcdefghijkl'[number]}{integer(rng, 0, 99)}", integer(rng, 1, 9)
        more: dict[str, Any] = {}
        match integer(rng, 0, 8):
            case 0 | 1:
                more["leaves_after"] = integer(rng, 1, tokens)
                if integer(rng, 0, 1):
                    books.ends[name] = more["leaves_after"]
            case 2 | 3:
                more["cancelled_at"] = at + 0.0003 + 0.15 * fraction(rng)
            case 4:
                more["raises_after"] = integer(rng, 1, tokens)
            case 5:
                more |= {"leaves_after": integer(rng, 1, tokens), "drops": True}
            case 6:
                more["pause"] = 0.0303
        plan.append(reader(name, at, tokens, **more))
    plan += [{"do": "peek", "at": plan[-1]["at"] * fraction(rng) + 0.00031} for _ in range(4)]
    return plan


@checks("AsyncEngine", weight=3)
def test_drawn_readers(student, rng):
    """readers that stay, leave, raise or read slowly, and a queue that may be full: the right tokens, refusals and aborts"""
    for max_running, max_waiting in ((1, 1), (2, 2), (3, 1), (2, 20), (1, 4), (4, 20)):
        books = Books(max_running)
        played(student, books, max_waiting, drawn_plan(rng, books, integer(rng, 4, 9)))


@checks("AsyncEngine", weight=2)
def test_steps_that_fail(student):
    """the first step raises, two in a row, or one while a request waits: exactly the open readers get the exception, once"""
    later = [reader("d", 0.5, 3), reader("e", 0.501, 2), reader("f", 1.0, 3)]
    plan = [reader("a", 0.0, 5), reader("b", 0.001, 5), reader("c", 0.002, 4), *later]
    played(student, Books(1, faults={1: "first", 3: "third"}), 9, plan)
    played(student, Books(2, faults={1: "first", 2: "second"}), 9, plan)
    slow = [reader("a", 0.0, 9, pause=0.0531), reader("b", 0.001, 9), reader("c", 2.0, 2)]
    played(student, Books(2, faults={6: "sixth"}), 9, slow)
    gone = [reader("a", 0.0, 9, cancelled_at=0.0303), reader("b", 0.001, 9, leaves_after=2)]
    played(student, Books(2, faults={4: "fourth"}), 9, [*gone, reader("c", 0.002, 3)])


@checks("AsyncEngine")
def test_more_wait_than_may(student):
    """three preempted requests count as waiting: if they fill the queue, a new request is not added"""
    for max_waiting in (1, 2, 3):
        books = played(student, Books(2, preempted=3), max_waiting, [reader("a", 0.5, 3)])
        equal(list(books.added), [], what=f"which requests were added while three wait and {max_waiting} may")
    played(student, Books(2, preempted=3), 4, [reader("a", 0.0, 3)])


@checks("AsyncEngine")
def test_many_at_a_time(student):
    """eight requests at a time, steps of several minutes, steps without a token for a request: every token arrives"""
    played(student, Books(8), 9, [reader(name, 0.0021 * i, 3 + i) for i, name in enumerate("abcdefghij")])
    played(student, Books(2, seconds=600.0), 9, [reader("a", 0.0, 2), reader("b", 1.0, 3), reader("c", 2.0, 1), reader("d", 9000.0, 2)])
    quiet = {"a": 3, "b": 1, "c": 2}
    played(student, Books(2, quiet=quiet), 9, [reader("a", 0.0, 2), reader("b", 0.0111, 3), reader("c", 0.5, 2), reader("d", 0.5222, 1)])


@checks("AsyncEngine")
def test_a_crowd(student):
    """33 requests run, 40 wait, up to 600 tokens each: slow readers, readers that leave and failing steps are handled"""
    plan = [reader("slow", 0.0, 600, pause=9.0), reader("gone", 0.001, 600, pause=3.0, leaves_after=3)]
    plan += [reader(f"r{i}", 0.0011 + 0.0001 * i, 2 + i % 7) for i in range(66)]
    played(student, Books(33), 40, [*plan, reader("z", 7.0117, 3), {"do": "peek", "at": 6.5117}])
    nine = [reader(f"{name}{i}", 0.5 * number + 0.0011 * i, 4) for number, name in enumerate("abcdefgh") for i in range(9)]
    played(student, Books(9, faults={number: f"fault {number}" for number in range(2, 16, 2)}), 12, nine)


@checks("AsyncEngine")
def test_ids_come_again(student):
    """the ids of ended requests are used again, one id twice: every new request gets its own tokens"""
    plan = [reader("x", 0.0, 1), reader("y", 0.0111, 5), reader("x", 0.3, 6), reader("y", 1.0, 2), reader("x", 1.011, 3)]
    played_again(student, AgainBooks(1), 4, plan)


@checks("AsyncEngine")
def test_the_core_rests_while_a_reader_is_slow(student):
    """a slow reader has unread tokens when the core runs out of work: a new request is served at once"""
    slow = reader("a", 0.0, 6, pause=0.2501)
    played(student, Books(2), 4, [slow, reader("b", 0.5, 3), reader("c", 1.1, 2), {"do": "peek", "at": 0.9}])
    played(student, Books(2), 4, [slow, {"do": "drain", "at": 0.5}, reader("d", 0.6, 2)])
    drains = [{"do": "drain", "at": at} for at in (0.0501, 0.5, 0.7)]
    played(student, Books(2), 4, [slow, *drains, reader("d", 0.6, 2), reader("e", 1.9, 2)])


@checks("AsyncEngine")
def test_what_the_core_does_not_take(student):
    """the core's add raises: the reader gets the exception, nothing is aborted, and other requests are served"""
    plan = [reader("a", 0.0, 4), reader("u", 0.011, 4), {"do": "peek", "at": 0.012}, reader("b", 0.5, 2), reader("v", 1.0, 4)]
    played(student, Books(2, unserved=("u", "v")), 4, plan)


@checks("AsyncEngine")
def test_nobody_has_asked_yet(student):
    """a generator that is closed before its first token was asked for: no request is added"""
    played(student, Books(2), 4, [reader("a", 0.0, 3, never=True), reader("b", 0.011, 3), reader("c", 0.0121, 3, never=True)])


@checks("AsyncEngine")
def test_ends_of_the_core_itself(student):
    """the core has ended a request with EOS: the request is still aborted in the core, exactly once"""
    plan = [reader("a", 0.0, 9, leaves_after=3), reader("b", 0.001, 9, leaves_after=2)]
    plan += [reader("c", 0.002, 1), reader("d", 0.003, 1, leaves_after=1)]
    played(student, Books(2, ends={"a": 3, "b": 2}), 4, plan)


@checks("AsyncEngine")
def test_everybody_leaves_before_the_first_token(student):
    """all readers are cancelled before their first token: the steps end, and later requests are served"""
    plan = [reader(name, 0.0005 * i, 9, cancelled_at=0.0101 + 0.0007 * i) for i, name in enumerate("abcde")]
    books = played(student, Books(2), 9, [*plan, reader("f", 0.5, 3), reader("g", 0.5011, 3)])
    that(len(books.steps) <= 6, "steps were made when everybody had left", expected="at most 6 steps", got=len(books.steps))


@checks("AsyncEngine")
def test_draining_in_time_and_in_advance(student):
    """run returns after drain if the engine is idle, even before any request; waiting requests are answered first"""
    played(student, Books(1), 4, [{"do": "drain", "at": 0.5}, reader("a", 0.7, 3)])
    played(student, Books(1), 4, [reader("a", 0.0, 2), {"do": "drain", "at": 1.5}, reader("b", 1.7, 3), reader("c", 1.8, 3)])
    waiting = [reader("a", 0.0, 3), reader("b", 0.001, 3), reader("c", 0.002, 3), {"do": "drain", "at": 0.0031}, reader("d", 0.0052, 3)]
    played(student, Books(1), 2, [*waiting, reader("e", 0.0901, 1)])


@checks("AsyncEngine")
def test_run_is_cancelled(student):
    """run is cancelled while waiting or during a step: run ends"""
    played(student, Books(2), 4, [reader("a", 0.0, 2), {"do": "stop", "at": 0.5}])
    played(student, Books(2), 4, [reader("a", 0.0, 9, cancelled_at=0.5), {"do": "stop", "at": 0.0501}])


@checks("AsyncEngine")
def test_one_engine_after_the_other(student):
    """two engines one after the other with the same ids, then two at the same time: every request gets its own tokens"""
    for tokens in (3, 5):
        played(student, Books(2), 2, [reader("a", 0.0, tokens), reader("b", 0.011, tokens, cancelled_at=0.0303), reader("c", 0.5, 2)])
    first = [reader("a", 0.0, 9), reader("b", 0.0021, 9, cancelled_at=0.0903), reader("c", 0.5, 2), {"do": "peek", "at": 0.0499}]
    other = [reader("x", 0.0013, 5), reader("y", 0.0032, 8), reader("z", 0.6, 3), {"do": "peek", "at": 0.0502}]
    played_at_the_same_time(student, (Books(2), Books(2, faults={4: "the other's fourth"})), 4, (first, other))
    with_params = reader("a", 0.0, 2)
    with_params["params"] |= {"temperature": 0.5, "seed": 3, "stop": ["x"]}
    played(student, Books(1), 2, [with_params])


# ---- send_events ---------------------------------------------------------------------------------------------------


@checks("send_events", weight=2)
def test_drawn_answers_and_disconnects(student, rng):
    """clients that stay, or hang up at a drawn moment: the right events are sent, the generator is closed in time"""
    for _ in range(12):
        gaps = [one_of(rng, (0.25, 0.5, 1.0)) for _ in range(integer(rng, 0, 5))]
        bodies = [b"data: %d\n\n" % integer(rng, 0, 999) for _ in gaps]
        events = [[gap, body] for gap, body in zip(gaps, bodies, strict=True)]
        total = sum(gaps)
        gone = one_of(rng, (None, total * fraction(rng) + 0.01, total * fraction(rng) + 0.01, total + 5))
        messages = [[0.0, one_of(rng, (START, OTHER))] for _ in range(integer(rng, 0, 2))] + ([] if gone is None else [[gone, GONE]])
        answer = Answer(student, events=events, messages=messages)
        due = [body for i, body in enumerate(bodies) if gone is None or sum(gaps[: i + 1]) < gone]
        left = gone is not None and gone < total
        whole(answer, due, ended=not left)
        equal(answer.error, None, what="what the answer raised")
        equal(answer.returned[0], gone if left else total, what="when the answer returned, in seconds")
        if any(what == "begun" for _, what in answer.events):
            equal(answer.closed, gone if left else total, what="when the generator was closed, in seconds")


@checks("send_events")
def test_each_event_as_soon_as_it_is_there(student):
    """the generator is asked for an event only after the previous event has been sent"""
    answer = Answer(student, events=[[0.5, b"a"], [0.5, b"b"], [0.5, b"c"]], send_seconds=2.0)
    whole(answer, [b"a", b"b", b"c"])
    equal(answer.times, [0.0, 2.5, 5.0, 7.5, 9.5], what="when the messages were sent, in seconds")
    equal([time for time, what in answer.events if what == "made"], [2.5, 5.0, 7.5], what="when the events were made, in seconds")
    quick = Answer(student, events=[[0.0, b"a"], [0.0, b"b"], [0.0, b"c"]])
    whole(quick, [b"a", b"b", b"c"])
    whole(Answer(student, events=[[4000.0, b"a"], [4000.0, b"b"]]), [b"a", b"b"])  # nobody loses patience


@checks("send_events", weight=2)
def test_hanging_up_in_every_moment(student):
    """the client hangs up during the headers, during an event or after the last one: nothing more is sent"""
    early = Answer(student, events=[[0.5, b"a"]] * 3, messages=[[0.25, GONE]], send_seconds=1.0)
    equal([len(early.sent), early.returned[0]], [1, 0.25], what="how many messages were sent, and when the answer returned")
    last = Answer(student, events=[[0.5, b"a"]], messages=[[1.25, GONE]], send_seconds=1.0)
    equal(last.returned[0], 1.25, what="when the answer returned, in seconds")
    whole(Answer(student, events=[[0.5, b"a"]], messages=[[0.2, START], [0.3, OTHER], [9.0, GONE]]), [b"a"])
    slow = Answer(student, events=[[1.0, b"a"]] * 4, messages=[[2.5, GONE]], closing=0.75)
    whole(slow, [b"a", b"a"], ended=False)
    equal([slow.closed, slow.returned[0]], [3.25, 3.25], what="wrong times of closing the generator and of returning")
    between = Answer(student, events=[[1.0, b"a"]] * 4, messages=[[1.5, GONE]], send_seconds=1.0, closing=0.5)
    equal([between.closed, between.returned[0]], [2.0, 2.0], what="wrong times of closing the generator and of returning")


@checks("send_events")
def test_what_goes_wrong_is_passed_on(student):
    """an exception of send or of the generator, and a cancellation, are passed on; no call of receive is left waiting"""
    for number in (1, 2, 3):
        answer = Answer(student, events=[[0.5, b"a"]] * 3, send_fault=number, messages=[[0.1, START]])
        that(isinstance(answer.error, dict), "the exception of `send` was not passed on", got=answer.error)
        due = ["the connection is gone", number]
        equal([answer.error["message"], len(answer.sent)], due, what="which exception, after how many messages")
    for number in (1, 2, 5):
        answer = Answer(student, events=[[0.5, b"a"]] * 3, send_gone=number, messages=[[0.1, START]])
        message = f"an OSError of `send`, at message {number}, was swallowed: an exception of `send` is passed on, whatever its kind"
        that(isinstance(answer.error, dict), message, got=answer.error)
        due = ["the client is gone", number]
        equal([answer.error["message"], len(answer.sent)], due, what="which exception, after how many messages")
    for events in ([], [[0.5, b"a"]] * 2):
        answer = Answer(student, events=events, events_fault="no engine", messages=[[9.0, GONE]])
        that(isinstance(answer.error, dict), "the exception of the events was not passed on", got=answer.error)
        due = ["no engine", [event for _, event in events]]
        equal([answer.error["message"], answer.bodies], due, what="which exception, after which bodies")
    for send_seconds in (0.0, 2.0):
        answer = Answer(student, events=[[0.5, b"a"]] * 3, cancelled_at=2.75 if send_seconds else 0.75, send_seconds=send_seconds)
        equal(answer.error, "cancelled", what="what came of an answer that was cancelled")


@checks("send_events")
def test_longer_answers(student):
    """400 events are all sent, among 70 other messages; a generator that closes slowly is awaited, whatever ended the answer"""
    events = [[0.25, b"data: %d\n\n" % (i // 3)] for i in range(400)]
    messages = [[0.05 * i + 0.01, one] for i in range(35) for one in (OTHER, START)]
    whole(Answer(student, events=events, messages=messages), [event for _, event in events])
    gone = Answer(student, events=events, messages=[*messages, [75.1, GONE]])
    whole(gone, [event for _, event in events[:300]], ended=False)
    ends = (({"send_fault": 3}, 1.0), ({"send_gone": 2}, 0.5), ({"cancelled_at": 0.8}, 0.8), ({"events_fault": "no engine"}, 1.5))
    for options, at in ends:
        answer = Answer(student, events=[[0.5, b"a"]] * 3, closing=1.25, **options)
        times = [answer.closed, answer.returned[0]]
        equal(times, [at + 1.25] * 2, what=f"wrong times of closing the generator and of returning, with {options}")


# ---- poisson_arrivals ----------------------------------------------------------------------------------------------


@checks("poisson_arrivals", weight=2)
def test_drawn_arrivals(student, rng):
    """drawn numbers u, rates below and above 1: the right arrivals; u = 0 gives no gap"""
    for rate in (0.05, 0.5, 1.0, 3.0, 250.0):
        uniforms = [fraction(rng) for _ in range(integer(rng, 1, 30))]
        uniforms += [0.0, 1 - 2**-40, 0.999]
        got = student.poisson_arrivals(rate, uniforms, _unchanged=True)
        due, at = [], 0.0
        for u in uniforms:
            at -= math.log(1 - u) / rate
            due.append(at)
        equal(len(got), len(due), what="wrong number of arrivals")
        that(all(type(time) is float for time in got), "arrivals are Python floats", got=got[:2])
        close(torch.tensor(got, dtype=torch.float64), torch.tensor(due, dtype=torch.float64), rtol=1e-9, atol=1e-12, what="wrong arrivals")
    equal(student.poisson_arrivals(2.0, []), [], what="wrong arrivals of nobody")
    equal(student.poisson_arrivals(2.0, (0.0,)), [0.0], what="wrong arrival of u = 0")
    that(isinstance(student.poisson_arrivals(2.0, [0.5]), list), "a list is returned")


@checks("poisson_arrivals")
def test_more_rates_that_are_none(student, rng):
    """a rate of 0, below 0 or NaN: ValueError, even without numbers u"""
    for rate in (0, -0.001, -1000 * fraction(rng) - 1, math.nan):
        raises(ValueError, lambda rate=rate: student.poisson_arrivals(rate, [0.5]))
        raises(ValueError, lambda rate=rate: student.poisson_arrivals(rate, []))


# ---- run_load ------------------------------------------------------------------------------------------------------


@checks("run_load", weight=2)
def test_drawn_load(student, rng):
    """answers of any length, some refused, on a clock with any start: the right times of sending and the right traces"""
    for _ in range(8):
        at, arrivals, plans, traces = 0.0, [], [], []
        start, late, ahead = 0.25 * integer(rng, 0, 400), 0.125 * integer(rng, 0, 2), 0.25 * integer(rng, 1, 99)
        for number in range(integer(rng, 1, 9)):
            at += 0.25 * integer(rng, 0 if number == 0 and not late else 1, 5)
            gaps = [0.25 * integer(rng, 1, 9) for _ in range(integer(rng, 1, 5))]
            plan = {"gaps": gaps, "refused": integer(rng, 0, 3) == 0, "status": one_of(rng, (429, 503, 400))}
            if plan["refused"] and integer(rng, 0, 1):
                plan["gaps"] = gaps = []
            arrivals.append(at)
            plans.append(plan)
        got, sends, _ = loaded(student, arrivals, plans, start=start, late=late, ahead=ahead)
        equal([i for _, i in sends], list(range(len(arrivals))), what="which requests were sent, in order")
        for sent, i in sends:
            # One task that sends them all may have slept too long before, and need not sleep again.
            due = [start + arrivals[i] + slept for slept in {0.0, late}]
            that(sent in due, f"request {i} was sent at the wrong time, in seconds", expected=due[-1], got=sent)
            times = [ahead + sent + sum(plans[i]["gaps"][: n + 1]) for n in range(len(plans[i]["gaps"]))]
            traces.append(None if plans[i]["refused"] else [ahead + start + arrivals[i], times])
        equal(got, traces, what="wrong traces, as arrival and token times")


@checks("run_load")
def test_load_at_one_moment_and_none(student):
    """requests planned for the same moment are all sent, even if the sleep lasts too long; no requests: an empty list"""
    got, sends, _ = loaded(student, [0.5] * 4, [{"gaps": [0.25 * (4 - i)]} for i in range(4)])
    equal([time for time, _ in sends], [0.5] * 4, what="when the requests were sent")
    equal(got, [[0.5, [0.5 + 0.25 * (4 - i)]] for i in range(4)], what="wrong traces, as arrival and token times")
    equal(loaded(student, [], [])[0], [], what="wrong traces of no request")
    got, sends, _ = loaded(student, [0.0, 0.0, 2.0, 2.0], [{"gaps": [0.25]}] * 4, tick=2**-10)
    equal(sorted(i for _, i in sends), [0, 1, 2, 3], what="which requests were sent, on a clock that moves on with each reading")
    that(all(got), "a request that was sent late, and answered, has no trace", got=got)
    got, sends, _ = loaded(student, [0.5, 0.75, 3.0], [{"gaps": [0.25]}] * 3, start=10.0, late=41.5)
    equal(sorted(i for _, i in sends), [0, 1, 2], what="which requests were sent, 41.5 s late")
    equal([trace and trace[0] for trace in got], [10.5, 10.75, 13.0], what="the arrivals of requests that were sent 41.5 s late")
    long = loaded(student, [0.0, 4000.0], [{"gaps": [8000.0, 8000.0]}, {"gaps": [1.0]}])[0]
    equal(long, [[0.0, [8000.0, 16000.0]], [4000.0, [4001.0]]], what="wrong traces of an answer that takes hours")


@checks("run_load")
def test_other_exceptions_are_passed_on(student):
    """an exception other than RequestError is passed on, not counted as a refusal"""
    plans = [{"gaps": [0.25]}, {"gaps": [0.25], "fault": "connection reset"}]
    raises("Fault", lambda: loaded(student, [0.0, 0.25], plans), naming="connection reset")


# ---- served_goodput ------------------------------------------------------------------------------------------------


@checks("served_goodput", weight=2)
def test_drawn_traces(student, rng):
    """drawn traces, some refused, with times at the limits and just above: the right share"""
    for _ in range(12):
        traces, kept = [], 0
        ttft, itl = 0.25 * integer(rng, 1, 4), 0.25 * integer(rng, 1, 4)
        for _ in range(integer(rng, 1, 12)):
            if integer(rng, 0, 3) == 0:
                traces.append(None)
                continue
            arrival = 0.25 * integer(rng, 0, 8)
            gaps = [0.25 * integer(rng, 1, 5) for _ in range(integer(rng, 1, 4))]
            times = [arrival + sum(gaps[: i + 1]) for i in range(len(gaps))]
            traces.append(traced(student, arrival, times))
            kept += gaps[0] <= ttft and all(after - before <= itl for before, after in pairwise(times))
        gaps = [0.125] * integer(rng, 200, 400)
        gaps[integer(rng, 1, len(gaps) - 1)] = itl + 0.0003
        traces += [traced(student, 0.0, [sum(gaps[: i + 1]) for i in range(len(gaps))]), traced(student, 0.0, [ttft + 0.0003])]
        close(student.served_goodput(traces, ttft, itl), kept / len(traces), what="wrong share")


@checks("served_goodput")
def test_the_list_of_traces_stays(student):
    """the list, with its None entries, is not changed; an empty list raises ValueError"""
    traces = [None, traced(student, 0.0, [1.0]), None]
    _, after = student.served_goodput(traces, 1.0, 1.0, _arguments=True)
    equal([each is None for each in after[0]], [True, False, True], what="which of the list's traces are None after the call")
    raises(ValueError, lambda: student.served_goodput([], 1.0, 1.0))
