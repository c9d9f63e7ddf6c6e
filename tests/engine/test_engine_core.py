"""The core that a server drives: what happens to those who come and go while a step is under way, and to a step that fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from course.kit.serving import SamplingParams
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
        core.abort("b")  # its reader has been told, and lets go of it
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
