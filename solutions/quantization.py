"""Quantization: numbers in 4 or 8 bits, with one scale for a few of them.

A decode step reads every weight, so it takes as long as their bytes do. SmolLM2's own file holds its weights in blocks of 32: 4 bits
each, a scale and a minimum. Keys and values can be stored in 8 bits, and a product can be computed in integers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from course.kit import Config
from solutions.kv_cache import CacheFull


def quantize_absmax(x: Tensor, bits: int = 8) -> tuple[Tensor, Tensor]:
    """Quantize symmetrically, with a scale for each row of the last dimension: x is about q * scale.

    x (..., n) of any floating dtype and memory layout, computed in float32 or better -> q (..., n) int8, scale (..., 1) float32. The scale
    is the least for which no number of the row is beyond +-(2^(bits - 1) - 1) steps; q is the nearest number of steps, half to even: for
    8 bits from -127 to 127. A row of zeros has q 0 and scale 0. bits is 2 to 8. x is not changed.
    """
    ### BEGIN SOLUTION
    x = x.float()
    scale = x.abs().amax(dim=-1, keepdim=True) / (2 ** (bits - 1) - 1)
    steps = torch.where(scale > 0, x / scale, 0.0)  # 0 / 0 is nan, and converting nan to an integer is undefined
    return steps.round().to(torch.int8), scale
    ### END SOLUTION


def quantize_affine(x: Tensor, bits: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    """Quantize from the least to the largest number of each row of the last dimension: x is about q * scale + minimum.

    x (..., n) of any floating dtype and memory layout, computed in float32 or better -> q (..., n) uint8, scale and minimum (..., 1)
    float32. The first of the 2^bits marks is the row's smallest number and the last its largest, and scale is a step from mark to mark; q
    is the number of the nearest mark, half to even: for 8 bits from 0 to 255. A row of equal numbers has q 0 and scale 0. bits is 1 to 8. x
    is not changed.
    """
    ### BEGIN SOLUTION
    x = x.float()
    minimum, maximum = x.aminmax(dim=-1, keepdim=True)
    scale = (maximum - minimum) / (2**bits - 1)
    steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
    return steps.round().to(torch.uint8), scale, minimum
    ### END SOLUTION


def dequantize(q: Tensor, scale: Tensor, minimum: Tensor | None = None) -> Tensor:
    """Return the numbers that q stands for: q * scale, plus minimum if there is one, computed in float32 or better.

    q (..., n) int8 or uint8, of any memory layout, scale and minimum (..., 1) float32 or float16 -> (..., n) float32.
    """
    ### BEGIN SOLUTION
    x = q.float() * scale  # float32 times float16 is float32
    return x if minimum is None else x + minimum
    ### END SOLUTION


def pack_nibbles(q: Tensor) -> Tensor:
    """Pack two numbers of 4 bits into a byte, in the order of GGUF: byte i holds number i in its low half, number i + 16 in its high half.

    q (..., 32) uint8 -> (..., 16) uint8. Raises ValueError for a last dimension other than 32 and for a number over 15; the message
    names that dimension, or such a number. q is not changed.
    """
    ### BEGIN SOLUTION
    if q.shape[-1] != 32:
        raise ValueError(f"a block holds 32 numbers, got {q.shape[-1]}")
    if (q > 15).any():
        raise ValueError(f"4 bits hold 0 to 15, got {q.max()}")
    return q[..., :16] | q[..., 16:] << 4
    ### END SOLUTION


def unpack_nibbles(packed: Tensor) -> Tensor:
    """Return the numbers that `pack_nibbles` has packed: (..., 16) uint8 -> (..., 32) uint8, from 0 to 15."""
    ### BEGIN SOLUTION
    return torch.cat((packed & 15, packed >> 4), dim=-1)
    ### END SOLUTION


def read_q4_1(raw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Read blocks of GGUF's Q4_1: float16 scale and minimum, low byte first, then 32 numbers packed as `pack_nibbles` does.

    raw (..., 20) uint8, a block's bytes side by side in memory -> q (..., 32) uint8, scale and minimum (..., 1) float32: the arguments of
    `dequantize`. All blocks are read at once, not one by one.
    """
    ### BEGIN SOLUTION
    head = raw[..., :4].view(torch.float16).float()  # (..., 2): four bytes are two numbers
    return unpack_nibbles(raw[..., 4:]), head[..., :1], head[..., 1:]
    ### END SOLUTION


def read_q8_0(raw: Tensor) -> tuple[Tensor, Tensor]:
    """Read blocks of GGUF's Q8_0: the scale as float16, low byte first, then 32 signed bytes.

    raw (..., 34) uint8, a block's bytes side by side in memory -> q (..., 32) int8, scale (..., 1) float32: the arguments of
    `dequantize`.
    """
    ### BEGIN SOLUTION
    scale = raw[..., :2].view(torch.float16).float()
    return raw[..., 2:].view(torch.int8), scale
    ### END SOLUTION


def write_q4_1(x: Tensor) -> Tensor:
    """Write blocks that `read_q4_1` reads: 32 numbers in 20 bytes.

    x (..., 32) of any floating dtype and memory layout, within the range of float16 -> (..., 20) uint8. Scale and minimum are those
    of `quantize_affine` with 4 bits, rounded to float16, and each number is (x - minimum) / scale with these rounded ones, computed in
    float32 or better, rounded half to even and clamped to 0 to 15. If a block's rounded scale is 0, its numbers are 0. x is not changed.
    """
    ### BEGIN SOLUTION
    _, scale, minimum = quantize_affine(x, bits=4)
    head = torch.cat((scale, minimum), dim=-1).half()  # (..., 2)
    scale, minimum = head.float().split(1, dim=-1)  # what will be read
    steps = torch.where(scale > 0, (x - minimum) / scale, 0.0)
    q = steps.round().clamp(0, 15).to(torch.uint8)
    return torch.cat((head.view(torch.uint8), pack_nibbles(q)), dim=-1)
    ### END SOLUTION


def quantized_linear(x: Tensor, q: Tensor, scale: Tensor, minimum: Tensor) -> Tensor:
    """Multiply x by the transpose of a matrix in 4 bits (W4A32): for each group of 32, scale * (x . q) + minimum * sum(x), added up.

    x (..., D) float32, of any memory layout, q (out, D/32, 32) uint8, scale and minimum (out, D/32, 1) float32 -> (..., out) float32. The
    weights are at no time whole in another form than q: only one group of all rows at a time, or one row at a time, is in floating point.
    Raises ValueError, naming D, unless 32 divides it.
    """
    ### BEGIN SOLUTION
    if x.shape[-1] % 32:
        raise ValueError(f"D must be a multiple of 32, got {x.shape[-1]}")
    groups = x.unflatten(-1, (-1, 32))  # (..., D/32, 32)
    y = groups.sum(dim=-1) @ minimum.squeeze(-1).T  # (..., out)
    for g, x_group in enumerate(groups.unbind(dim=-2)):
        y += x_group @ q[:, g].float().T * scale[:, g, 0]
    return y
    ### END SOLUTION


def int8_linear(x: Tensor, q: Tensor, scale: Tensor, minimum: Tensor) -> Tensor:
    """Compute the product of `quantized_linear` with x in 8 bits too (W4A8): the numbers are multiplied and added up as integers.

    x is quantized by `quantize_absmax`, each group of 32 by itself: xq, x_scale. The result is what `quantized_linear` gives for the x that
    xq and x_scale stand for. xq . q and sum(xq) are computed in int32 or int64, because no smaller type holds 32 products of up to 15 *
    127; q is never converted to floating point. Shapes, dtypes and ValueError as in `quantized_linear`.
    """
    ### BEGIN SOLUTION
    if x.shape[-1] % 32:
        raise ValueError(f"D must be a multiple of 32, got {x.shape[-1]}")
    xq, x_scale = quantize_absmax(x.unflatten(-1, (-1, 32)))  # (..., D/32, 32), (..., D/32, 1)
    xq = xq.int()
    y = (xq.sum(dim=-1) * x_scale.squeeze(-1)) @ minimum.squeeze(-1).T  # (..., out)
    for g in range(q.shape[1]):
        dots = xq[..., g, :] @ q[:, g].int().T  # (..., out) int32
        y += dots * x_scale[..., g, :] * scale[:, g, 0]
    return y
    ### END SOLUTION


class QuantizedKVCache:
    """`KVCache` in 8 bits: the keys and the values of each token and head are Dh numbers in int8 and one scale in float16.

    It works as Day 10's: slots of a layer fill from 0 upwards, each layer counts its own, and all memory is allocated once, when the cache
    is made.
    """

    def __init__(self, config: Config, batch: int, max_len: int, device: str | torch.device = "cpu") -> None:
        ### BEGIN SOLUTION
        shape = (2, config.num_hidden_layers, batch, config.num_key_value_heads, max_len)  # keys and values
        self.q = torch.zeros((*shape, config.head_dim), dtype=torch.int8, device=device)
        self.scales = torch.zeros((*shape, 1), dtype=torch.float16, device=device)
        self.max_len = max_len
        self.counts = [0] * config.num_hidden_layers
        ### END SOLUTION

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store t new tokens of one layer; return all that this layer has stored so far, oldest first, in float32.

        k, v (B, K, t, Dh) of any memory layout -> k_all, v_all (B, K, n+t, Dh) float32, where n tokens were there before. Each vector of
        Dh numbers is quantized by `quantize_absmax`, and the result is what q and the stored scale stand for. Raises CacheFull, with
        nothing written and no count moved, if n + t exceeds max_len; the message names max_len.
        """
        ### BEGIN SOLUTION
        start = self.counts[layer]
        end = start + k.shape[2]
        if end > self.max_len:
            raise CacheFull(f"{end} tokens do not fit into a cache of max_len {self.max_len}: allocate a longer one")
        q, scale = quantize_absmax(torch.stack((k, v)))  # (2, B, K, t, Dh), (2, B, K, t, 1)
        self.q[:, layer, :, :, start:end] = q
        self.scales[:, layer, :, :, start:end] = scale
        self.counts[layer] = end
        keys, values = dequantize(self.q[:, layer, :, :, :end], self.scales[:, layer, :, :, :end])
        return keys, values
        ### END SOLUTION

    @property
    def length(self) -> int:
        """Number of tokens that all layers have stored: the count of the last layer, which is the last to be reached."""
        ### BEGIN SOLUTION
        return self.counts[-1]
        ### END SOLUTION

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether or not they are filled yet: of the numbers and of the scales."""
        ### BEGIN SOLUTION
        return self.q.nbytes + self.scales.nbytes
        ### END SOLUTION

    def reset(self) -> None:
        """Make the cache empty again; the memory stays, to be overwritten."""
        ### BEGIN SOLUTION
        self.counts = [0] * len(self.counts)
        ### END SOLUTION


def kl_divergence(reference_logits: Tensor, logits: Tensor) -> float:
    """Return how far a model's distributions are from the reference's, in nats: the mean over T places of the sum of p (log p - log q).

    reference_logits, logits (T, V), finite, of any floating dtype: p and q are their softmax, computed in float32 or better -> 0 or more,
    0 where they agree, but for rounding.
    """
    ### BEGIN SOLUTION
    log_p, log_q = (x.double().log_softmax(dim=-1) for x in (reference_logits, logits))
    return float((log_p.exp() * (log_p - log_q)).sum(dim=-1).mean())
    ### END SOLUTION


def perplexity(logits: Tensor, ids: Tensor) -> float:
    """Return exp of the mean of -log p(next token) over a text: the model is as unsure as among so many equally likely tokens.

    logits (T, V) of any floating dtype, ids (T,) int64, T >= 2: row t is the model's output after ids[t], so it is compared with ids[t +
    1], and the last row, whatever it holds, with nothing. Computed in float32 or better.
    """
    ### BEGIN SOLUTION
    log_probs = logits[:-1].double().log_softmax(dim=-1)
    mean = log_probs.gather(1, ids[1:].unsqueeze(1)).mean()
    return float((-mean).exp())
    ### END SOLUTION
