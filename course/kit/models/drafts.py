"""Cheap guesses of what a model will say, for speculative decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from .model import Model


def bigram_table(model: Model, *, chunk: int = 1024) -> Tensor:
    """Return the model's distribution after each single token: row t is the distribution of the token after t.

    -> (V, V), in the model's dtype, on its device; every row sums to 1. Each pass reads `chunk` texts of one token. The table suits small
    vocabularies: 1,024 tokens make 4 MB in float32, SmolLM2's 49,152 would make 9.7 GB.
    """
    with torch.no_grad():
        ids = torch.arange(model.config.vocab_size, device=model.weights.embed_tokens.device).unsqueeze(1)
        return torch.cat([model(part)[:, 0].softmax(dim=-1) for part in ids.split(chunk)])


def first_place(ids: Sequence[int], *, max_ngram: int = 3, k: int = 4) -> list[int]:
    """Return a lookup draft as Hugging Face's transformers makes it: the k tokens after the first place that has the newest tokens.

    Tries the last max_ngram tokens first, then fewer.
    """
    for places in _places(ids, max_ngram):
        return list(ids[places[0] : places[0] + k])
    return []


def place_with_room(ids: Sequence[int], *, max_ngram: int = 3, k: int = 4) -> list[int]:
    """Return a lookup draft from the latest place that has k tokens after it, and from the first place if none has."""
    for places in _places(ids, max_ngram):
        start = max((place for place in places if place + k <= len(ids)), default=places[0])
        return list(ids[start : start + k])
    return []


def _places(ids: Sequence[int], max_ngram: int) -> Iterator[list[int]]:
    """Yield, for each length that occurs earlier, the indices after all earlier places of the newest tokens. The longest comes first."""
    ids = list(ids)
    for n in range(min(max_ngram, len(ids) - 1), 0, -1):
        if places := [start + n for start in range(len(ids) - n) if ids[start : start + n] == ids[-n:]]:
            yield places


def passes_needed(text: Sequence[int], given: int, draft: Callable[..., list[int]], k: int) -> int:
    """Return the passes that a model needs for a text that it writes by greedy decoding, with at most k guesses a pass.

    given: the number of the prompt's tokens; the pass that reads it makes the first token. draft: called as `draft(ids, k=...)`.
    """
    length, passes = given + 1, 1
    while length < len(text):
        guesses = draft(list(text[:length]), k=min(k, len(text) - length - 1))
        agreed = next((i for i, guess in enumerate(guesses) if guess != text[length + i]), len(guesses))
        length, passes = length + agreed + 1, passes + 1
    return passes
