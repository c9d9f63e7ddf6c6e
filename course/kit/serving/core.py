"""The engine as its server sees it, its reports on requests, and a small engine without a model, to try a server on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .messages import SamplingParams, TokenOutput

BLOCK_SIZE = 16


@dataclass
class Report:
    """A core's report on one request besides its tokens, complete when the core returns the first token.

    num_cached: the prompt's tokens that were found in the cache; None if unknown. prompt_top: set by the caller; the number of best tokens
    to report at each place of the prompt, or None for no log-probabilities. prompt: for each of the prompt's tokens but the first, its
    log-probability and the best tokens, as in TokenOutput.
    """

    num_cached: int | None = None
    prompt_top: int | None = None
    prompt: list[tuple[float, list[tuple[int, float]]]] = field(default_factory=list)


@dataclass(frozen=True)
class FailedOutput(TokenOutput):
    """The end of a request without a token. error: the reason; the fields of a token mean nothing."""

    error: Exception = field(kw_only=True)


class Core(Protocol):
    """The part of an engine that steps. `add` and `abort` may be called at any time and take effect before the next step.

    Neither call touches the data of a running step, so that step may still return a token of a request that was just aborted.
    """

    @property
    def num_waiting(self) -> int: ...

    @property
    def num_running(self) -> int: ...

    @property
    def num_free_blocks(self) -> int: ...

    @property
    def has_work(self) -> bool:
        """Return True if a request waits or runs, so a step has work to do."""
        ...

    def add(self, request_id: str, prompt_ids: Sequence[int], params: SamplingParams) -> None:
        """Put a request at the end of the queue."""
        ...

    def abort(self, request_id: str) -> None:
        """Forget a request that waits or runs. Do nothing for an ended or unknown request."""
        ...

    async def step(self) -> list[TokenOutput]:
        """Run one step for all running requests. The event loop runs other tasks meanwhile.

        A `FailedOutput` ends its request.
        """
        ...


class EchoCore:
    """A core without a model: it answers every request with its own prompt, over and over, one token a step, until max_tokens.

    Waiting requests are admitted before a step, first come, first served, while fewer than max_running requests run and enough blocks are
    free for prompt and answer. A step takes step_seconds on the loop's clock. num_steps and num_tokens count the steps and tokens of all
    requests.
    """

    def __init__(self, *, max_running: int, step_seconds: float = 0.02, num_blocks: int = 64) -> None:
        self.max_running, self.step_seconds = max_running, step_seconds
        self.num_free_blocks = num_blocks
        self.num_steps = self.num_tokens = 0
        self._waiting: dict[str, tuple[list[int], int]] = {}
        self._running: dict[str, tuple[list[int], int]] = {}
        self._made: dict[str, int] = {}

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def has_work(self) -> bool:
        return bool(self._waiting or self._running)

    def add(self, request_id: str, prompt_ids: Sequence[int], params: SamplingParams) -> None:
        self._waiting[request_id] = (list(prompt_ids), params.max_tokens)

    def abort(self, request_id: str) -> None:
        self._waiting.pop(request_id, None)
        self._end(request_id)

    async def step(self) -> list[TokenOutput]:
        self._let_in()
        outputs = []
        for request_id, (prompt_ids, max_tokens) in list(self._running.items()):
            outputs.append(TokenOutput(request_id, prompt_ids[self._made[request_id] % len(prompt_ids)]))
            self._made[request_id] += 1
            if self._made[request_id] == max_tokens:
                self._end(request_id)
        self.num_steps, self.num_tokens = self.num_steps + 1, self.num_tokens + len(outputs)
        await asyncio.sleep(self.step_seconds)
        return outputs

    def _let_in(self) -> None:
        for request_id, (prompt_ids, max_tokens) in list(self._waiting.items()):
            blocks = self._blocks(prompt_ids, max_tokens)
            if len(self._running) == self.max_running or blocks > self.num_free_blocks:
                return
            self.num_free_blocks -= blocks
            self._running[request_id] = self._waiting.pop(request_id)
            self._made[request_id] = 0

    def _end(self, request_id: str) -> None:
        if request_id in self._running:
            self.num_free_blocks += self._blocks(*self._running.pop(request_id))
            del self._made[request_id]

    def _blocks(self, prompt_ids: list[int], max_tokens: int) -> int:
        return -(-(len(prompt_ids) + max_tokens) // BLOCK_SIZE)
