"""Memory in blocks: Day 13's pool and memory unchanged, and a way to read them that copies whole blocks."""

from __future__ import annotations

import torch
from torch import Tensor

from solutions.paging import PagedKV, PagedSequence, PrefixPool

__all__ = ["PagedKV", "PagedSequence", "PrefixPool", "block_tables", "read_blocks"]


def block_tables(sequences: list[PagedSequence]) -> Tensor:
    """Return the block tables of R sequences as a rectangle (R, M) int64, where M is the length of the longest table.

    Shorter rows are padded with block 0.
    """
    longest = max(len(sequence.blocks) for sequence in sequences)
    return torch.tensor([sequence.blocks + [0] * (longest - len(sequence.blocks)) for sequence in sequences])


def read_blocks(memory: Tensor, tables: Tensor, block_size: int) -> Tensor:
    """Return the contents of the blocks of R tables, (R, K, M * block_size, Dh).

    memory (num_slots, K, Dh) has one layer's keys or values. index_select copies a block in one piece. An index of slots would copy token
    by token, which takes several times as long.
    """
    found = memory.unflatten(0, (-1, block_size)).index_select(0, tables.flatten())  # (R * M, block_size, K, Dh)
    return found.view(len(tables), -1, *memory.shape[1:]).transpose(1, 2)
