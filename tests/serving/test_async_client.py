"""`make serve` and OpenAI's asynchronous client: streams side by side, many requests at once, and streams that are left."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import groupby
from typing import Any

import openai
import pytest

from ..support.served import Running, running, slow, tiny

PROMPTS = [f"{name}:\n{line}" for name in ("ROMEO", "JULIET") for line in ("O", "My lord,", "What", "Good night")]
GREEDY: dict[str, Any] = {"model": "tiny", "temperature": 0, "max_tokens": 24}


@pytest.fixture(scope="module")
def served():
    with running(tiny(), rows=4, waiting=16) as it:
        yield it


@pytest.fixture(scope="module")
def alone(served: Running) -> dict[str, str]:
    """{prompt: the text that it gets with nobody else there}."""
    client = served.client()
    return {prompt: client.completions.create(prompt=prompt, **GREEDY).choices[0].text for prompt in PROMPTS}


def asynchronously(served: Running, ask: Any) -> Any:
    """The result of ask(client)."""

    async def run() -> Any:
        async with openai.AsyncOpenAI(base_url=f"{served.base}/v1", api_key="none", max_retries=0, timeout=60) as client:
            return await ask(client)

    return asyncio.run(run())


def test_many_at_once_get_the_texts_that_each_gets_alone(served, alone):
    async def ask(client: openai.AsyncOpenAI) -> list[str]:
        answers: list[Coroutine[Any, Any, Any]] = [client.completions.create(prompt=prompt, **GREEDY) for prompt in PROMPTS]
        return [answer.choices[0].text for answer in await asyncio.gather(*answers)]

    assert asynchronously(served, ask) == list(alone.values())
    assert len({*alone.values()}) == len(PROMPTS)


def test_streams_side_by_side_come_token_by_token_and_not_one_after_another(served, alone):
    order: list[str] = []

    async def read(client: openai.AsyncOpenAI, prompt: str) -> str:
        text, reasons = "", []
        async for chunk in await client.completions.create(prompt=prompt, stream=True, **GREEDY):
            order.append(prompt)
            text += chunk.choices[0].text
            reasons.append(chunk.choices[0].finish_reason)
        assert set(reasons[:-1]) == {None}
        assert reasons[-1] in ("stop", "length")
        return text

    async def ask(client: openai.AsyncOpenAI) -> list[str]:
        return await asyncio.gather(*(read(client, prompt) for prompt in PROMPTS))

    with slow(served.core, 0.01):
        assert asynchronously(served, ask) == list(alone.values())
    turns = [prompt for prompt, _ in groupby(order)]
    assert len(turns) > 5 * len(PROMPTS)


def test_a_chat_is_streamed_with_its_usage_at_the_end(served):
    messages: Any = [{"role": "user", "content": "Speak, I charge thee, speak!"}]

    async def ask(client: openai.AsyncOpenAI) -> tuple[Any, list[Any]]:
        whole = await client.chat.completions.create(messages=messages, **GREEDY)
        stream = await client.chat.completions.create(messages=messages, stream=True, stream_options={"include_usage": True}, **GREEDY)
        return whole, [chunk async for chunk in stream]

    whole, chunks = asynchronously(served, ask)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
    assert said == whole.choices[0].message.content
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == 24
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens > 0  # the same prompt was read just before


def test_a_stream_that_is_left_ends_and_the_others_go_on(served, alone):
    free = served.core.num_free_blocks

    async def leave(client: openai.AsyncOpenAI) -> None:
        async with await client.completions.create(prompt="O", model="tiny", max_tokens=1000, seed=0, stream=True) as stream:
            async for _ in stream:
                break

    async def ask(client: openai.AsyncOpenAI) -> Any:
        kept = client.completions.create(prompt=PROMPTS[0], **GREEDY)
        return (await asyncio.gather(kept, leave(client), leave(client)))[0].choices[0].text

    with slow(served.core, 0.01):
        assert asynchronously(served, ask) == alone[PROMPTS[0]]
        assert served.at_rest() == (0, 0, free)


def test_a_cancelled_request_frees_its_place(served):
    free = served.core.num_free_blocks

    async def ask(client: openai.AsyncOpenAI) -> None:
        task = asyncio.ensure_future(client.completions.create(prompt="O", model="tiny", max_tokens=1000, seed=0))
        while not served.core.num_running:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with slow(served.core, 0.02):
        asynchronously(served, ask)
        assert served.at_rest(5) == (0, 0, free)
