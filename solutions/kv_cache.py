"""The KV cache: keys and values of old tokens never change, so they are computed once and stored."""

from __future__ import annotations

import torch
from torch import Tensor

from course.kit import Config, WeightsOnly
from solutions.attention import attention, causal_mask, merge_heads, rotary, split_heads  # noqa: F401 (for versions with a loop of their own)
from solutions.samplers import sample_next_token
from solutions.transformer import feed_forward, rms_norm, run_layers  # noqa: F401


class CacheFull(ValueError):
    """More tokens were appended to a layer than the cache has room for."""


class KVCache:
    """Keys and values of every layer for up to max_len tokens of each of `batch` rows, allocated once.

    keys, values (L, B, K, max_len, Dh) of `dtype` on `device`: slot n of a layer belongs to token n. A layer's slots
    fill from 0 upwards, and each layer counts its own, because during a forward pass the first layers have already
    stored the new tokens when the last ones have not.
    """

    def __init__(
        self,
        config: Config,
        batch: int,
        max_len: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        ### BEGIN SOLUTION
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.max_len = max_len
        self.counts = [0] * config.num_hidden_layers
        ### END SOLUTION

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store t new tokens of one layer; return all that this layer has stored so far, oldest first.

        k, v (B, K, t, Dh) of any memory layout -> k_all, v_all (B, K, n+t, Dh), where n tokens were there before. Only
        the new tokens are written; the result may be a view of the cache. Raises CacheFull, with nothing written and no
        count moved, if n + t exceeds max_len; the message names max_len.
        """
        ### BEGIN SOLUTION
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.counts[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]  # views: nothing old is copied
        ### END SOLUTION

    @property
    def length(self) -> int:
        """Number of tokens that all layers have stored: the count of the last layer, which is the last to be reached."""
        ### BEGIN SOLUTION
        return self.counts[-1]
        ### END SOLUTION

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether or not they are filled yet."""
        ### BEGIN SOLUTION
        return self.keys.nbytes + self.values.nbytes
        ### END SOLUTION

    def reset(self) -> None:
        """Make the cache empty again; the memory stays, to be overwritten."""
        ### BEGIN SOLUTION
        self.counts = [0] * len(self.counts)
        ### END SOLUTION


def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """Run the decoder over new tokens only: the keys and values of all tokens before them come from the cache.

    ids (B, t) int64, the tokens that follow the cache.length tokens already stored -> logits (B, t, V) of the model's
    dtype. Afterwards cache.length has grown by t, and gradient mode is as it was. Any way of cutting a prompt into chunks
    gives the same logits. New tensors are on the device of ids. Raises CacheFull, with the cache as it was, if there is no
    room.
    """
    ### BEGIN SOLUTION
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)  # aligned at the end: the new tokens are the last

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k_all, v_all = cache.append(layer, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        return attention(q, k_all, v_all, mask)

    return run_layers(model, ids, positions, attend) @ model.weights.lm_head.T  # (B, t, V)
    ### END SOLUTION


def prefill(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """Put a prompt (or its next chunk) into the cache; return the logits of the token that follows it.

    ids (B, t) int64 -> (B, V) of the model's dtype, on the device of ids. Raises CacheFull if there is no room.
    """
    ### BEGIN SOLUTION
    return forward_cached(model, ids, cache)[:, -1]
    ### END SOLUTION


def decode_step(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """Feed the one newest token of each row; return the logits of the token after it.

    ids (B, 1) int64 -> (B, V) of the model's dtype. Raises CacheFull if there is no room.
    """
    ### BEGIN SOLUTION
    return forward_cached(model, ids, cache)[:, -1]
    ### END SOLUTION


def generate_cached(
    model: WeightsOnly,
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
    """Return the tokens of `generate`, with each token passed through the model once: one prefill, then decode steps.

    model: an object with .config and .weights. idx (B, T) int64, of any memory layout -> (B, T+n), n <=
    max_new_tokens. Every rule of `generate` holds: a row that has emitted eos_token_id is filled with it, the loop ends
    as soon as every row has ended, no gradient is recorded and the caller's gradient mode is left as it was, idx is not
    changed, new tensors are on its device. Randomness as in `sample_next_token`. The cache has the model's dtype. Past
    block_size tokens the window slides: the tokens left in it were computed while the one that drops out could be seen, so
    the cache is rebuilt from the window at each step.
    """
    ### BEGIN SOLUTION
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if eos_token_id is not None and ended.all():  # without an EOS there is nothing to ask the device
                break
    return idx
    ### END SOLUTION
