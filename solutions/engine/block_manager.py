"""Memory in blocks: Day 13's pool and memory as they are, and a way to read them that copies whole blocks."""

from __future__ import annotations

import torch
from torch import Tensor

from solutions.paging import PagedKV, PagedSequence, PrefixPool

__all__ = ["PagedKV", "PagedSequence", "PrefixPool", "block_tables", "read_blocks"]


def block_tables(sequences: list[PagedSequence]) -> Tensor:
    """The block tables of R sequences as a rectangle (R, M) int64, M of the longest; behind its last block a row names block 0."""
    longest = max(len(sequence.blocks) for sequence in sequences)
    return torch.tensor([sequence.blocks + [0] * (longest - len(sequence.blocks)) for sequence in sequences])


def read_blocks(memory: Tensor, tables: Tensor, block_size: int) -> Tensor:
    """What lies in the blocks of R tables: memory (num_slots, K, Dh), a layer's keys or values -> (R, K, M * block_size, Dh).

    index_select copies a block in one piece, several times as fast as an index of slots does it token by token.
    """
    found = memory.unflatten(0, (-1, block_size)).index_select(0, tables.flatten())  # (R * M, block_size, K, Dh)
    return found.view(len(tables), -1, *memory.shape[1:]).transpose(1, 2)
