"""The race: an engine's goodput relative to the reference's, in one run on one machine.

A run draws everything from its seed. The reference is measured first. Its latency for a single request gives the promises. The number of
requests a second that it finishes if all arrive at once gives the offered rates. Then, in each round and at each rate, the student's
engine, the reference and a second copy of the reference get the same new requests, side by side.

Each offered rate is twice the one before. At each rate an engine serves a share of the requested tokens in time: all if it is fast enough,
next to nothing if it is not. The sum of the shares is the number of doublings of the load with which the engine keeps up. The score is two
to the power of the sum minus the reference's sum: an engine of twice the speed has a sum that is larger by 1, and a score of 2. A geometric
mean of goodputs would be 0 for every engine that serves nothing at one rate.
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

from ..grading.records import FLOAT32
from ..sandbox.protocol.worker_errors import StudentRaised, WorkerDied
from .replay import SLACK_BYTES, Played, Racer, game, play, side_by_side
from .rightness import Part, fault_of
from .traffic import Asked, Draw, arriving, one_by_one, requests
from .validate import Disqualified, Judge

RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""The offered rates in multiples of the reference's capacity, each twice the one before: the lower ones are for engines slower than it."""
TTFT_FACTOR, ITL_FACTOR = 20.0, 15.0
"""The promises, in multiples of the reference's latencies for a single request."""
MAX_RUNNING = 16
AGREE = 0.10
"""The limit by which the reference may differ from itself, over all rates and rounds."""


@dataclass(frozen=True)
class Track:
    """The setting of a race: a model in float32, and the numbers of requests, rounds and bytes.

    num_requests: the requests at each rate in each round. num_alone: the single requests for promises and warm-ups. slack_bytes: the
    allowed growth of a worker's memory besides the cache. dtype: the dtype in which the tokens are judged.
    """

    model: str
    num_requests: int
    rounds: int
    num_alone: int
    cache_bytes: int
    slack_bytes: int = SLACK_BYTES
    dtype: torch.dtype = torch.float64

    def play(self, racer: Racer, asked: Sequence[Asked]) -> Played:
        return play(racer, asked, **self.conditions)

    def game(self, racer: Racer, asked: Sequence[Asked]) -> Generator[float, None, Played]:
        return game(racer, asked, **self.conditions)

    @property
    def conditions(self) -> dict[str, Any]:
        return {"model": self.model, "max_running": MAX_RUNNING, "cache_bytes": self.cache_bytes, "slack_bytes": self.slack_bytes}


TINY = Track("tiny", 64, 4, 16, 16 * 1024**2)
SMOLLM2 = Track("smollm2", 12, 1, 4, 288 * 1024**2, SLACK_BYTES + 540 * 1024**2, torch.float32)
"""A track with room for about as many tokens as on tiny, and for one copy of the weights in another order.

Two float32 models differ by 4e-5 in their logits, far less than the lead that a token must have before it is wrong; in float64 the
judging alone would take minutes.
"""
TRACKS = {track.model: track for track in (TINY, SMOLLM2)}


@dataclass
class Promises:
    """The limits of TTFT and ITL and the capacity, from the reference's own figures in this run.

    ttft, itl: seconds of the reference's clock. capacity: requests a second.
    """

    ttft: float
    itl: float
    capacity: float


@dataclass
class Rate:
    """The measurement at one offered rate, over all rounds.

    served: the share of the requested tokens that the student's engine returned in time; reference, again: the shares of the two workers
    with the reference. goodput: the student's tokens in time, per second; reference_goodput: the mean of the two workers' goodputs.
    ttft_p99, itl_p99: seconds, over the student's complete requests.
    """

    rate: float
    served: float
    reference: float
    again: float
    goodput: float
    reference_goodput: float
    ttft_p99: float | None
    itl_p99: float | None


@dataclass
class Outcome:
    """The outcome of a race. model, board: the race's model and the rule for its tokens. fault: the engine's error, or None.

    divergence: on the board quantized, the mean of `least_divergence` over all of its tokens.
    """

    seed: int
    model: str = TINY.model
    board: str = FLOAT32
    parts: list[Part] = field(default_factory=list)
    promises: Promises | None = None
    rates: list[Rate] = field(default_factory=list)
    fault: str | None = None
    divergence: float | None = None
    seconds: float = 0.0

    @property
    def points(self) -> int:
        return sum(part.points for part in self.parts)

    @property
    def differs(self) -> float | None:
        """Return the reference's score against itself (second worker against first) minus 1. None if one of them served nothing."""
        first, second = (sum(getattr(rate, which) for rate in self.rates) for which in ("reference", "again"))
        return 2.0 ** (second - first) - 1 if first and second else None

    @property
    def inconclusive(self) -> bool:
        return self.differs is not None and abs(self.differs) > AGREE

    @property
    def score(self) -> float | None:
        """Return the load that the engine can serve as a multiple of the reference's; 0 if it served nothing at any rate.

        Return None if a number would be meaningless: `no_score` gives the reason.
        """
        if self.no_score is not None:
            return None
        mine = sum(rate.served for rate in self.rates)
        theirs = sum((rate.reference + rate.again) / 2 for rate in self.rates)
        return 2.0 ** (mine - theirs) if mine else 0.0

    @property
    def no_score(self) -> str | None:
        """Return the reason for a missing score in one line; None if there is a score."""
        if self.fault is not None:
            return self.fault
        if self.differs is None:
            return "the reference kept no promise on this machine, so nothing can be measured: race on a quieter machine"
        if self.inconclusive:
            return f"inconclusive: the reference differs from itself by {self.differs:+.1%}; race again on a less busy machine"
        return None

    def as_data(self) -> dict[str, Any]:
        found = {"points": self.points, "differs": self.differs, "score": self.score, "no_score": self.no_score}
        return {**asdict(self), **found}


def race(
    student: Racer,
    reference: Racer,
    again: Racer,
    outcome: Outcome,
    *,
    track: Track = TINY,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Run the race and fill in `outcome`. reference, again: two workers with the course's engine."""
    begin = time.monotonic()
    model = load_model(track.model, dtype=track.dtype)
    vocab = model.config.vocab_size
    mine, theirs = Judge(outcome.board, model), Judge(FLOAT32, model)
    done: dict[float, list[tuple[Played, Played, Played]]] = {rate: [] for rate in RATES}
    promises = outcome.promises = _promises(reference, again, outcome.seed, vocab, track)
    try:
        # The rivals are warm by now; the student's worker may be a new one.
        track.play(student, requests(Draw(outcome.seed, "warm-up"), track.num_alone, vocab))
        for number in range(track.rounds):
            for rate in RATES:
                say(f"round {number + 1} of {track.rounds}, {rate:g} times the reference's capacity")
                draw = Draw(outcome.seed, f"round {number}, rate {rate:g}")
                asked = arriving(requests(draw, track.num_requests, vocab), rate * promises.capacity, draw)
                played = side_by_side([track.game(racer, asked) for racer in (student, reference, again)])
                mine.hold(played[0])
                if (number, rate) == (0, RATES[-1]):
                    theirs.hold(played[1])
                done[rate].append((played[0], played[1], played[2]))
        mine.end()
        outcome.rates = [_rate(rate, promises, done[rate]) for rate in RATES]
    except (Disqualified, StudentRaised, WorkerDied) as error:
        outcome.fault = fault_of(error)
    outcome.divergence = mine.divergence
    outcome.seconds = round(time.monotonic() - begin, 1)


def _promises(reference: Racer, again: Racer, seed: int, vocab: int, track: Track) -> Promises:
    """Measure the reference's latencies for single requests and the requests that it finishes a second, over its two workers."""
    asked = requests(Draw(seed, "promises"), track.num_requests, vocab)
    some = asked[: track.num_alone]
    ttfts, itls = [], []
    for racer in (reference, again):
        track.play(racer, some)  # the warm-up
        alone = track.play(racer, one_by_one(some, 1000.0)).traces
        ttfts += [trace.ttft for trace in alone if trace]
        itls += [gap for trace in alone if trace for gap in trace.itl]
    finished = side_by_side([track.game(racer, asked) for racer in (reference, again)])
    capacities = [len(asked) / played.seconds for played in finished]
    return Promises(TTFT_FACTOR * statistics.median(ttfts), ITL_FACTOR * statistics.median(itls), statistics.mean(capacities))


def _rate(rate: float, promises: Promises, rounds: list[tuple[Played, Played, Played]]) -> Rate:
    mine, first, second = (list(each) for each in zip(*rounds, strict=True))
    whole = [trace for played in mine for trace in played.traces if trace is not None]
    gaps = [gap for trace in whole for gap in trace.itl]
    asked = sum(each.max_tokens for played in mine for each in played.asked)
    kept = [sum(played.kept(promises.ttft, promises.itl) for played in runs) for runs in (mine, first, second)]
    seconds = [sum(played.seconds for played in runs) for runs in (mine, first, second)]
    return Rate(
        rate,
        served=kept[0] / asked,
        reference=kept[1] / asked,
        again=kept[2] / asked,
        goodput=kept[0] / seconds[0],
        reference_goodput=statistics.mean(tokens / used for tokens, used in zip(kept[1:], seconds[1:], strict=True)),
        ttft_p99=percentile([trace.ttft for trace in whole], 99) if whole else None,
        itl_p99=percentile(gaps, 99) if gaps else None,
    )
