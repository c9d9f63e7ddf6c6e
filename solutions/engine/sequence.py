"""A request that is served: Day 14's, with a sampler of its own. What lies in memory of its text is its `sequence`, Day 13's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from solutions import continuous_batching
from solutions.samplers import sample_next_token


@dataclass(eq=False)
class Request(continuous_batching.Request):
    """A prompt, and how its answer is drawn: greedy unless a temperature is given.

    temperature, top_k, top_p, generator: as in `sample_next_token`; the generator is on the model's device, and this request's alone.
    Then the answer is what the request would get by itself, whoever is served beside it. Raises ValueError as the samplers do.
    """

    temperature: float = field(default=0.0, kw_only=True)
    top_k: int | None = field(default=None, kw_only=True)
    top_p: float | None = field(default=None, kw_only=True)
    generator: torch.Generator | None = field(default=None, kw_only=True)
    block_keys: list[bytes] = field(default_factory=list, init=False, repr=False)  # of the whole blocks named so far: a text only grows

    def __post_init__(self) -> None:
        if self.temperature > 0 and self.generator is None:
            raise ValueError(f"temperature {self.temperature} needs a generator of the request's own: others draw in the same steps")
        # What no sampler takes is refused here, and not in the middle of a step.
        sample_next_token(torch.zeros(1, 2), **self._settings, generator=torch.Generator())

    @property
    def _settings(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p}

    def next_token(self, logits: Tensor) -> int:
        """A token drawn by this request's settings. logits (1, V)."""
        return int(sample_next_token(logits, **self._settings, generator=self.generator))


def next_tokens(chunks: Sequence[tuple[continuous_batching.Request, int]], logits: Tensor) -> list[int]:
    """What the model says after each chunk of a step, drawn by the request's own settings. logits (R, V) -> R token ids.

    A chunk that ends before its text does draws nothing: its token would be dropped, and the generator would have moved.
    """
    tokens: list[int] = logits.argmax(dim=-1).tolist()
    for row, (request, _) in enumerate(chunks):
        assert isinstance(request, Request)
        if request.temperature > 0 and not request.remaining:
            tokens[row] = request.next_token(logits[row : row + 1])
    return tokens
