"""Memory in blocks: Day 13's pool and memory unchanged, and a way to read them that copies whole blocks."""

from __future__ import annotations

import torch
from torch import Tensor

from solutions.paging import PagedKV, PagedSequence, PrefixPool

__all__ = ["PagedKV", "PagedSequence", "PrefixPool", "block_tables", "read_blocks", "unused_slots"]


def block_tables(sequences: list[PagedSequence]) -> Tensor:
    """Return the block tables of R sequences as a rectangle (R, M) int64, where M is the length of the longest table.

    Shorter rows are padded with their own last block. A mask hides the padding, but a hidden NaN would still make the result NaN, so a row
    must not read another sequence's blocks.
    """
    longest = max(len(sequence.blocks) for sequence in sequences)
    return torch.tensor([sequence.blocks + sequence.blocks[-1:] * (longest - len(sequence.blocks)) for sequence in sequences])


def unused_slots(sequences: list[PagedSequence], sizes: list[int]) -> Tensor:
    """Return the slots after the ends of the sequences, in the blocks that were begun with the newest tokens, (n,) int64.

    sizes: the number of new tokens of each sequence. These slots still have the contents of earlier texts, which must be cleared before
    they are read: a mask hides a slot, but not its NaN.
    """
    found = [torch.zeros(0, dtype=torch.int64)]
    for sequence, n in zip(sequences, sizes, strict=True):
        capacity = len(sequence.blocks) * sequence.block_size
        if sequence.length - n <= capacity - sequence.block_size:  # the last block is new
            found.append(sequence.slots(sequence.length, capacity))
    return torch.cat(found)


def read_blocks(memory: Tensor, tables: Tensor, block_size: int) -> Tensor:
    """Return the contents of the blocks of R tables, (R, K, M * block_size, Dh).

    memory (num_slots, K, Dh) has one layer's keys or values. index_select copies a block in one piece. An index of slots would copy token
    by token, which takes several times as long.
    """
    found = memory.unflatten(0, (-1, block_size)).index_select(0, tables.flatten())  # (R * M, block_size, K, Dh)
    return found.view(len(tables), -1, *memory.shape[1:]).transpose(1, 2)
