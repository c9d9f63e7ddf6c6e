"""The core that a server drives: what happens to those who come and go while a step is under way, and to a step that fails."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch

from course.kit import WeightsOnly
from course.kit.serving import SamplingParams
from course.kit.serving.core import FailedOutput
from course.kit.serving.extras import Extras
from solutions.engine.backend import choose
from solutions.engine.core import EngineCore
from solutions.serving import AsyncEngine

from ..support.served import tiny

GREEDY = SamplingParams(max_tokens=5, temperature=0)


class Gate:
    """In place of a pass: each waits in its thread until it may go on."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self.forward, self.entered, self.open = forward, threading.Event(), threading.Event()
        self.fails = False

    def __call__(self, *arguments: Any) -> Any:
        self.entered.set()
        assert self.open.wait(30)
        if self.fails:
            raise RuntimeError("the weights have gone")
        return self.forward(*arguments)


@pytest.fixture
def core():
    core = EngineCore(choose(tiny(), "auto", rows=2, max_len=64, threads=1), threads=1)
    yield core
    core.close()


async def until(ready: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not ready():
            await asyncio.sleep(0.001)


async def finish(core: EngineCore) -> dict[str, list[int]]:
    """Steps while there is work -> each request's tokens."""
    made: dict[str, list[int]] = {}
    while core.has_work:
        for output in await core.step():
            made.setdefault(output.request_id, []).append(output.token_id)
    return made


def test_the_tokens_are_the_engines(core):
    async def play() -> dict[str, list[int]]:
        for i in range(5):
            core.add(f"r{i}", [5, 6, 7 + i], GREEDY)
        assert (core.num_waiting, core.num_running) == (5, 0)
        return await finish(core)

    free = core.num_free_blocks
    made = asyncio.run(play())
    model = tiny()
    for i in range(5):
        ids, wanted = [5, 6, 7 + i], []
        while len(wanted) < 5 and (not wanted or wanted[-1] != model.tokenizer.eos_token_id):
            wanted.append(model(torch.tensor([ids + wanted]))[0, -1].argmax().item())
        assert made[f"r{i}"] == wanted
    assert (core.num_waiting, core.num_running, core.num_free_blocks, core.has_work) == (0, 0, free, False)


def test_who_comes_and_goes_during_a_step_takes_effect_when_it_has_ended(core):
    async def play() -> None:
        scheduler = core._serving.scheduler
        core._serving._forward = gate = Gate(core._serving._forward)
        core.add("stays", [5, 6, 7], GREEDY)
        core.add("leaves", [5, 6, 8], GREEDY)
        core.add("waits", [5, 6, 9], GREEDY)
        step = asyncio.ensure_future(core.step())
        await until(gate.entered.is_set)
        assert (core.num_running, core.num_waiting) == (2, 1)
        core.abort("leaves")
        core.abort("leaves")
        core.abort("waits")
        core.add("comes", [5, 6, 10], GREEDY)
        core.add("comes and goes", [5, 6, 11], GREEDY)
        core.abort("comes and goes")
        assert len(scheduler.running) == 2  # nothing is touched
        assert len(scheduler.waiting) == 1
        assert core.num_waiting == 2  # the one that leaves, and the one that comes
        gate.open.set()
        assert {output.request_id for output in await step} == {"stays", "leaves"}  # the step was under way
        assert (core.num_running, core.num_waiting) == (1, 1)
        assert set(await finish(core)) == {"stays", "comes"}

    free = core.num_free_blocks
    asyncio.run(play())
    assert (core.num_free_blocks, core._requests, core._ids, core._asked) == (free, {}, {}, {})


def test_the_loop_serves_others_while_a_step_computes(core):
    async def play() -> None:
        core._serving._forward = gate = Gate(core._serving._forward)
        core.add("a", [5], GREEDY)
        step = asyncio.ensure_future(core.step())
        await until(gate.entered.is_set)
        await asyncio.sleep(0)  # the loop turns although the step waits
        assert not step.done()
        gate.open.set()
        await step

    asyncio.run(play())


def test_a_cancelled_step_goes_on_and_the_next_call_gives_its_tokens(core):
    async def play() -> None:
        core._serving._forward = gate = Gate(core._serving._forward)
        core.add("a", [5], GREEDY)
        step = asyncio.ensure_future(core.step())
        await until(gate.entered.is_set)
        step.cancel()
        await asyncio.gather(step, return_exceptions=True)
        assert core.has_work
        gate.open.set()
        assert len((await finish(core))["a"]) == 5

    asyncio.run(play())


def test_a_step_that_fails_gives_up_those_who_ran_and_nobody_else(core):
    async def play() -> None:
        core._serving._forward = gate = Gate(core._serving._forward)
        for name in ("a", "b", "waits"):
            core.add(name, [5, 6, 7], GREEDY)
        gate.fails = True
        step = asyncio.ensure_future(core.step())
        await until(gate.entered.is_set)
        core.abort("a")
        core.add("comes", [5, 6, 7], GREEDY)
        gate.open.set()
        with pytest.raises(RuntimeError, match="the weights have gone"):
            await step
        assert (core.num_running, core.num_waiting) == (0, 2)
        core.abort("b")  # its reader has the error, and drops the request
        gate.fails = False
        assert set(await finish(core)) == {"waits", "comes"}

    free = core.num_free_blocks
    asyncio.run(play())
    assert (core.num_free_blocks, core._requests) == (free, {})


def test_what_cannot_be_served_is_refused_before_it_waits(core):
    for ids, params, said in (
        ([], GREEDY, "0 tokens of prompt"),
        ([5] * 61, GREEDY, "61 tokens of prompt and 5 of answer"),
        ([5], SamplingParams(max_tokens=0), "0 of answer"),
    ):
        with pytest.raises(ValueError, match=said):
            core.add("a", ids, params)
    core.add("a", [5] * 60, GREEDY)  # the last token is said, and not read
    with pytest.raises(ValueError, match="open already"):
        core.add("a", [5], GREEDY)
    core.abort("a")
    core.abort("never seen")
    assert not core.has_work
    assert asyncio.run(core.step()) == []


def test_an_answer_is_the_same_whoever_is_in_the_batch_and_however_often_it_gave_way():
    """Memory for 64 tokens of two texts of 45: the younger one is preempted and computed anew, its draws go on where they were."""
    params = SamplingParams(max_tokens=40, temperature=1.2, top_p=0.9, seed=4)

    async def answer(core: EngineCore, others: int) -> list[int]:
        for i in range(others):
            core.add(f"other {i}", [9, 8, 7, 6, 5], SamplingParams(max_tokens=40, temperature=1.0, seed=i))
        core.add("mine", [5, 6, 7, 8, 9], params)
        return (await finish(core))["mine"]

    def made(others: int) -> tuple[list[int], int]:
        from solutions.engine.serving import ServingEngine

        chosen = choose(tiny(), "auto", rows=3, max_len=64, threads=1)
        serving = ServingEngine(tiny(), num_blocks=4, block_size=16, token_budget=64, max_running=3)
        preempted = []
        schedule = serving.scheduler.schedule
        serving.scheduler.schedule = lambda: (plan := schedule(), preempted.extend(plan.preempted))[0]
        object.__setattr__(chosen, "serving", serving)
        core = EngineCore(chosen, threads=1)
        try:
            return asyncio.run(answer(core, others)), len(preempted)
        finally:
            core.close()

    alone, gave_way = made(0)
    assert gave_way == 0
    crowded, gave_way = made(2)
    assert gave_way > 0
    assert crowded == alone


def test_the_async_engine_drives_it_to_the_end(core):
    async def play() -> list[list[int]]:
        engine = AsyncEngine(core, max_waiting=16)
        run = asyncio.ensure_future(engine.run())

        async def read(i: int) -> list[int]:
            return [output.token_id async for output in engine.generate(f"r{i}", [5, 6, 7 + i], GREEDY)]

        got = await asyncio.gather(*(read(i) for i in range(6)))
        engine.drain()
        await asyncio.wait_for(run, 30)
        return got

    free = core.num_free_blocks
    assert all(len(tokens) == 5 for tokens in asyncio.run(play()))
    assert core.num_free_blocks == free


def test_the_engine_itself_ends_an_answer_at_a_stop_token(core):
    async def play(extras: Extras) -> list[int]:
        core.extras["a"] = extras
        core.add("a", [5, 6, 7], GREEDY)
        return (await finish(core))["a"]

    whole = asyncio.run(play(Extras()))
    assert (len(whole), whole.index(whole[3])) == (5, 3)
    assert asyncio.run(play(Extras(stop_token_ids=(whole[3],)))) == whole[:4]
    assert len(asyncio.run(play(Extras(stop_token_ids=(whole[3],), min_tokens=5)))) == 5
    eos = core.chosen.tokenizer.eos_token_id
    biased = {"logit_bias": ((eos, 100.0),)}
    assert asyncio.run(play(Extras(**biased))) == [eos]
    assert asyncio.run(play(Extras(**biased, ignore_eos=True))) == [eos] * 5
    assert asyncio.run(play(Extras(**biased, min_tokens=3)))[3:] == [eos]


# ---- a row of logits that is not a distribution -----------------------------------------------------------------------

BAD = 900
"""A token whose embedding is NaN: its keys and values are NaN, and all logits after it."""
PROMPTS = {"a": [5, 6, 7], "b": list(range(20, 60)), "c": list(range(100, 117)), "d": [9] * 16}
DRAWN = SamplingParams(max_tokens=12, temperature=1.1, top_p=0.95, seed=3)


def damaged() -> WeightsOnly:
    model = tiny()
    embedding = model.weights.embed_tokens.clone()
    embedding[BAD] = math.nan
    return WeightsOnly(model.config, replace(model.weights, embed_tokens=embedding), lambda: model.tokenizer)


@contextmanager
def core_of(model: WeightsOnly, rows: int = 8) -> Iterator[EngineCore]:
    core = EngineCore(choose(model, "auto", rows=rows, max_len=96, threads=1), threads=1)
    try:
        yield core
    finally:
        core.close()


async def outcomes(core: EngineCore) -> tuple[dict[str, list[int]], dict[str, Exception]]:
    """Steps while there is work -> each request's tokens, and the errors."""
    made: dict[str, list[int]] = {}
    errors: dict[str, Exception] = {}
    while core.has_work:
        for output in await core.step():
            if not isinstance(output, FailedOutput):
                made.setdefault(output.request_id, []).append(output.token_id)
            else:
                errors[output.request_id] = output.error
    return made, errors


@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_a_nan_ends_its_own_request_and_leaves_the_others_their_answers(params):
    """Before, between and after the others in the step, in a prompt of one block, of several, and in the middle of a prompt."""
    bad = {"bad first": [BAD], "bad of several blocks": [*range(40, 80), BAD, *range(7)], "bad last": [BAD, 5, 6]}

    async def play(core: EngineCore, prompts: dict[str, list[int]]) -> tuple[dict[str, list[int]], dict[str, Exception]]:
        for name, ids in prompts.items():
            core.add(name, ids, params)
        return await outcomes(core)

    with core_of(damaged()) as core:
        free = core.num_free_blocks
        want, none = asyncio.run(play(core, PROMPTS))
        assert none == {}
    names = ["bad first", "a", "b", "bad of several blocks", "c", "d", "bad last"]
    with core_of(damaged()) as core:
        made, errors = asyncio.run(play(core, {name: {**PROMPTS, **bad}[name] for name in names}))
        assert made == want
        assert errors.keys() == bad.keys()
        assert all("best logit is nan" in str(error) for error in errors.values())
        assert (core.num_waiting, core.num_running, core.num_free_blocks, core._requests, core._ids) == (0, 0, free, {}, {})


def test_a_block_that_held_nan_is_as_good_as_any_other():
    """Some blocks hold NaN that failed requests left, then all blocks hold NaN or infinity: later requests get their answers."""

    async def ask(core: EngineCore, prompts: dict[str, list[int]]) -> tuple[dict[str, list[int]], dict[str, Exception]]:
        for name, ids in prompts.items():
            core.add(name, ids, GREEDY)
        return await outcomes(core)

    with core_of(damaged()) as core:
        want = asyncio.run(ask(core, PROMPTS))
        assert want[1] == {}
    with core_of(damaged()) as core:
        memory = core._serving._forward.kv
        for _ in range(3):
            made, errors = asyncio.run(ask(core, {f"bad {i}": [BAD, *range(20 + i, 100 + i)] for i in range(8)}))
            assert (made, len(errors)) == ({}, 8)
        assert memory.values.isnan().any(-1).any(-1).any(0).sum() > 200
        assert asyncio.run(ask(core, PROMPTS)) == want
        for stale in (math.nan, math.inf, -math.inf):
            memory.keys.fill_(stale)
            memory.values.fill_(stale)
            core._serving.pool.block_of.clear()  # no prefix of the requests before is found
            core._serving.pool.key_of.clear()
            assert asyncio.run(ask(core, PROMPTS)) == want


def test_no_request_finds_the_blocks_of_one_that_failed():
    """A prompt's first block goes bad in memory after the first of three chunks: it has been published by then."""
    prompt = [i % 800 + 5 for i in range(700)]
    params = SamplingParams(max_tokens=3, temperature=0)

    async def ask(core: EngineCore) -> tuple[dict[str, list[int]], dict[str, Exception]]:
        core.add("it", prompt, params)
        return await outcomes(core)

    chosen = choose(tiny(), "auto", rows=2, max_len=720, threads=1)
    core = EngineCore(chosen, threads=1)
    try:
        forward = core._serving._forward

        def spoiling(flat: Any, sequences: Any) -> Any:
            logits = forward(flat, sequences)
            forward.kv.values[:, sequences[0].slots(0, 16)] = math.nan
            return logits

        core._serving._forward = spoiling
        made, errors = asyncio.run(ask(core))
        assert (made, list(errors)) == ({}, ["it"])
        assert core._serving.pool.block_of == {}
        core._serving._forward = forward
        made, errors = asyncio.run(ask(core))
        assert (len(made["it"]), errors, core.num_cached_tokens) == (3, {}, 0)
    finally:
        core.close()


def test_a_request_that_fails_after_some_tokens_keeps_them(core):
    """The tokens so far have been said; the error comes after them."""
    forward, count = core._serving._forward, itertools.count()

    def nan_in_the_third_step(*arguments: Any) -> Any:
        logits = forward(*arguments)
        if next(count) == 2:
            logits[0, 17] = math.nan
        return logits

    async def play() -> tuple[dict[str, list[int]], dict[str, Exception]]:
        core.add("fails", [5, 6, 7], GREEDY)
        core.add("goes on", [5, 6, 8], GREEDY)
        return await outcomes(core)

    want, _ = asyncio.run(play())
    core._serving._forward = nan_in_the_third_step
    made, errors = asyncio.run(play())
    assert made == {"fails": want["fails"][:2], "goes on": want["goes on"]}
    assert list(errors) == ["fails"]
