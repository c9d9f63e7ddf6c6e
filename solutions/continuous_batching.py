"""Continuous batching: before every step the engine decides which requests are fed, and how many tokens of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from course.kit import WeightsOnly
from solutions.flash_attention import flash_attention
from solutions.latency import Trace
from solutions.paging import PagedKV, PagedSequence, PrefixPool, publish_blocks, start_sequence
from solutions.transformer import run_layers


@dataclass(eq=False)
class Request:
    """A prompt that waits for its answer, or is getting it. Two requests for the same text are two requests: `eq=False`.

    output: the answer so far. sequence: the PagedSequence of a request that runs; None while it waits, and when it has ended.
    """

    prompt: list[int]
    max_new_tokens: int
    eos_token_id: int | None = field(default=None, kw_only=True)
    arrival: float = field(default=0.0, kw_only=True)
    output: list[int] = field(default_factory=list, kw_only=True)
    sequence: Any = field(default=None, kw_only=True)

    @property
    def tokens(self) -> list[int]:
        """The text so far: prompt and output."""
        return self.prompt + self.output

    @property
    def remaining(self) -> int:
        """Number of tokens of the text without keys and values in the cache: the rest of a prompt, or the one newest token."""
        return len(self.prompt) + len(self.output) - (self.sequence.length if self.sequence else 0)


@dataclass
class Plan:
    """One step. chunks: (request, tokens it is fed), in the order of the step. preempted: the requests that gave way, in that order."""

    chunks: list[tuple[Request, int]] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)

    @property
    def num_tokens(self) -> int:
        """Number of tokens that the step feeds."""
        return sum(n for _, n in self.chunks)


class Scheduler:
    """The waiting requests, next one first, and at most max_running running ones, oldest first. A step feeds at most token_budget tokens.

    There is no prefill phase and no decode phase: a request is fed what of its text is not in the cache yet, a prompt or one token.
    """

    def __init__(self, pool: PrefixPool, block_size: int, *, token_budget: int, max_running: int) -> None:
        if token_budget < max_running:
            raise ValueError(f"token_budget {token_budget} is below max_running {max_running}: a step could not feed everybody who runs")
        self.pool = pool
        self.block_size = block_size
        self.token_budget = token_budget
        self.max_running = max_running
        self.waiting: list[Request] = []
        self.running: list[Request] = []

    def add(self, request: Request) -> None:
        """Put a request at the end of the queue. Raises ValueError if it has no prompt, or could not be finished with all blocks."""
        if not request.prompt or request.max_new_tokens < 1:
            raise ValueError(f"a request has a prompt and asks for tokens, got {len(request.prompt)} and {request.max_new_tokens}")
        longest = len(request.prompt) + request.max_new_tokens - 1  # the last token of all is not fed
        if longest > self.pool.num_blocks * self.block_size:
            raise ValueError(f"{longest} tokens never fit into {self.pool.num_blocks} blocks of {self.block_size}")
        self.waiting.append(request)

    def schedule(self) -> Plan:
        """Return the next step, with room made for all that it feeds. If a request had to give way, none is admitted."""
        plan = feed_running(self)
        if not plan.preempted:
            admit(self, plan)
        return plan


def preempt(scheduler: Scheduler, request: Request) -> None:
    """Stop a running request: it goes to the front of the queue, its blocks go back to the pool (`free`), and its tokens stay.

    When it is admitted again, its prompt and its output so far are computed again, as far as the pool no longer knows them.
    """
    ### BEGIN SOLUTION
    scheduler.running.remove(request)
    request.sequence.free()
    request.sequence = None
    scheduler.waiting.insert(0, request)
    ### END SOLUTION


def feed_running(scheduler: Scheduler) -> Plan:
    """Begin a step with the running requests, oldest first: each is fed as many of its remaining tokens as the budget has left.

    This ends when the budget is used up. Room is made for exactly the tokens that are fed. While the pool has too few blocks free for a
    request's chunk, the youngest running request is preempted, which may be the request itself. No other request is preempted, and no
    chunk is empty.
    """
    ### BEGIN SOLUTION
    plan = Plan()
    for request in list(scheduler.running):
        n = min(request.remaining, scheduler.token_budget - plan.num_tokens)
        if n == 0:
            break
        while request in scheduler.running and request.sequence.blocks_for(n) > scheduler.pool.num_free:
            youngest = scheduler.running[-1]
            preempt(scheduler, youngest)
            plan.preempted.append(youngest)
        if request in scheduler.running:
            request.sequence.grow(n)  # with no copy: only whole blocks are shared, and these are not written again
            plan.chunks.append((request, n))
    return plan
    ### END SOLUTION


def admit(scheduler: Scheduler, plan: Plan) -> None:
    """Add waiting requests to the plan, first come, first served, while budget, max_running and free blocks allow.

    A request begins with the blocks that the pool knows of its text (`start_sequence`), and is fed as many of its remaining tokens as the
    budget has left. It comes after the running requests, in `running` and in the plan. If there are too few blocks for this chunk, it
    gives back what it has taken over (`free`) and keeps waiting, and so do all requests after it. A waiting request has no sequence.
    """
    ### BEGIN SOLUTION
    while scheduler.waiting and len(scheduler.running) < scheduler.max_running and plan.num_tokens < scheduler.token_budget:
        request = scheduler.waiting[0]
        sequence = start_sequence(scheduler.pool, request.tokens, scheduler.block_size)
        n = min(len(request.tokens) - sequence.length, scheduler.token_budget - plan.num_tokens)
        if sequence.blocks_for(n) > scheduler.pool.num_free:
            sequence.free()
            break  # nobody overtakes
        sequence.grow(n)
        request.sequence = sequence
        scheduler.running.append(scheduler.waiting.pop(0))
        plan.chunks.append((request, n))
    ### END SOLUTION


def update(scheduler: Scheduler, plan: Plan, tokens: list[int]) -> list[Request]:
    """End a step -> the requests that ended, in the plan's order. tokens[i] is the model's token after the last token of chunk i.

    The whole blocks of every request that was fed are published. A request whose chunk reached the end of its text gets its token; for
    any other request the next token is known already, and the model's token is dropped. A request ends with its EOS, which it keeps, or
    with max_new_tokens: then it leaves `running`, gives its blocks back (`free`) and has no sequence.
    """
    ### BEGIN SOLUTION
    ended = []
    for (request, _), token in zip(plan.chunks, tokens, strict=True):
        publish_blocks(request.sequence, request.tokens)
        if request.remaining:
            continue
        request.output.append(token)
        if token == request.eos_token_id or len(request.output) == request.max_new_tokens:
            scheduler.running.remove(request)
            request.sequence.free()
            request.sequence = None
            ended.append(request)
    return ended
    ### END SOLUTION


def abort(scheduler: Scheduler, request: Request) -> None:
    """Forget a request that waits or runs, at once; its blocks go back to the pool. Raises ValueError if it does neither."""
    if request in scheduler.waiting:
        scheduler.waiting.remove(request)
        return
    if request not in scheduler.running:
        raise ValueError("the request neither waits nor runs: it has ended, or was never added")
    scheduler.running.remove(request)
    request.sequence.free()
    request.sequence = None


@dataclass
class Flat:
    """The chunks of a step one after the other, N tokens in all.

    ids (1, N) and positions (N,) int64. Chunk r is tokens bounds[r] to bounds[r + 1] - 1; bounds has one number more than chunks.
    """

    ids: Tensor
    positions: Tensor
    bounds: list[int]


def flatten_chunks(chunks: list[tuple[Request, int]]) -> Flat:
    """Return the tokens of a plan's chunks, each at its position in its own text.

    Room has been made already: a chunk of n is the last n of the sequence.length tokens that the cache will hold. Nothing is changed.
    """
    ### BEGIN SOLUTION
    ids: list[int] = []
    positions: list[int] = []
    bounds = [0]
    for request, n in chunks:
        end = request.sequence.length
        ids += request.tokens[end - n : end]
        positions += range(end - n, end)
        bounds.append(len(ids))
    return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)
    ### END SOLUTION


def forward_ragged(model: WeightsOnly, flat: Flat, sequences: list[PagedSequence], kv: PagedKV) -> Tensor:
    """Run one pass for all chunks of a step: every weight is read once, whatever the chunks.

    sequences: those of the R chunks, grown already -> the logits after each chunk's last token (R, V), of the model's dtype. The keys and
    values of the N new tokens are written; a token sees the tokens of its own text, up to itself, and of no other. There is no padding,
    and only R rows go through the head. No chunk reads a slot that another one of the same step writes. Gradient mode is left as it was.
    Yu et al. 2022 (Orca), section 3.2.
    """
    ### BEGIN SOLUTION
    device = model.device
    spans = list(pairwise(flat.bounds))
    new = torch.cat([s.slots(s.length - (end - start)) for s, (start, end) in zip(sequences, spans, strict=True)]).to(device)
    stored = [sequence.slots().to(device) for sequence in sequences]

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))  # (1, K, N, Dh) -> (N, K, Dh)
        outs = []
        for slots, (start, end) in zip(stored, spans, strict=True):
            k_all, v_all = (memory.transpose(0, 1).unsqueeze(0) for memory in kv.read(layer, slots))  # (1, K, length, Dh)
            outs.append(flash_attention(q[:, :, start:end], k_all, v_all, causal=True)[0])
        return torch.cat(outs, dim=2)

    hidden = run_layers(model, flat.ids.to(device), flat.positions.to(device), attend)[0]  # (N, D)
    last = torch.tensor(flat.bounds[1:], device=device) - 1
    return hidden[last] @ model.weights.lm_head.T
    ### END SOLUTION


def engine_step(model: WeightsOnly, scheduler: Scheduler, kv: PagedKV) -> list[Request]:
    """Run one greedy step of the engine: `scheduler.schedule()`, one pass, `update` -> the requests that ended. Nothing to feed: [].

    Gradient mode is left as it was.
    """
    ### BEGIN SOLUTION
    plan = scheduler.schedule()
    if not plan.chunks:
        return []
    sequences = [request.sequence for request, _ in plan.chunks]
    logits = forward_ragged(model, flatten_chunks(plan.chunks), sequences, kv)
    return update(scheduler, plan, logits.argmax(dim=-1).tolist())
    ### END SOLUTION


def step_seconds(chunks: list[tuple[int, int]], *, weight_seconds: float, token_seconds: float, kv_seconds: float) -> float:
    """Return how long a step takes on a roofline: the time for all that it reads, or for all that it multiplies, whichever is longer.

    chunks: for each request (tokens fed, tokens in the cache after the step). weight_seconds: to read all weights, once a step.
    kv_seconds: to read keys and values of one token in the cache. token_seconds: the products with all weights for one token fed.
    """
    ### BEGIN SOLUTION
    fed = sum(n for n, _ in chunks)
    cached = sum(length for _, length in chunks)
    return max(weight_seconds + cached * kv_seconds, fed * token_seconds)
    ### END SOLUTION


def simulate(
    requests: list[Request],
    scheduler: Scheduler,
    seconds: Callable[[list[tuple[int, int]]], float],
    token: Callable[[Request], int] = lambda request: 0,
) -> list[Trace]:
    """Run the engine without a model, on a clock of its own that begins at 0 -> the trace of each request, in the order given.

    seconds(chunks), chunks as `step_seconds` has them: how long a step takes. token(request): the model's token for a request that was
    fed; it is called at most once for each chunk. A request is added as soon as a step begins at or after its arrival, the earlier one
    first, and of two with the same arrival the one that comes first in the list. If no request waits or runs, the clock jumps to the next
    arrival, never back. Each step is the plan of `scheduler.schedule()`. A token's time is the end of its step. The given scheduler is
    empty, and it is empty again at the end. The list is not changed.
    """
    ### BEGIN SOLUTION
    clock = 0.0
    times: dict[Request, list[float]] = {request: [] for request in requests}
    arriving = sorted(requests, key=lambda request: request.arrival)
    while arriving or scheduler.waiting or scheduler.running:
        if not scheduler.waiting and not scheduler.running:
            clock = max(clock, arriving[0].arrival)
        while arriving and arriving[0].arrival <= clock:
            scheduler.add(arriving.pop(0))
        plan = scheduler.schedule()
        clock += seconds([(n, request.sequence.length) for request, n in plan.chunks])
        fed = [request for request, _ in plan.chunks]
        lengths = [len(request.output) for request in fed]
        update(scheduler, plan, [token(request) for request in fed])
        for request, length in zip(fed, lengths, strict=True):
            if len(request.output) > length:
                times[request].append(clock)
    return [Trace(request.arrival, times[request]) for request in requests]
    ### END SOLUTION
