"""Static batches: Day 11's decode with the same mathematics in fewer, larger steps.

If you have done Days 3 to 11, nothing here is new. Five rungs lead from `generate_batch` to this engine. Matrices that read the same input
are joined side by side and multiplied once (q, k and v; gate and up). Sines and cosines are computed once and looked up. Attention is the
library's fused kernel, which never writes the score matrix to memory. A product takes the way that was fastest when each was timed
(`matmul.py`). In the last layer, a prefill computes only the last token. A sixth rung, `compile_decode`, lets torch.compile fuse the rest;
it takes a minute or more and is for long runs. On a GPU, `capture_decode` records the step as a graph.

The loop over the layers is written out here instead of calling `run_layers`, because it uses packed weights and computes only the last
token in the last layer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from course.kit import WeightsOnly
from solutions.batching import left_pad, positions_and_mask
from solutions.engine.packed import PackedModel, Rotation, additive, pack
from solutions.engine.sampling import require_numbers


class StaticEngine:
    """A greedy decoder of `batch` rows of up to max_len tokens each, on the model's device and in its dtype.

    Call prefill(ids, num_pad) and then decode(ids) step by step; `generate` does both. The results equal those of `prefill_batch` and
    `decode_batch` except for rounding.
    """

    def __init__(self, model: WeightsOnly | PackedModel, batch: int, max_len: int) -> None:
        self.model, self.max_len = pack(model), max_len
        config = model.config
        shape = (batch, config.num_key_value_heads, max_len, config.head_dim)
        # A tensor for each layer: torch.compile would copy a tensor of all layers whenever one layer writes into it.
        self.keys, self.values = (
            [torch.zeros(shape, dtype=model.dtype, device=model.device) for _ in range(config.num_hidden_layers)] for _ in range(2)
        )
        self.rotation = Rotation(self.model, max_len)
        self.num_pad = torch.zeros(batch, dtype=torch.int64, device=model.device)
        self.padded = False
        self.position = torch.zeros((), dtype=torch.int64, device=model.device)  # the slot of the next token
        self.length = 0  # the same number where Python can read it without waiting for the device
        self._decode: Callable[[Tensor], Tensor] = self._decode_eagerly
        self._fixed = self._step  # the step over all slots, which a compiler may replace

    @torch.no_grad()
    def prefill(self, ids: Tensor, num_pad: Tensor | None = None) -> Tensor:
        """Start over with left-padded prompts: ids (B, T), num_pad (B,) or None for no padding -> logits (B, V).

        Raises ValueError if the number of rows is not the engine's, and for prompts longer than max_len.
        """
        B, T = ids.shape
        if len(self.num_pad) != B:
            raise ValueError(f"the engine was made for {len(self.num_pad)} rows, got {B}: make another one")
        if self.max_len < T:
            raise ValueError(f"{T} tokens do not fit into max_len = {self.max_len}: make the engine with a longer max_len")
        self.num_pad.copy_(num_pad if num_pad is not None else torch.zeros_like(self.num_pad))
        self.padded = num_pad is not None
        if num_pad is None:
            positions, mask = torch.arange(T, device=ids.device).expand(B, T), None
        else:
            positions, seen = positions_and_mask(num_pad, 0, T)
            mask = additive(seen, self.model.dtype)
        cos, sin = self.rotation(positions)
        x = self.model.embed_tokens[ids]
        for index, layer in enumerate(self.model.layers):
            q, k, v = self.model.before_attention(x, layer, cos, sin)
            self.keys[index][:, :, :T] = k
            self.values[index][:, :, :T] = v
            if layer is self.model.layers[-1]:  # nobody reads what it makes of the other tokens
                x, q, mask = x[:, -1:], q[:, :, -1:], None if mask is None else mask[:, :, -1:]
            mixed = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None and q.shape[2] == T, enable_gqa=True)
            x = self.model.after_attention(x, mixed, layer)
        self.position.fill_(T)
        self.length = T
        return self.model.logits(x[:, -1])

    def decode(self, ids: Tensor) -> Tensor:
        """Read the newest token of every row: ids (B, 1) -> logits (B, V). Raises ValueError if no slot is left."""
        if self.length == self.max_len:
            raise ValueError(f"all max_len = {self.max_len} slots are taken: make the engine with a longer max_len")
        self.length += 1
        return self._decode(ids)

    @torch.no_grad()
    def _decode_eagerly(self, ids: Tensor) -> Tensor:
        """Decode with the filled slots only. A compiled step has fixed shapes and therefore reads all slots."""
        return self._step(ids, self.length, masked=self.padded)

    def _step(self, ids: Tensor, slots: int, *, masked: bool) -> Tensor:
        """Decode one token of every row. Values that all layers share are computed here once.

        masked: whether some of the slots must be hidden.
        """
        positions = (self.position - self.num_pad).unsqueeze(1)  # (B, 1)
        mask = None
        if masked:
            place = torch.arange(slots, device=ids.device)
            seen = (place >= self.num_pad[:, None]) & (place <= self.position)
            mask = additive(seen[:, None, None], self.model.dtype)  # (B, 1, 1, slots)
        slot = self.position.unsqueeze(0)
        cos, sin = self.rotation(positions)
        x = self.model.embed_tokens[ids]
        for index, layer in enumerate(self.model.layers):
            q, k, v = self.model.before_attention(x, layer, cos, sin)
            self.keys[index].index_copy_(2, slot, k)
            self.values[index].index_copy_(2, slot, v)
            k_all, v_all = self.keys[index][:, :, :slots], self.values[index][:, :, :slots]
            # One query a row: the H/K heads of a group stand where a fused kernel wants queries, and no key is copied.
            grouped = q.unflatten(1, (k.shape[1], -1)).squeeze(3)  # (B, K, H/K, Dh)
            mixed = scaled_dot_product_attention(grouped, k_all, v_all, attn_mask=mask)
            x = self.model.after_attention(x, mixed.flatten(1, 2).unsqueeze(2), layer)
        self.position.add_(1)
        return self.model.logits(x[:, -1])

    def compile_decode(self) -> None:
        """Replace `decode` with a compiled step.

        The compiled step needs a C++ compiler, and its first call takes a minute or more. It supports no gradients. Raises ValueError if
        weights are stored in a library's own order, which a compiler cannot read.
        """
        if not self.model.products.plain:
            raise ValueError("weights in a library's own order cannot be compiled: make the engine of PackedModel(model, way='linear')")
        self._fixed = torch.compile(self._step, fullgraph=True)
        self._decode = self._decode_all_slots

    def capture_decode(self) -> None:
        """Replace `decode` with a recorded step, which a GPU starts with one launch.

        The step is compiled if `compile_decode` was called before.

        Raises ValueError if the model is not on a CUDA device.
        """
        if not self.num_pad.is_cuda:
            raise ValueError("a step is recorded on a GPU only: make the engine of a model on a CUDA device")
        ids_in = torch.zeros(len(self.num_pad), 1, dtype=torch.int64, device=self.num_pad.device)
        self.position.fill_(self.max_len - 1)  # the run beforehand writes the last slot, which is always written before it is read
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._decode_all_slots(ids_in)
        torch.cuda.current_stream().wait_stream(side)
        self.position.fill_(self.length)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self._decode_all_slots(ids_in)

        def replay(ids: Tensor) -> Tensor:
            ids_in.copy_(ids)
            graph.replay()  # the engine, which holds this function, holds all other memory that the graph reads
            return out.clone()

        self._decode = replay

    @torch.no_grad()
    def _decode_all_slots(self, ids: Tensor) -> Tensor:
        return self._fixed(ids, self.max_len, masked=True)

    def generate(self, prompts: list[list[int]], max_new_tokens: int) -> Tensor:
        """Return the most probable tokens after each prompt, (B, max_new_tokens); rows do not stop at the EOS.

        Raises ModelError if a step's best logit is not finite. All steps are checked at the end, because a check in each step would wait
        for the GPU.
        """
        ids, num_pad = (tensor.to(self.num_pad.device) for tensor in left_pad(prompts, 0))
        logits = self.prefill(ids, num_pad if bool(num_pad.any()) else None)
        tokens, highest = [logits.argmax(dim=-1, keepdim=True)], []
        for _ in range(max_new_tokens - 1):
            highest.append(logits.gather(-1, tokens[-1]))
            logits = self.decode(tokens[-1])
            tokens.append(logits.argmax(dim=-1, keepdim=True))
        highest.append(logits.gather(-1, tokens[-1]))
        require_numbers(torch.cat(highest).float().cpu().numpy(), np.zeros(len(tokens) * len(ids), np.intp))
        return torch.cat(tokens, dim=1)
