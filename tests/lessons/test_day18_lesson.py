"""What the lesson on serving says: its numbers, its demo cells, the real server behind them, the bug to find and the challenge."""

import asyncio
import importlib.util
import json
import math
import random
import re
import time
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import matplotlib
import matplotlib.pyplot
import pytest
import torch

import solutions.serving as serving
from autograder.lessons import find_day, lesson
from course.kit import load_tokenizer, paths, plots
from course.kit.serving import EchoCore, RequestError, SamplingParams, TokenOutput, run_virtual
from solutions.latency import Trace, summarize
from solutions.serving import SSEParser, TextStream, parse_params, run_load, sse_event
from solutions.tokenizer import render_chat

from ..kit.test_steppers import served
from ..support.demo_cells import DemoCells, public
from ..support.passages import assert_said

DAY = find_day("serving")
HANDS = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))
HAND = HANDS["serving"]
LESSON = DAY.lesson_path.read_text(encoding="utf-8")

needs_smollm2 = pytest.mark.skipif(
    not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it"
)
SPEED_CELL, LIMIT_CELL, LOOP_CELL, SERVER_CELL, TAB_CELL = (
    "async def under_load", "for limit in (1, 2", "async def closed_loop", "def my_server", "def wait_until",
)  # fmt: skip


def names_of_the_notebook() -> dict[str, Any]:
    return {
        **public(serving),
        "asyncio": asyncio, "json": json, "math": math, "random": random, "time": time, "torch": torch, "plots": plots,
        "AsyncIterator": AsyncIterator, "Callable": Callable, "EchoCore": EchoCore, "RequestError": RequestError,
        "SamplingParams": SamplingParams, "TokenOutput": TokenOutput, "run_virtual": run_virtual, "Trace": Trace,
        "summarize": summarize, "load_tokenizer": load_tokenizer, "render_chat": render_chat, "aclosing": aclosing,
    }  # fmt: skip


run_cell = DemoCells(DAY, names_of_the_notebook)


def events_after_each(pieces: list[bytes]) -> list[list[str]]:
    parser = SSEParser()
    return [parser.push(piece) for piece in pieces]


class Pieces:
    """A tokenizer whose tokens are these texts; one more token, with no text, ends an answer."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.eos_token_id = len(texts)

    def token_bytes(self, token: int) -> bytes:
        return self.texts[token].encode()


def streamed(stop: str, max_tokens: int) -> tuple[list[str], str | None, int]:
    """Section 3 by hand: what the pushes give until the end, why it ended, and how many tokens were counted."""
    stream = TextStream(Pieces("ab", "cd", "ef"), SamplingParams(max_tokens=max_tokens, stop=(stop,)))  # type: ignore[arg-type]
    given = []
    for token in range(3):
        given.append(stream.push(token))
        if stream.finish_reason:
            break
    return given, stream.finish_reason, len(given)


def refused_field(body: dict[str, Any], *, chat: bool) -> str | None:
    """The field that a body is refused for."""
    try:
        parse_params(body, chat=chat, room=100)
    except RequestError as error:
        return str(error.body["error"]["param"])
    return None


async def one_at_a_time() -> tuple[list[float], list[float]]:
    """Section 6 by hand: what an open and a closed loop report of three requests at a server that takes a second for each."""
    loop = asyncio.get_running_loop()
    lock = asyncio.Lock()

    async def send(i: int) -> AsyncIterator[int]:
        async with lock:
            await asyncio.sleep(1)
        yield i

    opened = [trace.ttft for trace in await run_load(send, [0.0, 0.5, 1.0], loop.time, asyncio.sleep) if trace]
    closed = []
    for i in range(3):
        begin = loop.time()
        async for _ in send(i):
            closed.append(loop.time() - begin)
    return opened, closed


def test_the_lesson_quotes_them() -> None:
    events, logprobs, arrivals, capacity, goodput, engine = (
        HAND[name] for name in ("events", "logprobs", "arrivals", "capacity", "goodput", "engine")
    )
    llama = HANDS["continuous_batching"]["llama3_8b"]
    pieces = [b"data: a\nda", b"ta: b\n", b"\n: ping\n\ndata: [DO", b"NE]\n", b"\n"]
    bodies: dict[str, tuple[bool, dict[str, Any]]] = {
        "a": (True, {}), "b": (False, {"temperature": 0, "user": "ann"}), "c": (True, {"top_p": 0}), "d": (True, {"max_tokens": True}),
        "e": (False, {"stop": "ab"}), "f": (False, {"max_tokens": 101}), "g": (True, {"max_tokens": 7, "max_completion_tokens": 9}),
        "h": (True, {"n": 2}),
    }  # fmt: skip
    for letter, (chat, body) in bodies.items():
        assert f"| {letter} | {'chat' if chat else 'completion'} | `{json.dumps(body)}` |" in LESSON
    fields = {letter: refused_field(body, chat=chat) for letter, (chat, body) in bodies.items()}
    means = {letter: parse_params(body, chat=chat, room=100) for letter, (chat, body) in bodies.items() if not fields[letter]}
    noticed, unnoticed, longer = (served(2, limit, closed)[-1] for limit, closed in (
        (2, "is noticed at once"), (2, "is never noticed"), (4, "is noticed at once")))  # fmt: skip
    cache, places = 4000 * 131_072, capacity["slots"]
    quoted = {
        "`data: {\"a\": 1}` and two newlines, 16 bytes": (events["json"] == 'data: {"a": 1}\n\n', events["json_bytes"] == 16),
        "`data: a`, a newline, `data: b`, two newlines": events["two_lines"] == "data: a\ndata: b\n\n" == sse_event("a\nb").decode(),
        "`{\"t\": \"é\"}` has 10 characters, and é is two bytes in UTF-8: 6 + 11 + 2 = 19 bytes": (
            len('{"t": "é"}') == 10, len(sse_event({"t": "é"})) == 19 == events["accent_bytes"]),
        "After the third piece: a and b, one event of two lines": events_after_each(pieces)[:3] == [[], [], ["a\nb"]],
        "After the fifth: `[DONE]`; the fourth ended the line but not yet the event": events_after_each(pieces)[3:] == [[], ["[DONE]"]],
        "So a, b, e and g are accepted": sorted(means) == ["a", "b", "e", "g"],
        "a: 100 tokens at temperature 1. b: 16 tokens, greedy": (
            (means["a"].max_tokens, means["a"].temperature) == (100, 1), (means["b"].max_tokens, means["b"].temperature) == (16, 0)),
        "c: refused, top_p": fields["c"] == "top_p",
        "d: refused, max_tokens; in Python": fields["d"] == "max_tokens",
        "e: one stop string of two characters": means["e"].stop == ("ab",),
        "f: refused, max_tokens, with the code": fields["f"] == "max_tokens",
        "g: 9; in a chat": means["g"].max_tokens == 9,
        "h: refused, n": fields["h"] == "n",
        "(1) `a`, for b may be the beginning": streamed("bc", 3) == (["a", ""], "stop", 2),
        "(2) `ab`: the last token": streamed("bc", 1) == (["ab"], "length", 1),
        "(3) `ab`, then nothing": streamed("cd", 2) == (["ab", ""], "stop", 2),
        "(4) `ab`, `cd`, `ef`: f is held back and comes out, \"length\", 3 tokens": streamed("fg", 3) == (["ab", "cd", "ef"], "length", 3),
        "Token 1 has 4/16: ln(1/4) = **-1.3863**": logprobs["logprobs"][1] == -1.3863,
        "token 0 with ln(1/2) = **-0.6931**": logprobs["logprobs"][0] == -0.6931,
        "token 0 would have -1.0696": logprobs["first_at_temperature_2"] == -1.0696,
        "9 steps, 5 + 4 + 4 + 4 = 17 tokens": (engine["steps"] == 9, engine["tokens"] == 17 == 5 + 4 + 4 + 4),
        "5 + 50 + 4 + 4 = **63**, in 50 steps": (engine["tokens_without_abort"] == 63 == 5 + 50 + 4 + 4, engine["b_tokens"] == 50),
        "E, at 27 ms, because C and D wait. 95 ms": ("refused: E;" in noticed, "is 95 ms" in noticed),
        "47 of 67. B holds its place": ("67 tokens, 47 of them" in unnoticed, "refused: E, G;" in unnoticed),
        "the longest wait is 173 ms in place of 95": ("refused: nobody" in longer, "is 173 ms" in longer),
        "50 · 20 ms = 1 s": capacity["tokens"] * capacity["step_seconds"] == 1,
        "**8 requests/s, 400 tokens/s**": (capacity["requests_per_second"] == places, capacity["tokens_per_second"] == 400),
        "At 4 requests a second, each of which stays 1 s, 4 are running on average": capacity["running_at_4"] == 4,
        "has 120 after a minute; the last one waits 120 / 8 = 15 s": (
            capacity["waiting_after_a_minute_at_10"] == 120 == 60 * (10 - 8), capacity["wait_of_the_last_seconds"] == 15),
        "**max_waiting = capacity · promise = 8**": capacity["max_waiting"] == 8,
        "ln 2 / 2 = 0.3466; ln 4 / 2 = 0.6931; -ln 0.9 / 2 = 0.0527": arrivals["gaps"] == [0.3466, 0.6931, 0.0527],
        "**0.3466**, **1.0397** and **1.0924** s": arrivals["arrivals"] == [0.3466, 1.0397, 1.0924],
        "7 of 10: **0.7**. Not 7 of 8": goodput["share"] == 0.7,
        "the waits are **1, 1.5 and 2 s**. The closed loop sends at 0, 1 and 2 and reports **1, 1 and 1 s**": (
            run_virtual(one_at_a_time())[0] == ([1, 1.5, 2], [1, 1, 1])),
        "131,072 bytes of keys and values a token": (
            2 * 32 * 8 * 128 * 2 == 131_072, math.isclose(llama["kv_seconds"] * 3.35e12, 131_072, rel_tol=1e-3)),
        "in 64.7 ms on an H100": round(1e3 * llama["prompt_seconds"], 1) == 64.7,
        "4,000 · 131,072 = 524 MB. At 450 GB/s that is 1.17 ms": (round(cache / 1e6) == 524, round(cache / 450e6, 2) == 1.17),
        "At 12.5 GB/s it is 41.9 ms: two thirds": (round(cache / 12.5e6, 1) == 41.9, round(3 * 41.9 / 64.7) == 2),
        "80 · 25 ms = 2 s: 16 / 2 = 8 requests a second, 640 tokens a second. 8 · 2 = 16 may wait": (80 * 25 == 2000, 8 * 80 == 640),
        "3 · 2 s = 6 (Little's law), of 16 places": 3 * 2 == 6,
    }  # fmt: skip
    assert_said(LESSON, quoted)


def test_a_piece_is_not_an_event(capsys) -> None:
    said = run_cell("pieces of", capsys)
    rows = re.findall(r"([\d,]+) pieces, +(\d+) of them are an event; your parser finds (\d+), all right: True", said)
    assert len({pieces for pieces, *_ in rows}) == 6
    assert [alone for _, alone, _ in rows] == ["0", "0", "2", "0", "0", "0"]
    assert {found for *_, found in rows} == {"40"}
    assert "Two at 65 bytes, and none at any other size" in LESSON


def test_clients_that_mean_well_get_the_name_of_the_field(capsys) -> None:
    said = run_cell("bodies = (", capsys)
    assert re.findall(r"400 (\w+) \|", said) == ["max_tokens", "temperature", "top_p", "stop", "max_tokens", "n", "temperature"]


def test_chunks_with_text_are_fewer_than_tokens_paid(capsys) -> None:
    said = run_cell("pieces, paid = []", capsys)
    chunks, paid = map(int, re.findall(r"(\d+) chunks with text, (\d+) tokens paid, finish_reason 'stop'", said)[0])
    assert chunks < paid
    assert "'Tokyo Tower 🗼 is 東京タワー. ## Height\\nIt is 332.9 m tall.'" in said


def test_a_virtual_clock_jumps(capsys) -> None:
    said = run_cell("async def both", capsys)
    assert "4.5 s on its clock" in said
    assert said.splitlines()[:2] == [" 1.0 s: quick, 1", " 1.5 s: slow, 1"]


def test_five_readers_are_those_of_the_example_by_hand(capsys) -> None:
    said = run_cell("async def five_readers", capsys).splitlines()
    assert said[0] == "  12 ms: e is refused, 429"
    assert said[1] == "  60 ms: b closes the tab, 3 tokens"
    assert said[-1] == "9 steps, 17 tokens; running 0, waiting 0, free blocks 64 of 64"


def test_without_an_abort_63_tokens_are_made(capsys) -> None:
    edit = ("core = EchoCore(", "core = type('Deaf', (EchoCore,), {'abort': lambda self, request_id: None})(")
    said = run_cell("async def five_readers", capsys, edit)
    assert "50 steps, 63 tokens" in said


def test_who_looks_before_each_send_closes_late(capsys) -> None:
    said = run_cell("def looks_before_each_send", capsys)
    rows = re.findall(r"closed at ([\d.]+) s, (\d+) events made, (\d+) sent", said)
    closed = [(float(at), int(made), int(sent)) for at, made, sent in rows]
    assert closed == [(0.5, 0, 0), (2.0, 1, 0), (2.25, 3, 3), (2.3, 4, 3)]
    assert "1.5 s late while the prompt is read" in LESSON


def load_table(said: str) -> dict[tuple[int, str], list[float]]:
    """{(rate, may wait): [refused, tokens/s, TTFT p50, p99, ITL p99, served well]}"""
    rows = [line.split() for line in said.splitlines()[1:]]
    return {(int(rate), limit): [float(x.rstrip("%")) for x in rest] for rate, limit, *rest in rows}


@pytest.mark.slow
def test_the_knee_is_where_it_was_computed(capsys) -> None:
    table = load_table(run_cell(SPEED_CELL, capsys))
    rates = (2, 4, 6, 7, 8, 9, 10, 12)
    assert list(table) == [(rate, limit) for limit in ("8", "any") for rate in rates]
    assert [table[rate, "8"] for rate in rates[:3]] == [table[rate, "any"] for rate in rates[:3]]
    assert [table[rate, "any"][2] for rate in (2, 6)] == [27, 34]
    assert all(row[1] <= HAND["capacity"]["tokens_per_second"] for row in table.values())
    assert table[12, "any"][1] - table[8, "any"][1] < 0.25 * (table[8, "any"][1] - table[6, "any"][1])  # per rate the rise is a tenth
    assert {row[4] for row in table.values()} == {20.0}
    limited, unlimited = table[10, "8"], table[10, "any"]
    assert (limited[1], unlimited[1]) == (394, 395)
    assert (limited[0], limited[5], unlimited[5], round(unlimited[3] / 1000, 1)) == (104, 77.7, 16.2, 13.7)
    for text in (
        "after 27 to 34 ms in the middle", "394 and 395 at 10 a second", "serves all 600, and 16.2 % of them in time",
        "the p99 of the first token is 13.7 s", "A server that refuses 104 serves 77.7 % in time", "The gaps are 20 ms in every row",
    ):  # fmt: skip
        assert text in LESSON, text


@pytest.mark.slow
def test_the_curve_is_drawn(capsys) -> None:
    run_cell("fig, axes = plots.figure(2, 2", capsys, before=(SPEED_CELL,))
    drawn = [ax for number in matplotlib.pyplot.get_fignums() for ax in matplotlib.pyplot.figure(number).axes]
    assert [ax.get_title(loc="left") for ax in drawn] == ["throughput", "first token: p99, and p50 dashed", "served well", "nobody refused"]
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in drawn)


@pytest.mark.slow
def test_a_longer_queue_makes_everybody_late(capsys) -> None:
    said = run_cell(LIMIT_CELL, capsys, before=(SPEED_CELL,))
    found = re.findall(r"(\w+) may wait: (\d+) of 600 served, +([\d.]+)% well", said)
    rows = {limit: (int(some), float(well)) for limit, some, well in found}
    assert max(rows, key=lambda limit: rows[limit][1]) == "7"
    assert rows["7"][1] == 82.3
    assert rows["any"][0] - rows["8"][0] == 104
    assert round(6 * (rows["8"][1] - rows["any"][1])) == 369
    assert {rows[limit][1] for limit in ("16", "32", "any")} == {16.2}
    assert "104 more than with 8, and 369 fewer in time.\nFrom 16 on" in LESSON
    assert "with 7, 82.3 % are in time" in LESSON


@pytest.mark.slow
def test_the_fifteenth_of_question_6_is_in_time_and_the_sixteenth_is_late(capsys) -> None:
    edits = (
        ("max_running=8,", "max_running=16, step_seconds=0.025,"), ("max_tokens=50", "max_tokens=80"),
        ("served_goodput(traces, 1.0, 0.05)", "served_goodput(traces, 2.0, 0.05)"),
        ("(2, 4, 6, 7, 8, 9, 10, 12), (8, NOBODY_REFUSED)", "(10,), (14, 15, 16)"),
    )  # fmt: skip
    table = load_table(run_cell(SPEED_CELL, capsys, *edits))
    well = {limit: row[5] for (_, limit), row in table.items()}
    assert max(well, key=lambda limit: well[limit]) == "15"
    assert f"{well['15']} % are served well with 15, and {well['16']} % with 16" in LESSON


@pytest.mark.slow
def test_a_closed_loop_reports_a_crowd_that_never_grows(capsys) -> None:
    said = run_cell(LOOP_CELL, capsys, before=(SPEED_CELL,))
    found = re.findall(r"(\d+) users in a loop: ([\d.]+) requests/s, TTFT p99 +([\d,]+) ms", said)
    rows = {int(users): (float(rate), ms) for users, rate, ms in found}
    assert rows[16] == (7.97, "1,020")
    assert "open loop, 10 a second:  TTFT p99 13,653 ms" in said
    assert "the p99 of the first token is 1.02 s" in LESSON
    assert "7.97 of 8" in LESSON


@needs_smollm2
@pytest.mark.slow
def test_a_real_client_is_answered_token_by_token_and_a_closed_tab_frees_its_place(capsys) -> None:
    """The three cells of section 7, over HTTP, with the numbers of the contract; each server is stopped at the end of its cell."""
    assert importlib.util.find_spec("uvicorn")
    said = run_cell(SERVER_CELL, capsys, cached=True)
    assert "The| capital| of| France| is| Paris|.|" in said
    assert "{'prompt_tokens': 37, 'completion_tokens': 8, 'total_tokens': 45, 'prompt_tokens_details': {'cached_tokens': 0}}" in said
    where = re.search(r"http://127\.0\.0\.1:(\d+) 200 text/event-stream", said)
    assert where is not None
    said = run_cell(TAB_CELL, capsys, before=(SERVER_CELL,), cached=True)
    assert "'The capital of France is ' stop" in said
    assert re.search(r"in the middle: running 1, [1-9]\d* blocks taken", said)
    assert re.search(r"after the client has hung up: running 0, 0 blocks taken", said)
    said = run_cell("ThreadPoolExecutor(8) as people", capsys, before=(SERVER_CELL, TAB_CELL))
    assert "eight came: 3 wait, 5 are refused" in said
    assert "429 Retry-After: 1 |" in said
    assert "[200, 200, 200, 429, 429, 429, 429, 429], running 0, waiting 0" in said
    run_cell.forget(SERVER_CELL)


MY_CASE = "my_readers = [(0, 4, 0), (5, 4, 0), (30, 4, 0), (130, 4, 0)] "


@pytest.mark.slow
def test_the_case_that_the_lesson_names_shows_the_bug(capsys) -> None:
    case = "[(0, 4, 100), (5, 4, 100), (30, 4, 0), (130, 4, 0)]"
    assert f"`{case}`" in LESSON
    said = run_cell("class ColleaguesEngine", capsys, (MY_CASE, f"my_readers = {case} "), before=(SPEED_CELL,))
    assert "D came at 130 ms and was refused, while 1 ran and nobody waited" in said


FAIR = """class FairQueue:
    def __init__(self) -> None:
        self.waiting: dict[str, list[int]] = {}

    def push(self, person: str, request: int) -> None:
        self.waiting.setdefault(person, []).append(request)

    def pop(self) -> tuple[str, int]:
        if not self.waiting:
            raise IndexError("nobody waits")
        person = next(iter(self.waiting))
        requests = self.waiting.pop(person)
        request = requests.pop(0)
        if requests:
            self.waiting[person] = requests
        return person, request
"""
FIRST_COME = """class FairQueue:
    def __init__(self) -> None:
        self.waiting: list[tuple[str, int]] = []

    def push(self, person: str, request: int) -> None:
        self.waiting.append((person, request))

    def pop(self) -> tuple[str, int]:
        return self.waiting.pop(0)
"""


@pytest.mark.parametrize(("answer", "said"), [
    (None, "not written yet"), (FAIR, "fair: Bob's one request, behind a hundred of Ann's, was taken at turn 2"),
    (FIRST_COME, "was passed over"), (FAIR.replace("requests.pop(0)", "requests.pop()"), "is not the one that"),
    (FAIR.replace("next(iter(self.waiting))", "min(self.waiting)"), "was passed over"),
    (FAIR.replace("next(iter(self.waiting))", "min(self.waiting, key=lambda each: len(self.waiting[each]))"), "was passed over"),
], ids=["not written", "right", "first come", "newest first", "by name", "the fewest first"])  # fmt: skip
def test_the_challenge_tells_right_from_wrong(answer: str | None, said: str, capsys) -> None:
    source = next(cell.source for cell in lesson(DAY).cells if cell.role == "demo" and "class FairQueue" in cell.source)
    stub = source[source.index("class FairQueue") : source.index("\n\ndef try_fair")]
    assert said in run_cell("class FairQueue", capsys, (stub, stub if answer is None else answer))


def test_the_challenge_asks_of_the_empty_queue_only_what_it_says() -> None:
    names: dict[str, Any] = {}
    exec(FAIR, names)
    with pytest.raises(IndexError):
        names["FairQueue"]().pop()


def test_at_least_three_claims_are_refuted() -> None:
    assert LESSON.count("### Check what you read") >= 3


def test_what_stands_behind_the_names_of_servers_is_marked_as_read() -> None:
    page = LESSON.split("## 8. Beyond one machine")[1].split("## Find the bug")[0]
    assert "not measured" in page
    for name in ("vLLM", "SGLang", "TensorRT-LLM", "TGI", "llama.cpp"):
        assert f"| {name}" in page, name
    assert "Read in November 2026" in page
