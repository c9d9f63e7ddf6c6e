"""The loop: forward, take the last position, sample, append, repeat."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from solutions.samplers import sample_next_token

Model = Any  # a callable: token ids (B, T) -> logits (B, T, V)


def generate(
    model: Model,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the prompt and up to max_new_tokens new tokens of each row.

    idx (B, T) int64 -> (B, T+n), n <= max_new_tokens. The model is called once a step, with all rows together
    (those that have ended may be left out), and sees the last block_size tokens at most. A row that has
    emitted eos_token_id is filled with it from there on; the loop ends as soon as every row has ended. The
    model runs without gradients. Afterwards, also after an exception, gradient mode is as it was. A torch
    module's mode, training or evaluation, is not changed. idx is not changed; new tensors are on its device.
    Tokens are drawn by `sample_next_token`, with `generator`.
    """
    ### BEGIN SOLUTION
    ended = torch.zeros_like(idx[:, :1], dtype=torch.bool)  # (B, 1), where idx is
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(idx[:, -block_size:])[:, -1]  # (B, T, V) -> (B, V): the last predicts the next
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx
    ### END SOLUTION


def stream(
    model: Model,
    idx: Tensor,
    *,
    max_new_tokens: int,
    block_size: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_token_id: int | None = None,
    generator: torch.Generator | None = None,
) -> Iterator[int]:
    """Yield the new tokens of one sequence, each as soon as it is there: what `generate` appends, EOS included.

    idx (1, T) int64 -> ints. The model is called once for each token that is asked for, and not before, in
    the same way as `generate` calls it. Between two tokens gradient mode is the caller's. idx is not changed.
    """
    ### BEGIN SOLUTION
    for _ in range(max_new_tokens):
        idx = generate(
            model, idx, max_new_tokens=1, block_size=block_size,
            temperature=temperature, top_k=top_k, top_p=top_p, generator=generator,
        )  # fmt: skip
        token = int(idx[0, -1])
        yield token
        if token == eos_token_id:
            return
    ### END SOLUTION
