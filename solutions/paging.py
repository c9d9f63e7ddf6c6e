"""A paged KV cache: memory is handed out in blocks as texts grow, and texts that begin alike share blocks."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from course.kit import Config, WeightsOnly
from solutions.flash_attention import State, absorb, finish, flash_attention
from solutions.kv_cache import CacheFull
from solutions.transformer import run_layers


class OutOfBlocks(CacheFull):
    """A pool has fewer free blocks than were asked for."""


class BlockPool:
    """Blocks 0 to num_blocks - 1, each held by any number of sequences. A block that no sequence holds is free.

    The pool keeps the books; the memory itself is in a PagedKV. Which of the free blocks `take` gives is left open.
    """

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        ### BEGIN SOLUTION
        self.counts = [0] * num_blocks
        self.free_blocks = list(range(num_blocks))
        ### END SOLUTION

    @property
    def num_free(self) -> int:
        """Number of free blocks."""
        ### BEGIN SOLUTION
        return len(self.free_blocks)
        ### END SOLUTION

    def holders(self, block: int) -> int:
        """Return how many sequences hold the block: 0 if it is free."""
        ### BEGIN SOLUTION
        return self.counts[block]
        ### END SOLUTION

    def take(self) -> int:
        """Return a free block, which has one holder now. Raises OutOfBlocks if there is none; the message names num_blocks."""
        ### BEGIN SOLUTION
        if not self.free_blocks:
            raise OutOfBlocks(f"all {self.num_blocks} blocks are held: free a sequence first")
        block = self.free_blocks.pop()
        self.counts[block] = 1
        return block
        ### END SOLUTION

    def share(self, block: int) -> None:
        """Add one holder. Raises ValueError, with nothing changed, if the block is free; the message names it."""
        ### BEGIN SOLUTION
        if not self.counts[block]:
            raise ValueError(f"block {block} is free: only a held block can be shared")
        self.counts[block] += 1
        ### END SOLUTION

    def release(self, block: int) -> None:
        """Remove one holder: without any left, the block is free. Raises ValueError, naming it and with nothing changed, if it is free."""
        ### BEGIN SOLUTION
        if not self.counts[block]:
            raise ValueError(f"block {block} is free already: it was released twice")
        self.counts[block] -= 1
        if not self.counts[block]:
            self.free_blocks.append(block)
        ### END SOLUTION

    def forget(self, block: int) -> None:
        """Note that the contents of the block are about to be overwritten. This pool remembers nothing of them."""


class PagedSequence:
    """The block table of one text: blocks[j] holds its tokens from j * block_size on; `length` tokens are stored in all.

    Only the last block may be part full. A sequence never writes into a block that it shares with another one.
    """

    def __init__(self, pool: BlockPool, block_size: int) -> None:
        self.pool = pool
        self.block_size = block_size
        self.blocks: list[int] = []
        self.length = 0

    @property
    def tail_is_shared(self) -> bool:
        """True if the last block has room that this sequence may not write to, because others hold the block too."""
        return self.length % self.block_size != 0 and self.pool.holders(self.blocks[-1]) > 1

    def blocks_for(self, n: int) -> int:
        """Return how many blocks `grow(n)` takes from the pool, a copy among them; 0 for n = 0. Nothing is changed."""
        ### BEGIN SOLUTION
        if n == 0:
            return 0
        blocks_in_all = -(-(self.length + n) // self.block_size)  # rounded up
        return blocks_in_all - len(self.blocks) + self.tail_is_shared
        ### END SOLUTION

    def grow(self, n: int) -> list[tuple[int, int]]:
        """Make room for n more tokens -> the copies to make before anything is written: [(old block, new block)] or [].

        A part-full last block with other holders is replaced by a block of our own and released: that is the one copy. A part-full last
        block of our own is overwritten; `pool.forget` is called for it first. n = 0 does nothing. Raises OutOfBlocks if the pool has
        fewer than blocks_for(n) free, with nothing changed: no block, no length, no holder. Nothing is taken from the pool then, not
        even to be given back, because a block that was idle is forgotten when it is taken.
        """
        ### BEGIN SOLUTION
        if n == 0:
            return []
        needed = self.blocks_for(n)
        if needed > self.pool.num_free:
            raise OutOfBlocks(f"{n} more tokens need {needed} blocks, and {self.pool.num_free} are free")
        copies = []
        if self.tail_is_shared:
            old, new = self.blocks[-1], self.pool.take()
            self.pool.release(old)
            self.blocks[-1] = new
            copies.append((old, new))
        elif self.length % self.block_size:
            self.pool.forget(self.blocks[-1])
        self.length += n
        self.blocks += [self.pool.take() for _ in range(needed - len(copies))]
        return copies
        ### END SOLUTION

    def slots(self, start: int = 0, end: int | None = None) -> Tensor:
        """Return the slots of the tokens from start up to end, `length` if end is None: block * block_size + place in it -> (n,) int64."""
        ### BEGIN SOLUTION
        tokens = torch.arange(start, self.length if end is None else end)
        blocks = torch.tensor(self.blocks, dtype=torch.int64)[tokens // self.block_size]
        return blocks * self.block_size + tokens % self.block_size
        ### END SOLUTION

    def fork(self) -> PagedSequence:
        """Return a second sequence with the same text: it has a table of its own and shares all blocks. Nothing is copied."""
        ### BEGIN SOLUTION
        twin = PagedSequence(self.pool, self.block_size)
        twin.blocks, twin.length = list(self.blocks), self.length
        for block in twin.blocks:
            self.pool.share(block)
        return twin
        ### END SOLUTION

    def truncate(self, length: int) -> None:
        """Keep the first `length` tokens, 0 <= length <= self.length, and release the blocks that hold none of them, the last first.

        A block that is cut through stays as it is, and nothing is forgotten.
        """
        ### BEGIN SOLUTION
        num_kept = -(-length // self.block_size)  # rounded up
        while len(self.blocks) > num_kept:
            self.pool.release(self.blocks.pop())
        self.length = length
        ### END SOLUTION

    def free(self) -> None:
        """Give all blocks back."""
        self.truncate(0)


class PagedKV:
    """The memory of the blocks, every layer's keys and values, allocated once.

    keys, values (L, num_blocks * block_size, K, Dh) of `dtype` on `device`: slot s is place s % block_size of block s // block_size.
    """

    def __init__(
        self,
        config: Config,
        num_blocks: int,
        block_size: int,
        dtype: torch.dtype = torch.float32,
        device: str | torch.device = "cpu",
    ) -> None:
        self.block_size = block_size
        shape = (config.num_hidden_layers, num_blocks * block_size, config.num_key_value_heads, config.head_dim)
        self.keys, self.values = (torch.zeros(shape, dtype=dtype, device=device) for _ in range(2))

    def write(self, layer: int, slots: Tensor, k: Tensor, v: Tensor) -> None:
        """Store one layer's keys and values k, v (n, K, Dh) in n different slots (n,) int64, in this order. Nothing else is written."""
        ### BEGIN SOLUTION
        self.keys[layer, slots] = k
        self.values[layer, slots] = v
        ### END SOLUTION

    def read(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Return one layer's keys and values in the slots (n,) int64 -> (n, K, Dh) each, in this order."""
        ### BEGIN SOLUTION
        return self.keys[layer, slots], self.values[layer, slots]
        ### END SOLUTION

    def copy(self, pairs: list[tuple[int, int]]) -> None:
        """Copy whole blocks, keys and values of all layers, for each (old, new) in `pairs`.

        No block is `new` in two pairs, nor `old` in one pair and `new` in another.
        """
        ### BEGIN SOLUTION
        for memory in (self.keys, self.values):
            blocks = memory.unflatten(1, (-1, self.block_size))  # a view (L, num_blocks, block_size, K, Dh)
            for old, new in pairs:
                blocks[:, new] = blocks[:, old]
        ### END SOLUTION

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether or not the blocks are held."""
        ### BEGIN SOLUTION
        return self.keys.nbytes + self.values.nbytes
        ### END SOLUTION


def forward_paged(model: WeightsOnly, ids: Tensor, sequence: PagedSequence, kv: PagedKV) -> Tensor:
    """Run `forward_cached` for one text whose keys and values are in blocks.

    ids (1, t) int64, the tokens that follow the sequence.length tokens already stored -> logits (1, t, V) of the model's dtype.
    The sequence grows by t. Any block size gives the same, and so does any way of cutting a prompt into chunks. Raises OutOfBlocks with
    nothing changed. Model, ids and memory are on one device: positions are made there too. Gradient mode is left as it was, after an
    exception too.
    """
    ### BEGIN SOLUTION
    start = sequence.length
    kv.copy(sequence.grow(ids.shape[1]))
    new, stored = (sequence.slots(first).to(ids.device) for first in (start, 0))

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))  # (1, K, t, Dh) -> (t, K, Dh)
        k_all, v_all = (memory.transpose(0, 1).unsqueeze(0) for memory in kv.read(layer, stored))  # (1, K, length, Dh)
        return flash_attention(q, k_all, v_all, causal=True)[0]

    positions = torch.arange(start, sequence.length, device=ids.device)
    return run_layers(model, ids, positions, attend) @ model.weights.lm_head.T
    ### END SOLUTION


def paged_attention(q: Tensor, keys: Tensor, values: Tensor, tables: Tensor, lengths: Tensor, block_size: int) -> Tensor:
    """Compute attention of one new query a row over the tokens of the row's block table, one column of blocks at a time.

    q (B, H, 1, Dh), keys and values (num_slots, K, Dh), tables (B, M) int64, lengths (B,) int64, at least 1: row b's tokens are the
    first lengths[b] of its blocks, its newest among them -> (B, H, 1, Dh) of q's dtype; computed in float32 or better. K divides H,
    query head h uses key/value head h // (H/K). After a row's last block its table may hold any block's number; slots that hold none
    of the row's tokens do not matter as long as their contents are finite. At no time are more than a few columns of blocks in hand.
    New tensors are on q's device, and the arguments are not changed. Kwon et al. 2023, section 4.1.
    """
    ### BEGIN SOLUTION
    B, H, _, Dh = q.shape
    K = keys.shape[1]
    precise = torch.promote_types(q.dtype, torch.float32)
    queries = q.to(precise).reshape(B, K, H // K, Dh) * Dh**-0.5
    state = State.empty((B, K, H // K), Dh, precise, q.device)
    places = torch.arange(block_size, device=q.device)
    for column, blocks in enumerate(tables.unbind(dim=1)):
        slots = blocks[:, None] * block_size + places  # (B, block_size)
        k, v = (memory[slots].transpose(1, 2).to(precise) for memory in (keys, values))  # (B, K, block_size, Dh)
        is_token = column * block_size + places < lengths[:, None]
        scores = (queries @ k.transpose(-2, -1)).masked_fill(~is_token[:, None, None], -torch.inf)
        state = absorb(state, scores, v)
    return finish(state)[0].reshape(B, H, 1, Dh).to(q.dtype)
    ### END SOLUTION


def paged_decode(model: WeightsOnly, ids: Tensor, sequences: list[PagedSequence], kv: PagedKV) -> Tensor:
    """Feed the newest token of each sequence; return the logits of the token after it.

    ids (B, 1) int64, B different sequences of one pool, of any lengths, forks of each other among them -> (B, V) of the model's dtype,
    each row as if it were alone. Every sequence grows by 1; the list of them stays as it is. Raises OutOfBlocks, with nothing changed, if
    the rows' blocks_for(1) add up to more than are free: two forks of one part-full block count a copy each, though the second would then
    be the block's only holder.
    All rows go through the layers in one pass, which reads the weights once; the keys and values of all rows are at no time gathered.
    Model, ids and memory are on one device: positions, lengths and tables are made there too. Gradient mode is left as it was, after an
    exception too.
    """
    ### BEGIN SOLUTION
    pool = sequences[0].pool
    needed = sum(sequence.blocks_for(1) for sequence in sequences)
    if needed > pool.num_free:
        raise OutOfBlocks(f"{len(sequences)} rows need {needed} blocks, and {pool.num_free} are free")
    for sequence in sequences:
        kv.copy(sequence.grow(1))
    lengths = torch.tensor([sequence.length for sequence in sequences], device=ids.device)
    new = torch.cat([sequence.slots(sequence.length - 1) for sequence in sequences]).to(ids.device)
    longest = max(len(sequence.blocks) for sequence in sequences)
    tables = torch.tensor([s.blocks + [0] * (longest - len(s.blocks)) for s in sequences], device=ids.device)  # (B, longest)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        kv.write(layer, new, k.squeeze(2), v.squeeze(2))  # (B, K, 1, Dh) -> (B, K, Dh)
        return paged_attention(q, kv.keys[layer], kv.values[layer], tables, lengths, kv.block_size)

    positions = lengths.unsqueeze(1) - 1  # (B, 1): each row has a position of its own
    return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T
    ### END SOLUTION


def block_keys(tokens: list[int], block_size: int, salt: bytes = b"") -> list[bytes]:
    """Return a name for each whole block of a text: equal if the block, all blocks before it and the salt are equal.

    The key of a block is SHA-256(the key before it + its tokens, 8 bytes each, little-endian); the key before the first one is
    SHA-256(salt). -> 32 bytes for each whole block; tokens after the last of them have no key.
    """
    ### BEGIN SOLUTION
    key, keys = hashlib.sha256(salt).digest(), []
    for end in range(block_size, len(tokens) + 1, block_size):
        text = b"".join(token.to_bytes(8, "little") for token in tokens[end - block_size : end])
        key = hashlib.sha256(key + text).digest()
        keys.append(key)
    return keys
    ### END SOLUTION


class PrefixPool(BlockPool):
    """A pool that remembers the contents of its blocks, also when no sequence holds them any more, until the room is needed.

    A published block has a key, and can be found and adopted by it. One that no sequence holds is idle: it counts as free.
    """

    def __init__(self, num_blocks: int) -> None:
        super().__init__(num_blocks)
        self.block_of: dict[bytes, int] = {}
        self.key_of: dict[int, bytes] = {}
        self.idle: dict[int, None] = {}  # the one idle longest is first

    @property
    def num_free(self) -> int:
        """Number of blocks that no sequence holds, the idle ones among them."""
        ### BEGIN SOLUTION
        return len(self.free_blocks) + len(self.idle)
        ### END SOLUTION

    def publish(self, block: int, key: bytes) -> None:
        """Make a held block findable. A key that is known stays with its first block, and a block that has a key keeps it.

        In these two cases nothing changes, not even the order of idle blocks. Raises ValueError if the block is free, whatever the key; the
        message names it.
        """
        ### BEGIN SOLUTION
        if not self.holders(block):
            raise ValueError(f"block {block} is free: only a held block can be published")
        if key not in self.block_of and block not in self.key_of:
            self.block_of[key] = block
            self.key_of[block] = key
        ### END SOLUTION

    def forget(self, block: int) -> None:
        """Note that the contents of the block are about to be overwritten: it can no longer be found. An idle one stays free."""
        ### BEGIN SOLUTION
        if block in self.key_of:
            del self.block_of[self.key_of.pop(block)]
        if block in self.idle:
            del self.idle[block]
            self.free_blocks.append(block)
        ### END SOLUTION

    def find(self, keys: list[bytes]) -> list[int]:
        """Return the blocks of the longest beginning of `keys` that is known. Nothing is changed."""
        ### BEGIN SOLUTION
        blocks = []
        for key in keys:
            if key not in self.block_of:
                break
            blocks.append(self.block_of[key])
        return blocks
        ### END SOLUTION

    def adopt(self, keys: list[bytes]) -> list[int]:
        """Return the blocks that `find` gives, each with one holder more, even if it was idle."""
        ### BEGIN SOLUTION
        blocks = self.find(keys)
        for block in blocks:
            self.idle.pop(block, None)
            self.counts[block] += 1
        return blocks
        ### END SOLUTION

    def take(self) -> int:
        """Return a free block without a key if there is one, else the one that has been idle longest, whose key is forgotten now.

        It has one holder now. Raises OutOfBlocks as BlockPool does.
        """
        ### BEGIN SOLUTION
        if not self.free_blocks and self.idle:
            self.forget(next(iter(self.idle)))  # the one that has been idle longest
        return super().take()
        ### END SOLUTION

    def release(self, block: int) -> None:
        """Remove one holder: without any left, a block with a key is idle and any other one free. Raises as BlockPool does."""
        ### BEGIN SOLUTION
        super().release(block)
        if not self.holders(block) and block in self.key_of:
            self.idle[self.free_blocks.pop()] = None  # where it has just been put
        ### END SOLUTION


def start_sequence(pool: PrefixPool, tokens: list[int], block_size: int, salt: bytes = b"") -> PagedSequence:
    """Return a sequence that begins with the longest beginning of `tokens` whose blocks the pool still knows; the rest is still to be fed.

    The last token is never taken over, nor the block that it fills: what follows it has to be computed.
    """
    ### BEGIN SOLUTION
    sequence = PagedSequence(pool, block_size)
    sequence.blocks = pool.adopt(block_keys(tokens[:-1], block_size, salt))
    sequence.length = len(sequence.blocks) * block_size
    return sequence
    ### END SOLUTION


def publish_blocks(sequence: PagedSequence, tokens: list[int], salt: bytes = b"") -> None:
    """Make the whole blocks of a sequence findable; its pool is a PrefixPool.

    tokens: its text, of which sequence.length are stored; a block is whole once all of its tokens are.
    """
    ### BEGIN SOLUTION
    pool, keys = sequence.pool, block_keys(tokens[: sequence.length], sequence.block_size, salt)
    assert isinstance(pool, PrefixPool)
    for block, key in zip(sequence.blocks, keys, strict=False):  # a part-full last block has no key
        pool.publish(block, key)
    ### END SOLUTION
