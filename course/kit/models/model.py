"""A plain Llama decoder on torch's own operations: right and short, and made for calling, not for teaching.

Lessons build the same forward pass by hand; this one leaves attention and norm to torch and so gives no answers away.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

from .config import Config
from .tokenizer import Tokenizer
from .weights import LayerWeights, Weights


class WeightsOnly:
    """A model without its forward pass: config, weights and tokenizer. Graded functions get this."""

    def __init__(self, config: Config, weights: Weights, open_tokenizer: Callable[[], Tokenizer]) -> None:
        """Take config and weights. The first use of `.tokenizer` calls `open_tokenizer`, so loading need not wait for the tokenizer."""
        self.config = config
        self.weights = weights
        self._open_tokenizer = open_tokenizer

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return self._open_tokenizer()

    @property
    def dtype(self) -> torch.dtype:
        return self.weights.embed_tokens.dtype

    @property
    def device(self) -> torch.device:
        return self.weights.embed_tokens.device

    @property
    def num_parameters(self) -> int:
        """Return N, the number of entries of all weights; a tied tensor counts once."""
        return sum(tensor.numel() for tensor in self.weights.tensors())

    def to(self, *, device: str | torch.device | None = None, dtype: torch.dtype | None = None) -> Self:
        """Return the model on another device or in another dtype, or itself if nothing changes. None keeps the current setting."""
        device, dtype = torch.device(device or self.device), dtype or self.dtype
        here = self.device if device.index is not None else torch.device(self.device.type)
        if (device, dtype) == (here, self.dtype):
            return self
        moved = self.weights.to(device=device, dtype=dtype)
        return type(self)(self.config, moved, lambda: self.tokenizer)

    def __repr__(self) -> str:
        facts = f"{self.num_parameters:,} parameters, {self.dtype}, {self.device}"
        return f"{type(self).__name__}({self.config.name!r}, {facts})"


class Model(WeightsOnly):
    """A WeightsOnly that can be called: `model(ids)` -> logits."""

    def weights_only(self) -> WeightsOnly:
        """Return a model with the same weights, shared, but without the forward pass."""
        return WeightsOnly(self.config, self.weights, lambda: self.tokenizer)

    def __call__(self, ids: Tensor) -> Tensor:
        """Return logits (B, T, V) of the model's dtype for ids (B, T) int64. Positions count from 0; padding is not supported.

        Raises ValueError for another shape, a T of 0 or above max_position_embeddings, or an id outside the vocabulary.
        """
        self._check(ids)
        cos, sin = self._rotations(ids.shape[1])
        hidden = self.weights.embed_tokens[ids]
        for layer in self.weights.layers:
            hidden = hidden + self._attention(layer, self._norm(hidden, layer.input_layernorm), cos, sin)
            hidden = hidden + _feed_forward(layer, self._norm(hidden, layer.post_attention_layernorm))
        return linear(self._norm(hidden, self.weights.norm), self.weights.lm_head)

    def _norm(self, hidden: Tensor, weight: Tensor) -> Tensor:
        return rms_norm(hidden, weight.shape, weight, self.config.rms_norm_eps)

    def _attention(self, layer: LayerWeights, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Compute hidden (B, T, D) -> (B, T, D): causal attention, H query heads over K key/value heads."""
        batch, length, _ = hidden.shape
        heads = (batch, length, -1, self.config.head_dim)
        q = linear(hidden, layer.q_proj).view(heads).transpose(1, 2)  # (B, H, T, Dh)
        k = linear(hidden, layer.k_proj).view(heads).transpose(1, 2)  # (B, K, T, Dh)
        v = linear(hidden, layer.v_proj).view(heads).transpose(1, 2)
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return linear(mixed.transpose(1, 2).reshape(batch, length, -1), layer.o_proj)

    def _rotations(self, length: int) -> tuple[Tensor, Tensor]:
        """Return cos and sin (T, Dh) of RoPE's angles, computed in float32 at least. Su et al. 2021, section 3.4."""
        precise = torch.promote_types(self.dtype, torch.float32)
        exponents = torch.arange(0, self.config.head_dim, 2, dtype=precise, device=self.device) / self.config.head_dim
        positions = torch.arange(length, dtype=precise, device=self.device)
        angles = torch.outer(positions, 1.0 / self.config.rope_theta**exponents)  # (T, Dh/2)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(self.dtype), angles.sin().to(self.dtype)

    def _check(self, ids: Tensor) -> None:
        if ids.dim() != 2 or ids.dtype != torch.int64:
            raise ValueError(f"ids must be (B, T) and int64, got {tuple(ids.shape)} of {ids.dtype}")
        limit = self.config.max_position_embeddings
        if not 1 <= ids.shape[1] <= limit:
            raise ValueError(f"{self.config.name} takes 1 to {limit} tokens, got T={ids.shape[1]}; crop the input")
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < self.config.vocab_size:
            wrong = int(ids.min()) if ids.min() < 0 else int(ids.max())
            last = self.config.vocab_size - 1
            raise ValueError(
                f"token ids must be 0 to {last}, got {wrong}; do they come from another model's tokenizer?"
            )


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate x (B, heads, T, Dh) in rotate-half form: entry i is rotated together with entry i + Dh/2."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def _feed_forward(layer: LayerWeights, hidden: Tensor) -> Tensor:
    """Compute SwiGLU. Shazeer 2020."""
    return linear(silu(linear(hidden, layer.gate_proj)) * linear(hidden, layer.up_proj), layer.down_proj)
