"""`make serve`, as its clients see it: OpenAI's own client over a real port, `tiny` in float64 behind it, and SmolLM2 where it is."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest
import torch
from prometheus_client.parser import text_string_to_metric_families

from autograder import __version__
from autograder.serving.server import parts, sampling_defaults
from course.kit import load_model, load_tokenizer, paths
from course.kit.serving import SamplingParams, TokenOutput, requests
from course.kit.serving import running as running_server
from course.kit.serving.access import ANYBODY, Access
from course.kit.serving.shapes import Answer, Piece
from course.kit.serving.web import Served, Server
from solutions import serving
from solutions.engine.backend import choose
from solutions.engine.core import EngineCore
from solutions.generation import generate
from solutions.tokenizer import render_chat

from ..support.served import Running, running, slow, tiny

ASK = [{"role": "user", "content": "Speak, I charge thee, speak!"}]
TEXT = "ROMEO:\nWhat light through yonder"
GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 40}


@pytest.fixture(scope="module")
def served():
    with running(tiny(), rows=4, waiting=8) as it:
        yield it


@pytest.fixture
def client(served: Running):
    return served.client()


def chat(client: openai.OpenAI, **changes: Any) -> Any:
    return client.chat.completions.create(**{"model": "tiny", "messages": ASK, **GREEDY, **changes})


def complete(client: openai.OpenAI, **changes: Any) -> Any:
    return client.completions.create(**{"model": "tiny", "prompt": TEXT, **GREEDY, **changes})


def by_the_loop(text: str, new: int) -> list[int]:
    """Day 7's loop."""
    model = tiny()
    ids = torch.tensor([model.tokenizer.encode(text)])
    return generate(model, ids, max_new_tokens=new, block_size=512, temperature=0.0, eos_token_id=model.tokenizer.eos_token_id)[
        0, ids.shape[1] :
    ].tolist()


# Answers


def test_a_chat_and_a_completion_are_those_of_the_loop(client):
    tokenizer = tiny().tokenizer
    for answer, text, prompt in (
        (got := chat(client), got.choices[0].message.content, render_chat(ASK)),
        (got := complete(client), got.choices[0].text, TEXT),
    ):
        wanted = by_the_loop(prompt, 40)
        ended = wanted[-1] == tokenizer.eos_token_id
        assert text == tokenizer.decode(wanted[:-1] if ended else wanted)
        assert answer.choices[0].finish_reason == ("stop" if ended else "length")
        count = len(tokenizer.encode(prompt))
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (count, len(wanted))
        assert answer.usage.total_tokens == count + len(wanted)
        assert answer.model == "tiny"


def test_a_stream_joined_is_the_whole_answer(client):
    for ask, said in ((chat, lambda choice: choice.delta.content), (complete, lambda choice: choice.text)):
        whole = ask(client).choices[0]
        chunks = list(ask(client, stream=True))
        assert "".join(said(chunk.choices[0]) or "" for chunk in chunks) == (whole.message.content if ask is chat else whole.text)
        assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + [whole.finish_reason]
        assert len({(chunk.id, chunk.created, chunk.model, chunk.object) for chunk in chunks}) == 1
        assert len(chunks) > 10
        assert all(chunk.usage is None for chunk in chunks)


def test_a_chat_begins_with_the_role_and_ends_with_the_count(client):
    chat(client), complete(client)  # from here on, as many of their tokens as can be are in the cache
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    assert (chunks[0].choices[0].delta.role, chunks[0].choices[0].delta.content) == ("assistant", "")
    assert all(chunk.choices[0].delta.role is None for chunk in chunks[1:-1])
    assert chunks[-1].choices == []
    assert chunks[-1].usage == chat(client).usage
    assert all(chunk.usage is None for chunk in chunks[:-1])
    last = list(complete(client, stream=True, stream_options={"include_usage": True}))[-1]
    assert (last.choices, last.usage) == ([], complete(client).usage)


def test_log_probabilities_are_the_models_own_whatever_the_temperature(client):
    model = tiny()
    whole = chat(client, logprobs=True, top_logprobs=3, temperature=1.7, top_p=0.9, seed=5)
    entries = whole.choices[0].logprobs.content
    assert len(entries) == whole.usage.completion_tokens == 40
    ids = model.tokenizer.encode(render_chat(ASK))
    token_of = {tuple(model.tokenizer.token_bytes(i)): i for i in range(model.config.vocab_size)}
    drawn = [token_of[tuple(entry.bytes)] for entry in entries]
    logprobs = model(torch.tensor([ids + drawn]))[0, len(ids) - 1 : -1].log_softmax(-1)
    for row, token, entry in zip(logprobs, drawn, entries, strict=True):
        assert entry.logprob == pytest.approx(row[token].item(), abs=1e-9)
        best = row.topk(3)
        assert [token_of[tuple(each.bytes)] for each in entry.top_logprobs] == best.indices.tolist()
        assert [each.logprob for each in entry.top_logprobs] == pytest.approx(best.values.tolist(), abs=1e-9)
    assert any(entry.logprob < entry.top_logprobs[0].logprob - 1e-6 for entry in entries)  # drawn, and not the best
    chunks = chat(client, logprobs=True, top_logprobs=3, temperature=1.7, top_p=0.9, seed=5, stream=True)
    streamed = [entry for chunk in chunks if chunk.choices[0].logprobs for entry in chunk.choices[0].logprobs.content]
    assert streamed == entries
    assert chat(client).choices[0].logprobs is None
    assert chat(client, logprobs=True).choices[0].logprobs.content[0].top_logprobs == []


def test_a_completions_log_probabilities_are_in_columns(client):
    whole = complete(client, logprobs=2, temperature=1.5, seed=3)
    listed, text = whole.choices[0].logprobs, whole.choices[0].text
    columns = (listed.tokens, listed.token_logprobs, listed.top_logprobs, listed.text_offset)
    assert {len(column) for column in columns} == {whole.usage.completion_tokens}
    assert "".join(listed.tokens) == text
    assert [text[at : at + len(token)] for at, token in zip(listed.text_offset, listed.tokens, strict=True)] == listed.tokens
    for token, logprob, best in zip(listed.tokens, listed.token_logprobs, listed.top_logprobs, strict=True):
        assert best[token] == logprob
        assert len(best) == 2 + (logprob < sorted(best.values())[-2])
    assert max(len(best) for best in listed.top_logprobs) == 3
    chunks = [chunk.choices[0].logprobs for chunk in complete(client, logprobs=2, temperature=1.5, seed=3, stream=True)]
    assert [token for chunk in chunks for token in chunk.tokens] == listed.tokens
    assert [at for chunk in chunks for at in chunk.text_offset] == listed.text_offset
    none = complete(client, logprobs=0, max_tokens=3).choices[0].logprobs
    assert [list(best) for best in none.top_logprobs] == [[token] for token in none.tokens]  # the drawn one alone


def test_an_answer_ends_before_a_stop_string_and_all_its_tokens_are_counted(client):
    text = chat(client).choices[0].message.content
    stop = text[len(text) // 2 :][:5]
    before = text[: text.index(stop)]
    answer = chat(client, stop=[stop, "never said"], logprobs=True)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (before, "stop")
    heard = "".join(entry.token for entry in answer.choices[0].logprobs.content)
    assert stop in heard
    assert answer.usage.completion_tokens == len(answer.choices[0].logprobs.content) < 40
    chunks = list(chat(client, stop=stop, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == before


def test_a_seed_gives_the_same_text_whoever_else_is_served(served, client):
    drawn = {"temperature": 1.3, "top_p": 0.95, "max_tokens": 60}
    alone = complete(client, seed=11, **drawn).choices[0].text
    assert complete(client, seed=12, **drawn).choices[0].text != alone
    assert complete(client, **drawn).choices[0].text != complete(client, **drawn).choices[0].text  # no seed: another each time
    with slow(served.core, 0.005):
        busy = [long(client, seed) for seed in LONG[:3]]
        assert complete(client, seed=11, **drawn).choices[0].text == alone
        assert served.core.num_running == 3
        for stream in busy:
            stream.close()


def test_sixteen_at_a_time_get_the_loops_tokens(client):
    prompts = [f"{name}:\n{line}" for name in ("ROMEO", "JULIET", "HAMLET", "Nurse") for line in ("O", "My lord,", "What", "Good night")]
    got: dict[str, str] = {}

    def ask(prompt: str) -> None:
        patient = client.with_options(max_retries=20)  # sixteen do not fit into the queue: a client that gets 429 tries again
        got[prompt] = patient.completions.create(model="tiny", prompt=prompt, temperature=0, max_tokens=12).choices[0].text

    threads = [threading.Thread(target=ask, args=(prompt,)) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    tokenizer = tiny().tokenizer
    assert got == {prompt: tokenizer.decode(by_the_loop(prompt, 12)).removesuffix("<|im_end|>") for prompt in prompts}


def test_prompts_may_be_ids_and_messages_may_be_in_parts(client):
    ids = tiny().tokenizer.encode(TEXT)
    text = complete(client).choices[0].text
    assert [complete(client, prompt=same).choices[0].text for same in (ids, [ids], [TEXT])] == [text] * 3
    parts = [{"type": "text", "text": ASK[0]["content"][:5]}, {"type": "text", "text": ASK[0]["content"][5:]}]
    assert chat(client, messages=[{"role": "user", "content": parts}]).choices[0].message.content == chat(client).choices[0].message.content


def test_the_models_are_listed(client):
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "from-prompt-to-token"
    with pytest.raises(openai.NotFoundError, match="gpt-5"):
        client.models.retrieve("gpt-5")


def test_a_temperature_that_is_almost_nothing_is_none(client):
    assert complete(client, temperature=1e-300, top_p=1e-300).choices[0].text == complete(client).choices[0].text


# Refusals

IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
TOOL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALL = [{"role": "assistant", "content": None, "tool_calls": [TOOL]}]
REFUSED: list[tuple[dict[str, Any], str, str | None]] = [
    ({"temperature": 3}, "temperature", None),
    ({"temperature": "hot"}, "temperature", None),
    ({"temperature": True}, "temperature", None),
    ({"top_p": 0}, "top_p", None),
    ({"max_tokens": 0}, "max_tokens", None),
    ({"n": 0}, "n", None),
    ({"stop": ["a", ""]}, "stop", None),
    ({"stop": list("abcde")}, "stop", None),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs", None),
    ({"seed": 2**70}, "seed", None),
    ({"messages": []}, "messages", None),
    ({"messages": ["hello"]}, "messages[0]", None),
    ({"messages": [*ASK, {"role": "tool", "content": "4"}]}, "messages[1].role", None),
    ({"messages": [{"role": "user"}]}, "messages[0].content", None),
    ({"messages": [{"role": "user", "content": "word " * 4000}]}, "messages", "context_length_exceeded"),
    ({"messages": IMAGE}, "messages[0].content[0]", None),
    ({"messages": CALL}, "messages[0].tool_calls", "unsupported_parameter"),
    ({"messages": [{**ASK[0], "weight": 1}]}, "messages[0].weight", "unsupported_parameter"),
    ({"stream_options": {"continuous_usage_stats": True}}, "stream_options.continuous_usage_stats", "unsupported_parameter"),
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools", "unsupported_parameter"),
    ({"response_format": {"type": "json_object"}}, "response_format", "unsupported_parameter"),
    ({"presence_penalty": 2.01}, "presence_penalty", None),
    ({"frequency_penalty": -3}, "frequency_penalty", None),
    *[({"logit_bias": bias}, "logit_bias", None) for bias in ({"5": 101}, {"-5": 1}, {"99999": 1}, {"5": True}, {"\u0665": 1}, {"5": "1"})],
    *[
        ({"extra_body": {name: value}}, name, "unsupported_parameter")
        for name, value in {
            "grammar": "root ::= x", "structured_outputs": {}, "unheard_of": 1, "prompt": "a",
        }.items()
    ],
    *[
        ({"extra_body": {name: value}}, name, None)
        for name, values in {
            "top_k": (-2, 1.0, True, "40"), "min_p": (-0.1, 1.1, False, "0.1"), "repetition_penalty": (0, 2.1, -1, True),
            "cache_salt": ("", 5), "stop_token_ids": (5, "5", [-1], [99_999], [True], ["5"], [1.0], {"5": 1}), "ignore_eos": (1, 0, "true"),
            "typical_p": (0, 1.1, -0.5, True, "0.9"), "min_tokens": (-1, 41, 1.0, True, "3"),
        }.items() for value in values
    ],
]


def test_each_refusal_names_the_field(served, client):
    before = served.metrics()["fpt_tokens_total{kind=\"completion\"}"]
    for changes, param, code in REFUSED:
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError) as refused:
                chat(client, stream=stream, **changes)
            assert (refused.value.param, refused.value.code) == (param, code), changes
            assert refused.value.type == "invalid_request_error"
            assert refused.value.body["message"]
    for prompt in ("", [], [""], [1, 5000], [True], None):
        with pytest.raises(openai.BadRequestError) as refused:
            complete(client, prompt=prompt)
        assert refused.value.param == "prompt", prompt
    with pytest.raises(openai.NotFoundError) as unknown:
        chat(client, model="gpt-5")
    assert (unknown.value.param, unknown.value.code) == ("model", "model_not_found")
    assert served.metrics()["fpt_tokens_total{kind=\"completion\"}"] == before  # nothing of it reached the engine


def test_a_field_of_the_other_kind_of_request_is_refused(client):
    for ask, body in (
        *((complete, {"messages": value}) for value in (ASK, False)),
        *((complete, {"top_logprobs": value}) for value in (3, 0, False)),
        *((chat, {"prompt": value}) for value in ("a", False)),
        *((chat, {"echo": value}) for value in (True, 0)),
    ):
        with pytest.raises(openai.BadRequestError) as refused:
            ask(client, extra_body=body)
        (name,) = body
        assert (refused.value.param, refused.value.code) == (name, "unsupported_parameter"), body


def test_more_tokens_than_there_is_room_for_are_as_many_as_there_is_room_for(served, client):
    tokenizer, max_len = served.server.served.tokenizer, served.server.served.max_len
    prompt = tokenizer.encode(TEXT)
    prompt = (prompt * max_len)[: max_len - 3]
    exact, more = (complete(client, prompt=prompt, max_tokens=n, temperature=0) for n in (3, 100_000))
    assert more.usage.completion_tokens == exact.usage.completion_tokens <= 3
    assert more.choices[0].text == exact.choices[0].text


def test_what_clients_send_to_ask_for_nothing_is_taken(client):
    plain = complete(client, max_tokens=4, temperature=0).choices[0].text
    assert complete(client, max_tokens=4, temperature=0, stop=[]).choices[0].text == plain
    assert complete(client, temperature=0, extra_body={"max_completion_tokens": 4}).choices[0].text == plain
    again = [*ASK, {"role": "assistant", "content": None, "refusal": None, "tool_calls": None, "annotations": []}, *ASK]
    assert chat(client, messages=again, max_tokens=4, temperature=0).choices[0].finish_reason in ("stop", "length")


@pytest.mark.parametrize(
    "body", [{"content": "a", "with_pieces": True}, {"prompt": "a", "return_token_strs": True}, {"tokens": [5], "text": "a"}]
)
def test_a_field_that_would_change_a_count_is_refused(served, body):
    *_, name = body
    got = httpx.post(f"{served.base}/{'detokenize' if 'tokens' in body else 'tokenize'}", json=body)
    assert (got.status_code, got.json()["error"]["param"]) == (400, name)


def test_a_request_that_leaves_temperature_out_gets_the_models(served, client, monkeypatch):
    seen = []

    def noted(body, **more):
        seen.append((body.get("temperature"), body.get("top_p")))
        return serving.parse_params(body, **more)

    monkeypatch.setattr(served.server, "parts", replace(served.server.parts, parse_params=noted))
    monkeypatch.setattr(served.server, "served", replace(served.server.served, defaults={"temperature": 0.2, "top_p": 0.9}))
    for given in ({"temperature": None}, {"temperature": 1}, {"top_p": 0.5, "temperature": None}):
        complete(client, max_tokens=1, **given)
    assert seen == [(0.2, 0.9), (1, 0.9), (0.2, 0.5)]


def test_the_defaults_are_those_that_the_models_makers_advise(tmp_path):
    assert sampling_defaults("smollm2") == {"temperature": 0.2, "top_p": 0.9}
    assert sampling_defaults("tiny") == sampling_defaults(str(tmp_path)) == {}
    advice = {"temperature": 0.6, "top_p": 0, "top_k": 20}
    (tmp_path / "generation_config.json").write_text(json.dumps(advice))
    assert sampling_defaults(str(tmp_path)) == {"temperature": 0.6}
    for damaged in ("[", "[1]", '{"temperature": "hot"}', '{"temperature": NaN}', '{"temperature": true}'):
        (tmp_path / "generation_config.json").write_text(damaged)
        assert sampling_defaults(str(tmp_path)) == {}


def test_a_token_of_no_probability_has_a_logprob_that_json_can_hold():
    token = TokenOutput("a", 5, -0.5, ((5, -0.5), (6, -math.inf)))
    for chat_answer in (True, False):
        answer = Answer("a", 0, "tiny", chat_answer, load_tokenizer("tiny"), SamplingParams(max_tokens=1, logprobs=2), 1)
        assert "-9999.0" in json.dumps(answer.whole([Piece("x", [token], "stop")]), allow_nan=False)


def raw(served: Running, data: bytes) -> bytes:
    """What comes for these bytes until the server closes, or ten seconds have gone by."""
    host, port = served.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(data)
        got = b""
        while piece := connection.recv(65536):
            got += piece
        return got


def post(body: bytes, length: int | None = None) -> bytes:
    length = len(body) if length is None else length
    head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + body


def test_a_refusal_does_not_send_a_long_request_back(served):
    body = raw(served, post(json.dumps({"prompt": TEXT, "stop": {"x" * 500_000: 1}}).encode())).partition(b"\r\n\r\n")[2]
    assert json.loads(body)["error"]["param"] == "stop"
    assert len(body) < 1_000


def test_a_number_of_thousands_of_digits_is_named(served):
    body = raw(served, post(b'{"prompt": "a", "seed": ' + b"9" * 5_000 + b"}")).partition(b"\r\n\r\n")[2]
    assert json.loads(body)["error"]["message"] == "a number in the body has too many digits"


def test_what_no_tokens_could_hold_is_refused_without_counting_them(served, client, monkeypatch):
    tokenizer = served.server.served.tokenizer
    text = "7" * (served.server.served.max_len * tokenizer.longest + 1)
    monkeypatch.setattr(type(tokenizer), "encode", lambda *_: pytest.fail("it was encoded"))
    for ask in (lambda: complete(client, prompt=text), lambda: chat(client, messages=[{"role": "user", "content": text}])):
        with pytest.raises(openai.BadRequestError, match="bytes, which are more than") as refused:
            ask()
        assert refused.value.code == "context_length_exceeded"


def test_while_a_long_text_is_encoded_others_go_on():
    tokenizer, turns, over = load_tokenizer("smollm2"), [0], threading.Event()

    def others() -> None:
        while not over.wait(0.001):
            turns[0] += 1

    other = threading.Thread(target=others)
    other.start()
    try:
        before = turns[0]
        ids = tokenizer.encode("7" * 300_000)
        during = turns[0] - before
    finally:
        over.set()
        other.join()
    assert ids == tokenizer.encode("7") * 300_000
    assert during >= 20  # where nobody else may run, it is one or none


def test_half_a_request_is_not_kept(served, client, monkeypatch):
    monkeypatch.setattr(running_server, "HEAD_SECONDS", 0.3)
    assert raw(served, b"POST /v1/completions HTTP/1.1\r\nHost: 127.") == b""
    assert raw(served, b"") == b""
    with complete(client, stream=True, max_tokens=200) as stream:  # an answer takes the time that it takes
        assert sum(1 for _ in stream) > 50
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.3)
    answer = raw(served, post(b'{"prompt": ', length=500))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"request_timeout"' in answer.replace(b" ", b"")


def test_only_requests_of_one_salt_share_the_cache(served, client):
    text = "HAMLET:\n" + "the rest is silence, " * 12  # nobody else here asks for it

    def cached(salt: str | None) -> float:
        before = served.metrics()["fpt_cached_tokens_total"]
        complete(client, prompt=text, max_tokens=2, extra_body={} if salt is None else {"cache_salt": salt})
        return served.metrics()["fpt_cached_tokens_total"] - before

    assert cached("ada") == 0
    assert cached("ada") > 0
    assert cached("bob") == 0
    assert cached(None) == 0
    assert cached(None) == cached("bob") > 0
    assert served.core.extras == {}


EOS, STOP = str(load_tokenizer("tiny").eos_token_id), 201  # a newline, the fifth token of the greedy answer to TEXT
SETTINGS: list[dict[str, Any]] = [
    {"repetition_penalty": 1.3}, {"repetition_penalty": 0.6}, {"presence_penalty": 1.5}, {"frequency_penalty": 0.7},
    {"presence_penalty": -2, "frequency_penalty": -0.1}, {"logit_bias": {"12": 100}}, {"logit_bias": {"33": -100, "300": 2.5}},
    {"logit_bias": {"40": 3}, "repetition_penalty": 1.1, "frequency_penalty": 0.4},
    {"logit_bias": {EOS: 9}}, {"logit_bias": {EOS: 9}, "ignore_eos": True}, {"logit_bias": {EOS: 9}, "min_tokens": 17},
    {"logit_bias": {EOS: 9}, "min_tokens": 17, "ignore_eos": True}, {"stop_token_ids": [STOP, 1000]},
    {"stop_token_ids": [STOP], "min_tokens": 12}, {"stop_token_ids": [STOP], "min_tokens": 24},
    {"logit_bias": {EOS: 100}, "ignore_eos": True, "stop_token_ids": [int(EOS)], "min_tokens": 9, "frequency_penalty": 1},
]  # fmt: skip


def by_definition(text: str, new: int, settings: dict[str, Any]) -> list[int]:
    """The greedy answer with bias, penalties and ends, as docs/serving.md defines them, one logit after another."""
    model = tiny()
    prompt, said = model.tokenizer.encode(text), []
    stops = settings.get("stop_token_ids", [])
    ends = stops if settings.get("ignore_eos") else [*stops, int(EOS)]
    while len(said) < new and not {*ends} & {*said}:
        logits = model(torch.tensor([prompt + said]))[0, -1].tolist()
        if len(said) < settings.get("min_tokens", 0):
            for token in (int(EOS), *stops):
                logits[token] = -math.inf
        for token, bias in settings.get("logit_bias", {}).items():
            logits[int(token)] += bias
        for token in {*prompt, *said}:
            factor = settings.get("repetition_penalty", 1)
            logits[token] = logits[token] / factor if logits[token] > 0 else logits[token] * factor
        for token in set(said):
            logits[token] -= settings.get("presence_penalty", 0) + settings.get("frequency_penalty", 0) * said.count(token)
        said.append(max(range(len(logits)), key=logits.__getitem__))
    return said


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_bias_and_penalties_do_what_their_definitions_say(client, settings):
    text, new = TEXT, 24
    want = by_definition(text, new, settings)
    shown = [token for token in want if token not in (int(EOS), *settings.get("stop_token_ids", []))]
    given = complete(client, prompt=text, max_tokens=new, extra_body=settings, logprobs=0)
    assert given.choices[0].text == tiny().tokenizer.decode(shown)
    assert given.usage.completion_tokens == len(want) == len(given.choices[0].logprobs.tokens)
    ends = [*settings.get("stop_token_ids", []), *([] if settings.get("ignore_eos") else [int(EOS)])]
    assert given.choices[0].finish_reason == ("stop" if want[-1] in ends else "length")
    chunks = complete(client, prompt=text, max_tokens=new, extra_body=settings, stream=True)
    assert "".join(chunk.choices[0].text for chunk in chunks) == given.choices[0].text


def test_a_stop_token_ends_a_chat_and_gives_out_what_was_held(served, client):
    """The answer ends after the beginning of a stop string, which then is no beginning of one."""
    whole = chat(client, logprobs=True).choices[0]
    tokens = [entry.token for entry in whole.logprobs.content]
    end = next(i for i in range(5, 40) if tokens[i] not in tokens[:i])
    stop, before = tiny().tokenizer.encode(tokens[end])[0], "".join(tokens[:end])
    assert [stop] == tiny().tokenizer.encode(tokens[end])
    for settings in ({}, {"stop": before[-2:] + "never"}):
        answer = chat(client, extra_body={"stop_token_ids": [stop]}, logprobs=True, **settings)
        assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (before, "stop")
        assert answer.usage.completion_tokens == len(answer.choices[0].logprobs.content) == end + 1
    assert served.core.extras == {}


def test_min_tokens_may_be_all_there_is_room_for(client):
    answer = chat(client, max_tokens=20, extra_body={"min_tokens": 20, "logit_bias": {EOS: 100}})
    assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (20, "length")
    with pytest.raises(openai.BadRequestError, match="min_tokens is 17, more than the answer's limit of 16 tokens"):
        complete(client, max_tokens=None, extra_body={"min_tokens": 17})


def test_a_drawn_answer_that_ignores_eos_is_as_long_as_asked(client):
    """Bias makes EOS so probable that an answer of 60 tokens without it is unlikely."""
    settings = {"seed": 5, "temperature": 0.7, "max_tokens": 60, "logprobs": 0}
    body = {"logit_bias": {EOS: 8}}
    said = [complete(client, extra_body={**body, **more}, **settings).choices[0] for more in ({}, {"ignore_eos": True}, {"min_tokens": 60})]
    counts = [[token == "<|im_end|>" for token in choice.logprobs.tokens] for choice in said]
    assert [len(each) for each in counts][1:] == [60, 60]
    assert len(counts[0]) < 60
    assert sum(counts[1]) > 1
    assert sum(counts[2]) == 0
    assert "im_end" not in said[1].text


def test_no_two_of_these_settings_are_one():
    said = [tuple(by_definition(TEXT, 24, settings)) for settings in ({}, *SETTINGS)]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("settings", [{"top_k": 1}, {"min_p": 1}, {"min_p": 1.0, "top_k": 50}])
def test_a_filter_that_leaves_one_token_gives_the_greedy_answer(client, settings):
    greedy = complete(client).choices[0].text
    for seed in range(3):
        assert complete(client, temperature=2, seed=seed, extra_body=settings).choices[0].text == greedy


def test_top_k_and_min_p_leave_the_most_probable_tokens_only(client):
    hot = {"temperature": 2, "max_tokens": 60, "logprobs": 5}
    free = complete(client, seed=1, **hot).choices[0].logprobs
    for settings, holds in (
        ({"top_k": 3}, lambda logprob, best: logprob >= sorted(best.values())[-3]),
        ({"min_p": 0.5}, lambda logprob, best: (logprob - max(best.values())) / 2 >= math.log(0.5) - 1e-6),  # at temperature 2
    ):
        kept = complete(client, seed=1, extra_body=settings, **hot).choices[0].logprobs
        pairs = list(zip(kept.token_logprobs, kept.top_logprobs, strict=True))
        assert len(pairs) > 20
        assert all(holds(*pair) for pair in pairs)
        assert not all(holds(*pair) for pair in zip(free.token_logprobs, free.top_logprobs, strict=True))


def test_typical_tokens_only_are_drawn(client):
    """A small mass leaves one token: the one whose surprisal is nearest to the entropy, which often is not the most probable one."""
    model = tiny()
    prompt, said = model.tokenizer.encode(TEXT), []
    for _ in range(12):
        logprobs = model(torch.tensor([prompt + said]))[0, -1].log_softmax(-1)
        entropy = -(logprobs.exp() * logprobs).sum()
        said.append(int((-logprobs - entropy).abs().argmin()))
    answer = complete(client, temperature=1, max_tokens=12, extra_body={"typical_p": 1e-6, "ignore_eos": True}).choices[0].text
    assert answer == model.tokenizer.decode(said).replace("<|im_end|>", "")
    assert answer != complete(client, max_tokens=12).choices[0].text


def test_settings_are_those_of_one_request(served, client):
    plain = complete(client).choices[0].text
    with ThreadPoolExecutor(4) as people:
        bodies = [{"logit_bias": {"12": 100}}, {}, {"repetition_penalty": 1.3}, {}]
        said = list(people.map(lambda body: complete(served.client(), extra_body=body).choices[0].text, bodies))
    assert said[1] == said[3] == plain
    assert len({*said}) == 3
    assert served.core.extras == {}


def test_texts_and_tokens_are_counted_as_the_answers_usage_counts_them(served, client):
    def count(**body: Any) -> dict[str, Any]:
        return httpx.post(f"{served.base}/tokenize", json=body).json()

    ids = tiny().tokenizer.encode(TEXT)
    room = served.server.served.max_len
    assert count(prompt=TEXT) == count(content=TEXT) == count(prompt=ids) == {"tokens": ids, "count": len(ids), "max_model_len": room}
    assert count(prompt=TEXT)["count"] == complete(client, max_tokens=1).usage.prompt_tokens
    assert count(messages=ASK)["count"] == chat(client, max_tokens=1).usage.prompt_tokens
    assert count(messages=ASK)["tokens"] == tiny().tokenizer.encode(render_chat(ASK))
    there = httpx.post(f"{served.base}/detokenize", json={"tokens": ids}).json()
    assert there == {"prompt": TEXT, "content": TEXT}


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("tokenize", {}, "prompt"), ("tokenize", {"prompt": "a", "content": "a"}, "content"), ("tokenize", {"prompt": ""}, "prompt"),
        ("tokenize", {"messages": [{"role": "user"}]}, "messages[0].content"), ("tokenize", {"prompt": "word " * 4000}, "prompt"),
        ("detokenize", {}, "tokens"), ("detokenize", {"tokens": [-1]}, "tokens"), ("detokenize", {"tokens": [99_999]}, "tokens"),
        ("detokenize", {"tokens": [True]}, "tokens"), ("detokenize", {"tokens": "12"}, "tokens"),
    ],
)  # fmt: skip
def test_a_wrong_count_is_refused_in_openais_form(served, path, body, param):
    answer = httpx.post(f"{served.base}/{path}", json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_a_salt_that_is_none_is_refused(client):
    for salt in ("", 5, ["a"]):
        with pytest.raises(openai.BadRequestError) as refused:
            complete(client, extra_body={"cache_salt": salt})
        assert refused.value.param == "cache_salt"


def test_what_others_asked_is_reported_on_this_machine_only(served):
    async def metrics(host: str) -> int:
        transport = httpx.ASGITransport(app=served.server.app, client=(host, 50_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as there:
            return (await there.get("/metrics")).status_code

    assert [asyncio.run(metrics(host)) for host in ("127.0.0.1", "::1", "10.0.0.7", "2001:db8::7")] == [200, 200, 403, 403]


def test_what_asks_for_nothing_is_taken(client):
    nothing = {"tools": [], "n": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "response_format": {"type": "text"}, "user": "me"}
    same = {"unheard_of": None, "top_k": -1, "min_p": 0, "repetition_penalty": 1.0}
    same |= {"ignore_eos": False, "stop_token_ids": [], "min_tokens": 0, "typical_p": 1}
    assert chat(client, **nothing, extra_body=same).choices[0].message.content == chat(client).choices[0].message.content


def test_a_developers_message_is_a_systems(client):
    def said(role: str) -> str:
        return chat(client, messages=[{"role": role, "content": "Speak of kings."}, *ASK]).choices[0].message.content

    assert said("developer") == said("system")


def test_an_invalid_request_is_refused_in_openais_form(served):
    url = f"{served.base}/v1/chat/completions"
    deep = b"[" * 100_000
    half = json.dumps({"messages": [{"role": "user", "content": "a\ud800"}]}).encode()
    for answer, status, code in (
        (httpx.post(url, content=b"{"), 400, None),
        (httpx.post(url, content=b"\xff\xfe"), 400, None),
        (httpx.post(url, content=b""), 400, None),
        (httpx.post(url, content=b"[1]"), 400, None),
        (httpx.post(url, content=deep), 400, None),
        (httpx.post(url, content=half), 400, None),
        (httpx.post(url, content=b" " * 1_000_001), 413, "request_too_large"),
        (httpx.post(url, content=iter([b" " * 400_000] * 4)), 413, "request_too_large"),
        (httpx.get(url), 405, "unknown_url"),
        (httpx.delete(f"{served.base}/v1/models"), 405, "unknown_url"),
        (httpx.get(f"{served.base}/v1/embeddings"), 404, "unknown_url"),
        (httpx.post(url, json={"messages": ASK}, headers={"Sec-Fetch-Site": "cross-site"}), 403, "cross_site"),
        (httpx.post(url, json={"messages": ASK}, headers={"Origin": "http://evil.example"}), 403, "cross_site"),
        (httpx.get(f"{served.base}/v1/models", headers={"Origin": "null"}), 403, "cross_site"),
    ):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["type"]) == (status, code, "invalid_request_error")
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"]
    assert httpx.get(url).headers["allow"] == "POST"


def test_a_page_that_calls_this_machine_by_a_name_of_its_own_is_refused(served):
    """DNS rebinding: the browser takes the server for that page's site, and sends its name as Host."""
    port = served.base.rpartition(":")[2]
    for path in ("/", "/health", "/metrics", "/v1/models"):
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "[::2]:1", ""):
            answer = httpx.get(f"{served.base}{path}", headers={"Host": host})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "unknown_host"), (path, host)
        for host in (f"127.0.0.1:{port}", "127.0.0.1", f"LocalHost:{port}", f"[::1]:{port}"):
            assert httpx.get(f"{served.base}{path}", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200


def test_a_refused_request_for_an_answer_is_counted(served):
    refused = 'fpt_requests_total{status="403"}'
    before = served.metrics().get(refused, 0)
    for header in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        assert httpx.post(f"{served.base}/v1/completions", json={"prompt": "O"}, headers=header).status_code == 403
        assert httpx.get(f"{served.base}/v1/models", headers=header).status_code == 403  # asks for no answer
    assert served.metrics()[refused] == before + 2


def test_without_the_key_nobody_is_answered_but_health_and_the_page(served):
    with running(tiny(), key="sesame") as locked:
        body = {"prompt": "O", "max_tokens": 1}
        for wrong in ({}, *({"Authorization": value} for value in (
            "", "Bearer", "Bearer sesam", "Bearer sesame2", "Bearer Sesame", "sesame", "Basic sesame", "Bearer sesame sesame",
            "Bearer \u00e9", "Bearer none, Bearer sesame",
        ))):  # fmt: skip
            headers = {name: value.encode("latin-1") for name, value in wrong.items()}
            for method, path in (
                ("POST", "/v1/completions"), ("POST", "/v1/chat/completions"), ("GET", "/v1/models"), ("GET", "/v1/models/tiny"),
                ("POST", "/tokenize"), ("POST", "/detokenize"), ("GET", "/v1/nowhere"), ("GET", "/v1/completions"),
            ):
                answer = httpx.request(method, f"{locked.base}{path}", headers=headers, json=body if method == "POST" else None)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), (wrong, path)
                assert answer.json()["error"]["code"] == "invalid_api_key"
                assert answer.json()["error"]["type"] == "invalid_request_error"
        for path in ("/", "/health", "/version", "/metrics"):
            assert httpx.get(f"{locked.base}{path}").status_code == 200
        for right in ("Bearer sesame", "bearer  sesame"):
            assert httpx.post(f"{locked.base}/v1/completions", headers={"Authorization": right}, json=body).status_code == 200
        with pytest.raises(openai.AuthenticationError):
            chat(locked.client())
        refused = locked.metrics()['fpt_requests_total{status="401"}']
        assert refused == 2 * 11 + 1  # requests for an answer: two addresses without the right key, and the client's
        opened = locked.client(api_key="sesame")
        assert chat(opened).choices[0].message.content == chat(served.client()).choices[0].message.content
        assert len(list(chat(opened, stream=True))) > 10
        assert httpx.get(f"{locked.base}/health", headers={"Host": "evil.example"}).json()["error"]["code"] == "unknown_host"


def test_the_pages_of_a_site_that_is_named_may_use_the_server(served):
    site, other = "https://app.example", "http://localhost:3000"
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang"}
    body = {"prompt": "O", "max_tokens": 2, "temperature": 0}
    with running(tiny(), key="sesame", origins=(site, other)) as it:
        url = f"{it.base}/v1/completions"
        for origin in (site, other):
            asked = httpx.options(url, headers={"Origin": origin, **asks})  # a browser sends no key with it
            assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, origin)
            assert "POST" in asked.headers["access-control-allow-methods"]
            assert "access-control-allow-credentials" not in asked.headers
            allowed = {name.strip().lower() for name in asked.headers["access-control-allow-headers"].split(",")}
            assert {"authorization", "content-type", "x-stainless-lang"} <= allowed
            browser_headers = {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Authorization": "Bearer sesame"}
            for stream in (False, True):
                answer = httpx.post(url, json={**body, "stream": stream}, headers=browser_headers)
                assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
            refused = httpx.post(url, json=body, headers={"Origin": origin})
            assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, origin)  # the page can read why
            renamed = httpx.post(url, json=body, headers={**browser_headers, "Host": "evil.example"})
            assert renamed.json()["error"]["code"] == "unknown_host"
        for origin in ("https://evil.example", f"{site}.evil.example", "http://app.example", "null", f"{site}:8443"):
            for answer in (
                httpx.options(url, headers={"Origin": origin, **asks}),
                httpx.post(url, json=body, headers={"Origin": origin, "Authorization": "Bearer sesame"}),
            ):
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross_site"), origin
                assert "access-control-allow-origin" not in answer.headers
        own = httpx.post(url, json=body, headers={"Origin": it.base, "Authorization": "Bearer sesame"})
        assert (own.status_code, own.json()["object"]) == (200, "text_completion")
    plain = httpx.options(f"{served.base}/v1/completions", headers={"Origin": site, **asks})
    assert (plain.status_code, plain.json()["error"]["code"]) == (403, "cross_site")


@pytest.mark.parametrize("key", ["", " ", "two words", "tab\t", "caf\u00e9", "line\n"])
def test_a_key_that_no_header_can_hold_is_refused(key):
    with pytest.raises(ValueError, match="must be ASCII characters without spaces"):
        Access(key=key)


def test_one_megabyte_is_read(served):
    body = json.dumps({"messages": ASK, "max_tokens": 1, "temperature": 0}).encode()
    answer = httpx.post(f"{served.base}/v1/chat/completions", content=body + b" " * (1_000_000 - len(body)))
    assert answer.status_code == 200


# Coming and going


LONG = (0, 1, 3, 4)
"""Seeds with which the prompt of `long` is answered by 1000 tokens and no EOS."""


def long(client: openai.OpenAI, seed: int) -> Any:
    """A stream that has begun and goes on for a while."""
    stream = client.completions.create(model="tiny", prompt="O", max_tokens=1000, temperature=1.0, seed=seed, stream=True)
    next(stream)
    return stream


def test_a_stream_that_is_closed_frees_its_request(served, client):
    free, before = served.core.num_free_blocks, served.metrics()
    with slow(served.core):
        stream = long(client, LONG[0])
        assert served.core.num_running == 1
        assert served.core.num_free_blocks < free
        stream.close()
        assert served.at_rest() == (0, 0, free)
    after = served.metrics()
    assert after["fpt_aborted_total"] == before["fpt_aborted_total"] + 1
    made = after['fpt_tokens_total{kind="completion"}'] - before['fpt_tokens_total{kind="completion"}']
    assert made < 1000
    assert served.server.engine.queues == {}


def test_whoever_leaves_before_the_first_token_does_not_wait_on(served, client):
    left = 'fpt_requests_total{status="499"}'
    before = served.metrics().get(left, 0)
    with slow(served.core):
        busy = [long(client, seed) for seed in LONG]
        for stream in (True, False):
            body = {"prompt": "O", "max_tokens": 5, "stream": stream}
            with pytest.raises(httpx.ReadTimeout), httpx.Client(timeout=0.3) as impatient:
                impatient.post(f"{served.base}/v1/completions", json=body)
            until = time.monotonic() + 5
            while len(served.server.engine.queues) > 4 and time.monotonic() < until:
                time.sleep(0.01)
            served.settle()
            assert (served.core.num_waiting, served.core.num_running) == (0, 4)
            assert len(served.server.engine.queues) == 4
        for each in busy:
            each.close()
    served.at_rest()
    assert served.metrics()[left] == before + 2


def test_an_answer_that_is_not_streamed_ends_when_its_client_leaves(served, client):
    free = served.core.num_free_blocks
    with slow(served.core):
        body = {"prompt": "O", "max_tokens": 1000, "seed": LONG[0]}
        with pytest.raises(httpx.ReadTimeout), httpx.Client(timeout=0.5) as impatient:
            impatient.post(f"{served.base}/v1/completions", json=body)
        assert served.at_rest(5) == (0, 0, free)


def test_over_the_limit_a_client_has_to_come_later():
    with running(tiny(), rows=2, waiting=3) as small, slow(small.core):
        client = small.client()
        busy = [long(client, seed) for seed in LONG[:2]]
        outcomes: list[Any] = []

        def ask(seed: int) -> None:
            outcomes.append(complete(client, seed=seed, max_tokens=4).usage.completion_tokens)

        waits = [threading.Thread(target=ask, args=(seed,)) for seed in range(3)]
        for thread in waits:
            thread.start()
        until = time.monotonic() + 10
        while small.core.num_waiting < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert (small.core.num_running, small.core.num_waiting) == (2, 3)
        for stream in (False, True):
            with pytest.raises(openai.RateLimitError) as refused:
                complete(client, stream=stream)
            assert (refused.value.code, refused.value.type) == ("queue_full", "rate_limit_error")
            assert refused.value.response.headers["retry-after"] == "1"
        for each in busy:
            each.close()
        for thread in waits:
            thread.join(60)
        assert outcomes == [4, 4, 4]
        assert small.metrics()['fpt_requests_total{status="429"}'] == 2


def test_a_step_that_fails_is_a_500_and_the_next_request_is_answered(served, client, monkeypatch, capfd):
    forward, fail = served.core._serving._forward, threading.Event()

    def failing(*arguments: Any) -> Any:
        if fail.is_set():
            fail.clear()
            raise RuntimeError("the weights have gone")
        return forward(*arguments)

    monkeypatch.setattr(served.core._serving, "_forward", failing)
    before = chat(client).choices[0].message.content
    free = served.core.num_free_blocks
    stream = long(client, LONG[0])
    fail.set()
    with pytest.raises(openai.APIError, match="the engine failed: RuntimeError") as streamed:
        list(stream)
    assert (streamed.value.code, streamed.value.type) == ("engine_failed", "server_error")
    assert served.at_rest() == (0, 0, free)
    fail.set()
    with pytest.raises(openai.InternalServerError, match="the engine failed") as whole:
        chat(client)
    assert "the weights" not in str(whole.value.body)  # for whoever runs the server, and nobody else
    monkeypatch.setattr(served.core._serving, "_forward", forward)
    assert "the weights have gone" in capfd.readouterr().err
    assert chat(client).choices[0].message.content == before


def test_a_nan_is_the_error_of_one_request(served, client, monkeypatch):
    """The marked prompt's row of logits is NaN in each step; the same step gives all other requests their tokens."""
    forward, mark = served.core._serving._forward, tiny().tokenizer.encode("NAN")
    prompt, free = "NAN" + TEXT, served.core.num_free_blocks

    def failing(flat: Any, sequences: Any) -> Any:
        logits = forward(flat, sequences)
        for row, start in enumerate(flat.bounds[:-1]):
            if flat.ids[0, start : start + len(mark)].tolist() == mark:
                logits[row, 7] = math.nan
        return logits

    with slow(served.core, 0.005):
        monkeypatch.setattr(served.core._serving, "_forward", failing)
        want = complete(client, seed=LONG[0], prompt="O", temperature=1, max_tokens=200).choices[0].text
        other = long(client, LONG[0])
        with pytest.raises(openai.InternalServerError, match="the engine failed: ModelError") as whole:
            complete(client, prompt=prompt)
        assert (whole.value.code, whole.value.type) == ("engine_failed", "server_error")
        said = "".join(chunk.choices[0].text for _, chunk in zip(range(150), other, strict=False))
        other.close()
    assert said[:100] in want  # `long` has read the first piece
    assert len(said) > 100
    assert served.at_rest() == (0, 0, free)


def test_a_nan_in_the_middle_of_a_stream_is_an_event(served, client, monkeypatch):
    forward, steps = served.core._serving._forward, iter(range(1000))
    want = [chunk.choices[0].text for chunk in complete(client, stream=True)]

    def failing(*arguments: Any) -> Any:
        return forward(*arguments) * (math.nan if next(steps) == 10 else 1)

    monkeypatch.setattr(served.core._serving, "_forward", failing)
    body = {"prompt": TEXT, "stream": True, **GREEDY}
    *events, last, _ = httpx.post(f"{served.base}/v1/completions", json=body).text.split("\n\n")
    said = [json.loads(event.removeprefix("data: "))["choices"][0]["text"] for event in events]
    assert said == want[: len(said)]
    assert len(said) > 5
    error = {"message": "the engine failed: ModelError", "type": "server_error", "param": None, "code": "engine_failed"}
    assert json.loads(last.removeprefix("data: ")) == {"error": error}
    assert complete(client).choices[0].text == "".join(want)


def test_health_and_metrics(served, client):
    assert httpx.get(f"{served.base}/health").json() == {"status": "ok"}
    served.at_rest()
    before = served.metrics()
    chat(client, max_tokens=7)
    list(complete(client, max_tokens=5, stream=True))
    with pytest.raises(openai.BadRequestError):
        chat(client, n=0)
    after = served.metrics()
    gained = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    prompt = len(tiny().tokenizer.encode(render_chat(ASK))) + len(tiny().tokenizer.encode(TEXT))
    counts = {name: n for name, n in gained.items() if not name.endswith("_sum") and "_bucket" not in name and "cached" not in name}
    assert counts == {
        'fpt_requests_total{status="200"}': 2, 'fpt_requests_total{status="400"}': 1, 'fpt_tokens_total{kind="prompt"}': prompt,
        'fpt_tokens_total{kind="completion"}': 12, "fpt_ttft_seconds_count": 2, "fpt_itl_seconds_count": 10,
    }  # fmt: skip
    families = {family.name: family.type for family in text_string_to_metric_families(httpx.get(f"{served.base}/metrics").text)}
    assert families == {
        "fpt_requests": "counter", "fpt_tokens": "counter", "fpt_aborted": "counter", "fpt_cached_tokens": "counter",
        "fpt_ttft_seconds": "histogram", "fpt_itl_seconds": "histogram", "fpt_num_running": "gauge", "fpt_num_waiting": "gauge",
        "fpt_free_blocks": "gauge",
    }  # fmt: skip


def test_tokens_that_lie_in_the_cache_already_are_counted(served, client):
    """A text that is new, the same one again, and one that begins like it: whole blocks of 16 tokens, but for the last token."""
    text = "Enter three judges, who have never been asked a thing like this before, and sit down; after them, six doctors of law."
    known = (len(tiny().tokenizer.encode(text)) - 1) // 16 * 16
    assert known >= 32
    for prompt, found in ((text, 0), (text, known), (f"{text} Exit one.", known)):
        served.at_rest()
        before = served.metrics()["fpt_cached_tokens_total"]
        usage = complete(client, prompt=prompt, max_tokens=2).usage
        assert served.metrics()["fpt_cached_tokens_total"] - before == usage.prompt_tokens_details.cached_tokens == found
    streamed = list(complete(client, prompt=text, max_tokens=2, stream=True, stream_options={"include_usage": True}))
    assert streamed[-1].usage.prompt_tokens_details.cached_tokens == known
    assert served.core.reports == {}


@contextmanager
def asked_from_elsewhere(access: Access = ANYBODY) -> Iterator[Callable[..., dict[str, Any]]]:
    """A function that asks a server from another machine's address, with these headers and this body; it returns the answer's JSON."""
    chosen = choose(tiny(), "auto", rows=1, max_len=None, threads=1)
    core = EngineCore(chosen, threads=1)
    described = Served("tiny", chosen.tokenizer, chosen.config.vocab_size, chosen.max_len, version="1")

    async def ask(host: str, headers: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
        server = Server(core, parts({}), described, max_waiting=4, access=access)
        transport = httpx.ASGITransport(app=server.app, client=(host, 50_000))
        async with server.lifespan(server.app), httpx.AsyncClient(transport=transport, base_url="http://10.0.0.1") as there:
            return (await there.post("/v1/completions", json={"max_tokens": 1, "temperature": 0, **body}, headers=headers)).json()

    try:
        yield lambda host, headers=None, **body: asyncio.run(ask(host, headers or {}, body))
    finally:
        core.close()


def test_a_count_of_cached_tokens_tells_other_machines_only_of_their_own_salt():
    text = "HAMLET:\n" + "the rest is silence, " * 12
    with asked_from_elsewhere() as ask:
        assert ask("127.0.0.1", prompt=text)["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
        assert ask("::1", prompt=text)["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
        assert "prompt_tokens_details" not in ask("10.0.0.7", prompt=text)["usage"]
        assert "prompt_tokens_details" not in ask("10.0.0.7", {"X-Forwarded-For": "127.0.0.1"}, prompt=text)["usage"]
        found = [ask("10.0.0.7", prompt=text, cache_salt="ada")["usage"]["prompt_tokens_details"]["cached_tokens"] for _ in range(2)]
        assert found[0] == 0 < found[1]


def test_behind_a_router_the_client_is_where_the_router_says():
    with asked_from_elsewhere(Access(routed=True)) as ask:
        for address, detailed in (("127.0.0.1", True), ("10.0.0.7", False), ("2001:db8::7", False)):
            usage = ask("127.0.0.1", {"X-Forwarded-For": address}, prompt=TEXT)["usage"]
            assert ("prompt_tokens_details" in usage) == detailed, address


def test_the_version_is_the_courses(served):
    assert httpx.get(f"{served.base}/version").json() == {"version": __version__}


def test_a_stream_says_what_it_is(served):
    with httpx.stream("POST", f"{served.base}/v1/completions", json={"prompt": "O", "max_tokens": 3, "stream": True}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-cache", "no")
        assert answer.read().endswith(b"data: [DONE]\n\n")


# The real model


@pytest.mark.slow
@pytest.mark.skipif(not paths.SMOLLM2.exists(), reason="SmolLM2's file is not here: make model")
def test_smollm2_knows_the_capital_of_france():
    """In float32. From the file's own blocks of 4 bits, the two best first tokens of this answer change places."""
    with running(load_model("smollm2"), rows=2, max_len=256) as it:
        client, ask = it.client(), [{"role": "user", "content": "What is the capital of France?"}]
        answer = client.chat.completions.create(model="smollm2", messages=ask, temperature=0, max_tokens=24)
        assert answer.choices[0].message.content == "The capital of France is Paris."
        assert (answer.choices[0].finish_reason, answer.usage.prompt_tokens, answer.usage.completion_tokens) == ("stop", 37, 8)
        stopped = client.chat.completions.create(model="smollm2", messages=ask, temperature=0, max_tokens=24, stop="Paris")
        assert (stopped.choices[0].message.content, stopped.choices[0].finish_reason) == ("The capital of France is ", "stop")
        music: dict[str, Any] = {"model": "smollm2", "prompt": "🎻🎺", "temperature": 0, "max_tokens": 12, "logprobs": 1}
        emoji = client.completions.create(**music)
        assert "".join(chunk.choices[0].text for chunk in client.completions.create(**music, stream=True)) == emoji.choices[0].text
        assert any(token.startswith("bytes:") for token in emoji.choices[0].logprobs.tokens)
