"""`n`, and several prompts in a completion: OpenAI's own clients over a real port, and the engine's count of computed tokens."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import openai
import pytest

from course.kit.serving import SamplingParams
from course.kit.serving.choices import with_seed
from solutions import serving
from solutions.engine.sequence import Request
from solutions.engine.serving import ServingEngine

from ..support.served import Running, echoing, running, slow, tiny

PROMPTS = ["ROMEO:\nWhat light through yonder window breaks?", "JULIET:\nO Romeo, Romeo! wherefore art thou"]
LONG = "HAMLET:\n" + "To be, or not to be, that is the question. " * 8
ASK: Any = [{"role": "user", "content": "Speak, I charge thee, speak!"}]
DRAWN: dict[str, Any] = {"model": "tiny", "temperature": 1.2, "max_tokens": 16}
GREEDY: dict[str, Any] = {**DRAWN, "temperature": 0}


@pytest.fixture(scope="module")
def served():
    with running(tiny(), rows=4, waiting=8) as it:
        yield it


@pytest.fixture
def client(served: Running):
    return served.client()


def texts(answer: Any) -> list[str]:
    """The choices' texts, whose numbers are their places."""
    assert [choice.index for choice in answer.choices] == list(range(len(answer.choices)))
    return [choice.text if hasattr(choice, "text") else choice.message.content for choice in answer.choices]


def tokens(text: str) -> int:
    return len(tiny().tokenizer.encode(text))


@contextmanager
def fed(core: Any) -> Iterator[list[list[int]]]:
    """The tokens that each pass is fed."""
    forward, seen = core._serving._forward, []

    def noted(flat: Any, sequences: Any) -> Any:
        seen.append(flat.ids[0].tolist())
        return forward(flat, sequences)

    core._serving._forward = noted
    try:
        yield seen
    finally:
        core._serving._forward = forward


# Whole answers


def test_n_samples_differ_and_a_seed_repeats_each_of_them(client):
    ask = client.chat.completions.create
    drawn = ask(messages=ASK, n=3, seed=7, **DRAWN)
    said = texts(drawn)
    assert len({*said}) == 3
    assert texts(ask(messages=ASK, n=3, seed=7, **DRAWN)) == said
    assert texts(ask(messages=ASK, n=1, seed=7, **DRAWN)) == said[:1]
    assert not {*texts(ask(messages=ASK, n=3, seed=8, **DRAWN))} & {*said}  # not even the next seed's first is this one's second
    assert len({*texts(ask(messages=ASK, n=3, **DRAWN))}) == 3
    assert drawn.usage.prompt_tokens == ask(messages=ASK, seed=7, **DRAWN).usage.prompt_tokens
    assert drawn.usage.total_tokens == drawn.usage.prompt_tokens + drawn.usage.completion_tokens


def test_greedy_samples_are_equal(client):
    for answer in (client.chat.completions.create(messages=ASK, n=3, **GREEDY), client.completions.create(prompt=LONG, n=3, **GREEDY)):
        said = texts(answer)
        assert said == said[:1] * 3
        assert said[0]


@pytest.mark.parametrize("n", [1, 2])
def test_several_prompts_get_the_answers_that_each_gets_alone(client, n):
    asked = {**DRAWN, "n": n, "seed": 3, "logprobs": 1}
    alone = [client.completions.create(prompt=prompt, **asked) for prompt in PROMPTS]
    want = [choice for answer in alone for choice in answer.choices]
    as_ids = [tiny().tokenizer.encode(prompt) for prompt in PROMPTS]
    for prompt in (PROMPTS, as_ids):
        answer = client.completions.create(prompt=prompt, **asked)
        assert texts(answer) == [choice.text for choice in want]  # sample j of prompt i at i * n + j
        assert [choice.finish_reason for choice in answer.choices] == [choice.finish_reason for choice in want]
        for choice, other in zip(answer.choices, want, strict=True):
            assert choice.logprobs.tokens == other.logprobs.tokens
            assert choice.logprobs.token_logprobs == pytest.approx(other.logprobs.token_logprobs, abs=1e-9)
            assert choice.logprobs.text_offset == other.logprobs.text_offset
        assert answer.usage.prompt_tokens == sum(map(len, as_ids))
        assert answer.usage.completion_tokens == sum(each.usage.completion_tokens for each in alone)
        assert answer.usage.completion_tokens == sum(len(choice.logprobs.tokens) for choice in answer.choices)
    assert len({*texts(answer)}) == 2 * n


def test_stop_and_extras_hold_for_each_choice(client):
    plain = client.completions.create(prompt=PROMPTS, **GREEDY)
    stop = [text[5:8] for text in texts(plain)]
    answer = client.completions.create(prompt=PROMPTS, n=2, stop=stop, extra_body={"cache_salt": "ada", "top_k": 5}, **GREEDY)
    cut = [min(text.partition(each)[0] for each in stop) for text in texts(plain)]
    assert texts(answer) == [cut[0], cut[0], cut[1], cut[1]]
    assert {choice.finish_reason for choice in answer.choices} == {"stop"}


@pytest.mark.parametrize("new", [0, 6])
def test_echo_is_before_each_choice_with_the_prompts_log_probabilities(served, client, new):
    asked = {**GREEDY, "max_tokens": new, "logprobs": 2}
    body = {"echo": True}
    alone = [client.completions.create(prompt=prompt, extra_body=body, **asked).choices[0] for prompt in PROMPTS]
    with fed(served.core) as seen:
        answer = client.completions.create(prompt=PROMPTS, n=2, extra_body=body, **asked)
    for choice, want in zip(answer.choices, (alone[0], alone[0], alone[1], alone[1]), strict=True):
        assert choice.text == want.text
        assert choice.logprobs.token_logprobs[1:] == pytest.approx(want.logprobs.token_logprobs[1:], abs=1e-9)
        assert choice.logprobs.text_offset == want.logprobs.text_offset
        assert choice.finish_reason == want.finish_reason
    assert answer.usage.completion_tokens == 4 * new
    prompts = sum(map(tokens, PROMPTS))
    assert prompts < sum(map(len, seen)) <= prompts + 2 * 16 + 4 * max(new - 1, 0)  # the second samples read less than a block each
    assert served.core.reports == served.core.extras == {}


# Streams


def pieces(stream: Any) -> tuple[dict[int, str], dict[int, list[str | None]], list[int], Any]:
    """Of a stream: each choice's text, its reasons to end, the choices in the order of the chunks, and the usage."""
    said: dict[int, str] = {}
    reasons: dict[int, list[str | None]] = {}
    order, usage = [], None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text = choice.text if hasattr(choice, "text") else choice.delta.content
            said[choice.index] = said.get(choice.index, "") + (text or "")
            reasons.setdefault(choice.index, []).append(choice.finish_reason)
            order.append(choice.index)
    return said, reasons, order, usage


@pytest.mark.parametrize("asked", [{"n": 3}, {"prompt": PROMPTS}, {"prompt": PROMPTS, "n": 2}, {"prompt": PROMPTS, "n": 2, "echo": True}])
def test_a_stream_has_the_choices_side_by_side(client, asked):
    ask = {"prompt": LONG, **DRAWN, "seed": 5, **asked}
    whole = client.completions.create(**ask)
    said, reasons, order, usage = pieces(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    assert [said[i] for i in sorted(said)] == texts(whole)
    for choice in whole.choices:
        assert reasons[choice.index] == [None] * (len(reasons[choice.index]) - 1) + [choice.finish_reason]
    assert len([*itertools.groupby(order)]) > 2 * len(said)  # not one after another
    counts = [(each.prompt_tokens, each.completion_tokens, each.total_tokens) for each in (whole.usage, usage)]
    assert counts[0] == counts[1]


def test_a_chats_choices_each_begin_with_the_role(client):
    ask = {"messages": ASK, "n": 2, "seed": 1, **DRAWN}
    whole = client.chat.completions.create(**ask, logprobs=True)
    chunks = list(client.chat.completions.create(**ask, stream=True, logprobs=True))
    firsts = {}
    for chunk in chunks:
        firsts.setdefault(chunk.choices[0].index, chunk.choices[0].delta.role)
    assert firsts == {0: "assistant", 1: "assistant"}
    assert [chunk.choices[0].delta.role for chunk in chunks].count("assistant") == 2
    for choice in whole.choices:
        its = [chunk.choices[0] for chunk in chunks if chunk.choices[0].index == choice.index]
        assert "".join(each.delta.content or "" for each in its) == choice.message.content
        entries = [entry for each in its if each.logprobs for entry in each.logprobs.content]
        assert [entry.token for entry in entries] == [entry.token for entry in choice.logprobs.content]


def test_the_asynchronous_client_gets_the_same(served):
    async def ask() -> tuple[Any, dict[int, str]]:
        async with openai.AsyncOpenAI(base_url=f"{served.base}/v1", api_key="none", max_retries=0, timeout=60) as client:
            body: dict[str, Any] = {"prompt": PROMPTS, "n": 2, "seed": 4, **DRAWN}
            whole, stream = await client.completions.create(**body), await client.completions.create(**body, stream=True)
            said: dict[int, str] = {}
            async for chunk in stream:
                said[chunk.choices[0].index] = said.get(chunk.choices[0].index, "") + chunk.choices[0].text
            return whole, said

    whole, said = asyncio.run(ask())
    assert [said[i] for i in sorted(said)] == texts(whole)
    assert len(said) == 4


def test_more_choices_than_rows_take_turns(client):
    said, reasons, _, _ = pieces(client.completions.create(prompt=LONG, n=8, seed=2, stream=True, **DRAWN))
    assert sorted(said) == list(range(8))
    assert all(each[-1] in ("stop", "length") for each in reasons.values())


# The cache


def test_the_prompt_of_n_choices_is_read_once(served, client):
    """All but the last block, which is not whole: each later choice reads the tokens after the last whole block."""
    prompt = "OTHELLO:\n" + "It is the cause, it is the cause, my soul. " * 20
    size, n, new = 16, 3, 5
    length = tokens(prompt)
    assert length > 256  # more than a step feeds
    with fed(served.core) as seen:
        answer = client.completions.create(prompt=prompt, n=n, extra_body={"ignore_eos": True}, **{**GREEDY, "max_tokens": new})
    rest = length - (length - 1) // size * size
    assert sum(map(len, seen)) == length + (n - 1) * rest + n * (new - 1)
    assert answer.usage.prompt_tokens_details.cached_tokens == 0
    assert answer.usage.prompt_tokens == length
    again = client.completions.create(prompt=prompt, n=n, **GREEDY)
    assert again.usage.prompt_tokens_details.cached_tokens == length - rest  # once, as the prompt's tokens are


def test_a_request_waits_for_the_same_prompt_of_the_same_salt_only():
    model = tiny()
    prompt = model.tokenizer.encode(LONG)

    def computed(*requests: Request) -> int:
        engine = ServingEngine(model, num_blocks=200, block_size=16, token_budget=300, max_running=3)
        forward, counts = engine._forward, []
        engine._forward = lambda flat, sequences: counts.append(flat.ids.shape[1]) or forward(flat, sequences)
        outputs = engine.generate(list(requests))
        assert outputs == [outputs[0]] * len(requests)
        return sum(counts)

    rest = len(prompt) - (len(prompt) - 1) // 16 * 16
    assert computed(Request(prompt, 1), Request(prompt, 1), Request(prompt, 1)) == len(prompt) + 2 * rest
    assert computed(Request(prompt, 1), Request(prompt, 1, salt=b"ada")) == 2 * len(prompt)
    assert computed(Request(prompt, 1), Request(prompt, 1, prompt_top=0)) == 2 * len(prompt)


def test_a_request_goes_on_when_the_one_that_reads_its_prompt_is_given_up():
    model = tiny()
    prompt = model.tokenizer.encode(LONG)
    engine = ServingEngine(model, num_blocks=100, block_size=16, token_budget=40, max_running=3)
    first, second, other = Request(prompt, 3), Request(prompt, 3), Request(prompt[:5], 3)
    for request in (first, second, other):
        engine.add(request)
    engine.step()
    assert engine.scheduler.running == [first]
    engine.abort(first)
    assert engine.generate([]) == []
    assert len(second.output) == len(other.output) == 3
    assert engine.num_free_blocks == 100


# Refusals, and the end of a request


@pytest.mark.parametrize("n", [0, -1, "2", True, 129, 1000, 1.0, [2]])
def test_what_is_no_number_of_choices_is_refused(client, n):
    for ask in (
        lambda **more: client.chat.completions.create(messages=ASK, **DRAWN, **more),
        lambda **more: client.completions.create(prompt="O", **DRAWN, **more),
    ):
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError) as refused:
                ask(stream=stream, extra_body={"n": n})
            assert (refused.value.param, refused.value.type) == ("n", "invalid_request_error")


@pytest.mark.parametrize(("n", "best_of"), [(1, 2), (2, 1), (2, 3), (1, True), (None, 2)])
def test_best_of_is_refused_unless_it_is_n(client, n, best_of):
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(prompt="O", extra_body={"n": n, "best_of": best_of}, **DRAWN)
    assert (refused.value.param, refused.value.code) == ("best_of", "unsupported_parameter")
    assert len(texts(client.completions.create(prompt="O", n=2, best_of=2, **DRAWN))) == 2


@pytest.mark.parametrize(
    ("prompt", "param"),
    [
        (["a", ""], "prompt[1]"), (["a", None], "prompt[1]"), ([[5], []], "prompt[1]"), ([[5], [99_999]], "prompt[1]"),
        ([[5], 5], "prompt[1]"), (["a", [["b"]]], "prompt[1]"), ([5, "a"], "prompt"), ([["a"]], "prompt"), ([[[5]]], "prompt"),
        (["a", "word " * 4000], "prompt[1]"),
    ],
)  # fmt: skip
def test_a_wrong_prompt_among_several_is_named(client, prompt, param):
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(prompt=prompt, **DRAWN)
    assert refused.value.param == param


def test_only_one_prompt_is_counted(served):
    answer = httpx.post(f"{served.base}/tokenize", json={"prompt": PROMPTS})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "prompt")


def test_a_request_that_can_never_wait_is_a_400_and_reads_nothing(client, served, monkeypatch):
    monkeypatch.setattr(type(served.server.served.tokenizer), "encode", lambda *_: pytest.fail("it was encoded"))
    for more, param in (({"prompt": "O", "n": 9}, "n"), ({"prompt": ["O"] * 9}, "prompt"), ({"prompt": ["O"] * 3, "n": 3}, "prompt")):
        with pytest.raises(openai.BadRequestError, match="queue of 8") as refused:
            client.completions.create(**more, **DRAWN)
        assert refused.value.param == param


def test_the_queue_counts_choices_and_refuses_a_request_as_a_whole():
    with running(tiny(), rows=2, waiting=4) as small, slow(small.core):
        client = small.client()
        endless: dict[str, Any] = {"model": "tiny", "prompt": "O", "max_tokens": 1000, "stream": True, "extra_body": {"ignore_eos": True}}
        busy = client.completions.create(n=4, **endless)
        next(busy)
        assert (small.core.num_running, small.core.num_waiting) == (2, 2)
        for stream in (False, True):
            with pytest.raises(openai.RateLimitError) as refused:
                client.completions.create(prompt="O", n=3, stream=stream, **DRAWN)
            assert (refused.value.code, refused.value.response.headers["retry-after"]) == ("queue_full", "1")
            small.settle()
            assert (small.core.num_running, small.core.num_waiting, len(small.server.engine.queues)) == (2, 2, 4)
        fits: list[Any] = []
        other = threading.Thread(target=lambda: fits.append(client.completions.create(prompt="O", n=2, **DRAWN)))
        other.start()
        until = time.monotonic() + 10
        while small.core.num_waiting < 4 and time.monotonic() < until:
            time.sleep(0.01)
        assert small.core.num_waiting == 4
        busy.close()
        other.join(60)
        assert len(texts(fits[0])) == 2
        assert small.metrics()['fpt_requests_total{status="429"}'] == 2


def test_a_choice_that_the_engine_refuses_ends_the_others():
    """As if another request had taken the last place in the queue between the server's look at it and the engine's."""

    class Full(serving.AsyncEngine):
        def generate(self, request_id: str, *more: Any) -> Any:
            if request_id.endswith("-2"):
                self.max_waiting = 0
            return super().generate(request_id, *more)

    with running(tiny(), rows=2, waiting=4, own={"AsyncEngine": Full}) as small:
        for stream in (False, True):
            with pytest.raises(openai.RateLimitError):
                small.client().completions.create(prompt=LONG, n=3, stream=stream, **DRAWN)
            assert small.at_rest()[:2] == (0, 0)
            assert small.server.engine.queues == small.core.reports == {}


def test_a_client_that_leaves_takes_all_its_choices_along(served, client):
    free, before = served.core.num_free_blocks, served.metrics()
    body: dict[str, Any] = {"model": "tiny", "prompt": ["O", "A"], "n": 3, "max_tokens": 1000, "seed": 0, "ignore_eos": True}
    with slow(served.core):
        stream = client.completions.create(**DRAWN, prompt=[], stream=True, extra_body=body)  # the body's fields take precedence
        next(stream)
        assert (served.core.num_running, served.core.num_waiting) == (4, 2)
        stream.close()
        assert served.at_rest(5) == (0, 0, free)
        with pytest.raises(httpx.ReadTimeout), httpx.Client(timeout=0.5) as impatient:
            impatient.post(f"{served.base}/v1/completions", json=body)
        assert served.at_rest(5) == (0, 0, free)
    after = served.metrics()
    assert after["fpt_aborted_total"] == before["fpt_aborted_total"] + 2  # requests, not choices
    assert served.server.engine.queues == {}


@pytest.mark.parametrize("stream", [False, True])
def test_a_nan_in_one_choice_fails_the_request_and_no_other_request(served, client, monkeypatch, stream):
    """One prompt's row of logits becomes NaN after some tokens; its three neighbours in the request end with it."""
    forward, marked = served.core._serving._forward, tiny().tokenizer.encode(PROMPTS[1])
    want = client.completions.create(prompt=LONG, **{**GREEDY, "max_tokens": 60}).choices[0].text
    blocks = served.core.num_free_blocks

    def failing(flat: Any, sequences: Any) -> Any:
        logits = forward(flat, sequences)
        for row, chunk in enumerate(served.core._serving.scheduler.running):
            if chunk.prompt == marked and len(chunk.output) == 5:
                logits[row] = math.nan
        return logits

    others: list[str] = []
    with slow(served.core, 0.005):
        monkeypatch.setattr(served.core._serving, "_forward", failing)
        other = threading.Thread(
            target=lambda: others.append(served.client().completions.create(prompt=LONG, **{**GREEDY, "max_tokens": 60}).choices[0].text)
        )
        other.start()
        body = {"prompt": PROMPTS, "n": 2, "stream": stream, "max_tokens": 200, "temperature": 1, "ignore_eos": True}
        answer = httpx.post(f"{served.base}/v1/completions", json=body, timeout=60)
        other.join(60)
    error = {"message": "the engine failed: ModelError", "type": "server_error", "param": None, "code": "engine_failed"}
    if stream:
        *events, last, _ = answer.text.split("\n\n")
        assert json.loads(last.removeprefix("data: ")) == {"error": error}
        seen = [json.loads(event.removeprefix("data: "))["choices"][0] for event in events]
        assert {choice["index"] for choice in seen} >= {0, 1, 2}  # the fourth row is the other request's
        assert {choice["finish_reason"] for choice in seen} == {None}
    else:
        assert (answer.status_code, answer.json()) == (500, {"error": error})
    assert others == [want]
    assert served.at_rest() == (0, 0, blocks)
    assert served.server.engine.queues == {}


def test_requests_are_counted_as_requests_and_tokens_as_tokens(served, client):
    served.at_rest()
    before = served.metrics()
    client.completions.create(prompt=PROMPTS, n=2, extra_body={"ignore_eos": True}, **{**DRAWN, "max_tokens": 6})
    list(client.completions.create(prompt=PROMPTS[0], n=3, stream=True, extra_body={"ignore_eos": True}, **{**DRAWN, "max_tokens": 4}))
    after = served.metrics()
    gained = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    counts = {name: n for name, n in gained.items() if not name.endswith("_sum") and "_bucket" not in name and "cached" not in name}
    assert counts == {
        'fpt_requests_total{status="200"}': 2, 'fpt_tokens_total{kind="prompt"}': 2 * tokens(PROMPTS[0]) + tokens(PROMPTS[1]),
        'fpt_tokens_total{kind="completion"}': 4 * 6 + 3 * 4, "fpt_ttft_seconds_count": 2, "fpt_itl_seconds_count": 4 * 5 + 3 * 3,
    }  # fmt: skip


def test_a_core_without_a_cache_gives_choices_too():
    with echoing(step_seconds=0.001) as it:
        answer = it.client().completions.create(model="echo", prompt=["O", "my lord"], n=2, max_tokens=3)
        said = texts(answer)
        assert said[:2] == ["OOO"] * 2
        assert said[2] == said[3] != "OOO"
        assert answer.usage.completion_tokens == 12


def test_each_sample_has_a_seed_of_its_own():
    seeds = [with_seed(SamplingParams(seed=seed), sample).seed for seed in (0, 1, -1, 2**63 - 1, -(2**63)) for sample in range(128)]
    assert len({*seeds}) == len(seeds)
    assert all(-(2**63) <= seed < 2**63 for seed in seeds)
    assert with_seed(SamplingParams(seed=5), 0).seed == 5
    assert with_seed(SamplingParams(), 3).seed is None
