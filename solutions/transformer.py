"""The decoder: what happens between token ids and the scores of the next token."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course.kit import Config, LayerWeights, WeightsOnly
from solutions.attention import attention, causal_mask, merge_heads, rotary, split_heads


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Bring each vector to a length of about sqrt(D), then weight its entries: x / sqrt(mean(x^2) + eps) * weight.

    x (..., D), weight (D,) -> (..., D), same dtype and device. Each vector is normed by itself, and nothing is
    subtracted. Mean and root are computed in float32 or better even if x is bfloat16 or float16. x is not changed and
    need not be contiguous. Zhang and Sennrich 2019.
    """
    ### BEGIN SOLUTION
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
    ### END SOLUTION


def feed_forward(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """Compute what a layer does to each token alone (SwiGLU): down (silu(gate x) * (up x)), with silu(z) = z * sigmoid(z).

    x (B, T, D), gate and up (F, D), down (D, F) -> (B, T, D), same dtype and device. Rows of a matrix are its outputs.
    The arguments are not changed, and x need not be contiguous. Shazeer 2020.
    """
    ### BEGIN SOLUTION
    gates = x @ gate.T  # (B, T, F)
    opened = gates * gates.sigmoid()
    return (opened * (x @ up.T)) @ down.T
    ### END SOLUTION


def decoder_block(
    x: Tensor,
    layer: LayerWeights,
    config: Config,
    positions: Tensor,
    attend: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Run one layer: attention, then feed-forward; each reads a normed copy of x and adds its result to x.

    x (B, T, D), positions (T,) for all rows or (B, T), each row its own -> (B, T, D), same dtype and device.
    Queries and keys turn by the positions with base config.rope_theta.
    attend(q (B, H, T, Dh), k (B, K, T, Dh), v (B, K, T, Dh)) -> (B, H, T, Dh), all of x's dtype, is called once,
    without keywords, with q and k turned; its result takes the place of attention's. Without it token i reads tokens 0
    to i of x, and positions increase. A head's width is config.head_dim, which need not be D / H. The arguments are not
    changed.
    """
    ### BEGIN SOLUTION
    H, K = config.num_attention_heads, config.num_key_value_heads
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    q, k = split_heads(normed @ layer.q_proj.T, H), split_heads(normed @ layer.k_proj.T, K)
    v = split_heads(normed @ layer.v_proj.T, K)
    # Queries and keys turn alike: side by side they share one table of sines and cosines.
    q, k = rotary(torch.cat((q, k), dim=1), positions, config.rope_theta).split((H, K), dim=1)
    if attend is None:
        T = x.shape[1]
        read = attention(q, k, v, causal_mask(T, T).to(x.device))
    else:
        read = attend(q, k, v)
    x = x + merge_heads(read) @ layer.o_proj.T
    normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
    return x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    ### END SOLUTION


def run_layers(
    model: WeightsOnly,
    ids: Tensor,
    positions: Tensor,
    attend: Callable[[int, Tensor, Tensor, Tensor], Tensor],
) -> Tensor:
    """Run the decoder without its head: embedding, every layer in turn, final norm; how tokens read each other is up to `attend`.

    ids (B, T) int64, positions (T,) for all rows or (B, T), each row its own, in any order -> (B, T, D) of the model's
    dtype, on its device. attend(layer, q (B, H, T, Dh), k (B, K, T, Dh), v (B, K, T, Dh)) -> (B, H, T, Dh), all of that
    dtype, is called once for each layer, in order, without keywords, with the layer's number from 0 and q and k turned.
    The layers are those in model.weights.layers, however many the config names. The arguments are not changed, and the
    gradient mode, within attend too, is the caller's.
    """
    ### BEGIN SOLUTION
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]  # (B, T, D)
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, partial(attend, number))
    return rms_norm(x, weights.norm, config.rms_norm_eps)
    ### END SOLUTION


def forward(model: WeightsOnly, ids: Tensor) -> Tensor:
    """Run the whole decoder: embedding, every layer in turn, final norm, head.

    ids (B, T) int64 -> logits (B, T, V) of the model's dtype, on its device. Positions count from 0 in every row. The
    layers are those in model.weights.layers, however many the config names. The arguments are not changed.
    """
    ### BEGIN SOLUTION
    T = ids.shape[1]
    positions = torch.arange(T, device=ids.device)
    mask = causal_mask(T, T).to(ids.device)  # made once for all layers

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(q, k, v, mask)

    return run_layers(model, ids, positions, attend) @ model.weights.lm_head.T  # (B, T, V)
    ### END SOLUTION
