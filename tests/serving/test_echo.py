"""`echo` of /v1/completions: the prompt before its answer, and the log-probabilities of the prompt's own tokens.

Each is compared with the model's logits over the whole text at once, in float64: what lm-evaluation-harness sums up.
"""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
import torch

from course.kit import load_model, paths
from course.kit.errors import ModelError
from course.kit.serving import SamplingParams
from course.kit.serving.core import Report
from solutions.engine.backend import choose
from solutions.engine.core import EngineCore
from solutions.engine.sequence import Request
from solutions.engine.serving import ServingEngine
from solutions.tokenizer import render_chat

from ..support import served as servers
from ..support.served import echoing, running

TEXT = "ROMEO:\nWhat light through yonder window breaks? It is the east, and Juliet is the sun. Caf\u00e9 \U0001f3bb."
LONG = "ROMEO:\n" + "Arise, fair sun, and kill the envious moon, who is already sick and pale with grief. " * 12
ECHO: dict[str, Any] = {"model": "tiny", "temperature": 0, "echo": True}


tiny = functools.cache(servers.tiny)


@pytest.fixture(scope="module")
def served():
    with running(tiny(), rows=4, waiting=16) as it:
        yield it


def by_definition(ids: list[int]) -> torch.Tensor:
    """The log-probabilities of all tokens after each place of the text, (T, V)."""
    return tiny()(torch.tensor([ids]))[0].log_softmax(-1)


def name(token: int) -> str:
    """The token in columns: its text, or its bytes."""
    data = tiny().tokenizer.token_bytes(token)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)


def require_exact(got: Any, ids: list[int], best: int) -> None:
    logprobs = by_definition(ids)
    assert got.tokens == [name(token) for token in ids]
    assert (got.token_logprobs[0], got.top_logprobs[0]) == (None, None)
    for place, token in enumerate(ids[1:], 1):
        row = logprobs[place - 1]
        assert got.token_logprobs[place] == pytest.approx(row[token].item(), abs=1e-9)
        wanted = {name(i): p for i, p in zip(row.topk(best).indices.tolist(), row.topk(best).values.tolist(), strict=True)}
        wanted[name(token)] = row[token].item()
        assert got.top_logprobs[place] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "of several chunks"])
def test_the_prompts_log_probabilities_are_the_models_also_if_the_prompt_is_in_the_cache(served, text):
    ids = tiny().tokenizer.encode(text)
    assert text is TEXT or len(ids) > 256  # more than a step feeds
    client = served.client()
    client.completions.create(model="tiny", prompt=text, max_tokens=1)
    for _ in range(2):
        answer = client.completions.create(prompt=text, max_tokens=0, logprobs=3, **ECHO)
        choice = answer.choices[0]
        require_exact(choice.logprobs, ids, 3)
        assert (choice.text, choice.finish_reason) == (text, "length")
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(ids), 0)
        assert answer.usage.prompt_tokens_details.cached_tokens == 0
    found = client.completions.create(model="tiny", prompt=text, max_tokens=1).usage.prompt_tokens_details.cached_tokens
    assert found == (len(ids) - 1) // 16 * 16  # a prompt that was read for its echo is in the cache as any other


def test_prompt_and_answer_together_are_one_text(served):
    client = served.client()
    ids = tiny().tokenizer.encode(TEXT)
    plain = client.completions.create(model="tiny", prompt=TEXT, max_tokens=12, temperature=0, logprobs=2)
    answer = client.completions.create(prompt=TEXT, max_tokens=12, logprobs=2, **ECHO)
    echoed, more = answer.choices[0].logprobs, plain.choices[0].logprobs
    assert answer.choices[0].text == TEXT + plain.choices[0].text
    assert answer.choices[0].finish_reason == plain.choices[0].finish_reason
    assert (answer.usage.completion_tokens, answer.usage.total_tokens) == (12, len(ids) + 12)
    assert echoed.tokens[len(ids) :] == more.tokens
    assert echoed.token_logprobs[len(ids) :] == pytest.approx(more.token_logprobs, abs=1e-9)
    assert echoed.text_offset[len(ids) :] == [len(TEXT) + at for at in more.text_offset]
    whole = [(at, token) for at, token in zip(echoed.text_offset, echoed.tokens, strict=True) if not token.startswith("bytes:")]
    assert all(answer.choices[0].text[at : at + len(token)] == token for at, token in whole)
    assert echoed.text_offset == sorted(echoed.text_offset)
    assert len(whole) > 30


def test_without_log_probabilities_the_prompt_is_repeated_and_no_more(served):
    client = served.client()
    plain = client.completions.create(model="tiny", prompt=TEXT, max_tokens=6, temperature=0).choices[0].text
    answer = client.completions.create(prompt=TEXT, max_tokens=6, **ECHO)
    assert (answer.choices[0].text, answer.choices[0].logprobs) == (TEXT + plain, None)
    only = client.completions.create(prompt=tiny().tokenizer.encode(TEXT), max_tokens=0, **ECHO)
    assert (only.choices[0].text, only.choices[0].finish_reason, only.usage.completion_tokens) == (TEXT, "length", 0)


@pytest.mark.parametrize("new", [0, 9])
def test_a_stream_has_the_prompt_first_and_then_what_a_whole_answer_has(served, new):
    client = served.client()
    asked = {"prompt": TEXT, "max_tokens": new, "logprobs": 1, **ECHO}
    whole = client.completions.create(**asked)
    *chunks, last = client.completions.create(**asked, stream=True, stream_options={"include_usage": True})
    assert chunks[0].choices[0].text == TEXT
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["length"]
    assert (len(chunks) == 1) == (new == 0)
    for column in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        streamed = [each for chunk in chunks for each in getattr(chunk.choices[0].logprobs, column)]
        assert streamed == getattr(whole.choices[0].logprobs, column)
    assert last.usage == whole.usage


def test_what_the_evaluation_harness_sends_and_sums(served):
    """The request of lm-evaluation-harness's local-completions, and its slice of the answer: a context and its continuation."""
    tokenizer = tiny().tokenizer
    context, continuation = tokenizer.encode("ROMEO:\nWhat light through"), tokenizer.encode(" yonder window breaks?")
    ids = context + continuation
    body = {"model": "tiny", "prompt": [ids], "temperature": 0, "max_tokens": 1, "logprobs": 1, "seed": 1234, "echo": True}
    echoed = httpx.post(f"{served.base}/v1/completions", json=body).json()["choices"][0]["logprobs"]
    logprobs = by_definition(ids)
    wanted = sum(logprobs[place - 1, ids[place]].item() for place in range(len(context), len(ids)))
    assert sum(echoed["token_logprobs"][len(context) : -1]) == pytest.approx(wanted, abs=1e-9)
    pairs = zip(echoed["token_logprobs"][len(context) : -1], echoed["top_logprobs"][len(context) : -1], strict=True)
    greedy = [logprob == max(best.values()) for logprob, best in pairs]
    assert greedy == [logprobs[place - 1].argmax().item() == ids[place] for place in range(len(context), len(ids))]
    assert True in greedy
    assert False in greedy


def test_a_prompt_of_one_token_has_nothing_before_it(served):
    echoed = served.client().completions.create(prompt=[40], max_tokens=0, logprobs=5, **ECHO).choices[0].logprobs
    assert (echoed.tokens, echoed.token_logprobs, echoed.top_logprobs, echoed.text_offset) == ([name(40)], [None], [None], [0])


def test_several_at_once_beside_answers_get_what_each_gets_alone(served):
    texts = [LONG, TEXT, LONG[:200], TEXT[:30]]

    def ask(text: str) -> Any:
        return served.client().completions.create(prompt=text, max_tokens=3, logprobs=2, **ECHO).choices[0].logprobs

    def talk(seed: int) -> Any:
        return served.client().completions.create(model="tiny", prompt=TEXT, max_tokens=80, seed=seed, temperature=1)

    with ThreadPoolExecutor(6) as people:
        talking = [people.submit(talk, seed) for seed in range(2)]
        echoed = list(people.map(ask, texts))
        assert all(each.result().choices[0].finish_reason for each in talking)
    for text, each in zip(texts, echoed, strict=True):
        ids = tiny().tokenizer.encode(text)
        each.tokens, each.token_logprobs, each.top_logprobs = (
            column[: len(ids)] for column in (each.tokens, each.token_logprobs, each.top_logprobs)
        )
        require_exact(each, ids, 2)


def test_a_request_that_was_preempted_has_each_of_its_prompts_tokens_once():
    model = tiny()
    engine = ServingEngine(model, num_blocks=12, block_size=4, token_budget=8, max_running=3)
    prompts = [model.tokenizer.encode(LONG)[start : start + 18] for start in (0, 20, 40)]
    requests = [Request(prompt, 14, prompt_top=1) for prompt in prompts]
    preempted = 0
    for request in requests:
        engine.add(request)
    while engine.has_work:
        before = set(engine.scheduler.running)
        engine.step()
        preempted += len(before & {*engine.scheduler.waiting})
    assert preempted
    for request in requests:
        logprobs = by_definition(request.prompt)
        wanted = [logprobs[place - 1, request.prompt[place]].item() for place in range(1, 18)]
        assert [logprob for logprob, _ in request.prompt_logprobs] == pytest.approx(wanted, abs=1e-9)
    assert engine.num_free_blocks == 12


def test_a_prompt_whose_logits_are_no_numbers_is_an_error():
    with pytest.raises(ModelError):
        Request([1, 2, 3], 1, prompt_top=0).add_prompt_logprobs(0, torch.full((3, 5), float("nan")))


# Refusals


@pytest.mark.parametrize(("echo", "new", "param"), [("yes", 5, "echo"), (1, 5, "echo"), (False, 0, "max_tokens"), (None, 0, "max_tokens")])
def test_what_is_no_echo_is_named(served, echo, new, param):
    with pytest.raises(openai.BadRequestError) as refused:
        served.client().completions.create(model="tiny", prompt=TEXT, max_tokens=new, extra_body={"echo": echo})
    assert refused.value.param == param


def test_a_chat_has_no_echo(served):
    ask: Any = {"model": "tiny", "messages": [{"role": "user", "content": "O"}], "max_tokens": 2}
    with pytest.raises(openai.BadRequestError) as refused:
        served.client().chat.completions.create(**ask, extra_body={"echo": True})
    assert (refused.value.param, refused.value.code) == ("echo", "unsupported_parameter")
    assert served.client().chat.completions.create(**ask, extra_body={"echo": False}).choices[0].finish_reason


def test_a_core_without_logits_of_prompts_says_so():
    with echoing(step_seconds=0.001) as it:
        client = it.client()
        with pytest.raises(openai.BadRequestError) as refused:
            client.completions.create(prompt="O", max_tokens=1, logprobs=1, **{**ECHO, "model": "echo"})
        assert (refused.value.param, refused.value.code) == ("echo", "unsupported_parameter")
        assert client.completions.create(prompt="O", max_tokens=1, **{**ECHO, "model": "echo"}).choices[0].text == "OO"


# The real model


@pytest.mark.slow
@pytest.mark.skipif(not paths.SMOLLM2.exists(), reason="SmolLM2's file is not here: make model")
@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 2e-4), ("auto", 0.05)], ids=["float32", "blocks"])
def test_smollm2s_log_probabilities_are_those_of_float64(dtype, near):
    """A prompt of several passes. In 4-bit blocks the inputs of each product have 16 bits, and keys and values are half precision."""
    model = load_model("smollm2", dtype=torch.float64)
    text = render_chat([{"role": "user", "content": "Why is the sky blue? " * 20}])
    ids = model.tokenizer.encode(text)
    logprobs = model(torch.tensor([ids]))[0].log_softmax(-1)
    chosen = choose("smollm2", dtype, rows=2, max_len=512, threads=1)
    core = EngineCore(chosen, threads=1)
    report = Report(prompt_top=2)
    core.reports["r"] = report
    core.add("r", ids, SamplingParams(max_tokens=1, temperature=0))

    async def finish() -> None:
        while core.has_work:
            await core.step()

    asyncio.run(finish())
    core.close()
    wanted = [logprobs[place - 1, ids[place]].item() for place in range(1, len(ids))]
    assert [logprob for logprob, _ in report.prompt] == pytest.approx(wanted, abs=near)
    best = sum(pairs[0][0] == logprobs[place].argmax().item() for place, (_, pairs) in enumerate(report.prompt))
    assert best >= 0.98 * len(report.prompt)
