"""A model's weights as an engine reads them, and the two halves of a layer around attention.

Matrices that read the same input are joined side by side. Attention itself is not here: static batches and paged memory each have their
own, and share the rest of a layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, silu

from course.kit import WeightsOnly
from solutions.engine.matmul import SAMPLES, WAYS, Product, Products
from solutions.engine.onnx_blocks import WAY as ONNX_WAY


@dataclass
class PackedLayer:
    """A layer's weights; weights that read the same input are joined into one matrix."""

    input_layernorm: Tensor  # (D,)
    qkv_proj: Product  # ((H + 2K) * Dh, D)
    o_proj: Product  # (D, H*Dh)
    post_attention_layernorm: Tensor  # (D,)
    gate_up_proj: Product  # (2F, D)
    down_proj: Product  # (D, F)


class PackedModel:
    """A packed copy of a model's weights; several engines may share one.

    products: the ways to multiply and how they were chosen. way: the name of a way; None times all ways (`matmul.py`), which takes a few
    seconds once in a process. blocks: the matrices' blocks from `load_gguf_blocks`; if given, onnxruntime's product with these blocks is
    one of the ways.
    """

    def __init__(self, model: WeightsOnly, way: str | None = None, blocks: Mapping[str, Tensor] | None = None) -> None:
        weights = model.weights
        self.config, self.dtype, self.device = model.config, model.dtype, model.device
        self.embed_tokens, self.norm = weights.embed_tokens, weights.norm
        self.products = products = Products(way, ways=WAYS if blocks is None else (*WAYS, ONNX_WAY))
        layers = weights.layers

        def made(*names: str) -> list[Product]:
            joined = (torch.cat([getattr(layer, name) for name in names]) for layer in layers)
            stored = (_joined_blocks(blocks or {}, [f"layers.{i}.{name}" for name in names]) for i in range(len(layers)))
            return products.make(joined, 0.2, blocks=stored)

        with torch.no_grad():
            qkv = made("q_proj", "k_proj", "v_proj")
            o = made("o_proj")
            gate_up = made("gate_proj", "up_proj")
            down = made("down_proj")
            tied = weights.lm_head is weights.embed_tokens
            head = [_joined_blocks(blocks or {}, ["embed_tokens" if tied else "lm_head"])]
            self.lm_head = products.make([weights.lm_head], 0.2, SAMPLES[:-1], head)[0]  # of each text the last token only
        self.layers = [
            PackedLayer(layer.input_layernorm, qkv[i], o[i], layer.post_attention_layernorm, gate_up[i], down[i])
            for i, layer in enumerate(layers)
        ]

    def before_attention(self, x: Tensor, layer: PackedLayer, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return q (B, H, t, Dh), k and v (B, K, t, Dh) of x (B, t, D); q and k are rotated.

        cos and sin (B, t, 1, Dh) come from `Rotation`.
        """
        config = self.config
        H, K = config.num_attention_heads, config.num_key_value_heads
        normed = rms_norm(x, x.shape[-1:], layer.input_layernorm, config.rms_norm_eps)
        heads = layer.qkv_proj(normed).view(*x.shape[:-1], H + 2 * K, config.head_dim)  # (B, t, H+2K, Dh)
        turned, v = heads.split((H + K, K), dim=2)
        first, second = turned.chunk(2, dim=-1)
        turned = turned * cos + torch.cat((second, first), dim=-1) * sin
        q, k = turned.to(v.dtype).split((H, K), dim=2)  # half precision is turned in float32
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def after_attention(self, x: Tensor, mixed: Tensor, layer: PackedLayer) -> Tensor:
        """Finish a layer: x (B, t, D), mixed (B, H, t, Dh) -> (B, t, D)."""
        x = x + layer.o_proj(mixed.transpose(1, 2).flatten(2))
        normed = rms_norm(x, x.shape[-1:], layer.post_attention_layernorm, self.config.rms_norm_eps)
        gate, up = layer.gate_up_proj(normed).chunk(2, dim=-1)
        return x + layer.down_proj(silu(gate, inplace=True).mul_(up))

    def logits(self, x: Tensor) -> Tensor:
        """Return the logits (R, V) of x (R, D), the last layer's output for R tokens."""
        return self.lm_head(rms_norm(x, x.shape[-1:], self.norm, self.config.rms_norm_eps))


def _joined_blocks(blocks: Mapping[str, Tensor], names: list[str]) -> Tensor | None:
    """Return the joined blocks of several matrices; None unless all of them have blocks of the same kind."""
    found = [blocks[name] for name in names if name in blocks]
    if len(found) < len(names) or len({each.shape[1:] for each in found}) > 1:
        return None
    return torch.cat(found)


def pack(model: WeightsOnly | PackedModel) -> PackedModel:
    """Return the packed model, or the model itself if it is already packed."""
    return model if isinstance(model, PackedModel) else PackedModel(model)


class Rotation:
    """RoPE's rotations of all positions up to max_len. A pass looks them up once for all layers.

    cos and sin are (max_len, Dh), in float32 at least. The first half of sin is negative, so a layer only swaps the halves of a head and
    changes no sign.
    """

    def __init__(self, model: PackedModel, max_len: int) -> None:
        config = model.config
        half = config.head_dim // 2
        precise = torch.promote_types(model.dtype, torch.float32)
        frequencies = config.rope_theta ** (-torch.arange(half, dtype=precise, device=model.device) / half)
        angles = torch.outer(torch.arange(max_len, dtype=precise, device=model.device), frequencies)
        self.cos = angles.cos().repeat(1, 2)
        self.sin = torch.cat((-angles.sin(), angles.sin()), dim=-1)

    def __call__(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return cos and sin (B, t, 1, Dh) at positions (B, t), for all heads."""
        return self.cos[positions].unsqueeze(2), self.sin[positions].unsqueeze(2)


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert a mask (True: the query may see the key) to numbers to add to the scores: 0 or -inf.

    With booleans, attention would convert the mask in every layer.
    """
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))
