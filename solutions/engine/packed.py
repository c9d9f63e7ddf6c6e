"""A model's weights as an engine reads them, matrices that read the same input side by side, and a layer's two halves around attention.

How tokens read each other is not here. Static batches and pages do it each in its own way; all the rest of a layer they share.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm, silu

from course.kit import WeightsOnly

FEW_ROWS = 128
"""Up to so many rows of float32 the weight stands on the left of a product."""
FEW_EMULATED_ROWS = 8
"""Up to so many rows emulated bfloat16 is faster than making the weight float32."""
BFLOAT16_UNITS = torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
"""Whether this CPU multiplies bfloat16 numbers itself."""


@dataclass
class PackedLayer:
    """A layer's weights, those that read the same input side by side."""

    input_layernorm: Tensor  # (D,)
    qkv_proj: Tensor  # ((H + 2K) * Dh, D)
    o_proj: Tensor  # (D, H*Dh)
    post_attention_layernorm: Tensor  # (D,)
    gate_up_proj: Tensor  # (2F, D)
    down_proj: Tensor  # (D, F)


class PackedModel:
    """A model's packed weights. A copy: several engines may share one."""

    def __init__(self, model: WeightsOnly) -> None:
        weights = model.weights
        self.config, self.dtype, self.device = model.config, model.dtype, model.device
        self.embed_tokens, self.norm, self.lm_head = weights.embed_tokens, weights.norm, weights.lm_head
        self.layers = [
            PackedLayer(
                layer.input_layernorm,
                torch.cat((layer.q_proj, layer.k_proj, layer.v_proj)),
                layer.o_proj,
                layer.post_attention_layernorm,
                torch.cat((layer.gate_proj, layer.up_proj)),
                layer.down_proj,
            )
            for layer in weights.layers
        ]

    def before_attention(self, x: Tensor, layer: PackedLayer, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, t, D), cos and sin (B, t, Dh) -> q (B, H, t, Dh), k and v (B, K, t, Dh); q and k turned."""
        config = self.config
        H, K = config.num_attention_heads, config.num_key_value_heads
        normed = rms_norm(x, x.shape[-1:], layer.input_layernorm, config.rms_norm_eps)
        heads = product(normed, layer.qkv_proj).unflatten(-1, (H + 2 * K, config.head_dim))  # (B, t, H+2K, Dh)
        turned, v = heads.split((H + K, K), dim=2)
        first, second = turned.chunk(2, dim=-1)
        turned = turned * cos.unsqueeze(2) + torch.cat((-second, first), dim=-1) * sin.unsqueeze(2)
        q, k = turned.to(v.dtype).split((H, K), dim=2)  # half precision is turned in float32
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def after_attention(self, x: Tensor, mixed: Tensor, layer: PackedLayer) -> Tensor:
        """x (B, t, D), mixed (B, H, t, Dh) -> (B, t, D)."""
        x = x + product(mixed.transpose(1, 2).flatten(2), layer.o_proj)
        normed = rms_norm(x, x.shape[-1:], layer.post_attention_layernorm, self.config.rms_norm_eps)
        gate, up = product(normed, layer.gate_up_proj).chunk(2, dim=-1)
        return x + product(silu(gate, inplace=True).mul_(up), layer.down_proj)

    def logits(self, x: Tensor) -> Tensor:
        """x (R, D), what the last layer made of R tokens -> (R, V)."""
        return product(rms_norm(x, x.shape[-1:], self.norm, self.config.rms_norm_eps), self.lm_head)


def pack(model: WeightsOnly | PackedModel) -> PackedModel:
    """The model packed, unless it is already."""
    return model if isinstance(model, PackedModel) else PackedModel(model)


def product(x: Tensor, weight: Tensor) -> Tensor:
    """linear(x, weight): x (..., D), weight (out, D) -> (..., out), by the way that is fastest for so many rows.

    For a few rows of float32 the weight stands on the left: libraries have one path for weight @ x.T and another for x @ weight.T,
    and on some processors the second takes two or three times as long for the same numbers. bfloat16 on a CPU without the
    instructions for it is multiplied in float32, once enough rows share the cost of converting the weight.
    """
    rows = x.flatten(0, -2)
    if x.is_cuda or len(rows) == 1:
        return linear(x, weight)
    if x.dtype == torch.bfloat16:
        convert = len(rows) > FEW_EMULATED_ROWS and not BFLOAT16_UNITS
        return product(x.float(), weight.float()).to(x.dtype) if convert else linear(x, weight)
    if len(rows) > FEW_ROWS:
        return linear(x, weight)
    return (weight @ rows.T).T.contiguous().unflatten(0, x.shape[:-1])


def rotation_tables(model: PackedModel, max_len: int) -> tuple[Tensor, Tensor]:
    """cos and sin (max_len, Dh) of RoPE's angles, in float32 at least."""
    config = model.config
    half = config.head_dim // 2
    precise = torch.promote_types(model.dtype, torch.float32)
    frequencies = config.rope_theta ** (-torch.arange(half, dtype=precise, device=model.device) / half)
    angles = torch.outer(torch.arange(max_len, dtype=precise, device=model.device), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()
