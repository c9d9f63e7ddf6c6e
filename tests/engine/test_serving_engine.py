"""The serving engine gives what Day 14's functions give, and takes any of its parts from somebody else."""

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import solutions.continuous_batching as day14
from autograder.base.course_table import solution_source
from autograder.base.specimen_files import SPECIMENS, Listed, find_specimens
from autograder.certification.certify import read_specimen
from autograder.checking.helpers.cached import whole
from autograder.sandbox.measure.op_counter import counting
from course.kit import load_model
from solutions.engine import NewToken, PackedModel, Parts, Request, ServingEngine
from solutions.engine.runner import Runner, group_chunks
from solutions.generation import generate
from solutions.kv_cache import generate_cached
from solutions.paging import PagedKV, PagedSequence, PrefixPool, block_keys


@pytest.fixture(scope="module")
def model():
    return whole().weights_only()


def alone(model, prompt: list[int], max_new_tokens: int, **settings: Any) -> list[int]:
    """What a request gets by itself, greedy unless the settings say otherwise."""
    settings = {"temperature": 0.0, **settings}
    ids = generate_cached(model, torch.tensor([prompt]), max_new_tokens=max_new_tokens, block_size=256, **settings)
    return ids[0, len(prompt) :].tolist()


class Sevens(PagedKV):
    """Memory in which something lies everywhere: what nobody wrote must not matter."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.keys.fill_(7.0)
        self.values.fill_(-7.0)


class NaNs(PagedKV):
    """Memory in which requests that failed have left NaN everywhere."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.keys.fill_(math.nan)
        self.values.fill_(math.nan)


# ---- against Day 14's functions ------------------------------------------------------------------------------------


@dataclass
class Case:
    """Requests (prompt, new tokens, EOS), the step at which each arrives, the step at which one is given up, and the engine's numbers."""

    requests: list[tuple[list[int], int, int | None]]
    arrivals: list[int]
    aborted: dict[int, int]
    sizes: dict[str, int]


def draw(seed: int) -> Case:
    rng = random.Random(seed)
    size, running = rng.choice((1, 4, 16)), rng.randrange(1, 6)
    common = [rng.randrange(3, 1000) for _ in range(24)]
    prompts = [common[: rng.randrange(24)] + [rng.randrange(3, 1000) for _ in range(rng.randrange(1, 20))] for _ in range(6)]
    requests = [(prompt, rng.randrange(1, 12), rng.choice((None, 13))) for prompt in prompts]
    most = max(-(-(len(prompt) + new - 1) // size) for prompt, new, _ in requests)
    blocks = most + rng.randrange(max(2, most // 2))  # little more than the longest needs, so that some must give way
    sizes = {"num_blocks": blocks, "block_size": size, "token_budget": running + rng.randrange(30), "max_running": running}
    return Case(requests, sorted(rng.randrange(12) for _ in requests), {rng.randrange(20): 0, rng.randrange(20): 1}, sizes)


@dataclass
class Played:
    """What came of a case: the requests, the logits of every step, the pool as it is at the end."""

    requests: list[Any]
    logits: list[Tensor]
    pool: PrefixPool


def play(case: Case, made: Callable[..., Any], scheduler: day14.Scheduler, abort: Callable, step: Callable[[], Any]) -> list[Any]:
    """Runs the case to its end -> the requests. abort: called for a request that waits or runs."""
    requests = [made(list(prompt), new, eos_token_id=eos) for prompt, new, eos in case.requests]
    count = 0
    while count <= max(case.arrivals) or scheduler.waiting or scheduler.running:
        for request, arrival in zip(requests, case.arrivals, strict=True):
            if arrival == count:
                scheduler.add(request)
        if count in case.aborted and (request := requests[case.aborted[count]]) in scheduler.waiting + scheduler.running:
            abort(request)
        step()
        count += 1
    return requests


def by_day_14(model, case: Case, reached: Counter[str], monkeypatch: pytest.MonkeyPatch) -> Played:
    """`engine_step` to the end. reached: what the case led to is added to it."""
    num_blocks, size = case.sizes["num_blocks"], case.sizes["block_size"]
    kv, pool = PagedKV(model.config, num_blocks, size, torch.float64), PrefixPool(num_blocks)
    scheduler = day14.Scheduler(pool, size, token_budget=case.sizes["token_budget"], max_running=case.sizes["max_running"])
    logits: list[Tensor] = []
    forward, schedule = day14.forward_ragged, scheduler.schedule

    def noted(*args: Any) -> Tensor:
        logits.append(forward(*args))
        return logits[-1]

    def counted() -> day14.Plan:
        ran = set(scheduler.running)
        plan = schedule()
        reached["preempted"] += len(plan.preempted)
        reached["found"] += sum(request not in ran and request.sequence.length > n for request, n in plan.chunks)
        reached["cut"] += sum(request.remaining > 0 for request, _ in plan.chunks)
        return plan

    def abort(request: day14.Request) -> None:
        day14.abort(scheduler, request)
        reached["aborted"] += 1

    with monkeypatch.context() as patch:
        patch.setattr(day14, "forward_ragged", noted)
        patch.setattr(scheduler, "schedule", counted)
        return Played(play(case, day14.Request, scheduler, abort, lambda: day14.engine_step(model, scheduler, kv)), logits, pool)


def by_engine(model, case: Case) -> tuple[Played, list[NewToken]]:
    """(the same of the engine, the tokens that its steps emitted)."""
    engine = ServingEngine(model, parts=Parts(memory=Sevens), **case.sizes)
    logits: list[Tensor] = []
    forward = engine._forward

    def noted(*args: Any) -> Tensor:
        logits.append(forward(*args))
        return logits[-1]

    engine._forward = noted
    emitted: list[NewToken] = []
    requests = play(case, Request, engine.scheduler, engine.abort, lambda: emitted.extend(engine.step()))
    assert not engine.has_work
    return Played(requests, logits, engine.pool), emitted


@pytest.mark.slow
def test_any_schedule_gives_the_tokens_and_logits_of_day_14(model, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: Counter[str] = Counter()
    for seed in range(16):
        case = draw(seed)
        theirs, (ours, emitted) = by_day_14(model, case, reached, monkeypatch), by_engine(model, case)
        assert [request.output for request in ours.requests] == [request.output for request in theirs.requests]
        for got, want in zip(ours.logits, theirs.logits, strict=True):
            torch.testing.assert_close(got, want, atol=1e-9, rtol=1e-9)
        assert ours.pool.block_of == theirs.pool.block_of
        assert ours.pool.num_free == theirs.pool.num_free == case.sizes["num_blocks"]
        for request in ours.requests:
            its = [new for new in emitted if new.request is request]
            assert [new.token for new in its] == [int(new.logits.argmax()) for new in its] == request.output
            finished = len(request.output) == request.max_new_tokens or request.output[-1:] == [request.eos_token_id]
            assert [new.ended for new in its] == ([False] * len(its) + [finished])[1:]
    assert min(reached[what] for what in ("preempted", "found", "cut", "aborted")) >= 10  # the draw reaches what it is for


def test_each_request_is_drawn_by_its_own_settings_whoever_else_is_there(model) -> None:
    """Also where it is cut into chunks and has to give way: nothing is drawn twice, and nothing for a token that is dropped."""
    rng = random.Random(5)
    settings: list[dict[str, Any]] = [
        {}, {"temperature": 1.0}, {"temperature": 0.7, "top_k": 5}, {"temperature": 1.3, "top_p": 0.9},
        {"temperature": 2.0, "top_k": 50, "top_p": 0.8}, {"top_k": 3},
    ]  # fmt: skip
    prompts = [[rng.randrange(3, 1000) for _ in range(rng.randrange(1, 30))] for _ in settings]
    preempted = 0
    for num_blocks, budget in ((60, 128), (60, 7), (14, 7)):
        requests = [
            Request(prompt, 12, **each, **({"generator": torch.Generator().manual_seed(i)} if "temperature" in each else {}))
            for i, (prompt, each) in enumerate(zip(prompts, settings, strict=True))
        ]
        engine = ServingEngine(model, num_blocks=num_blocks, block_size=4, token_budget=budget, max_running=4)
        schedule = engine.scheduler.schedule
        plans: list[day14.Plan] = []
        engine.scheduler.schedule = lambda schedule=schedule, plans=plans: plans.append(schedule()) or plans[-1]
        outputs = engine.generate(requests)
        preempted += sum(len(plan.preempted) for plan in plans)
        for i, (prompt, each, output) in enumerate(zip(prompts, settings, outputs, strict=True)):
            assert output == alone(model, prompt, 12, **each, generator=torch.Generator().manual_seed(i))
    assert preempted


def test_what_cannot_be_served_is_refused_before_it_is_in(model) -> None:
    for settings, why in (
        ({"temperature": -1.0}, "-1.0"),
        ({"top_p": 0.0}, "0.0"),
        ({"top_k": 0}, "0"),
        ({"temperature": 1.0}, "generator of this request alone"),
    ):
        with pytest.raises(ValueError, match=why):
            Request([5], 3, **settings)
    assert Request([5], 3, top_k=40).temperature == 0
    engine = ServingEngine(model, num_blocks=3, block_size=4, token_budget=8, max_running=2)
    with pytest.raises(ValueError, match="13 tokens never fit"):
        engine.add(Request([5] * 10, 4))
    assert not engine.has_work
    assert engine.step() == []
    with pytest.raises(ValueError, match="neither waits nor runs"):
        engine.abort(Request([5], 1))


def test_after_a_step_that_raised_the_engine_goes_on_without_those_it_fed(model) -> None:
    engine = ServingEngine(model, num_blocks=20, block_size=4, token_budget=16, max_running=2)
    prompts = [[7] * 9, [8] * 10, [9] * 11]
    requests = [Request(prompt, 5) for prompt in prompts]
    for request in requests:
        engine.add(request)
    engine.step()
    forward = engine._forward
    engine._forward = lambda *_: 1 / 0  # type: ignore[assignment, return-value]
    with pytest.raises(ZeroDivisionError):
        engine.step()
    engine._forward = forward
    for request in list(engine.scheduler.running):
        engine.abort(request)
    assert engine.generate([Request(prompts[0], 5)]) == [alone(model, prompts[0], 5)]
    assert requests[2].output == alone(model, prompts[2], 5)
    assert engine.num_free_blocks == 20


def test_two_engines_share_one_packed_model_and_a_request_may_go_from_one_to_the_other(model) -> None:
    packed = PackedModel(model)
    first, second = (ServingEngine(packed, num_blocks=40, block_size=size, max_running=2) for size in (4, 3))
    request = Request([9] * 14, 8)
    first.add(request)
    for _ in range(3):
        first.step()
    first.abort(request)
    assert len(request.output) == 3
    assert second.generate([request]) == [alone(model, [9] * 14, 8)]
    text = request.tokens[:-1]
    assert len(second.pool.find(block_keys(text, 3))) == len(text) // 3
    assert first._forward.model is second._forward.model is packed


# ---- parts of others -----------------------------------------------------------------------------------------------

PROMPTS = [[5] * 9 + [6, 7], [5] * 9 + [8], list(range(20, 47)), [900], [5] * 9 + [6, 7, 11]]
NEW = 9
SIZES: dict[str, Any] = {"num_blocks": 16, "block_size": 4, "token_budget": 8, "max_running": 3}


def served(model, *, num_blocks: int = 16, **parts: Any) -> tuple[list[list[int]], ServingEngine]:
    engine = ServingEngine(model, **{**SIZES, "num_blocks": num_blocks}, parts=Parts(**parts))
    outputs = engine.generate([Request(list(prompt), NEW) for prompt in PROMPTS])
    assert engine.num_free_blocks == engine.pool.num_blocks
    return outputs, engine


PARTS = {
    "paging": {"PrefixPool", "PagedKV", "PagedSequence", "start_sequence", "publish_blocks"},
    "continuous_batching": {"preempt", "feed_running", "admit", "update", "forward_ragged"},
}
"""Exercises whose answers an engine is put together from."""
STUDENTS = [each for each in find_specimens(SPECIMENS, PARTS) if each.right and read_specimen(each).exercise in PARTS[each.topic]]


@pytest.mark.parametrize("listed", STUDENTS, ids=lambda listed: listed.file)
def test_a_students_parts_give_the_same_tokens(model, listed: Listed) -> None:
    """What a notebook of Days 13 and 14 defines, with one answer written differently: all of it, then all but the pass and `update`."""
    names: dict[str, Any] = {"__name__": __name__}
    for source in (solution_source("continuous_batching"), solution_source("paging"), read_specimen(listed).source):
        exec(source, names)
    parts = {"pool": names["PrefixPool"], "memory": names["PagedKV"], "scheduler": names["Scheduler"]}
    functions = {"update": names["update"], "abort": names["abort"], "forward": names["forward_ragged"]}
    assert served(model, **parts, **functions)[0] == served(model, **parts)[0] == [alone(model, prompt, NEW) for prompt in PROMPTS]


class NewestFirst(day14.Scheduler):
    """Who came last is fed first, three tokens at a time, and nobody ever gives way: a request is let in where all of it fits."""

    def schedule(self) -> day14.Plan:
        plan = day14.Plan()
        while self.waiting and len(self.running) < self.max_running:
            request = self.waiting[-1]
            sequence = PagedSequence(self.pool, self.block_size)
            room = sum(each.sequence.blocks_for(each.remaining + each.max_new_tokens) for each in self.running)
            if sequence.blocks_for(len(request.tokens) + request.max_new_tokens) + room > self.pool.num_free:
                break
            request.sequence = sequence
            self.running.append(self.waiting.pop())
        for request in reversed(self.running):
            n = min(request.remaining, 3)
            request.sequence.grow(n)
            plan.chunks.append((request, n))
        return plan


def test_another_scheduler_gives_the_same_tokens(model) -> None:
    outputs, _ = served(model, scheduler=NewestFirst, num_blocks=30)
    assert outputs == [alone(model, prompt, NEW) for prompt in PROMPTS]


class LowestFirst(PrefixPool):
    """Of the free blocks, the one with the lowest number is taken."""

    def take(self) -> int:
        self.free_blocks.sort(reverse=True)
        return super().take()


def test_another_pool_memory_and_pass_give_the_same_tokens(model) -> None:
    calls = []

    def forward(*args: Any) -> Tensor:
        calls.append(args)
        return day14.forward_ragged(*args)

    for parts in (
        {"pool": LowestFirst}, {"memory": Sevens}, {"memory": NaNs}, {"forward": forward}, {"update": day14.update, "abort": day14.abort},
    ):  # fmt: skip
        outputs, engine = served(model, **parts)
        assert outputs == [alone(model, prompt, NEW) for prompt in PROMPTS]
        assert "pool" not in parts or type(engine.pool) is LowestFirst
    assert calls
    assert all(args[0] is model and type(args[3]) is PagedKV for args in calls)


# ---- the pass ------------------------------------------------------------------------------------------------------


def chunk(pool: PrefixPool, length: int, n: int) -> tuple[Request, int]:
    """A chunk of n tokens that ends a text of so many, room for it made."""
    request = Request([(7 * length + i) % 900 + 3 for i in range(length)], 1)
    request.sequence = PagedSequence(pool, 4)
    request.sequence.grow(length)
    return request, n


def test_chunks_alike_are_read_together_and_what_is_read_is_at_most_twice_what_is_there(model) -> None:
    pool = PrefixPool(200)
    sizes = ((30, 1), (9, 1), (40, 24), (32, 1), (12, 1), (33, 1), (3, 1), (5, 5), (17, 1), (1, 1))
    chunks = [chunk(pool, length, n) for length, n in sizes]
    sequences = [request.sequence for request, _ in chunks]
    flat = day14.flatten_chunks(chunks)
    groups = group_chunks(flat, sequences, 4, torch.device("cpu"), torch.float64)
    assert [group.tokens.tolist() for group in groups] == [
        [[0], [26], [35]],  # texts of 8, 8 and 5 blocks
        [[1], [27]],  # 3 and 3
        [list(range(2, 26))],
        [[28]],  # 9 blocks
        [[29], [36]],  # a block each, not full
        [list(range(30, 35))],
    ]
    for group in groups:
        read, there = group.tables.numel() * 4, (group.mask[:, 0, -1] == 0).sum().item()
        assert read < 2 * there + 4 * len(group.tables)
    kv = Sevens(model.config, 200, 4, torch.float64)
    want = day14.forward_ragged(model, flat, sequences, kv)
    torch.testing.assert_close(Runner(PackedModel(model), kv, 800)(flat, sequences), want, atol=1e-9, rtol=1e-9)


def test_the_weights_are_read_once_a_step() -> None:
    model = whole(torch.float32).weights_only()
    pool, kv = PrefixPool(400), PagedKV(model.config, 400, 4)
    chunks = [chunk(pool, 20, 1) for _ in range(16)]
    sequences = [request.sequence for request, _ in chunks]
    runner = Runner(PackedModel(model, "linear"), kv, 400)  # where a library keeps weights, the counter cannot look
    matrices = [tensor for layer in model.weights.layers for tensor in vars(layer).values()] + [model.weights.lm_head]
    least = sum(tensor.nbytes for tensor in matrices if tensor.nbytes > 100 * 1024)
    with counting(fast_bytes=100 * 1024) as work:
        runner(day14.flatten_chunks(chunks), sequences)
    assert work.slow_bytes < 1.5 * least


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_dtypes_are_near(dtype: torch.dtype) -> None:
    model = load_model("tiny", dtype=dtype).weights_only()
    pool, kv = PrefixPool(40), PagedKV(model.config, 40, 4, dtype)
    chunks = [chunk(pool, length, n) for length, n in ((30, 30), (9, 9), (12, 12))]
    sequences, flat = [request.sequence for request, _ in chunks], day14.flatten_chunks(chunks)
    got = Runner(PackedModel(model), kv, 160)(flat, sequences)
    exact = PagedKV(model.config, 40, 4, torch.float64)
    want = day14.forward_ragged(whole().weights_only(), flat, sequences, exact)
    assert got.dtype == dtype
    assert (got.double() - want).norm() < (0.05 if dtype == torch.bfloat16 else 1e-5) * want.norm()


@pytest.mark.slow
def test_smollm2_says_what_it_says_alone() -> None:
    model = load_model("smollm2", missing="none")
    if model is None:
        pytest.skip("SmolLM2 is not here: `make model` fetches it")
    texts = ["The capital of France is", "Once upon a time, in a village by the sea, there lived", "2 + 2 ="]
    prompts = [model.tokenizer.encode(text) for text in texts]
    engine = ServingEngine(model.weights_only(), num_blocks=12, block_size=4, token_budget=6, max_running=3)
    outputs = engine.generate([Request(prompt, 8) for prompt in prompts])
    for prompt, output in zip(prompts, outputs, strict=True):
        want = generate(model, torch.tensor([prompt]), max_new_tokens=8, block_size=64, temperature=0.0)[0, len(prompt) :]
        assert output == want.tolist()
