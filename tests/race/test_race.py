"""The race of capstone engines: what a right one gets, and what each attack on it earns."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from autograder.base.course_table import earlier_sources
from autograder.base.errors import CourseError
from autograder.cli import app
from autograder.gradebook.books.class_folder import ClassFolder
from autograder.gradebook.lms import gradescope
from autograder.gradebook.results import class_results
from autograder.grading.records import FLOAT32, QUANTIZED, Record, read_record, record_of, write_record
from autograder.lessons import capstone_bytes
from autograder.race import board, entry, recording, replay, rightness, running, validate
from autograder.race.baselines import LIMITS, TOPIC, Rivals, naive_source
from autograder.race.replay import Played, Racer, play
from autograder.race.rightness import Part
from autograder.race.running import Outcome, Promises, Rate
from autograder.race.traffic import Asked, Draw, arriving, requests
from autograder.race.validate import Disqualified, Judge, hold_against, least_divergence
from autograder.sandbox.submission import Cell
from course.kit import Model, load_model
from solutions.capstone import CapstoneEngine as Naive
from solutions.quantization import dequantize, quantize_affine

MIB = 1024**2
VOCAB = 1024
SCHEMA = json.loads((Path(__file__).parents[1] / "support" / "gradescope_schema.json").read_text())

DAY14 = '''
import torch
from solutions.continuous_batching import Request, Scheduler, abort, engine_step
from solutions.paging import PagedKV, PrefixPool


class CapstoneEngine:
    """Day 14's functions, put together: what somebody has who has followed the course and tuned nothing."""

    def __init__(self, model, *, max_running, cache_bytes):
        config = model.config
        block_bytes = 16 * 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * model.dtype.itemsize
        num_blocks = cache_bytes // block_bytes
        self.model, self.requests = model, {}
        self.kv = PagedKV(config, num_blocks, 16, model.dtype)
        self.scheduler = Scheduler(PrefixPool(num_blocks), 16, token_budget=64, max_running=max_running)

    @property
    def has_work(self):
        return bool(self.requests)

    def add(self, request_id, prompt_ids, max_tokens):
        self.requests[request_id] = Request(prompt_ids, max_tokens)
        self.scheduler.add(self.requests[request_id])

    def abort(self, request_id):
        if request_id in self.requests:
            abort(self.scheduler, self.requests.pop(request_id))

    def step(self):
        before = {name: len(request.output) for name, request in self.requests.items()}
        engine_step(self.model, self.scheduler, self.kv)
        new = [(name, self.requests[name].output[-1]) for name, had in before.items() if len(self.requests[name].output) > had]
        for name in [name for name, request in self.requests.items() if len(request.output) == request.max_new_tokens]:
            del self.requests[name]
        return new
'''


def over_naive(source: str) -> str:
    """An engine that is the naive one but for what `source` writes over. `Naive` is what it was."""
    return f"{naive_source()}\n\nimport collections, threading, time\nNaive = CapstoneEngine\n\n{source}"


@pytest.fixture
def racer_of() -> Iterator[Callable[[str], Racer]]:
    made: list[Racer] = []

    def make(source: str) -> Racer:
        made.append(Racer(TOPIC, [Cell("CapstoneEngine", source)], earlier_sources(TOPIC), limits=LIMITS))
        return made[-1]

    yield make
    for racer in made:
        racer.close()


def few(count: int = 3, tokens: int = 6, label: str = "few") -> list[Asked]:
    draw = Draw(1, label)
    return [Asked(f"{label}/{n}", draw.integers(0, VOCAB - 1, 12), tokens) for n in range(count)]


def played(racer: Racer, asked: list[Asked], **more: Any) -> Played:
    return play(racer, asked, **{"max_running": 4, "cache_bytes": 4 * MIB, **more})


# The requests


def test_a_seed_draws_the_same_requests_and_no_prompt_comes_twice_in_a_race() -> None:
    labels = ["promises", *(f"round {number}, rate {rate:g}" for number in range(running.TINY.rounds) for rate in running.RATES)]
    drawn = {label: requests(Draw(5, label), 64, VOCAB) for label in labels}
    assert drawn == {label: requests(Draw(5, label), 64, VOCAB) for label in labels}
    beginnings = {label: {tuple(each.prompt[:16]) for each in asked if len(each.prompt) >= 16} for label, asked in drawn.items()}
    assert sum(map(len, beginnings.values())) == len(set().union(*beginnings.values()))
    assert drawn["promises"] != requests(Draw(6, "promises"), 64, VOCAB)


def test_requests_are_what_the_page_says() -> None:
    asked = requests(Draw(1, "many"), 4000, VOCAB)
    heads: dict[tuple[int, ...], int] = {}
    for each in asked:
        heads[tuple(each.prompt[:128])] = heads.get(tuple(each.prompt[:128]), 0) + 1
    shared = sorted(heads.values())[-4:]
    assert 0.27 < sum(shared) / 4000 < 0.33
    others = sorted(len(each.prompt) for each in asked if heads[tuple(each.prompt[:128])] < 50)
    assert 57 < others[len(others) // 2] < 63
    assert {each.max_tokens for each in asked} == set(range(8, 65))
    times = [each.arrival for each in arriving(asked, 50.0, Draw(1, "times"))]
    assert times == sorted(times)
    assert 0.9 < times[-1] / (4000 / 50.0) < 1.1


# Right engines


@pytest.mark.parametrize("source", [naive_source(), DAY14], ids=["naive", "day 14"])
def test_right_engines_are_right(racer_of: Callable[[str], Racer], source: str) -> None:
    racer, model = racer_of(source), load_model("tiny", dtype=torch.float64)
    for part in (rightness.alone, rightness.together, rightness.aborted):
        part(racer, model, Draw(3, part.__name__))


def test_the_reference_is_right() -> None:
    rivals = Rivals()
    try:
        racer, model = rivals.reference(), load_model("tiny", dtype=torch.float64)
        for part in (rightness.together, rightness.aborted):
            part(racer, model, Draw(4, part.__name__))
    finally:
        rivals.close()


def test_nothing_of_the_courses_engine_can_be_imported_by_a_student(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of("from solutions.engine.serving import ServingEngine\nclass CapstoneEngine: pass")
    racer.start()
    assert "CapstoneEngine" not in racer.defined("CapstoneEngine")
    assert "ModuleNotFoundError" in racer.cell_outcomes["CapstoneEngine"].message


def test_an_abort_that_forgets_nothing_is_found(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(over_naive("class CapstoneEngine(Naive):\n    def abort(self, request_id): pass"))
    with pytest.raises(Disqualified, match="is unknown, complete or aborted"):
        rightness.aborted(racer, load_model("tiny", dtype=torch.float64), Draw(1, "aborted"))


# Attacks: each earns what is honest in it


def test_answers_before_they_are_computed_are_no_answers(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
class CapstoneEngine(Naive):
    def step(self):
        request_id, prompt, count = self.queue.pop(0)
        return [(request_id, prompt[-1])] * count
""")
    )
    found = played(racer, few())
    assert all(len(tokens) == 6 for tokens in found.tokens.values())
    with pytest.raises(Disqualified, match=r"token 0 of few/0 is .*; the model says"):
        hold_against(load_model("tiny", dtype=torch.float64), found)


def test_one_wrong_token_among_right_ones_is_found(racer_of: Callable[[str], Racer]) -> None:
    found = played(racer_of(naive_source()), few(1))
    model = load_model("tiny", dtype=torch.float64)
    hold_against(model, found)
    found.tokens["few/0"][4] = (found.tokens["few/0"][4] + 1) % VOCAB
    with pytest.raises(Disqualified, match="token 4 of few/0"):
        hold_against(model, found)
    found.tokens["few/0"][4] = VOCAB
    with pytest.raises(Disqualified, match="not an integer from 0 to 1023"):
        hold_against(model, found)


def test_sleeping_moves_no_clock(racer_of: Callable[[str], Racer]) -> None:
    source = "class CapstoneEngine(Naive):\n    def step(self):\n        time.sleep(0.2)\n        return super().step()"
    assert played(racer_of(over_naive(source)), few(2)).seconds < 0.5 * 12 * 0.2


def test_a_second_thread_is_on_the_same_clock(racer_of: Callable[[str], Racer]) -> None:
    source = """
class CapstoneEngine(Naive):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ready = collections.deque()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while not self.queue:
            time.sleep(0.001)
        while self.queue:
            self.ready.extend(Naive.step(self))

    def step(self):
        time.sleep(0.02)
        return [self.ready.popleft() for _ in range(len(self.ready))]

    @property
    def has_work(self):
        return bool(self.queue or self.ready)
"""
    alone = played(racer_of(naive_source()), few(2, tokens=30))
    found = played(racer_of(over_naive(source)), few(2, tokens=30))
    assert found.seconds > 0.5 * alone.seconds  # a second clock would leave nearly nothing


def test_set_up_has_an_allowance(racer_of: Callable[[str], Racer], monkeypatch: pytest.MonkeyPatch) -> None:
    burn = "end = time.process_time() + 0.6\n{0}while time.process_time() < end: pass"
    source = "class CapstoneEngine(Naive):\n    def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n        "
    source += burn.format(8 * " ")
    assert played(racer_of(over_naive(source)), few(1)).setup_seconds >= 0.6
    monkeypatch.setattr(replay, "SETUP_SECONDS", 0.3)
    with pytest.raises(Disqualified, match=r"set-up took 0\.\d s of processor time, more than 0\.3"):
        played(racer_of(over_naive(source)), few(1))
    monkeypatch.setattr(entry, "SETUP_SECONDS", 0.3)
    outcome = entry.enter([Cell("CapstoneEngine", over_naive(burn.format("")))], 1)
    assert outcome.fault is not None
    assert outcome.fault.startswith("the cells took")


def test_what_is_kept_of_an_earlier_run_is_never_asked_again(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
known, hits = {}, []

class CapstoneEngine(Naive):
    def add(self, request_id, prompt_ids, max_tokens):
        hits.extend(key for key in known if key == tuple(prompt_ids[: len(key)]))
        known[tuple(prompt_ids[:16])] = True
        super().add(request_id, prompt_ids, max_tokens)
""")
    )
    for label in ("round 0, rate 1", "round 1, rate 1"):
        cut = [Asked(each.request_id, each.prompt, 1) for each in requests(Draw(1, label), 64, VOCAB) if len(each.prompt) >= 16]
        played(racer, cut[:12])
    shared = len(racer.value("hits"))
    assert len(racer.value("known")) + shared == 24  # hits are within one run, where prefixes are shared


def test_tokens_held_back_are_late_from_when_they_are_handed_over(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
class CapstoneEngine(Naive):
    held = ()
    def step(self):
        self.held = [*self.held, *super().step()]
        if self.queue:
            return []
        given, self.held = self.held, ()
        return given
""")
    )
    for trace in played(racer, few()).traces:
        assert trace is not None
        assert trace.ttft == trace.e2e > 0


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("return [('few/9', 1)]", "request 'few/9', which is unknown"),
        ("got = super().step(); return got * 9", "which is unknown, complete or aborted"),
        ("self.queue.clear(); return [(f'few/{n}', 1) for n in range(3)]", "tokens of 3 requests, but max_running is 2"),
        ("return 5", "instead of a list of"),
        ("return [('few/0', True)]", "instead of \\(request_id, token_id\\)"),
        ("return [('few/0', 1, 2)]", "instead of \\(request_id, token_id\\)"),
    ],
)
def test_tokens_that_nobody_is_due(racer_of: Callable[[str], Racer], step: str, said: str) -> None:
    racer = racer_of(over_naive(f"class CapstoneEngine(Naive):\n    def step(self):\n        {step}"))
    with pytest.raises(Disqualified, match=said):
        played(racer, few(), max_running=2)


def test_requests_that_are_dropped_earn_nothing(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(
        over_naive("""
class CapstoneEngine(Naive):
    def add(self, request_id, prompt_ids, max_tokens):
        if request_id.endswith("0"):
            super().add(request_id, prompt_ids, max_tokens)
""")
    )
    found = played(racer, few())
    assert [trace is None for trace in found.traces] == [False, True, True]
    assert found.kept(1e9, 1e9) == 6
    with pytest.raises(Disqualified, match="asked for 6 tokens and got 0"):
        rightness._whole(found.asked, found.tokens)


def test_who_is_refused_was_asked_for_too(racer_of: Callable[[str], Racer]) -> None:
    refusing = """
class CapstoneEngine(Naive):
    def add(self, request_id, prompt_ids, max_tokens):
        if request_id.endswith("0"):
            super().add(request_id, prompt_ids, max_tokens)
"""
    asked = arriving(few(), 0.5, Draw(1, "arrivals"))
    found = played(racer_of(over_naive(refusing)), asked)
    assert found.seconds >= asked[-1].arrival > asked[0].arrival + 1.0
    rate = running._rate(1.0, Promises(1e9, 1e9, 1.0), [(found, found, found)])
    assert rate.served == pytest.approx(1 / 3)  # of all that was asked for, not of what was taken on
    assert rate.goodput == pytest.approx(6 / found.seconds)


def test_work_without_end_is_no_work(racer_of: Callable[[str], Racer]) -> None:
    with pytest.raises(Disqualified, match="has_work is true though"):
        played(racer_of(over_naive("class CapstoneEngine(Naive):\n    has_work = True")), few(1))


def test_a_cache_that_is_too_large_is_found(racer_of: Callable[[str], Racer]) -> None:
    source = """
kept = []

class CapstoneEngine(Naive):
    def step(self):
        kept.append(torch.ones(4 * 1024**2))
        return super().step()
"""
    with pytest.raises(Disqualified, match=r"memory grew by \d\d,\d\d\d,\d\d\d bytes, more than 4,194,304 for keys and values"):
        played(racer_of(over_naive(source)), few())


def test_memory_that_the_cells_took_beforehand_counts(racer_of: Callable[[str], Racer]) -> None:
    racer = racer_of(over_naive("taken = torch.ones(16 * 1024**2)\nclass CapstoneEngine(Naive): pass"))
    played(racer, few(1))  # against itself nothing has grown
    racer.baseline = racer_of(naive_source()).bytes_at_first("tiny", torch.float32)
    with pytest.raises(Disqualified, match="memory grew by"):
        played(racer, few(1))


def test_what_a_thread_does_between_two_runs_is_set_up(racer_of: Callable[[str], Racer], monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
def burn():
    end = time.process_time() + 2.0
    while time.process_time() < end:
        pass

class CapstoneEngine(Naive):
    def step(self):
        got = super().step()
        if not self.queue:
            threading.Thread(target=burn, daemon=True).start()
        return got
"""
    racer = racer_of(over_naive(source))
    played(racer, few(1, label="first"))
    until = racer.clock() + 1.0
    deadline = time.monotonic() + 60.0
    while racer.clock() < until and time.monotonic() < deadline:
        time.sleep(0.05)
    monkeypatch.setattr(replay, "SETUP_SECONDS", 0.9)
    with pytest.raises(Disqualified, match="set-up took"):
        played(racer, few(1, label="second"))


def test_a_processs_own_clock_is_not_read(racer_of: Callable[[str], Racer]) -> None:
    source = "time.process_time = time.perf_counter = time.monotonic = lambda: 0.0\nclass CapstoneEngine(Naive): pass"
    assert played(racer_of(over_naive(source)), few(1)).seconds > 0


# The clock and the score


def made(times: dict[str, list[float]], asked: list[Asked], seconds: float) -> Played:
    tokens = {name: [1] * len(each) for name, each in times.items()}
    return Played(asked, tokens=tokens, times=times, seconds=seconds)


def test_what_is_served_in_time_by_hand() -> None:
    """a keeps both promises, b's first token comes late, c's last gap is long, d lacks a token: 3 tokens of 12."""
    asked = [Asked(name, [1], 3, 1.0) for name in "abcd"]
    times = {"a": [1.5, 1.6, 1.7], "b": [1.51, 1.6, 1.7], "c": [1.2, 1.3, 1.5], "d": [1.2, 1.3]}
    found = made(times, asked, 4.0)
    assert found.kept(0.505, 0.15) == 3
    rate = running._rate(1.0, Promises(0.505, 0.15, 1.0), [(found, found, found)])
    assert (rate.served, rate.reference, rate.again, rate.goodput) == (0.25, 0.25, 0.25, 0.75)


def test_a_rate_is_over_all_rounds() -> None:
    asked = [Asked("a", [1], 3)]

    def one(seconds: float, last: float = 0.3) -> Played:
        return made({"a": [0.1, 0.2, last]}, asked, seconds)

    rounds = [(one(1.0), one(2.0), one(2.0)), (one(2.0, last=9.0), one(1.0), one(4.0))]
    rate = running._rate(2.0, Promises(1.0, 1.0, 1.0), rounds)
    assert (rate.served, rate.reference, rate.again) == (0.5, 1.0, 1.0)
    assert rate.goodput == 3 / 3.0
    assert rate.reference_goodput == (6 / 3.0 + 6 / 6.0) / 2
    assert rate.ttft_p99 == pytest.approx(0.1)


def test_the_clock_jumps_over_what_nobody_waits_in(racer_of: Callable[[str], Racer]) -> None:
    asked = [Asked("now", [5, 6], 2, 0.0), Asked("much later", [5, 6], 2, 500.0)]
    found = played(racer_of(naive_source()), asked)
    assert 500.0 < found.seconds < 510.0
    assert all(trace is not None and trace.ttft < 5.0 for trace in found.traces)


REFERENCE = (1.0, 1.0, 1.0, 0.75, 0.25, 0.0)


def raced(*served: float, again: tuple[float, ...] = REFERENCE) -> Outcome:
    """Of an engine that served these shares, where the course's served four doublings."""
    shares = zip(running.RATES, served, REFERENCE, again, strict=True)
    rates = [Rate(rate, mine, one, other, 1000 * mine, 500 * (one + other), 0.05, 0.004) for rate, mine, one, other in shares]
    return Outcome(7, parts=[Part("one", None), Part("two", "wrong")], promises=Promises(0.1, 0.01, 60.0), rates=rates, seconds=12.0)


TWICE = (1.0, 1.0, 1.0, 1.0, 0.75, 0.25)
HALF = (1.0, 1.0, 0.75, 0.25, 0.0, 0.0)


def test_an_engine_that_is_twice_as_fast_scores_twice_as_much() -> None:
    """By hand: each doubling of speed moves the shares by one rate, and the sum by 1."""
    for shares, score in ((REFERENCE, 1.0), (TWICE, 2.0), (HALF, 0.5), ((1.0, 0.75, 0.25, 0.0, 0.0, 0.0), 0.25)):
        assert raced(*shares).score == pytest.approx(score)
    assert all(high == 2 * low for low, high in itertools.pairwise(running.RATES))
    higher = (1.0, 1.0, 1.0, 0.75, 0.5, 0.25)
    assert raced(*REFERENCE, again=higher).score is None
    assert raced(*REFERENCE, again=(1.0, 1.0, 1.0, 0.8, 0.25, 0.0)).score == pytest.approx(2**-0.025)


def test_nothing_served_at_one_rate_leaves_what_was_served_at_another() -> None:
    slow, slower, slowest = (raced(*shares, 0, 0, 0, 0).score for shares in ((1.0, 0.75), (1.0, 0.25), (0.5, 0.0)))
    assert slow is not None
    assert slower is not None
    assert slowest is not None
    assert slow > 1.3 * slower > 1.6 * slowest > 0
    assert raced(0, 0, 0, 0, 0, 0).score == 0


def test_a_reference_that_disagrees_with_itself_is_no_measure() -> None:
    for off, inconclusive in ((-0.17, True), (-0.14, False), (0.13, False), (0.15, True)):
        outcome = raced(*REFERENCE, again=(1.0, 1.0, 1.0, 0.75 + off, 0.25, 0.0))
        assert outcome.differs == pytest.approx(2**off - 1)
        assert outcome.inconclusive is inconclusive
        assert (outcome.score is None) is inconclusive
        assert (outcome.no_score is not None and outcome.no_score.startswith("inconclusive: ")) is inconclusive
    nothing = raced(*REFERENCE, again=(0.0,) * 6)
    assert nothing.no_score == "the reference kept no promise on this machine, so nothing can be measured: race on a quieter machine"


# The board of quantized engines


def quantized(bits: int) -> Model:
    """tiny at float32 with its matrices rounded to so many bits, in blocks of 32 weights."""
    model = load_model("tiny", dtype=torch.float32)
    weights = model.weights
    for layer in weights.layers:
        for matrix in (layer.q_proj, layer.k_proj, layer.v_proj, layer.o_proj, layer.gate_proj, layer.up_proj, layer.down_proj):
            _round(matrix, bits)
    _round(weights.embed_tokens, bits)  # the head too: they are tied
    return model


def _round(matrix: Tensor, bits: int) -> None:
    blocks = matrix.view(-1, 32)
    q, scale, minimum = quantize_affine(blocks, bits)
    blocks.copy_(dequantize(q, scale, minimum))


def answered(model: Model, asked: list[Asked], other: Callable[[list[int], int], int] = lambda so_far, token: token) -> Played:
    """What the naive engine says with this model. other: (tokens of the answer so far, the model's) -> the one that is handed over."""
    engine, found = Naive(model.weights_only(), max_running=1, cache_bytes=4 * MIB), Played(asked)
    for each in asked:
        engine.add(each.request_id, each.prompt, each.max_tokens)
    while engine.has_work:
        so_far = engine.output
        ((request_id, token),) = engine.step()
        if (changed := other(so_far[:-1], token)) != token:
            so_far[-1] = token = changed
        found.tokens.setdefault(request_id, []).append(token)
    return found


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model("tiny", dtype=torch.float64)


@pytest.fixture(scope="module")
def asked() -> list[Asked]:
    return requests(Draw(3, "quantized"), 32, VOCAB)


def test_the_least_divergence_by_hand() -> None:
    probs = torch.tensor([[0.4, 0.2, 0.4 - 1e-9, 1e-9], [0.4, 0.2, 0.25, 0.15], [0.4, 0.2, 0.25, 0.15], [0.5, 0.3, 0.1, 0.1]])
    found = least_divergence(probs.double().log(), torch.tensor([1, 1, 0, 2]))
    level = (0.4 + 0.2 + 0.25) / 3  # of the second row: 0.25 is less than (0.4 + 0.2) / 2, so it does not share
    assert level < 0.3
    pair = 0.4 * math.log(0.4 / 0.3) + 0.2 * math.log(0.2 / 0.3)
    three = 2 * 0.4 * math.log(0.4 * 3) + 0.2 * math.log(0.2 * 3)
    last = 0.5 * math.log(0.5 / 0.3) + 0.3 * math.log(0.3 / 0.3) + 0.1 * math.log(0.1 / 0.3)
    assert found.tolist() == pytest.approx([three, pair, 0.0, last], abs=1e-6)


def test_no_distribution_that_chooses_the_token_is_nearer() -> None:
    rng = torch.Generator().manual_seed(1)
    for width in (2, 5, 40):
        logits = 2 * torch.randn(200, width, generator=rng, dtype=torch.float64)
        tokens = torch.randint(width, (200,), generator=rng)
        least, probs = least_divergence(logits, tokens), logits.softmax(dim=-1)
        for spread in (0.05, 0.5, 2.0):
            q = (logits + spread * torch.randn(200, width, generator=rng, dtype=torch.float64)).softmax(dim=-1)
            q.scatter_(1, tokens[:, None], q.amax(dim=-1, keepdim=True))  # now the token is the most probable one, or one of two
            q /= q.sum(dim=-1, keepdim=True)
            assert bool(((probs * (probs / q).log()).sum(dim=-1) >= least - 1e-12).all())
        chosen = tokens == logits.argmax(dim=-1)
        assert bool((least[chosen] == 0).all())
        assert bool((least[~chosen] > 0).all())


def distance(model: Model, found: Played, board: str = QUANTIZED) -> float | None:
    """Of what was said, by a whole race's rule. Raises Disqualified."""
    judge = Judge(board, model)
    judge.hold(found)
    judge.end()
    return judge.divergence


@pytest.mark.slow
def test_four_bits_are_near_enough_and_three_are_not(
    model: Model, asked: list[Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = (answered(quantized(bits), asked) for bits in (4, 3))
    found = distance(model, near)
    assert found is not None
    assert 0 < found < validate.MOST_DIVERGENCE
    with pytest.raises(Disqualified, match="the model says"):
        distance(model, near, FLOAT32)
    monkeypatch.setattr(validate, "FURTHEST", math.inf)  # what all tokens together are, whatever one of them is
    with pytest.raises(Disqualified, match=r"from the model is at least 0\.00\d\d nats, more than 0\.002"):
        distance(model, far)


def test_the_models_own_tokens_are_at_no_distance(model: Model, asked: list[Asked]) -> None:
    assert distance(model, answered(load_model("tiny"), asked[:4])) == pytest.approx(0.0, abs=1e-6)
    assert distance(model, answered(load_model("tiny"), asked[:4]), FLOAT32) is None


def test_a_token_that_nobody_could_mean_is_found_by_itself(model: Model, asked: list[Asked]) -> None:
    found = answered(load_model("tiny"), asked[:4], lambda so_far, token: 17 if len(so_far) == 5 else token)
    with pytest.raises(Disqualified, match=r"token 5 of quantized/\d is 17; the model says"):
        distance(model, found)


def test_words_that_come_again_are_no_answer_unasked(model: Model, asked: list[Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    """Who says what followed the same two tokens before, and asks the model only where they are new."""

    def again(so_far: list[int], token: int) -> int:
        for place in range(len(so_far) - 3, -1, -1):
            if so_far[place : place + 2] == so_far[-2:]:
                return so_far[place + 2]
        return token

    monkeypatch.setattr(validate, "FURTHEST", math.inf)
    with pytest.raises(Disqualified, match="from the model is at least"):
        distance(model, answered(load_model("tiny"), asked[:16], again))


def test_a_layer_that_is_left_out_is_too_far(model: Model, asked: list[Asked]) -> None:
    cheap = load_model("tiny", dtype=torch.float32)
    cheap.weights.layers = cheap.weights.layers[:-1]
    cheap.config = replace(cheap.config, num_hidden_layers=len(cheap.weights.layers))
    with pytest.raises(Disqualified):
        distance(model, answered(cheap, asked[:8]))


# The board, the files, the command


NOTEBOOK = Path(__file__)
"""Any file: of what was handed in a record keeps the checksum."""


def recorded(outcome: Outcome, not_verified: str = "") -> Record:
    return recording.record_of(outcome, NOTEBOOK, "ada", not_verified)


def test_the_board_has_no_name_that_was_not_chosen_and_puts_the_verified_on_top(tmp_path: Path) -> None:
    board.add(tmp_path, board.entry_of(raced(*TWICE), "", "run with --local, without isolation"))
    page = board.add(tmp_path, board.entry_of(raced(*HALF), "<b>ada</b>", "")).read_text()
    first, second = (page.index(text) for text in ("&lt;b&gt;ada", "somebody"))
    assert first < second
    assert "not verified: run with --local" in page[second:]
    for text in ("<td>0.50</td>", "<td>75%</td>", "<td>750</td>", "<td>50.0 ms</td>", "<td>4.0 ms</td>", "<td>7</td>", "+0.0%"):
        assert text in page
    assert "<script" not in page
    assert "http" not in page


def test_each_rule_and_each_model_has_a_table_of_its_own(tmp_path: Path) -> None:
    other = raced(*TWICE)
    other.board = QUANTIZED
    third = raced(*TWICE)
    third.model = "smollm2"
    for outcome, name in ((other, "bea"), (third, "cem"), (raced(*HALF), "ada")):
        page = board.add(tmp_path, board.entry_of(outcome, name, "")).read_text()
    places = [page.index(f">{text}<") for text in ("tiny, float32", "ada", "tiny, quantized", "bea", "smollm2, float32", "cem")]
    assert places == sorted(places)


def test_gradescope_gets_points_for_being_right_and_a_place_for_a_verified_score() -> None:
    made = gradescope.results(recording.result_of(recorded(raced(*TWICE))))
    jsonschema.validate(made, SCHEMA)
    assert made["score"] == 1
    assert [test["status"] for test in made["tests"]] == ["passed", "failed"]
    assert made["leaderboard"][0] == {"name": "goodput x reference", "value": 2.0, "order": "desc"}
    speeds = [each["name"] for each in made["leaderboard"][1:]]
    assert speeds == [f"tokens/s at {rate}x" for rate in ("0.125", "0.25", "0.5", "1", "2", "4")]
    assert made["extra_data"]["race"]["score"] == 2.0
    json.dumps(made, allow_nan=False)


def test_a_race_without_a_score_and_one_that_is_not_verified_have_no_place() -> None:
    lost = raced(*TWICE)
    lost.fault = "token 4 of round 0 is 3"
    for outcome, word in ((lost, ""), (raced(*TWICE, again=TWICE), ""), (raced(*TWICE), "run with --local")):
        made = gradescope.results(recording.result_of(recorded(outcome, word)))
        assert "leaderboard" not in made
        assert made["extra_data"]["race"]["not_verified"] == word
    race = recorded(raced(*TWICE, again=TWICE)).race
    assert race is not None
    assert race.fault is not None
    assert race.fault.startswith("inconclusive: ")
    assert gradescope.leaderboard(race) == []


def test_a_race_by_another_rule_has_columns_of_its_own() -> None:
    for rule, of_model, words in ((QUANTIZED, "tiny", "quantized"), (FLOAT32, "smollm2", "smollm2")):
        outcome = raced(*TWICE)
        outcome.board, outcome.model = rule, of_model
        race = recorded(outcome).race
        assert race is not None
        assert gradescope.leaderboard(race)[0]["name"] == f"goodput x reference, {words}"


def test_a_record_carries_a_race_and_is_the_same_when_it_is_read(tmp_path: Path) -> None:
    record = recorded(raced(*TWICE))
    assert read_record(write_record(tmp_path, record)) == record
    assert record_of(json.loads(json.dumps(asdict(record)))) == record
    for wrong in ({"score": "2.0"}, {"goodputs": {"1": None}}, {"seed": None}):
        with pytest.raises(TypeError):
            record_of({**asdict(record), "race": {**vars(record.race), **wrong}})


def test_where_there_was_no_race_the_record_says_nothing_of_one_and_is_exported(tmp_path: Path) -> None:
    record = recorded(Outcome(7, parts=[Part("one", None), Part("two", "wrong")], fault="two: wrong"))
    assert record.race is None
    path = write_record(tmp_path, record)
    assert "race" not in json.loads(path.read_text())
    assert read_record(path) == record
    made = gradescope.results(recording.result_of(record))
    jsonschema.validate(made, SCHEMA)
    assert "leaderboard" not in made
    assert "race" not in made["extra_data"]


def test_an_engine_that_could_not_be_judged_has_no_points_but_a_reason() -> None:
    record = recorded(Outcome(7, fault="there is no CapstoneEngine"))
    assert (record.points, record.max_points) == (0, 4)
    assert "there is no CapstoneEngine" in json.dumps(gradescope.results(recording.result_of(record)))


def test_the_classs_export_has_the_races_beside_the_days(tmp_path: Path) -> None:
    folder = ClassFolder.of(tmp_path / "submitted")
    write_record(folder.records, recorded(raced(*TWICE)))
    (result,) = class_results(folder, [], capstone=True).results
    assert gradescope.results(result)["leaderboard"][0]["value"] == 2.0
    with pytest.raises(CourseError, match="nothing graded"):
        class_results(folder, [])


def test_a_released_notebook_is_an_entry_and_its_demo_is_not(tmp_path: Path) -> None:
    target = tmp_path / "capstone.ipynb"
    target.write_bytes(capstone_bytes())
    cells = entry.student_cells(target)
    assert [cell.name for cell in cells] == ["setup", "CapstoneEngine"]
    assert "class CapstoneEngine:" in cells[1].source


def test_a_notebook_without_an_engine_is_reported_as_that() -> None:
    outcome = entry.enter([Cell("CapstoneEngine", "1 / 0")], 1)
    assert outcome.fault == "there is no CapstoneEngine: its cell did not run to its end: ZeroDivisionError: division by zero"


def test_a_missing_notebook_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_WORK", str(tmp_path))
    with pytest.raises(CourseError, match=r"no notebook at .*run `autograder work` to get the released one"):
        entry.notebook_of(None)


def test_help_stands_alone() -> None:
    said = " ".join(CliRunner().invoke(app, ["race", "--help"]).output.split())
    assert "goodput" in said
    assert "not verified" in said


@pytest.mark.slow
def test_a_cache_that_is_never_freed_fills_the_memory(racer_of: Callable[[str], Racer]) -> None:
    source = """
kept = []

class CapstoneEngine(Naive):
    def step(self):
        if self.cache is not None and self.cache not in kept:
            kept.append(self.cache)
        return super().step()
"""
    model = load_model("tiny", dtype=torch.float64)
    with pytest.raises(Disqualified, match="memory grew"):
        rightness.crowded(racer_of(over_naive(source)), model, Draw(1, "crowded"))
    for right in (naive_source(), DAY14):
        rightness.crowded(racer_of(right), model, Draw(1, "crowded"))


@pytest.mark.slow
def test_a_short_race_from_a_notebook_to_the_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The naive engine is right and slow: all points, and a score well below 1 or none where the machine is too busy to tell."""
    target = tmp_path / "capstone.ipynb"
    target.write_bytes(capstone_bytes())
    outcome = entry.enter(entry.student_cells(target), 11, track=replace(running.TINY, num_requests=12, rounds=1))
    assert outcome.points == 4
    assert outcome.fault is None
    assert outcome.inconclusive or (outcome.score is not None and 0 < outcome.score < 0.7)
