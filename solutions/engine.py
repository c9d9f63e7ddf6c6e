"""The engine: Day 11's decode with the same mathematics in fewer, larger steps.

Nothing here is new to who has done Days 3 to 11. Five rungs stand between `generate_batch` and this: matrices that read the
same input are laid side by side and multiplied once (q, k and v; gate and up); sines and cosines are computed once and looked up;
attention is the library's fused kernel, which never writes the score matrix down; a product takes the way that is fastest for its
rows; and of the last layer a prefill computes the last token only. A sixth, `compile_decode`, lets torch.compile fuse what is left;
it takes a minute or more and is for long runs.

The loop over the layers stands here once more, and not `run_layers`: packed weights, and a last layer cut to one token, are its point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

from course.kit import WeightsOnly
from solutions.batching import left_pad, positions_and_mask

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


class Engine:
    """Greedy decoding of `batch` rows of up to max_len tokens each, on the model's device in its dtype.

    prefill(ids, num_pad) and then decode(ids) step by step; `generate` does both. Equal to `prefill_batch` and
    `decode_batch` but for rounding.
    """

    def __init__(self, model: WeightsOnly, batch: int, max_len: int) -> None:
        config, weights = model.config, model.weights
        self.config, self.max_len = config, max_len
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
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, max_len, config.head_dim)
        self.keys, self.values = torch.zeros(2, *shape, dtype=model.dtype, device=model.device)
        self.cos, self.sin = rotation_tables(model, max_len)
        self.num_pad = torch.zeros(batch, dtype=torch.int64, device=model.device)
        self.position = torch.zeros((), dtype=torch.int64, device=model.device)  # the slot of the next token
        self.length = 0  # the same number where Python can read it without waiting for the device
        self._decode: Callable[[Tensor], Tensor] = self._decode_eagerly

    @torch.no_grad()
    def prefill(self, ids: Tensor, num_pad: Tensor | None = None) -> Tensor:
        """Starts anew with left-padded prompts. ids (B, T), num_pad (B,), None for no padding -> logits (B, V).

        Raises ValueError for another number of rows than the engine was made for, and for prompts longer than max_len.
        """
        B, T = ids.shape
        if len(self.num_pad) != B:
            raise ValueError(f"the engine was made for {len(self.num_pad)} rows, got {B}: make another one")
        if self.max_len < T:
            raise ValueError(f"{T} tokens do not fit into max_len = {self.max_len}: make the engine with a longer max_len")
        self.num_pad.copy_(num_pad if num_pad is not None else torch.zeros_like(self.num_pad))
        if num_pad is None:
            positions, mask = torch.arange(T, device=ids.device).expand(B, T), None
        else:
            positions, mask = positions_and_mask(num_pad, 0, T)
        x = self.embed_tokens[ids]
        for index, layer in enumerate(self.layers):
            q, k, v = self._qkv(x, layer, positions)
            self.keys[index, :, :, :T] = k
            self.values[index, :, :, :T] = v
            if layer is self.layers[-1]:  # nobody reads what it makes of the other tokens
                x, q, mask = x[:, -1:], q[:, :, -1:], None if mask is None else mask[:, :, -1:]
            mixed = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None and q.shape[2] == T, enable_gqa=True)
            x = self._rest(x, mixed, layer)
        self.position.fill_(T)
        self.length = T
        return self._logits(x)

    def decode(self, ids: Tensor) -> Tensor:
        """The newest token of every row, ids (B, 1) -> logits (B, V). Raises ValueError where no slot is left."""
        if self.length == self.max_len:
            raise ValueError(f"all max_len = {self.max_len} slots are taken: make the engine with a longer max_len")
        self.length += 1
        return self._decode(ids)

    @torch.no_grad()
    def _decode_eagerly(self, ids: Tensor) -> Tensor:
        """Reads the filled slots only; a compiled step, whose shapes are fixed, reads them all."""
        return self._step(ids, self.length)

    def _step(self, ids: Tensor, slots: int) -> Tensor:
        positions = (self.position - self.num_pad).unsqueeze(1)  # (B, 1)
        seen = torch.arange(slots, device=ids.device)
        mask = ((seen >= self.num_pad[:, None]) & (seen <= self.position))[:, None, None]  # (B, 1, 1, slots)
        slot = self.position.unsqueeze(0)
        x = self.embed_tokens[ids]
        for index, layer in enumerate(self.layers):
            q, k, v = self._qkv(x, layer, positions)
            self.keys[index].index_copy_(2, slot, k)
            self.values[index].index_copy_(2, slot, v)
            k_all, v_all = self.keys[index, :, :, :slots], self.values[index, :, :, :slots]
            # One query a row: the H/K heads of a group stand where a fused kernel wants queries, and no key is copied.
            grouped = q.unflatten(1, (k.shape[1], -1)).squeeze(3)  # (B, K, H/K, Dh)
            mixed = scaled_dot_product_attention(grouped, k_all, v_all, attn_mask=mask)
            x = self._rest(x, mixed.flatten(1, 2).unsqueeze(2), layer)
        self.position.add_(1)
        return self._logits(x)

    def _qkv(self, x: Tensor, layer: PackedLayer, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, t, D) -> q (B, H, t, Dh), k and v (B, K, t, Dh); q and k turned."""
        config = self.config
        H, K = config.num_attention_heads, config.num_key_value_heads
        normed = rms_norm(x, x.shape[-1:], layer.input_layernorm, config.rms_norm_eps)
        heads = product(normed, layer.qkv_proj).unflatten(-1, (H + 2 * K, config.head_dim))  # (B, t, H+2K, Dh)
        turned, v = heads.split((H + K, K), dim=2)
        cos, sin = self.cos[positions].unsqueeze(2), self.sin[positions].unsqueeze(2)  # (B, t, 1, Dh)
        first, second = turned.chunk(2, dim=-1)
        turned = (turned * cos + torch.cat((-second, first), dim=-1) * sin).to(v.dtype)  # half precision is turned in float32
        q, k = turned.split((H, K), dim=2)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def _rest(self, x: Tensor, mixed: Tensor, layer: PackedLayer) -> Tensor:
        """After attention: x (B, t, D), mixed (B, H, t, Dh) -> (B, t, D)."""
        x = x + product(mixed.transpose(1, 2).flatten(2), layer.o_proj)
        normed = rms_norm(x, x.shape[-1:], layer.post_attention_layernorm, self.config.rms_norm_eps)
        gate, up = product(normed, layer.gate_up_proj).chunk(2, dim=-1)
        return x + product(silu(gate, inplace=True).mul_(up), layer.down_proj)

    def _logits(self, x: Tensor) -> Tensor:
        return product(rms_norm(x[:, -1], x.shape[-1:], self.norm, self.config.rms_norm_eps), self.lm_head)

    def compile_decode(self) -> None:
        """Makes `decode` a compiled step. It needs a C++ compiler and a minute or more at its first call; no gradient can flow."""
        step = torch.compile(self._step, fullgraph=True)

        def compiled(ids: Tensor) -> Tensor:
            with torch.no_grad():
                return step(ids, self.max_len)

        self._decode = compiled

    def generate(self, prompts: list[list[int]], max_new_tokens: int) -> Tensor:
        """The most probable tokens after each prompt, (B, max_new_tokens), without a look at where a row ends."""
        ids, num_pad = (tensor.to(self.num_pad.device) for tensor in left_pad(prompts, 0))
        token = self.prefill(ids, num_pad if bool(num_pad.any()) else None).argmax(dim=-1, keepdim=True)
        tokens = [token]
        for _ in range(max_new_tokens - 1):
            token = self.decode(token).argmax(dim=-1, keepdim=True)
            tokens.append(token)
        return torch.cat(tokens, dim=1)


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


def rotation_tables(model: WeightsOnly, max_len: int) -> tuple[Tensor, Tensor]:
    """cos and sin (max_len, Dh) of RoPE's angles, in float32 at least."""
    config = model.config
    half = config.head_dim // 2
    precise = torch.promote_types(model.dtype, torch.float32)
    frequencies = config.rope_theta ** (-torch.arange(half, dtype=precise, device=model.device) / half)
    angles = torch.outer(torch.arange(max_len, dtype=precise, device=model.device), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()
