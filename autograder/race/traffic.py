"""The requests of a race, drawn from its seed: an engine knows no prompt before it arrives."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass

import torch

from solutions.serving import poisson_arrivals

NUM_PREFIXES, PREFIX_TOKENS = 4, 128
SHARED = 0.3
"""The share of the requests whose prompts begin with one of the prefixes."""
TYPICAL_PROMPT, SPREAD = 60, 0.5
"""The median and sigma of the log-normal lengths of prompts, the prefix not counted."""
LONGEST_PROMPT = 400
FEWEST, MOST = 8, 64
"""The limits of the tokens of an answer, uniform."""


@dataclass(frozen=True)
class Asked:
    """A request: its name, prompt, number of new tokens, and arrival in seconds of the race's clock."""

    request_id: str
    prompt: list[int]
    max_tokens: int
    arrival: float = 0.0


@dataclass
class Draw:
    """The random numbers for one purpose of one race. Seed and label determine them; numbers for other labels are independent."""

    seed: int
    label: str

    def __post_init__(self) -> None:
        digest = hashlib.sha256(f"race/{self.seed}/{self.label}".encode()).digest()
        self._rng = torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

    def integers(self, low: int, high: int, count: int) -> list[int]:
        """Draw integers from low to high, both included."""
        numbers: list[int] = torch.randint(low, high + 1, (count,), generator=self._rng).tolist()
        return numbers

    def uniforms(self, count: int) -> list[float]:
        numbers: list[float] = torch.rand(count, generator=self._rng, dtype=torch.float64).tolist()
        return numbers

    def lengths(self, count: int) -> list[int]:
        """Draw log-normal lengths of prompts."""
        normal = torch.randn(count, generator=self._rng, dtype=torch.float64)
        lengths: list[int] = (TYPICAL_PROMPT * (SPREAD * normal).exp()).round().clamp(1, LONGEST_PROMPT).long().tolist()
        return lengths


def requests(draw: Draw, count: int, vocab_size: int) -> list[Asked]:
    """Draw `count` requests that all arrive at 0."""
    prefixes = [draw.integers(0, vocab_size - 1, PREFIX_TOKENS) for _ in range(NUM_PREFIXES)]
    which = draw.integers(0, NUM_PREFIXES - 1, count)
    shares = draw.uniforms(count)
    lengths, answers = draw.lengths(count), draw.integers(FEWEST, MOST, count)
    drawn = []
    for number in range(count):
        prefix = prefixes[which[number]] if shares[number] < SHARED else []
        prompt = prefix + draw.integers(0, vocab_size - 1, lengths[number])
        drawn.append(Asked(f"{draw.label}/{number}", prompt, answers[number]))
    return drawn


def arriving(asked: list[Asked], rate: float, draw: Draw) -> list[Asked]:
    """Return the same requests with arrivals of a Poisson process, `rate` a second."""
    times = poisson_arrivals(rate, draw.uniforms(len(asked)))
    return [Asked(each.request_id, each.prompt, each.max_tokens, time) for each, time in zip(asked, times, strict=True)]


def one_by_one(asked: list[Asked], gap: float) -> list[Asked]:
    """Return the same requests with arrivals `gap` apart, so each request is alone."""
    return [Asked(each.request_id, each.prompt, each.max_tokens, n * gap) for n, each in zip(itertools.count(), asked, strict=False)]
