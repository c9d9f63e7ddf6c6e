"""The ladder: however an answer is computed, its tokens are those of the loop of Day 7. `tiny` in float64, greedy, five prompts.

Each rung says what it gives for all prompts, and makes sure that it was that rung: that a copy was due, a prefix found, a prompt cut.
"""

import functools
from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from autograder.checking.helpers.cached import PROMPTS, tiny_ids, whole
from course.kit import WeightsOnly
from solutions.batching import generate_batch
from solutions.continuous_batching import Plan, Request, Scheduler, engine_step
from solutions.engine import Engine, Parts, ServingEngine, StaticEngine
from solutions.engine import Request as Served
from solutions.flash_attention import prefill_flash
from solutions.generation import generate
from solutions.kv_cache import KVCache, decode_step, generate_cached
from solutions.paging import (
    BlockPool,
    PagedKV,
    PagedSequence,
    PrefixPool,
    forward_paged,
    paged_decode,
    publish_blocks,
    start_sequence,
)
from solutions.speculative import generate_speculative, lookup_draft
from solutions.transformer import forward

TEXTS = (*PROMPTS, "HAMLET:\nWhat, has this thing appear'd again to-night?\n\nROMEO")
NEW, ROOM = 16, 256
ROOMY = 300  # tokens that a pool holds for a rung that is not about running out
Rung = Callable[[WeightsOnly, list[list[int]], int], list[list[int]]]


def prompts() -> list[list[int]]:
    return [tiny_ids(text)[0].tolist() for text in TEXTS]


@functools.cache
def by_the_loop() -> list[list[int]]:
    """Day 7's loop around the kit's own model, which reads the whole text at every step."""
    rows = [generate(whole(), torch.tensor([prompt]), max_new_tokens=NEW, block_size=ROOM, temperature=0.0) for prompt in prompts()]
    return [row[0, len(prompt) :].tolist() for row, prompt in zip(rows, prompts(), strict=True)]


def memory(model: WeightsOnly, num_blocks: int, block_size: int) -> PagedKV:
    """Memory in which something lies everywhere: what nobody wrote must not matter."""
    kv = PagedKV(model.config, num_blocks, block_size, model.dtype)
    kv.keys.fill_(0.7)
    kv.values.fill_(-0.7)
    return kv


def greedy(first: Tensor, decode: Callable[[Tensor], Tensor]) -> list[list[int]]:
    """NEW tokens of each row. first (B, V): the logits behind the prompts; decode(ids (B, 1)) -> logits (B, V)."""
    tokens = [first.argmax(dim=-1, keepdim=True)]
    while len(tokens) < NEW:
        tokens.append(decode(tokens[-1]).argmax(dim=-1, keepdim=True))
    return torch.cat(tokens, dim=1).tolist()


# ---- without blocks ------------------------------------------------------------------------------------------------


def naive(model, prompts, block_size):
    settings = {"max_new_tokens": NEW, "block_size": ROOM, "temperature": 0.0}
    return [generate(lambda ids: forward(model, ids), torch.tensor([p]), **settings)[0, len(p) :].tolist() for p in prompts]


def cache(model, prompts, block_size):
    settings = {"max_new_tokens": NEW, "block_size": ROOM, "temperature": 0.0}
    return [generate_cached(model, torch.tensor([p]), **settings)[0, len(p) :].tolist() for p in prompts]


def ragged(model, prompts, block_size):
    return generate_batch(model, prompts, max_new_tokens=NEW, temperature=0.0)


def flash_prefill(model, prompts, block_size):
    rows = []
    for prompt in prompts:
        kv = KVCache(model.config, 1, ROOM, model.dtype)
        first = prefill_flash(model, torch.tensor([prompt]), kv, q_block=5, k_block=3)
        rows += greedy(first, lambda ids, kv=kv: decode_step(model, ids, kv))
    return rows


def static_engine(model, prompts, block_size):
    return StaticEngine(model, len(prompts), max(map(len, prompts)) + NEW).generate(prompts, NEW).tolist()


def user_s_engine(model, prompts, block_size):
    answers = Engine(model, rows=2).generate(prompts, max_new_tokens=NEW, eos_token_id=None)
    return [answer.ids for answer in answers]


# ---- in blocks -----------------------------------------------------------------------------------------------------


def paged(model, prompts, block_size):
    """Each prompt by itself, in two chunks; then all rows together, each as long as it is."""
    pool, kv = BlockPool(ROOMY // block_size), memory(model, ROOMY // block_size, block_size)
    sequences, first = [], []
    for prompt in prompts:
        sequences.append(PagedSequence(pool, block_size))
        half = len(prompt) // 2
        for chunk in filter(None, (prompt[:half], prompt[half:])):
            logits = forward_paged(model, torch.tensor([chunk]), sequences[-1], kv)
        first.append(logits[:, -1])
    assert len({sequence.length for sequence in sequences}) == len(prompts)
    return greedy(torch.cat(first), lambda ids: paged_decode(model, ids, sequences, kv))


def forked(model, prompts, block_size):
    """Two forks of each prompt go on side by side. A last block that is part full is copied for one of them."""
    rows = []
    for prompt in prompts:
        pool, kv = BlockPool(ROOMY // block_size), memory(model, ROOMY // block_size, block_size)
        one = PagedSequence(pool, block_size)
        first = forward_paged(model, torch.tensor([prompt]), one, kv)[:, -1]
        two = one.fork()
        assert one.blocks == two.blocks
        both = greedy(first.expand(2, -1), lambda ids, pair=(one, two), kv=kv: paged_decode(model, ids, list(pair), kv))
        assert both[0] == both[1]
        still_shared = sum(a == b for a, b in zip(one.blocks, two.blocks, strict=True))
        assert still_shared == len(prompt) // block_size
        rows.append(both[0])
    return rows


def shared_prefix(model, prompts, block_size):
    """Each prompt is asked twice: the second time, what the first asker left in the pool is taken over."""
    rows, found = [], 0
    pool, kv = PrefixPool(ROOMY // block_size), memory(model, ROOMY // block_size, block_size)
    for prompt in prompts:
        for _ in range(2):
            sequence = start_sequence(pool, prompt, block_size)
            already = sequence.length
            logits = forward_paged(model, torch.tensor([prompt[already:]]), sequence, kv)[:, -1]
            publish_blocks(sequence, prompt)
            row = greedy(logits, lambda ids, sequence=sequence: paged_decode(model, ids, [sequence], kv))
            sequence.free()
        assert already == (len(prompt) - 1) // block_size * block_size
        found += already
        rows += row
    assert found >= 32
    return rows


# ---- served --------------------------------------------------------------------------------------------------------


class Watched(Scheduler):
    """A scheduler that keeps what it has planned: (plan, whose chunks left something of the text to be fed)."""

    def __init__(self, *args, **sizes) -> None:
        super().__init__(*args, **sizes)
        self.plans: list[tuple[Plan, list[bool]]] = []
        self.found = 0

    def schedule(self) -> Plan:
        ran = set(self.running)
        plan = super().schedule()
        self.found += sum(request.sequence.length - n for request, n in plan.chunks if request not in ran)
        self.plans.append((plan, [request.remaining > 0 for request, _ in plan.chunks]))
        return plan

    @property
    def preempted(self) -> int:
        return sum(len(plan.preempted) for plan, _ in self.plans)

    @property
    def cut(self) -> int:
        return sum(sum(rest) for _, rest in self.plans)

    @property
    def mixed(self) -> int:
        """Steps in which one request decodes while another one's prompt is fed."""
        return sum({1} < {min(n, 2) for _, n in plan.chunks} for plan, _ in self.plans)


Serve = Callable[..., tuple[list[list[int]], Watched]]


def by_functions(model, prompts, **sizes) -> tuple[list[list[int]], Watched]:
    """Day 14's functions."""
    num_blocks, block_size = sizes.pop("num_blocks"), sizes.pop("block_size")
    scheduler, kv = Watched(PrefixPool(num_blocks), block_size, **sizes), memory(model, num_blocks, block_size)
    requests = [Request(prompt, NEW) for prompt in prompts]
    for request in requests:
        scheduler.add(request)
    while scheduler.waiting or scheduler.running:
        engine_step(model, scheduler, kv)
    assert scheduler.pool.num_free == num_blocks
    return [request.output for request in requests], scheduler


def by_engine(model, prompts, **sizes) -> tuple[list[list[int]], Watched]:
    """The reference engine: packed weights, fused attention."""
    engine = ServingEngine(model, parts=Parts(scheduler=Watched, memory=lambda config, *args: memory(model, *args[:2])), **sizes)
    outputs = engine.generate([Served(prompt, NEW) for prompt in prompts])
    assert engine.num_free_blocks == sizes["num_blocks"]
    assert isinstance(engine.scheduler, Watched)
    return outputs, engine.scheduler


def continuous(model, prompts, block_size, serve):
    """Four may run: the fifth prompt is fed while others decode."""
    outputs, seen = serve(model, prompts, num_blocks=ROOMY // block_size, block_size=block_size, token_budget=128, max_running=4)
    assert (seen.preempted, seen.cut) == (0, 0)
    assert seen.mixed
    return outputs


def chunked(model, prompts, block_size, serve):
    outputs, seen = serve(model, prompts, num_blocks=ROOMY // block_size, block_size=block_size, token_budget=7, max_running=4)
    assert seen.cut >= 5
    assert seen.preempted == 0
    assert all(plan.num_tokens <= 7 for plan, _ in seen.plans)
    return outputs


def preempted(model, prompts, block_size, serve):
    """Blocks for hardly more than the longest text."""
    num_blocks = {1: 50, 4: 14, 16: 4}[block_size]
    outputs, seen = serve(model, prompts, num_blocks=num_blocks, block_size=block_size, token_budget=8, max_running=4)
    assert seen.preempted
    return outputs


def continuous_with_a_shared_prefix(model, prompts, block_size, serve):
    """All prompts twice, one at a time: who comes second finds the blocks of who came first."""
    twice = [prompt for prompt in prompts for _ in range(2)]
    outputs, seen = serve(model, twice, num_blocks=2 * ROOMY // block_size, block_size=block_size, token_budget=32, max_running=1)
    assert seen.found >= sum((len(prompt) - 1) // block_size * block_size for prompt in prompts) > 0
    assert all(first == second for first, second in list(pairwise(outputs))[::2])
    return outputs[::2]


def speculative(model, prompts, block_size):
    """Guesses from the text itself. Some of them stay, and some are refused."""
    outputs, guessed = [], 0
    for prompt in prompts:
        lengths = []

        def lookup(ids, k, lengths=lengths):
            lengths.append(len(ids))
            return lookup_draft(ids, k=k), None

        options = {"max_new_tokens": NEW, "block_size": ROOM, "draft": lookup, "temperature": 0.0}
        outputs.append(generate_speculative(model, torch.tensor([prompt]), **options)[0, len(prompt) :].tolist())
        guessed += sum(later - sooner - 1 for sooner, later in pairwise(lengths))  # a round without guesses makes one token
    assert 0 < guessed < len(prompts) * NEW
    return outputs


WITHOUT_BLOCKS = (naive, cache, ragged, flash_prefill, static_engine, user_s_engine, speculative)
IN_BLOCKS = (paged, forked, shared_prefix)
SERVED = (continuous, chunked, preempted, continuous_with_a_shared_prefix)


@pytest.mark.parametrize("rung", WITHOUT_BLOCKS)
def test_without_blocks(rung: Rung) -> None:
    assert rung(whole().weights_only(), prompts(), 0) == by_the_loop()


@pytest.mark.parametrize("block_size", [1, 4, 16])
@pytest.mark.parametrize("rung", IN_BLOCKS)
def test_in_blocks(rung: Rung, block_size: int) -> None:
    assert rung(whole().weights_only(), prompts(), block_size) == by_the_loop()


@pytest.mark.parametrize("serve", [by_functions, by_engine])
@pytest.mark.parametrize("block_size", [1, 4, 16])
@pytest.mark.parametrize("rung", SERVED)
def test_served(rung: Callable[..., list[list[int]]], block_size: int, serve: Serve) -> None:
    assert rung(whole().weights_only(), prompts(), block_size, serve) == by_the_loop()


def test_the_prompts_are_of_five_lengths() -> None:
    assert [len(prompt) for prompt in prompts()] == [6, 1, 16, 23, 26]
