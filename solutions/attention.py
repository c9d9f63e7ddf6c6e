"""Attention: how one token reads from the others, and how it knows their positions."""

from __future__ import annotations

import torch
from torch import Tensor

from solutions.softmax import softmax


def sinusoidal_positions(T: int, D: int) -> Tensor:
    """Return one vector for each position: sines at even columns, cosines at odd ones.

    -> (T, D) float32. Columns 2i and 2i+1 of row t hold sin and cos of t / 10000^(2i/D); D is even.
    Vaswani et al. 2017, section 3.5.
    """
    ### BEGIN SOLUTION
    frequencies = 10000.0 ** (-torch.arange(0, D, 2) / D)
    angles = torch.arange(T)[:, None] * frequencies  # (T, D/2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
    ### END SOLUTION


def rotary(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Turn each query or key by angles that grow with its position (RoPE, the rotate-half form).

    x (B, H, T, Dh), positions (T,) for all rows or (B, T), each row its own -> (B, H, T, Dh), same dtype and device.
    Entries j and j + Dh/2 form a pair; at position p it turns by p * base^(-2j/Dh), from the first entry towards the
    second. Dh is even. Angles, sines and cosines are computed in float32 or better even if x is bfloat16. The input is
    not changed. Su et al. 2021, section 3.2.
    """
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** (-torch.arange(half, device=x.device, dtype=precise) / half)
    angles = positions.unsqueeze(-1) * frequencies  # (T, Dh/2) or (B, T, Dh/2)
    angles = angles.unsqueeze(-3)  # one axis for the heads: they all turn alike
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return turned.to(x.dtype)
    ### END SOLUTION


def causal_mask(q_len: int, k_len: int) -> Tensor:
    """Return which keys each query may see: itself and everything before it.

    -> (q_len, k_len) bool, True where attention is allowed. The queries are the last q_len of the k_len positions
    (q_len <= k_len): query i is at position k_len - q_len + i.
    """
    ### BEGIN SOLUTION
    query_positions = torch.arange(k_len - q_len, k_len)
    key_positions = torch.arange(k_len)
    return key_positions <= query_positions[:, None]
    ### END SOLUTION


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut each token's vector into one piece per head.

    x (B, T, H*Dh) -> (B, H, T, Dh). Head h gets the entries h*Dh to (h+1)*Dh of every token. x is not changed.
    """
    ### BEGIN SOLUTION
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)
    ### END SOLUTION


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads of each token back side by side: the inverse of split_heads.

    x (B, H, T, Dh) -> (B, T, H*Dh). x is not changed.
    """
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(2)
    ### END SOLUTION


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return for each query the average of the values, weighted by the softmax of its scores q . k / sqrt(Dh).

    q (B, H, Tq, Dh), k (B, K, Tk, Dh), v (B, K, Tk, Dv) -> (B, H, Tq, Dv), same dtype and device, computed in no
    coarser dtype. Dv is mostly Dh, but it need not be. K divides H, and query head h uses key/value head h // (H/K).
    mask: bool, broadcasts to (B, H, Tq, Tk), True where a query may see a key; without a mask it sees all. The inputs
    are not changed. Vaswani et al. 2017, section 3.2; Ainslie et al. 2023 for the grouped heads.
    """
    ### BEGIN SOLUTION
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1:3]
    # The H/K query heads of a group read the same keys: stack them, and no key is copied.
    grouped = (q * Dh**-0.5).reshape(B, K, H // K * Tq, Dh)
    scores = (grouped @ k.transpose(-2, -1)).reshape(B, H, Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = softmax(scores).reshape(B, K, H // K * Tq, Tk)
    return (weights @ v).reshape(B, H, Tq, -1)
    ### END SOLUTION
