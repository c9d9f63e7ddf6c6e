"""The pass through the model, for all chunks of a step at once: Day 14's `forward_ragged` over packed weights."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from solutions.continuous_batching import Flat
from solutions.engine.block_manager import PagedKV, PagedSequence, block_tables, read_blocks, unused_slots
from solutions.engine.packed import PackedModel, Rotation, additive
from solutions.engine.sequence import FlatWanted


@dataclass
class Group:
    """R chunks of n tokens each, over texts of about the same length, whose attention is one call.

    tokens (R, n) int64: the tokens' places in the step. tables (R, M) int64: the blocks that the chunks read. mask (R, 1, n, M *
    block_size), in the model's dtype: 0 where a token may see the slot, -inf where not.
    """

    tokens: Tensor
    tables: Tensor
    mask: Tensor


class Runner:
    """The forward pass over a packed model and its cache blocks: runner(flat, sequences) -> logits, as in `forward_ragged`.

    max_len: the length of the longest possible text.
    """

    def __init__(self, model: PackedModel, kv: PagedKV, max_len: int) -> None:
        self.model, self.kv = model, kv
        self.rotation = Rotation(model, max_len)

    @torch.no_grad()
    def __call__(self, flat: Flat, sequences: list[PagedSequence]) -> Tensor:
        """Return the logits after each wanted token, (W, V), and write the keys and values of the N new tokens.

        A flat without wanted tokens wants each chunk's last one.
        """
        model, kv, device = self.model, self.kv, self.model.device
        groups = group_chunks(flat, sequences, kv.block_size, device, model.dtype)
        sizes = [end - start for start, end in pairwise(flat.bounds)]
        new = torch.cat([s.slots(s.length - n) for s, n in zip(sequences, sizes, strict=True)]).to(device)
        if len(unused := unused_slots(sequences, sizes)):
            for memory in (kv.keys, kv.values):
                memory.index_fill_(1, unused.to(device), 0)
        wanted = torch.tensor(flat.wanted if isinstance(flat, FlatWanted) else [end - 1 for end in flat.bounds[1:]], device=device)
        positions = flat.positions.to(device).unsqueeze(0)
        cos, sin = self.rotation(positions)  # (1, N, 1, Dh)
        x = model.embed_tokens[flat.ids.to(device)]  # (1, N, D)
        for index, layer in enumerate(model.layers):
            q, k, v = model.before_attention(x, layer, cos, sin)
            kv.write(index, new, k[0].transpose(0, 1), v[0].transpose(0, 1))  # (1, K, N, Dh) -> (N, K, Dh)
            mixed = self.attend(index, q[0], groups).unsqueeze(0)
            if layer is model.layers[-1]:  # nobody reads what it makes of the other tokens
                x, mixed = x[:, wanted], mixed[:, :, wanted]
            x = model.after_attention(x, mixed, layer)
        return model.logits(x[0])

    def attend(self, index: int, q: Tensor, groups: list[Group]) -> Tensor:
        """Compute attention, each token over its own text up to itself: q (H, N, Dh) -> (H, N, Dh)."""
        keys, values = self.kv.keys[index], self.kv.values[index]
        mixed = torch.empty_like(q)
        for group in groups:
            k, v = (read_blocks(memory, group.tables, self.kv.block_size) for memory in (keys, values))
            queries = q[:, group.tokens].transpose(0, 1)  # (R, H, n, Dh)
            out = scaled_dot_product_attention(queries, k, v, attn_mask=group.mask, enable_gqa=True)
            mixed[:, group.tokens] = out.transpose(0, 1)
        return mixed


def group_chunks(
    flat: Flat, sequences: list[PagedSequence], block_size: int, device: torch.device, dtype: torch.dtype
) -> list[Group]:
    """Group chunks with equal token counts and similar block counts, whose attention is computed in one call.

    Block counts are similar if they are equal when rounded up to a power of two. All decoding requests then need only a few calls, in which
    less than half of the keys are padding. A prompt's chunk is usually alone in its group.
    """
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for chunk, (start, end) in enumerate(pairwise(flat.bounds)):
        alike[end - start, (len(sequences[chunk].blocks) - 1).bit_length()].append(chunk)
    groups = []
    for (n, _), chunks in alike.items():
        tokens = torch.tensor([flat.bounds[chunk] for chunk in chunks])[:, None] + torch.arange(n)
        tables = block_tables([sequences[chunk] for chunk in chunks])
        places = torch.arange(tables.shape[1] * block_size)
        seen = (places <= flat.positions[tokens].unsqueeze(-1)).unsqueeze(1)
        groups.append(Group(tokens.to(device), tables.to(device), additive(seen.to(device), dtype)))
    return groups
