"""The race: an engine's goodput over the reference's, in one run on one machine.

A run draws everything from its seed. The reference says first what it can do: how fast it answers somebody who is alone, of which the
promises are made, and how many requests a second it finishes when all are there at once, of which the offered rates are made. Then, in
each round and at each rate, student, reference and the reference once more get the same new requests, side by side.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from course.kit import load_model
from solutions.latency import percentile

from ..grading.raised import StudentRaised, WorkerDied
from .playing import Lost, Played, Racer, game, hold_against, play, side_by_side
from .rightness import Part, fault_of
from .traffic import Asked, Draw, arriving, one_by_one, requests

NUM_REQUESTS = 64
ROUNDS = 3
RATES = (1.0, 2.0)
"""Offered, in multiples of the reference's capacity."""
TTFT_FACTOR, ITL_FACTOR = 20.0, 10.0
"""Promises, in multiples of what the reference needs for somebody who is alone."""
NUM_ALONE = 16
MAX_RUNNING, CACHE_BYTES = 16, 16 * 1024**2
AGREE = 0.10
"""By so much may the reference differ from itself, over all rounds."""


@dataclass
class Promises:
    """Of the reference's own figures in this run, in seconds of its clock; capacity in requests a second."""

    ttft: float
    itl: float
    capacity: float


@dataclass
class Rate:
    """What was measured at one offered rate, over all rounds. goodput in tokens a second; tails (p99) in seconds, of whole requests."""

    rate: float
    goodput: float
    reference: float
    again: float
    ttft_p99: float | None
    itl_p99: float | None
    kept: float
    """The share of requests that were whole and kept both promises; the reference's beside it."""
    reference_kept: float

    @property
    def score(self) -> float:
        return self.goodput / ((self.reference + self.again) / 2)


@dataclass
class Outcome:
    """Of a race. score is None where there is none: `fault` says why, or the race was inconclusive: the reference disagreed with itself."""

    seed: int
    parts: list[Part] = field(default_factory=list)
    promises: Promises | None = None
    rates: list[Rate] = field(default_factory=list)
    score: float | None = None
    differs: float | None = None
    """The reference against itself: the geometric mean over both rates, less 1."""
    fault: str | None = None
    seconds: float = 0.0

    @property
    def points(self) -> int:
        return sum(part.points for part in self.parts)

    @property
    def inconclusive(self) -> bool:
        return self.differs is not None and abs(self.differs) > AGREE

    def as_data(self) -> dict[str, Any]:
        return {**asdict(self), "points": self.points, "inconclusive": self.inconclusive}


def race(
    student: Racer,
    reference: Racer,
    again: Racer,
    outcome: Outcome,
    *,
    count: int = NUM_REQUESTS,
    rounds: int = ROUNDS,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Fills in the outcome. reference and again: two workers with the course's engine. count: requests at each rate in each round."""
    begin = time.monotonic()
    model = load_model("tiny", dtype=torch.float64)
    vocab = model.config.vocab_size
    promises = outcome.promises = _promises(reference, again, outcome.seed, vocab, count)
    done: dict[float, list[tuple[Played, Played, Played]]] = {rate: [] for rate in RATES}
    try:
        # The rivals are warm by now; the student's worker may be a new one.
        play(student, requests(Draw(outcome.seed, "warm-up"), NUM_ALONE, vocab), max_running=MAX_RUNNING, cache_bytes=CACHE_BYTES)
        for number in range(rounds):
            for rate in RATES:
                say(f"round {number + 1} of {rounds}, {rate:g} times the reference's capacity")
                draw = Draw(outcome.seed, f"round {number}, rate {rate:g}")
                asked = arriving(requests(draw, count, vocab), rate * promises.capacity, draw)
                mine, one, other = side_by_side([_game(racer, asked) for racer in (student, reference, again)])
                for played in (mine, one) if number == 0 else (mine,):
                    hold_against(model, played)
                done[rate].append((mine, one, other))
    except (Lost, StudentRaised, WorkerDied) as error:
        outcome.fault = fault_of(error)
        return
    finally:
        outcome.seconds = round(time.monotonic() - begin, 1)
    outcome.rates = [_rate(rate, promises, done[rate]) for rate in RATES]
    if all(rate.reference and rate.again for rate in outcome.rates):
        outcome.differs = statistics.geometric_mean(rate.again / rate.reference for rate in outcome.rates) - 1
        scores = [rate.score for rate in outcome.rates]
        if not outcome.inconclusive:
            outcome.score = statistics.geometric_mean(scores) if all(scores) else 0.0
    else:
        outcome.fault = "the reference kept no promise on this machine: nothing can be measured here"
    outcome.seconds = round(time.monotonic() - begin, 1)


def _game(racer: Racer, asked: Sequence[Asked]) -> Generator[float, None, Played]:
    return game(racer, asked, max_running=MAX_RUNNING, cache_bytes=CACHE_BYTES)


def _promises(reference: Racer, again: Racer, seed: int, vocab: int, count: int) -> Promises:
    """What the reference needs for requests that come alone, and how many it finishes a second; the mean of its two workers."""
    draw = Draw(seed, "promises")
    asked = requests(draw, count, vocab)
    ttfts, itls = [], []
    for racer in (reference, again):
        play(racer, asked[:NUM_ALONE], max_running=MAX_RUNNING, cache_bytes=CACHE_BYTES)  # the warm-up
        alone = play(racer, one_by_one(asked[:NUM_ALONE], 1000.0), max_running=MAX_RUNNING, cache_bytes=CACHE_BYTES).traces
        ttfts += [trace.ttft for trace in alone if trace]
        itls += [gap for trace in alone if trace for gap in trace.itl]
    finished = side_by_side([_game(racer, asked) for racer in (reference, again)])
    capacities = [count / played.seconds for played in finished]
    return Promises(TTFT_FACTOR * statistics.median(ttfts), ITL_FACTOR * statistics.median(itls), statistics.mean(capacities))


def _rate(rate: float, promises: Promises, rounds: list[tuple[Played, Played, Played]]) -> Rate:
    mine, first, second = (list(each) for each in zip(*rounds, strict=True))
    traces = [trace for played in mine for trace in played.traces]
    whole = [trace for trace in traces if trace is not None]
    gaps = [gap for trace in whole for gap in trace.itl]
    return Rate(
        rate,
        goodput=_goodput(mine, promises),
        reference=_goodput(first, promises),
        again=_goodput(second, promises),
        ttft_p99=percentile([trace.ttft for trace in whole], 99) if whole else None,
        itl_p99=percentile(gaps, 99) if gaps else None,
        kept=_kept(mine, promises),
        reference_kept=_kept([*first, *second], promises),
    )


def _goodput(rounds: list[Played], promises: Promises) -> float:
    """Tokens of all rounds that count, over the time of all rounds."""
    seconds = sum(played.seconds for played in rounds)
    return sum(played.goodput(promises.ttft, promises.itl) * played.seconds for played in rounds) / seconds


def _kept(rounds: list[Played], promises: Promises) -> float:
    traces = [trace for played in rounds for trace in played.traces]
    return sum(t is not None and t.ttft <= promises.ttft and all(gap <= promises.itl for gap in t.itl) for t in traces) / len(traces)
