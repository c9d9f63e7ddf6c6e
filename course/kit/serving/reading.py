"""One answer as it comes: tokens from the engine, pieces of text to the client, and nothing left running when either ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from .core import FailedOutput
from .messages import TokenOutput
from .metrics import Metrics
from .shapes import Piece

T = TypeVar("T")
Receive = Callable[[], Awaitable[Any]]


class Stream(Protocol):
    """A converter of tokens to text: Day 18's `TextStream`."""

    @property
    def finish_reason(self) -> str | None: ...

    def push(self, token_id: int) -> str: ...


class ClientLeft(Exception):
    """A client that has closed its connection and cannot be answered."""


class Reading:
    """The pieces of one answer.

    started: the time of the request on time.perf_counter's clock, for the first answer of a request; None for all others.
    num_prompt_tokens: the tokens of the prompt that are counted with this answer.
    """

    def __init__(
        self, outputs: AsyncGenerator[TokenOutput, None], stream: Stream, metrics: Metrics, started: float | None, num_prompt_tokens: int
    ) -> None:
        self._outputs, self._stream, self._metrics = outputs, stream, metrics
        self._last, self._is_first, self._num_prompt_tokens = started, True, num_prompt_tokens
        self._first: TokenOutput | None = None
        self._prompt: Piece | None = None
        self.ended = False

    async def begin(self) -> None:
        """Wait for the first token. Raises the engine's error, which the server can answer with a status only before a stream begins."""
        self._first = await self._next()

    def begin_with(self, prompt: Piece) -> None:
        """Put the echoed prompt before the answer's pieces. If it is the last piece, the answer's tokens are dropped."""
        self._prompt = prompt

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        """Yield the pieces of the answer after `begin`, each as soon as it has text. Raises RuntimeError if tokens end too early."""
        if self._prompt is not None:
            self.ended = self._prompt.finish_reason is not None
            if self.ended:
                await self.close()
            yield self._prompt
        held: list[TokenOutput] = []
        while not self.ended:
            output, self._first = self._first or await self._next(), None
            held.append(output)
            text = self._stream.push(output.token_id)
            self.ended = self._stream.finish_reason is not None
            if self.ended:
                await self.close()  # before the last piece is sent: a slow client holds no place in the batch
            if text or self.ended:
                yield Piece(text, held, self._stream.finish_reason)
                held = []

    async def close(self) -> None:
        """End the request in the engine, even if it still waits or runs."""
        await self._outputs.aclose()

    async def _next(self) -> TokenOutput:
        try:
            output = await anext(self._outputs)
        except StopAsyncIteration:
            raise RuntimeError("the engine's tokens ended before the answer did") from None
        if isinstance(output, FailedOutput):
            raise output.error
        now = time.perf_counter()
        if self._is_first:
            self._metrics.tokens.labels("prompt").inc(self._num_prompt_tokens)
        if self._last is not None:
            (self._metrics.ttft if self._is_first else self._metrics.itl).observe(now - self._last)
        self._last, self._is_first = now, False
        self._metrics.tokens.labels("completion").inc()
        return output


async def unless_client_leaves(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work. If the client leaves, cancel the work, wait for its end, and raise ClientLeft."""
    task, leaves = asyncio.ensure_future(work), asyncio.ensure_future(_client_leaves(receive))
    try:
        await asyncio.wait((task, leaves), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeft
        return task.result()
    finally:
        task.cancel()
        leaves.cancel()
        await asyncio.gather(task, leaves, return_exceptions=True)


async def _client_leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
