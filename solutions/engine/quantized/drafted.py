"""Lookup drafts through the quantized engine: Day 15's rules for all rows of a batch, in one pass over the weights.

A row's logits do not depend on anything else in a pass, so the tokens are exactly those that the engine makes one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from solutions.batching import left_pad

from .engine import QuantizedEngine, likeliest


@dataclass
class Lookup:
    """A text with an index of earlier occurrences of its endings.

    `draft` is Day 15's `lookup_draft`, but does not read the whole text each time. A dictionary maps every sequence of up to max_ngram
    tokens that was followed by another token to the position after its last occurrence.
    """

    tokens: list[int] = field(default_factory=list)
    max_ngram: int = 3
    _after: dict[tuple[int, ...], int] = field(default_factory=dict, repr=False)

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            end = len(self.tokens)
            for n in range(1, min(self.max_ngram, end) + 1):
                self._after[tuple(self.tokens[end - n :])] = end
            self.tokens.append(token)

    def draft(self, k: int) -> list[int]:
        """Return at most k tokens that followed the last earlier occurrence of the longest ending; [] if there is none."""
        for n in range(min(self.max_ngram, len(self.tokens) - 1), 0, -1):
            if (start := self._after.get(tuple(self.tokens[-n:]))) is not None:
                return self.tokens[start : start + k]
        return []


def verified(best: Sequence[int], draft: Sequence[int]) -> list[int]:
    """Return the accepted draft tokens and the model's next token, as Day 15's `greedy_verify`, but from the most probable tokens.

    This code does not use torch, whose waiting threads would take the processor from the engine's own threads.
    """
    kept = 0
    while kept < len(draft) and draft[kept] == best[kept]:
        kept += 1
    return list(best[: kept + 1])


@dataclass(frozen=True)
class Drafted:
    """The result of drafted decoding.

    tokens: each row's tokens. passes: the model's passes without the prompt's. read: the tokens read in these passes.
    """

    tokens: list[list[int]]
    passes: int
    read: int


def generate_drafted(engine: QuantizedEngine, prompts: Sequence[Sequence[int]], max_new_tokens: int) -> Drafted:
    """Return the most probable tokens after each prompt, as `engine.generate` does. A text that repeats itself needs fewer passes.

    Each pass reads a row's newest token and at most min(engine.guesses, tokens left - 1) guesses after it.
    """
    first = likeliest(engine.prefill(*left_pad([list(prompt) for prompt in prompts], 0))).flatten().tolist()
    return continue_drafted(engine, prompts, first, max_new_tokens)


def continue_drafted(
    engine: QuantizedEngine, prompts: Sequence[Sequence[int]], first: Sequence[int], max_new_tokens: int
) -> Drafted:
    """Continue as `generate_drafted` does after a prefill. first: the first new token of each row."""
    texts = [Lookup(max_ngram=3) for _ in prompts]
    for text, prompt, token in zip(texts, prompts, first, strict=True):
        text.extend([*prompt, token])
    made = [[token] for token in first]
    passes = read = 0
    while any(len(row) < max_new_tokens for row in made):
        given: list[list[int]] = []
        for text, row in zip(texts, made, strict=True):
            left = max_new_tokens - len(row)
            given.append([row[-1], *text.draft(min(engine.guesses, left - 1))] if left else [])
        logits = engine.verify(given)
        kept = []
        for text, row, tokens, each in zip(texts, made, given, logits, strict=True):
            new = verified(likeliest(each).flatten().tolist() if len(each) else [], tokens[1:])
            text.extend(new)
            row += new
            kept.append(len(new))
        engine.keep(kept)  # the newest token of each is not read yet: instead of it, the one before it has been
        passes, read = passes + 1, read + sum(map(len, given))
    return Drafted(made, passes, read)
