"""A request that is served: Day 14's, with a sampler of its own.

The part of a request's text that is in memory is its `sequence`, Day 13's class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from course.kit.errors import ModelError
from solutions import continuous_batching
from solutions.engine.sampling import Row, as_row, damaged, drawn, require_numbers, token_logprobs
from solutions.samplers import sample_next_token
from solutions.steering import apply_frequency_presence, apply_repetition_penalty, min_p_probs, typical_probs


@dataclass(eq=False)
class Request(continuous_batching.Request):
    """A prompt and the settings of its answer, which is greedy unless a temperature is given.

    temperature, top_k, top_p, generator: as in `sample_next_token`; the generator is on the model's device and belongs to this request
    alone. The answer is then the same as if the request were served by itself. min_p, typical_p (the `mass` of `typical_probs`) and the
    penalties are those of Day 6. The repetition penalty applies to tokens of prompt and answer, the presence and frequency penalties to
    tokens of the answer. logit_bias: pairs (token, number added to its logit before all other settings). stop_token_ids: tokens that end
    the answer as eos_token_id does. late_token_ids: tokens that are not drawn before min_tokens tokens of the answer, as if their logits
    were -inf. prompt_top: the number of best tokens in each entry of prompt_logprobs; None for no entries. Raises ValueError as the
    samplers do.
    """

    temperature: float = field(default=0.0, kw_only=True)
    top_k: int | None = field(default=None, kw_only=True)
    top_p: float | None = field(default=None, kw_only=True)
    generator: torch.Generator | None = field(default=None, kw_only=True)
    min_p: float | None = field(default=None, kw_only=True)
    typical_p: float | None = field(default=None, kw_only=True)
    repetition_penalty: float = field(default=1.0, kw_only=True)
    presence_penalty: float = field(default=0.0, kw_only=True)
    frequency_penalty: float = field(default=0.0, kw_only=True)
    logit_bias: tuple[tuple[int, float], ...] = field(default=(), kw_only=True)
    stop_token_ids: tuple[int, ...] = field(default=(), kw_only=True)
    min_tokens: int = field(default=0, kw_only=True)
    late_token_ids: tuple[int, ...] = field(default=(), kw_only=True)
    salt: bytes = field(default=b"", kw_only=True)  # blocks of the cache are shared with requests of the same salt
    prompt_top: int | None = field(default=None, kw_only=True)
    prompt_logprobs: list[tuple[float, list[tuple[int, float]]]] = field(default_factory=list, init=False, repr=False)
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
        typical_probs(nothing, 1 if self.typical_p is None else self.typical_p)

    @property
    def reads_prompt(self) -> bool:
        """Return True if the logits after the prompt's tokens are wanted and some have not been computed yet."""
        return self.prompt_top is not None and len(self.prompt_logprobs) < len(self.prompt) - 1

    def add_prompt_logprobs(self, first: int, logits: Tensor) -> None:
        """Add the log-probabilities of the prompt's tokens that follow these: logits (n, V) after tokens first to first + n - 1.

        Tokens that have an entry already, because the request was preempted, are skipped. Raises ModelError if a best logit is not finite.
        """
        assert self.prompt_top is not None
        for place, row in enumerate(logits, first):
            if place == len(self.prompt_logprobs) < len(self.prompt) - 1:
                numbers = as_row(row)
                require_numbers(numbers, numbers.argmax())
                self.prompt_logprobs.append(token_logprobs(numbers, self.prompt[place + 1], self.prompt_top))

    @property
    def is_argmax(self) -> bool:
        """Return True if the next token is the argmax of the model's unchanged logits."""
        unchanged = self.repetition_penalty == 1 and self.presence_penalty == self.frequency_penalty == 0 and not self.logit_bias
        return self.temperature == 0 and unchanged and not self.is_early

    @property
    def is_early(self) -> bool:
        """Return True if the next token must not be one of late_token_ids."""
        return bool(self.late_token_ids) and len(self.output) < self.min_tokens

    def ends_with(self, token: int) -> bool:
        """Return True if the answer ends with this newest token of its output."""
        return token == self.eos_token_id or token in self.stop_token_ids or len(self.output) == self.max_new_tokens

    def next_token(self, logits: Tensor) -> int:
        """Draw a token with this request's settings: logits (1, V) -> token id.

        Their order is bias and late tokens, penalties, temperature, min-p, top-k, typical-p, top-p.
        """
        row = as_row(logits)
        if self.logit_bias or self.is_early:
            row = row.copy()
            if self.is_early:
                row[list(self.late_token_ids)] = -np.inf
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
        filters = {"min_p": self.min_p, "typical_p": self.typical_p, "top_p": self.top_p}
        return drawn(row, u, temperature=self.temperature, top_k=self.top_k, **filters)

    @staticmethod
    def _changed(row: Row, tokens: list[int], change: Callable[[Tensor, Tensor], Tensor]) -> Row:
        """Return a copy of the row with the logits of these tokens changed by one of Day 6's functions.

        `change` gets only the logits of these tokens.
        """
        said, places = np.unique(np.array(tokens, np.int64), return_inverse=True)
        row = row.copy()
        row[said] = change(torch.from_numpy(row[said])[None], torch.from_numpy(places)[None])[0].numpy()
        return row


@dataclass
class FlatWanted(continuous_batching.Flat):
    """The chunks of a step, and the tokens after which logits are wanted.

    wanted: the places of these tokens in ids, ascending: all tokens of a request that reads its prompt, and the last of each other chunk.
    """

    wanted: list[int]


def flatten_wanted(chunks: list[tuple[continuous_batching.Request, int]]) -> FlatWanted:
    """Return the tokens of a plan's chunks, as `flatten_chunks` does, and the places of the tokens after which logits are wanted."""
    flat = continuous_batching.flatten_chunks(chunks)
    wanted: list[int] = []
    for (request, n), end in zip(chunks, flat.bounds[1:], strict=True):
        wanted += range(end - n if isinstance(request, Request) and request.reads_prompt else end - 1, end)
    return FlatWanted(flat.ids, flat.positions, flat.bounds, wanted)


def next_tokens(chunks: Sequence[tuple[continuous_batching.Request, int]], logits: Tensor) -> list[int | ModelError]:
    """Return the next token after each chunk of a step, drawn with the request's own settings: logits (R, V) -> R token ids.

    A chunk that does not reach the end of its text draws no token. Such a token would be dropped, but drawing it would advance the
    generator. A chunk whose row is not a distribution gets the error that ends its request.
    """
    best, highest = best_logits(logits)
    tokens: list[int | ModelError] = list(best)
    for row, (request, _) in enumerate(chunks):
        assert isinstance(request, Request)
        if not np.isfinite(highest[row]):
            tokens[row] = damaged(highest[row])
        elif not request.is_argmax and not request.remaining:
            try:
                tokens[row] = request.next_token(logits[row : row + 1])
            except ModelError as error:
                tokens[row] = error
    return tokens


def most_probable(logits: Tensor) -> list[int]:
    """Return the most probable token of each row: logits (R, V) -> R token ids.

    Raises ModelError if a row's best logit is not finite.
    """
    tokens, highest = best_logits(logits)
    require_numbers(highest[:, None], np.zeros(len(highest), np.intp))
    return tokens


def best_logits(logits: Tensor) -> tuple[list[int], Row]:
    """Return the most probable token of each row, and its logit: logits (R, V) -> R token ids, (R,).

    The logit is not finite if the row is not a distribution. numpy's argmax takes a tenth of the time of torch's argmax, but supports
    neither GPUs nor bfloat16.
    """
    if not logits.is_cuda and logits.dtype != torch.bfloat16:
        rows = logits.numpy()
        best = rows.argmax(-1)
        return best.tolist(), np.take_along_axis(rows, best[:, None], -1)[:, 0]
    highest, ids = logits.max(-1)
    return ids.tolist(), highest.float().cpu().numpy()
