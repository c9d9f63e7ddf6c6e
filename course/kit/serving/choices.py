"""The choices of one request: samples of one or more prompts, read side by side. They begin, fail and end together."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace

from .core import Report
from .extras import Extras
from .messages import SamplingParams
from .reading import Reading
from .shapes import Piece


@dataclass(frozen=True)
class Prompt:
    """A prompt and the settings of its answers. report: the core's report on the first of these answers."""

    ids: list[int]
    params: SamplingParams
    extras: Extras
    report: Report = field(default_factory=Report)


def with_seed(params: SamplingParams, sample: int) -> SamplingParams:
    """Return the parameters of one sample of a prompt, each with its own seed. Sample 0 is the answer to a request with n = 1.

    The seeds of later samples are hashes: seed + 1 would repeat the answer of a request with the next seed.
    """
    if params.seed is None or sample == 0:
        return params
    digest = hashlib.sha256(f"{params.seed} {sample}".encode()).digest()
    return replace(params, seed=int.from_bytes(digest[:8], "big", signed=True))


class Choices:
    """The readings of one request, sample j of prompt i at place i * n + j. If one fails, the request fails and all of them are closed.

    ended: whether the last piece has been handed out.
    """

    def __init__(self, readings: Sequence[Reading], n: int, echo: Callable[[int], Piece] | None = None) -> None:
        """echo: returns the echo of prompt i, once the first sample of this prompt has begun. None for no echo."""
        self._readings, self._n, self._echo = readings, n, echo
        self._begun = [asyncio.Event() for _ in readings]
        self._pieces: asyncio.Queue[Piece | Exception | None] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self.ended = False

    async def begin(self) -> None:
        """Hand all choices to the engine, in order, and wait for the first token of any of them. Raises the error of a choice."""
        self._tasks = [asyncio.ensure_future(self._read(place)) for place in range(len(self._readings))]
        await self._take()

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        """Yield the pieces of all choices after `begin`, each as soon as it is there. Raises the error of a choice."""
        left = len(self._readings)
        while left:
            if (piece := await self._take()) is not None:
                left -= piece.finish_reason is not None
                self.ended = left == 0
                yield piece

    async def close(self) -> None:
        """End all choices in the engine, even those that still wait or run."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for reading in self._readings:
            await reading.close()

    async def _take(self) -> Piece | None:
        """Return the next piece of any choice, or None if a choice has begun."""
        item = await self._pieces.get()
        if isinstance(item, Exception):
            await self.close()
            raise item
        return item

    async def _read(self, place: int) -> None:
        reading, prompt = self._readings[place], place // self._n
        try:
            await reading.begin()
            self._begun[place].set()
            self._pieces.put_nowait(None)
            if self._echo is not None:
                await self._begun[prompt * self._n].wait()
                reading.begin_with(self._echo(prompt))
            async for piece in reading.pieces():
                self._pieces.put_nowait(replace(piece, index=place))
        except Exception as error:
            self._pieces.put_nowait(error)
