"""The numbers of the serving day that are worked out by hand; what its reference promises."""

from __future__ import annotations

import asyncio
import math
import random
import tomllib
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import torch

from course.kit import Tokenizer, load_model, load_tokenizer, paths
from course.kit.serving import EchoCore, RequestError, SamplingParams, TokenOutput, run_virtual
from solutions.generation import generate as loop
from solutions.latency import Trace
from solutions.serving import (
    AsyncEngine,
    SSEParser,
    TextStream,
    parse_params,
    poisson_arrivals,
    run_load,
    send_events,
    served_goodput,
    sse_event,
    token_logprobs,
)
from solutions.tokenizer import bpe_decode, render_chat

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["serving"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer("smollm2")


# ---- by hand -------------------------------------------------------------------------------------------------------


def test_the_events() -> None:
    case = HAND["events"]
    assert sse_event({"a": 1}).decode() == case["json"]
    assert len(sse_event({"a": 1})) == case["json_bytes"]
    assert sse_event("a\nb").decode() == case["two_lines"]
    assert sse_event("[DONE]").decode() == case["done"]
    assert len(sse_event({"a": "é"})) == case["accent_bytes"]
    assert len(sse_event('{"a": "\\u00e9"}')) == case["accent_escaped_bytes"]


def test_the_logprobs() -> None:
    case = HAND["logprobs"]
    logits = torch.tensor(case["weights"], dtype=torch.float64).log()
    for token, due in enumerate(case["logprobs"]):
        logprob, best = token_logprobs(logits, token, 3)
        assert logprob == pytest.approx(due, abs=5e-5)
        assert best == [(i, pytest.approx(case["logprobs"][i], abs=5e-5)) for i in range(3)]
    assert float(torch.log_softmax(logits / 2, dim=-1)[0]) == pytest.approx(case["first_at_temperature_2"], abs=5e-5)
    assert token_logprobs(logits, 0, 0)[0] / math.log(2) == pytest.approx(case["first_in_bits"])


def test_the_arrivals() -> None:
    case = HAND["arrivals"]
    got = poisson_arrivals(case["rate"], case["uniforms"])
    assert got == pytest.approx(case["arrivals"], abs=5e-5)
    assert [after - before for before, after in zip([0.0, *got], got, strict=False)] == pytest.approx(case["gaps"], abs=5e-5)


def test_the_capacity_of_a_server_and_its_queue() -> None:
    case = HAND["capacity"]
    seconds = case["step_seconds"] * case["tokens"]
    assert case["slots"] / seconds == pytest.approx(case["requests_per_second"])
    assert case["slots"] / case["step_seconds"] == pytest.approx(case["tokens_per_second"])
    assert 4 * seconds == pytest.approx(case["running_at_4"])
    waiting = (10 - case["requests_per_second"]) * 60
    assert waiting == pytest.approx(case["waiting_after_a_minute_at_10"])
    assert waiting / case["requests_per_second"] == pytest.approx(case["wait_of_the_last_seconds"])
    assert case["requests_per_second"] * 1.0 == case["max_waiting"]


@pytest.mark.parametrize(("rate", "waiting", "running"), [(4, 0, 4), (10, 120, 8)])
def test_a_minute_of_that_server(rate: int, waiting: int, running: int) -> None:
    """Arrivals at even distances: at 4 a second 4 run and nobody waits; at 10 the queue grows by 2 a second."""
    case = HAND["capacity"]

    async def main() -> tuple[int, int]:
        core = EchoCore(max_running=case["slots"], step_seconds=case["step_seconds"], num_blocks=1000)
        engine = AsyncEngine(core, 10_000)
        runner = asyncio.ensure_future(engine.run())

        async def reader(i: int) -> None:
            await asyncio.sleep(i / rate + 1e-4)
            async for _ in engine.generate(str(i), [1], SamplingParams(max_tokens=case["tokens"])):
                pass

        readers = [asyncio.ensure_future(reader(i)) for i in range(60 * rate)]
        await asyncio.sleep(60)
        counts = core.num_waiting, core.num_running
        for each in (runner, *readers):
            each.cancel()
        return counts

    (waits, runs), _ = run_virtual(main())
    assert abs(waits - waiting) <= 12  # who has just come waits for the next step; everybody's last step costs one more
    assert abs(runs - running) <= 1


def test_the_goodput() -> None:
    case = HAND["goodput"]
    good, late = Trace(0.0, [0.5, 0.6]), Trace(0.0, [1.5, 1.6])
    kept = case["requests"] - case["refused"] - case["late"]
    traces: list[Trace | None] = [good] * kept + [late] * case["late"] + [None] * case["refused"]
    assert served_goodput(traces, 1.0, 0.2) == pytest.approx(case["share"])
    assert served_goodput([trace for trace in traces if trace], 1.0, 0.2) == pytest.approx(case["of_those_served"])


def test_the_engine() -> None:
    case = HAND["engine"]

    async def main() -> tuple[list[Any], EchoCore, AsyncEngine]:
        core = EchoCore(max_running=2)
        engine = AsyncEngine(core, 2)
        runner = asyncio.ensure_future(engine.run())
        outcomes: list[Any] = []

        async def reader(at: float, name: str, tokens: int, leaves: int = 0) -> None:
            await asyncio.sleep(at)
            stream, got = engine.generate(name, [1, 2], SamplingParams(max_tokens=tokens)), 0
            try:
                async for output in stream:
                    assert (output.request_id, output.token_id) == (name, 1 + got % 2)
                    got += 1
                    if got == leaves:
                        break
                outcomes.append((name, got))
            except RequestError as error:
                outcomes.append((name, error.status))
            finally:
                await stream.aclose()

        await asyncio.gather(
            reader(0, "a", case["a_tokens"]),
            reader(0, "b", case["b_tokens"], case["b_leaves_after"]),
            *(reader(at, name, case["other_tokens"]) for at, name in ((0.010, "c"), (0.011, "d"), (0.012, "e"))),
        )
        await asyncio.sleep(1)
        engine.drain()
        await runner
        return outcomes, core, engine

    (outcomes, core, engine), _ = run_virtual(main())
    assert outcomes == [("e", 429), ("b", 3), ("a", 5), ("c", 4), ("d", 4)]
    assert (core.num_steps, core.num_tokens, core.num_free_blocks) == (case["steps"], case["tokens"], 64)
    assert engine.queues == {}
    assert case["tokens"] - case["b_leaves_after"] - 1 + case["b_tokens"] == case["tokens_without_abort"]


# ---- what the reference promises -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_cut_anywhere_gives_its_events(seed: int) -> None:
    draw = random.Random(seed)
    texts = ["".join(draw.choice("ab é€😀\n:") for _ in range(draw.randrange(9))) for _ in range(40)]
    ending = draw.choice(["\n", "\r\n"])
    stream = b"".join(sse_event(text) for text in texts).replace(b"\n", ending.encode())
    stream = stream.replace((ending * 2).encode(), f"{ending * 2}: ping{ending * 2}id: 7{ending}".encode())
    parser, got = SSEParser(), []
    while stream:
        size = draw.randrange(1, 9)
        got += parser.push(stream[:size])
        stream = stream[size:]
    assert got == texts


def test_one_long_event_in_small_pieces_is_one_event() -> None:
    parser = SSEParser()
    text = "x" * 3_000 + "\n" + "é" * 2_000
    stream = sse_event(text)
    assert [event for i in range(0, len(stream), 3) for event in parser.push(stream[i : i + 3])] == [text]


def test_defaults() -> None:
    assert parse_params({}, chat=False, room=100) == SamplingParams(max_tokens=16)
    assert parse_params({}, chat=True, room=100) == SamplingParams(max_tokens=100)
    names = ("max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "n", "stop", "logprobs", "stream", "stream_options")
    assert parse_params(dict.fromkeys(names), chat=True, room=7) == SamplingParams(max_tokens=7)


def test_every_field() -> None:
    body = {
        "max_tokens": 3, "temperature": 0, "top_p": 0.5, "seed": -4, "n": 1, "stop": ["a", "bc"], "logprobs": 2, "stream": True,
        "stream_options": {"include_usage": True}, "user": "me", "max_completion_tokens": 9,
    }  # fmt: skip
    assert parse_params(body, chat=False, room=3) == SamplingParams(3, 0, 0.5, -4, ("a", "bc"), 2, True, True)
    chat = parse_params(body | {"logprobs": True, "top_logprobs": 20}, chat=True, room=9)
    assert chat == SamplingParams(9, 0, 0.5, -4, ("a", "bc"), 20, True, True)
    assert parse_params({"logprobs": True}, chat=True, room=9).logprobs == 0
    assert parse_params({"logprobs": False, "top_logprobs": 3}, chat=True, room=9).logprobs is None
    assert parse_params({"stop": "ab"}, chat=True, room=9).stop == ("ab",)


REFUSED: list[tuple[str, Any, bool]] = [
    *((name, value, chat) for chat in (False, True) for name, values in {
        "max_tokens": (0, -1, 2.0, "3", True, 101), "temperature": (-0.1, 2.1, math.nan, math.inf, True, "1"),
        "top_p": (0, 0.0, 1.1, math.nan, False, "1"), "seed": (1.0, True, "1", 2**63, -(2**63) - 1), "n": (0, 2, True, 1.0, "1"),
        "stop": ("", [], [""], ["a"] * 5, [1], 1, {"a": 1}, True), "stream": (1, "true", 0),
        "stream_options": (1, [], {"include_usage": 1}, True),
    }.items() for value in values),
    *(("logprobs", value, False) for value in (-1, 6, True, False, 1.0, "1")),
    *(("logprobs", value, True) for value in (0, 1, "true")),
    *(("top_logprobs", value, True) for value in (-1, 21, True, 1.0, "1")),
    *(("max_completion_tokens", value, True) for value in (0, True, 1.5, 101)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "chat"), REFUSED)
def test_what_is_refused_names_its_field(name: str, value: Any, chat: bool) -> None:
    body = {"max_tokens": 5, "logprobs": True if chat else 1} | {name: value}
    with pytest.raises(RequestError) as refused:
        parse_params(body, chat=chat, room=100)
    error = refused.value.body["error"]
    assert (refused.value.status, error["param"]) == (400, name)
    assert error["code"] == ("context_length_exceeded" if value == 101 else None)
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize(("chat", "room"), [(True, 0), (True, -3), (False, 15), (False, 0)])
def test_no_room_is_reported_for_the_default_too(chat: bool, room: int) -> None:
    with pytest.raises(RequestError) as refused:
        parse_params({}, chat=chat, room=room)
    assert refused.value.body["error"]["code"] == "context_length_exceeded"


def streamed(tokenizer: Tokenizer, ids: list[int], **params: Any) -> tuple[list[str], list[str | None]]:
    stream = TextStream(tokenizer, SamplingParams(**params))
    pieces = [(stream.push(i), stream.finish_reason) for i in ids]
    return [text for text, _ in pieces], [reason for _, reason in pieces]


def test_text_held_back_for_a_stop_string_is_not_lost(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("one two thr")
    texts, reasons = streamed(tokenizer, ids, max_tokens=len(ids), stop=("three",))
    assert ("".join(texts), reasons[-1]) == ("one two thr", "length")
    texts, reasons = streamed(tokenizer, [*ids, tokenizer.eos_token_id], max_tokens=50, stop=("three",))
    assert ("".join(texts), reasons[-2:]) == ("one two thr", [None, "stop"])


def test_a_stop_string_that_the_last_token_completes(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("one two three four")
    for stop in ("three four", "four", "e f"):
        texts, reasons = streamed(tokenizer, ids, max_tokens=len(ids), stop=(stop,))
        assert ("".join(texts), reasons[-1]) == ("one two three four".split(stop)[0], "stop")


def test_half_a_character_at_the_end(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("a 😀")
    assert streamed(tokenizer, ids[:-1], max_tokens=len(ids) - 1)[0][-1] == " \ufffd"
    assert "".join(streamed(tokenizer, ids, max_tokens=len(ids))[0]) == "a 😀"


def test_after_the_end_there_is_nothing(tokenizer: Tokenizer) -> None:
    texts, reasons = streamed(tokenizer, tokenizer.encode("one two three four five"), max_tokens=50, stop=("two",))
    assert "".join(texts) == "one "
    assert reasons[0] is None
    assert reasons[-3:] == ["stop"] * 3


def test_a_token_that_nobody_reads_is_dropped() -> None:
    class Generous(EchoCore):
        async def step(self) -> list[TokenOutput]:
            return [TokenOutput("nobody", 1), *await super().step()]

    async def main() -> int:
        engine = AsyncEngine(Generous(max_running=2), 2)
        runner = asyncio.ensure_future(engine.run())
        got = [output.token_id async for output in engine.generate("a", [5], SamplingParams(max_tokens=3))]
        engine.drain()
        await runner
        return len(got)

    assert run_virtual(main())[0] == 3


def test_a_disconnect_during_a_step_frees_the_request() -> None:
    """All of it together: engine, text and answer; the client hangs up after the second event."""

    async def main() -> tuple[int, int, list[Any]]:
        core = EchoCore(max_running=2)
        engine = AsyncEngine(core, 2)
        runner = asyncio.ensure_future(engine.run())
        sent: list[Any] = []

        async def events() -> AsyncGenerator[bytes, None]:
            stream = engine.generate("a", [1], SamplingParams(max_tokens=100))
            try:
                async for output in stream:
                    yield sse_event({"token": output.token_id})
            finally:
                await stream.aclose()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}

        await send_events(receive, send, events())
        runner.cancel()
        return core.num_running, core.num_free_blocks, sent

    (running, free, sent), seconds = run_virtual(main())
    assert (running, free, len(sent), seconds) == (0, 64, 3, 0.05)


def test_load_is_open_loop() -> None:
    """A server that answers one after the other, 1 s each, and requests every half second: each waits longer than the one before."""

    async def main() -> list[Trace | None]:
        lock = asyncio.Lock()

        async def send(i: int) -> AsyncGenerator[int, None]:
            async with lock:
                await asyncio.sleep(1)
                yield i

        return await run_load(send, [0.5 * i for i in range(6)], asyncio.get_running_loop().time, asyncio.sleep)

    traces, _ = run_virtual(main())
    assert [trace.ttft for trace in traces if trace] == pytest.approx([1 + 0.5 * i for i in range(6)])


def test_a_rate_that_is_none() -> None:
    for rate in (0, -1, math.nan):
        with pytest.raises(ValueError, match="rate"):
            poisson_arrivals(rate, [0.5])
    with pytest.raises(ValueError, match="at least one"):
        served_goodput([], 1, 1)


@pytest.mark.slow
def test_smollm2_says_paris(tokenizer: Tokenizer) -> None:
    """37 tokens of prompt; 8 of answer, EOS counted; with "Paris" as a stop string the text ends before it."""
    model = load_model("smollm2", missing="none")
    if model is None:
        pytest.skip("SmolLM2's weights are not on this machine")
    prompt = tokenizer.encode(render_chat([{"role": "user", "content": "What is the capital of France?"}]))
    assert len(prompt) == 37
    ids = loop(model, torch.tensor([prompt]), max_new_tokens=24, block_size=2048, temperature=0.0, eos_token_id=tokenizer.eos_token_id)
    answer = ids[0, 37:].tolist()
    assert len(answer) == 8
    assert answer[-1] == tokenizer.eos_token_id
    texts, reasons = streamed(tokenizer, answer, max_tokens=24)
    assert ("".join(texts), reasons[-1]) == (bpe_decode(answer[:-1], tokenizer), "stop")
    assert "".join(texts) == "The capital of France is Paris."
    texts, reasons = streamed(tokenizer, answer, max_tokens=24, stop=("Paris",))
    assert ("".join(texts), reasons[-1]) == ("The capital of France is ", "stop")
