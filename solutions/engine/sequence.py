"""A request that is served: Day 14's, with a sampler of its own.

The part of a request's text that is in memory is its `sequence`, Day 13's class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from solutions import continuous_batching
from solutions.engine.sampling import Row, as_row, drawn, require_numbers
from solutions.samplers import sample_next_token
from solutions.steering import apply_frequency_presence, apply_repetition_penalty, min_p_probs


@dataclass(eq=False)
class Request(continuous_batching.Request):
    """A prompt and the settings of its answer, which is greedy unless a temperature is given.

    temperature, top_k, top_p, generator: as in `sample_next_token`; the generator is on the model's device and belongs to this request
    alone. The answer is then the same as if the request were served by itself. min_p and the penalties are those of Day 6. The repetition
    penalty applies to tokens of prompt and answer, the presence and frequency penalties to tokens of the answer. logit_bias: pairs (token,
    number added to its logit before all other settings). Raises ValueError as the samplers do.
    """

    temperature: float = field(default=0.0, kw_only=True)
    top_k: int | None = field(default=None, kw_only=True)
    top_p: float | None = field(default=None, kw_only=True)
    generator: torch.Generator | None = field(default=None, kw_only=True)
    min_p: float | None = field(default=None, kw_only=True)
    repetition_penalty: float = field(default=1.0, kw_only=True)
    presence_penalty: float = field(default=0.0, kw_only=True)
    frequency_penalty: float = field(default=0.0, kw_only=True)
    logit_bias: tuple[tuple[int, float], ...] = field(default=(), kw_only=True)
    salt: bytes = field(default=b"", kw_only=True)  # blocks of the cache are shared with requests of the same salt
    block_keys: list[bytes] = field(default_factory=list, init=False, repr=False)  # of the whole blocks named so far: a text only grows
    num_cached: int | None = field(default=None, init=False, repr=False)  # tokens that lay in memory when it was first let in

    def __post_init__(self) -> None:
        if self.temperature > 0 and self.generator is None:
            raise ValueError(f"temperature {self.temperature} needs a generator of this request alone: others draw in the same steps")
        # What no sampler takes is refused here, and not in the middle of a step.
        nothing = torch.zeros(1, 2)
        sample_next_token(nothing, temperature=self.temperature, top_k=self.top_k, top_p=self.top_p, generator=torch.Generator())
        apply_repetition_penalty(nothing, torch.zeros(1, 0, dtype=torch.int64), self.repetition_penalty)
        min_p_probs(nothing, self.min_p or 0)

    @property
    def is_argmax(self) -> bool:
        """Return True if the next token is the argmax of the model's unchanged logits."""
        unchanged = self.repetition_penalty == 1 and self.presence_penalty == self.frequency_penalty == 0 and not self.logit_bias
        return self.temperature == 0 and unchanged

    def next_token(self, logits: Tensor) -> int:
        """Draw a token with this request's settings, in the order bias, penalties, temperature, min-p, top-k, top-p. logits (1, V)."""
        row = as_row(logits)
        if self.logit_bias:
            row = row.copy()
            for token, bias in self.logit_bias:
                row[token] += bias
        if self.repetition_penalty != 1:
            row = self._changed(row, self.tokens, lambda some, ids: apply_repetition_penalty(some, ids, self.repetition_penalty))
        if self.presence_penalty or self.frequency_penalty:
            less = (self.frequency_penalty, self.presence_penalty)
            row = self._changed(row, self.output, lambda some, ids: apply_frequency_presence(some, ids, *less))
        if self.temperature == 0:
            require_numbers(row, best := row.argmax())
            return int(best)
        u = torch.rand(1, 1, generator=self.generator, device=logits.device).item()
        return drawn(row, u, temperature=self.temperature, min_p=self.min_p, top_k=self.top_k, top_p=self.top_p)

    @staticmethod
    def _changed(row: Row, tokens: list[int], change: Callable[[Tensor, Tensor], Tensor]) -> Row:
        """Return a copy of the row with the logits of these tokens changed by one of Day 6's functions.

        `change` gets only the logits of these tokens.
        """
        said, places = np.unique(np.array(tokens, np.int64), return_inverse=True)
        row = row.copy()
        row[said] = change(torch.from_numpy(row[said])[None], torch.from_numpy(places)[None])[0].numpy()
        return row


def next_tokens(chunks: Sequence[tuple[continuous_batching.Request, int]], logits: Tensor) -> list[int]:
    """Return the next token after each chunk of a step, drawn with the request's own settings: logits (R, V) -> R token ids.

    A chunk that does not reach the end of its text draws no token. Such a token would be dropped, but drawing it would advance the
    generator.
    """
    tokens = most_probable(logits)
    for row, (request, _) in enumerate(chunks):
        assert isinstance(request, Request)
        if not request.is_argmax and not request.remaining:
            tokens[row] = request.next_token(logits[row : row + 1])
    return tokens


def most_probable(logits: Tensor) -> list[int]:
    """Return the most probable token of each row: logits (R, V) -> R token ids.

    Raises ModelError if a row's best logit is not finite. numpy's argmax takes a tenth of the time of torch's argmax, but supports neither
    GPUs nor bfloat16.
    """
    if not logits.is_cuda and logits.dtype != torch.bfloat16:
        rows = logits.numpy()
        require_numbers(rows, best := rows.argmax(-1))
    else:
        highest, best = logits.max(-1)
        require_numbers(highest.float().cpu().numpy()[:, None], np.zeros(len(highest), np.intp))
    tokens: list[int] = best.tolist()
    return tokens
