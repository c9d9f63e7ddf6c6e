"""The numbers of the continuous-batching day that are worked out by hand; what its reference promises."""

import random
import tomllib
from dataclasses import dataclass
from functools import partial

import pytest
import torch

import solutions.continuous_batching as engine
from autograder.checking.helpers.cached import whole
from autograder.sandbox.measure.op_counter import counting
from course.kit import paths
from solutions.continuous_batching import (
    Plan,
    Request,
    Scheduler,
    abort,
    engine_step,
    flatten_chunks,
    forward_ragged,
    simulate,
    step_seconds,
    update,
)
from solutions.latency import Trace, summarize
from solutions.paging import PagedKV, PagedSequence, PrefixPool, block_keys

HAND = tomllib.loads((paths.DATASETS / "hand_computed.toml").read_text(encoding="utf-8"))["continuous_batching"]
H100 = {"weight_seconds": 16e9 / 3.35e12, "token_seconds": 16e9 / 989e12, "kv_seconds": 131072 / 3.35e12}


def scheduler(num_blocks: int, block_size: int, token_budget: int, max_running: int) -> Scheduler:
    return Scheduler(PrefixPool(num_blocks), block_size, token_budget=token_budget, max_running=max_running)


# ---- by hand -------------------------------------------------------------------------------------------------------


def a_second(chunks: list[tuple[int, int]]) -> float:
    return 1.0


def test_the_schedule() -> None:
    case = HAND["schedule"]
    requests = [
        Request([i] * n, new, arrival=arrival)
        for i, (n, new, arrival) in enumerate(zip(case["prompts"], case["new"], case["arrivals"], strict=True))
    ]
    traces = simulate(requests, scheduler(20, case["block_size"], case["budget"], case["max_running"]), a_second)
    assert [trace.token_times for trace in traces] == case["token_times"]
    assert [trace.arrival for trace in traces] == case["arrivals"]


def test_who_gives_way() -> None:
    case = HAND["preempted"]
    requests = [Request([i + 1] * case["prompt"], case["new"]) for i in range(2)]
    fed: dict[Request, int] = dict.fromkeys(requests, 0)

    class Watched(Scheduler):
        def schedule(self) -> Plan:
            plan = super().schedule()
            for request, n in plan.chunks:
                fed[request] += n
            return plan

    pool = PrefixPool(case["num_blocks"])
    watched = Watched(pool, case["block_size"], token_budget=case["budget"], max_running=case["max_running"])
    traces = simulate(requests, watched, a_second)
    assert [trace.token_times for trace in traces] == case["token_times"]
    assert list(fed.values()) == case["fed"]
    assert pool.num_free == case["num_blocks"]


def test_the_flat_chunks() -> None:
    case = HAND["flat"]
    pool = PrefixPool(8)
    requests = [Request(text, 1, sequence=PagedSequence(pool, 4)) for text in case["texts"]]
    for request, before, n in zip(requests, case["before"], case["fed"], strict=True):
        request.sequence.grow(before)
        request.sequence.grow(n)
    flat = flatten_chunks(list(zip(requests, case["fed"], strict=True)))
    assert (flat.ids.tolist(), flat.positions.tolist(), flat.bounds) == ([case["ids"]], case["positions"], case["bounds"])


def test_the_seconds_of_a_step() -> None:
    case = HAND["seconds"]
    rates = {name: case[name] for name in H100}
    for chunks, seconds in zip(case["chunks"], case["seconds"], strict=True):
        assert step_seconds([(n, length) for n, length in chunks], **rates) == pytest.approx(seconds)


def test_so_many_tokens_ride_on_one_read_of_the_weights() -> None:
    case = HAND["llama3_8b"]
    rates = {
        "weight_seconds": case["weight_bytes"] / case["bandwidth"],
        "token_seconds": case["flops_per_token"] / case["peak_flops"],
        "kv_seconds": case["kv_bytes_per_token"] / case["bandwidth"],
    }
    assert rates == pytest.approx(H100)
    assert rates == pytest.approx({name: case[name] for name in rates}, rel=2e-4)
    assert step_seconds([(case["prompt"], case["prompt"])], **rates) == pytest.approx(case["prompt_seconds"], rel=1e-4)
    alone = step_seconds([(1, 1)], **rates)
    assert step_seconds([(case["ride"], 1)], **rates) == alone
    assert step_seconds([(case["ride"] + 1, 1)], **rates) > alone


# ---- what is refused -----------------------------------------------------------------------------------------------


def test_what_cannot_be_finished_is_refused() -> None:
    with pytest.raises(ValueError, match=r"4 is below max_running 5"):
        scheduler(8, 4, 4, 5)
    s = scheduler(3, 4, 8, 2)
    s.add(Request([1] * 10, 3))  # 12 tokens are fed
    for request, why in ((Request([1] * 10, 4), "13 tokens never fit"), (Request([], 4), "got 0 and 4"), (Request([1], 0), "got 1 and 0")):
        with pytest.raises(ValueError, match=why):
            s.add(request)
    assert len(s.waiting) == 1


# ---- schedules on a cache without numbers --------------------------------------------------------------------------


def says(text: list[int]) -> int:
    """What comes after a text: something that depends on all of it."""
    x = 0
    for token in text:
        x = (31 * x + token + 1) % 1_000_003
    return x % 50


def alone(prompt: list[int], max_new_tokens: int, eos: int | None) -> list[int]:
    output: list[int] = []
    while len(output) < max_new_tokens and (not output or output[-1] != eos):
        output.append(says(prompt + output))
    return output


@dataclass
class Case:
    """Requests (prompt, new tokens, EOS), the step at which each arrives, the step at which one is given up, and a scheduler's numbers."""

    requests: list[tuple[list[int], int, int | None]]
    arrivals: list[int]
    aborted: dict[int, int]
    num_blocks: int
    block_size: int
    token_budget: int
    max_running: int


def draw(rng: random.Random) -> Case:
    size, running = rng.choice((1, 2, 4)), rng.randrange(1, 6)
    common = [rng.randrange(50) for _ in range(12)]
    prompts = [common[: rng.randrange(12)] + [rng.randrange(50) for _ in range(rng.randrange(1, 10))] for _ in range(rng.randrange(1, 9))]
    requests = [(prompt, rng.randrange(1, 16), rng.choice((None, 7, says(prompt)))) for prompt in prompts]
    most = max(-(-(len(prompt) + new - 1) // size) for prompt, new, _ in requests)
    return Case(
        requests,
        sorted(rng.randrange(20) for _ in requests),
        {rng.randrange(30): i for i in range(len(requests)) if rng.random() < 0.2},
        most + rng.randrange(max(2, most // 2)),  # little more than the longest needs, so that some must give way
        size,
        running + rng.randrange(20),
        running,
    )


def play(case: Case) -> dict[str, int]:
    """Runs a schedule to its end, with the text up to a token in place of its keys and values. -> what came of it, counted."""
    pool = PrefixPool(case.num_blocks)
    s = Scheduler(pool, case.block_size, token_budget=case.token_budget, max_running=case.max_running)
    requests = [Request(list(prompt), new, eos_token_id=eos) for prompt, new, eos in case.requests]
    memory: dict[int, list[int]] = {}
    ended: list[Request] = []
    given_up: list[Request] = []
    counts = {"fed": 0, "preempted": 0, "found": 0}
    step = 0
    while step <= max(case.arrivals) or s.waiting or s.running:
        for request, arrival in zip(requests, case.arrivals, strict=True):
            if arrival == step:
                s.add(request)
        if step in case.aborted and (request := requests[case.aborted[step]]) in s.waiting + s.running:
            abort(s, request)
            given_up.append(request)
            assert request.sequence is None
        waiting, running, outputs = list(s.waiting), list(s.running), [list(request.output) for request in requests]
        stored = {request: request.sequence.length for request in running}
        plan = s.schedule()
        assert plan.chunks or not waiting + running
        assert [list(request.output) for request in requests] == outputs
        # Who runs, who waits, and in which order.
        kept = running[: len(running) - len(plan.preempted)]
        new = s.running[len(kept) :]
        assert s.running[: len(kept)] == kept
        assert plan.preempted == running[len(kept) :][::-1]
        assert new == waiting[: len(new)]
        assert not (new and plan.preempted)
        assert s.waiting == plan.preempted[::-1] + waiting[len(new) :]
        assert len(s.running) <= case.max_running
        assert all(request.sequence is None for request in s.waiting)
        # Who is fed, and how much.
        left = case.token_budget
        assert [request for request, _ in plan.chunks] == s.running[: len(plan.chunks)]
        for request, n in plan.chunks:
            before = stored.get(request, request.sequence.length - n)
            assert request.sequence.length == before + n
            assert n == min(len(request.tokens) - before, left) > 0
            left -= n
            counts["found"] += before if request in new else 0
        assert not left or len(plan.chunks) == len(s.running)
        if s.waiting and not plan.preempted and len(s.running) < case.max_running and left:
            first = s.waiting[0].tokens
            known = pool.find(block_keys(first[:-1], case.block_size))
            idle = sum(not pool.holders(block) for block in known)
            n = min(len(first) - len(known) * case.block_size, left)
            assert -(-n // case.block_size) + idle > pool.num_free  # else it should have been admitted
        # What is written, what is read.
        written: dict[int, list[int]] = {}
        for request, n in plan.chunks:
            start = request.sequence.length - n
            for t, slot in enumerate(request.sequence.slots(start).tolist(), start):
                assert slot not in written
                written[slot] = request.tokens[: t + 1]
        memory.update(written)
        for request, _ in plan.chunks:
            for t, slot in enumerate(request.sequence.slots().tolist()):
                assert memory[slot] == request.tokens[: t + 1]
        ended += update(s, plan, [says(request.tokens[: request.sequence.length]) for request, _ in plan.chunks])
        counts["fed"] += plan.num_tokens
        counts["preempted"] += len(plan.preempted)
        step += 1
        assert step < 2000
    for request, (prompt, max_new_tokens, eos) in zip(requests, case.requests, strict=True):
        want = alone(prompt, max_new_tokens, eos)
        assert request.output == (want if request not in given_up else want[: len(request.output)])
    assert len(ended) + len(given_up) == len(set(ended + given_up)) == len(requests)
    assert pool.num_free == case.num_blocks
    return counts


def test_any_schedule_gives_each_request_what_it_gets_alone() -> None:
    counts = [play(draw(random.Random(seed))) for seed in range(200)]
    assert sum(each["preempted"] > 0 for each in counts) > 40  # the draw reaches what it is for
    assert sum(each["found"] > 0 for each in counts) > 40


def test_without_giving_way_each_token_is_fed_once() -> None:
    s = scheduler(100, 4, 8, 3)
    requests = [Request([i] * n, new) for i, (n, new) in enumerate(((5, 4), (17, 1), (1, 9), (8, 3)))]
    fed = 0
    for request in requests:
        s.add(request)
    while s.waiting or s.running:
        plan = s.schedule()
        fed += plan.num_tokens
        update(s, plan, [0] * len(plan.chunks))
    assert fed == sum(len(request.prompt) + len(request.output) - 1 for request in requests)


def test_the_first_tokens_of_a_second_asker_are_taken_over() -> None:
    s = scheduler(20, 4, 64, 2)
    for _ in range(2):
        request = Request(list(range(14)), 2)
        s.add(request)
        fed = []
        while s.waiting or s.running:
            plan = s.schedule()
            fed.append(plan.num_tokens)
            update(s, plan, [99])
    assert fed == [2, 1]  # 14 tokens, 12 of them known


# ---- the model -----------------------------------------------------------------------------------------------------

def memory(num_blocks: int, block_size: int, dtype: torch.dtype = torch.float64) -> PagedKV:
    """Memory in which something lies everywhere: what nobody wrote must not matter."""
    kv = PagedKV(whole().config, num_blocks, block_size, dtype)
    kv.keys.fill_(0.7)
    kv.values.fill_(-0.7)
    return kv


def test_nothing_to_do_is_no_step() -> None:
    model = whole().weights_only()
    assert engine_step(model, scheduler(4, 4, 8, 2), memory(4, 4)) == []


@pytest.mark.parametrize(("rows", "context", "fed"), [(16, 32, 1), (4, 40, 8)])
def test_the_weights_are_read_once_a_step(rows: int, context: int, fed: int) -> None:
    model, fast = whole(torch.float32).weights_only(), 100 * 1024
    pool, kv = PrefixPool(200), memory(200, 16, torch.float32)
    requests = [Request([i + 1] * context, 1, sequence=PagedSequence(pool, 16)) for i in range(rows)]
    for request in requests:
        request.sequence.grow(context)
    chunks, sequences = [(request, fed) for request in requests], [request.sequence for request in requests]
    matrices = [tensor for layer in model.weights.layers for tensor in vars(layer).values()] + [model.weights.lm_head]
    config = model.config
    cached = rows * context * 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    least = sum(tensor.nbytes for tensor in matrices if tensor.nbytes > fast) + cached
    with counting(fast_bytes=fast) as flat:
        together = forward_ragged(model, flatten_chunks(chunks), sequences, kv)
    with counting(fast_bytes=fast) as apart:
        rows_alone = [forward_ragged(model, flatten_chunks([chunk]), [chunk[0].sequence], kv) for chunk in chunks]
    torch.testing.assert_close(together, torch.cat(rows_alone), atol=1e-3, rtol=1e-3)
    assert flat.slow_bytes < 1.1 * least
    assert apart.slow_bytes > 3 * least


# ---- policies on a virtual clock -----------------------------------------------------------------------------------


class Static(Scheduler):
    """A batch is filled when the last one has ended."""

    def schedule(self) -> Plan:
        plan = engine.feed_running(self)
        if not plan.chunks:
            engine.admit(self, plan)
        return plan


def workload(rate: float | None = 8.0) -> list[Request]:
    """200 requests at `rate` a second, or all at 0; 15 % of the prompts are long."""
    rng, clock, requests = random.Random(0), 0.0, []
    for i in range(200):
        gap = rng.expovariate(1.0)
        clock += gap / rate if rate else 0.0
        n = rng.randrange(3000, 6000) if rng.random() < 0.15 else rng.randrange(50, 400)
        requests.append(Request([i] * n, rng.randrange(20, 300), arrival=clock))
    return requests


def attainment(traces: list[Trace]) -> float:
    """The share of the requests that kept a TTFT of 1 s and gaps of 25 ms."""
    return sum(trace.ttft <= 1 and all(gap <= 0.025 for gap in trace.itl) for trace in traces) / len(traces)


NO_BUDGET = 10**6
POLICIES = [  # tokens/s, attainment in %, TTFT p50 and p99, ITL p50, p99 and longest, in ms
    (Static, NO_BUDGET, 8, (824, 6.5, 4491, 9435, 5.0, 5.4, 5.4)),
    (Static, NO_BUDGET, 32, (1046, 53.0, 934, 1746, 5.0, 5.4, 5.6)),
    (Scheduler, NO_BUDGET, 32, (1094, 50.5, 8, 95, 5.0, 5.9, 91.3)),
    (Scheduler, 2048, 32, (1094, 50.0, 9, 99, 5.0, 25.5, 33.1)),
    (Scheduler, 1024, 32, (1094, 100.0, 8, 98, 5.0, 16.6, 16.6)),
    (Scheduler, 512, 32, (1094, 100.0, 8, 101, 5.0, 8.3, 8.3)),
    (Scheduler, 256, 32, (1094, 100.0, 11, 134, 5.0, 5.5, 5.6)),
    (Scheduler, 128, 32, (1091, 100.0, 17, 353, 5.0, 5.4, 5.5)),
    (Scheduler, 64, 32, (1074, 98.5, 40, 1016, 5.0, 5.4, 5.4)),
]


@pytest.mark.parametrize(("policy", "budget", "running", "figures"), POLICIES)
def test_both_ends_lose(
    policy: type[Scheduler], budget: int, running: int, figures: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small budget costs first tokens, a large one gaps, and a static batch both throughput and first tokens: Llama-3-8B on an H100."""
    monkeypatch.setattr(engine, "publish_blocks", lambda *_: None)  # no two texts are alike here, and hashing takes most of the time
    s = policy(PrefixPool(40_000), 16, token_budget=budget, max_running=running)
    traces = simulate(workload(), s, partial(step_seconds, **H100))
    summary = summarize(traces)
    got = (
        summary["output_tokens_per_second"],
        100 * attainment(traces),
        *(1000 * summary[name] for name in ("ttft_p50", "ttft_p99", "itl_p50", "itl_p99")),
        1000 * max(gap for trace in traces for gap in trace.itl),
    )
    digits = (0, 1, 0, 0, 1, 1, 1)
    assert [round(each, n) for each, n in zip(got, digits, strict=True)] == list(figures)


LOADED = [  # requests a second (None: all at 0), tokens/s, attainment in %
    (Static, NO_BUDGET, None, 2364, 16.0),
    (Scheduler, NO_BUDGET, None, 3753, 7.0),
    (Scheduler, 256, None, 4469, 26.0),
    (Scheduler, 64, None, 1917, 8.5),
    (Static, NO_BUDGET, 1, 141, 90.5),
    (Scheduler, NO_BUDGET, 1, 142, 91.5),
    (Static, NO_BUDGET, 32, 2143, 12.0),
    (Static, NO_BUDGET, 48, 2143, 9.0),
    (Scheduler, NO_BUDGET, 48, 3600, 5.5),
    (Scheduler, 256, 32, 3707, 100.0),
    (Scheduler, 256, 48, 4212, 78.5),
]


@pytest.mark.parametrize(("policy", "budget", "rate", "speed", "kept"), LOADED)
def test_a_schedule_is_better_if_its_knee_is_further_right(
    policy: type[Scheduler], budget: int, rate: float | None, speed: int, kept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 32 places: where the demand is more than a schedule can make, and where promises begin to break."""
    monkeypatch.setattr(engine, "publish_blocks", lambda *_: None)
    traces = simulate(workload(rate), policy(PrefixPool(64), 8192, token_budget=budget, max_running=32), partial(step_seconds, **H100))
    assert round(summarize(traces)["output_tokens_per_second"]) == speed
    assert round(100 * attainment(traces), 1) == kept
