"""The decoder: what happens between token ids and the scores of the next token."""

from __future__ import annotations

import torch
from torch import Tensor

from course.kit import Config, LayerWeights, WeightsOnly
from solutions.attention import attention, causal_mask, merge_heads, rotary, split_heads


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Bring each vector to a length of about sqrt(D), then weight its entries: x / sqrt(mean(x^2) + eps) * weight.

    x (..., D), weight (D,) -> (..., D), same dtype and device. Every vector by itself; nothing is subtracted. Mean and
    root are computed in float32 or better even where x is bfloat16 or float16. x is not changed and need not be
    contiguous. Zhang and Sennrich 2019.
    """
    ### BEGIN SOLUTION
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
    ### END SOLUTION


def feed_forward(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """What a layer does to each token alone (SwiGLU): down (silu(gate x) * (up x)), with silu(z) = z * sigmoid(z).

    x (B, T, D), gate and up (F, D), down (D, F) -> (B, T, D), same dtype and device. Rows of a matrix are its outputs.
    Nothing that is given is changed, and x need not be contiguous. Shazeer 2020.
    """
    ### BEGIN SOLUTION
    gates = x @ gate.T  # (B, T, F)
    opened = gates * gates.sigmoid()
    return (opened * (x @ up.T)) @ down.T
    ### END SOLUTION


def decoder_block(x: Tensor, layer: LayerWeights, config: Config, positions: Tensor) -> Tensor:
    """One layer: attention, then feed-forward; each reads a normed copy of x and adds its result to x.

    x (B, T, D), positions (T,) for all rows or (B, T) for each its own, increasing -> (B, T, D), same dtype and device.
    Queries and keys turn by the positions with base config.rope_theta; token i reads tokens 0 to i of x. A head's width
    is config.head_dim, which need not be D / H. Neither x nor the layer's weights are changed.
    """
    ### BEGIN SOLUTION
    T = x.shape[1]
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q = split_heads(normed @ layer.q_proj.T, config.num_attention_heads)
    k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
    v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
    q = rotary(q, positions, config.rope_theta)
    k = rotary(k, positions, config.rope_theta)
    read = attention(q, k, v, causal_mask(T, T).to(x.device))
    x = x + merge_heads(read) @ layer.o_proj.T
    normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    ### END SOLUTION


def forward(model: WeightsOnly, ids: Tensor) -> Tensor:
    """The whole decoder: embedding, every layer in turn, final norm, head.

    ids (B, T) int64 -> logits (B, T, V) of the model's dtype, on its device. Positions count from 0 in every row. The
    layers are those in model.weights.layers, however many the config names. Nothing of the model is changed.
    """
    ### BEGIN SOLUTION
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]  # (B, T, D)
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T  # (B, T, V)
    ### END SOLUTION
