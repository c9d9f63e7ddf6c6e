"""Cheap guesses of what a model will say, for speculative decoding."""

from __future__ import annotations

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
