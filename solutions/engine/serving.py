"""The serving engine: requests come and go, and every step has a new plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course.kit import WeightsOnly
from course.kit.errors import ModelError
from solutions.continuous_batching import Flat
from solutions.engine import scheduler as rules
from solutions.engine.block_manager import PagedKV, PagedSequence, PrefixPool
from solutions.engine.packed import PackedModel, pack
from solutions.engine.runner import Runner
from solutions.engine.scheduler import Plan, Scheduler
from solutions.engine.sequence import FlatWanted, Request, flatten_wanted, next_tokens

Forward = Callable[[Any, Flat, list[PagedSequence], PagedKV], Tensor]
"""A pass like `forward_ragged`: (model, flat, sequences, kv) -> logits (R, V), or (W, V) for a flat with W wanted tokens."""


@dataclass(frozen=True)
class Parts:
    """The replaceable parts of a serving engine, called as in Days 13 and 14.

    flatten may add data of the requests that forward needs. forward gets the model that the engine was given; None uses a `Runner`.
    """

    pool: Callable[[int], PrefixPool] = PrefixPool
    memory: Callable[..., PagedKV] = PagedKV
    scheduler: Callable[..., Scheduler] = Scheduler
    update: Callable[[Scheduler, Plan, list[int]], list[Any]] = rules.update
    abort: Callable[[Scheduler, Request], None] = rules.abort
    flatten: Callable[[list[Any]], Any] = flatten_wanted
    forward: Forward | None = None


DEFAULT_PARTS = Parts()


@dataclass(frozen=True, eq=False)
class NewToken:
    """A token that a step has given a request.

    ended: whether it is the request's last token. logits (V,): the model's output that the token was drawn from.
    """

    request: Request
    token: int
    ended: bool
    logits: Tensor = field(repr=False)


@dataclass(frozen=True, eq=False)
class Failure:
    """A request that a step has ended without a token, because its row of logits is not a distribution."""

    request: Request
    error: ModelError


class ServingEngine:
    """An engine that serves requests with one model: `add` them at any time, then `step` while `has_work`.

    A step feeds at most token_budget tokens of at most max_running requests. Keys and values are in num_blocks blocks of block_size tokens,
    on the model's device and in its dtype.
    """

    def __init__(
        self,
        model: WeightsOnly | PackedModel,
        *,
        num_blocks: int,
        block_size: int = 16,
        token_budget: int = 256,
        max_running: int = 16,
        parts: Parts = DEFAULT_PARTS,
    ) -> None:
        kv = parts.memory(model.config, num_blocks, block_size, model.dtype, model.device)
        self.pool = parts.pool(num_blocks)
        self.scheduler = parts.scheduler(self.pool, block_size, token_budget=token_budget, max_running=max_running)
        self._update, self._abort, self._flatten = parts.update, parts.abort, parts.flatten
        self._forward: Callable[[Flat, list[PagedSequence]], Tensor]
        if (forward := parts.forward) is None:
            self._forward = Runner(pack(model), kv, max_len=num_blocks * block_size)
        else:
            self._forward = lambda flat, sequences: forward(model, flat, sequences, kv)

    @property
    def num_waiting(self) -> int:
        return len(self.scheduler.waiting)

    @property
    def num_running(self) -> int:
        return len(self.scheduler.running)

    @property
    def num_free_blocks(self) -> int:
        return self.pool.num_free

    @property
    def has_work(self) -> bool:
        """Return True if a request waits or runs."""
        return bool(self.scheduler.waiting or self.scheduler.running)

    def add(self, request: Request) -> None:
        """Put a request at the end of the queue. Raises ValueError if the request can never be served, as `Scheduler.add` does."""
        request.block_keys.clear()  # another engine may have had blocks of another size
        request.num_cached = None
        self.scheduler.add(request)

    def abort(self, request: Request) -> None:
        """Forget a request at once and free its blocks. Raises ValueError if it neither waits nor runs."""
        self._abort(self.scheduler, request)

    @torch.no_grad()
    def step(self) -> list[NewToken | Failure]:
        """Schedule, run one pass, draw and update; return the new tokens in the plan's order, or [] if there is nothing to feed.

        A request whose row of logits is not a distribution ends with a `Failure`, also in the middle of its prompt. The failures come
        first. If the pass raises, its keys and values are missing, and the requests that it fed must be given up (`abort`).
        """
        plan = self.scheduler.schedule()
        if not plan.chunks:
            return []
        flat = self._flatten(plan.chunks)
        logits = self._forward(flat, [request.sequence for request, _ in plan.chunks])
        if isinstance(flat, FlatWanted) and len(flat.wanted) > len(plan.chunks):
            logits = without_prompts(plan, logits)
        fed: list[Any] = [request for request, _ in plan.chunks]
        for request, (_, n) in zip(fed, plan.chunks, strict=True):
            if request.num_cached is None:  # its first chunk: the tokens before it were in the cache
                request.num_cached = request.sequence.length - n
        made = next_tokens(plan.chunks, logits)
        failures = [Failure(request, error) for request, error in zip(fed, made, strict=True) if isinstance(error, ModelError)]
        for failure in failures:
            self._fail(failure.request)
        whole = [row for row, token in enumerate(made) if not isinstance(token, ModelError)]
        plan.chunks = [plan.chunks[row] for row in whole]
        lengths = [len(fed[row].output) for row in whole]
        ended = self._update(self.scheduler, plan, [token for token in made if not isinstance(token, ModelError)])
        tokens = [
            NewToken(fed[row], fed[row].output[-1], fed[row] in ended, logits[row])
            for row, length in zip(whole, lengths, strict=True)
            if len(fed[row].output) > length
        ]
        return [*failures, *tokens]

    def _fail(self, request: Request) -> None:
        """Forget a request whose keys and values may not be numbers: no other request may find its blocks."""
        for block in request.sequence.blocks:
            self.pool.forget(block)
        self.abort(request)

    def generate(self, requests: list[Request]) -> list[list[int]]:
        """Add the requests, step until none waits or runs, and return their outputs. Raises ModelError if one of them fails."""
        for request in requests:
            self.add(request)
        while self.has_work:
            for new in self.step():
                if isinstance(new, Failure):
                    raise new.error
        return [request.output for request in requests]


def without_prompts(plan: Plan, logits: Tensor) -> Tensor:
    """Give the requests that read their prompts their rows of logits (W, V), and return the rows after each chunk's last token, (R, V)."""
    ends, end = [], 0
    for request, n in plan.chunks:
        assert isinstance(request, Request)
        start, end = end, end + (n if request.reads_prompt else 1)
        if request.reads_prompt:
            try:
                request.add_prompt_logprobs(request.sequence.length - n, logits[start:end])
            except ModelError:  # the request fails as if its last row was damaged
                logits[end - 1] = torch.nan
        ends.append(end - 1)
    return logits[ends]
