# Versions of PagedSequence, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_sequence_plain
# RIGHT: step by step; most of the wrong versions are edits of it

class PagedSequence:
    def __init__(self, pool, block_size):
        self.pool = pool
        self.block_size = block_size
        self.blocks = []
        self.length = 0

    @property
    def tail_is_shared(self):
        return self.length % self.block_size != 0 and self.pool.holders(self.blocks[-1]) > 1

    def blocks_for(self, n):
        if n == 0:
            return 0
        in_all = -(-(self.length + n) // self.block_size)
        return in_all - len(self.blocks) + self.tail_is_shared

    def grow(self, n):
        if n == 0:
            return []
        if self.blocks_for(n) > self.pool.num_free:
            raise OutOfBlocks(f"{self.blocks_for(n)} blocks needed, {self.pool.num_free} free")
        copies = []
        if self.tail_is_shared:
            old, new = self.blocks[-1], self.pool.take()
            self.pool.release(old)
            self.blocks[-1] = new
            copies.append((old, new))
        elif self.length % self.block_size:
            self.pool.forget(self.blocks[-1])
        self.length += n
        while len(self.blocks) * self.block_size < self.length:
            self.blocks.append(self.pool.take())
        return copies

    def slots(self, start=0, end=None):
        end = self.length if end is None else end
        out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]
        return torch.tensor(out, dtype=torch.int64)

    def fork(self):
        twin = PagedSequence(self.pool, self.block_size)
        for block in self.blocks:
            self.pool.share(block)
        twin.blocks = list(self.blocks)
        twin.length = self.length
        return twin

    def truncate(self, length):
        keep = -(-length // self.block_size)
        while len(self.blocks) > keep:
            self.pool.release(self.blocks.pop())
        self.length = length

    def free(self):
        self.truncate(0)


# %% right_sequence_tables_made_anew
# RIGHT: new tables in place of lists that are changed; slots from a table of all places

class PagedSequence:
    def __init__(self, pool, block_size):
        self.pool = pool
        self.block_size = block_size
        self.blocks = []
        self.length = 0

    @property
    def tail_is_shared(self):
        return self.length % self.block_size != 0 and self.pool.holders(self.blocks[-1]) > 1

    def blocks_for(self, n):
        room = len(self.blocks) * self.block_size - self.length
        fresh = 0 if n <= room else (n - room - 1) // self.block_size + 1
        return fresh + (1 if n > 0 and self.tail_is_shared else 0)

    def grow(self, n):
        needed = self.blocks_for(n)
        if self.pool.num_free < needed:
            raise OutOfBlocks(f"{needed} needed")
        copy = n > 0 and self.tail_is_shared
        if n > 0 and not copy and self.length < len(self.blocks) * self.block_size:
            self.pool.forget(self.blocks[-1])
        taken = [self.pool.take() for _ in range(needed)]
        kept, pairs = self.blocks, []
        if copy:
            pairs = [(kept[-1], taken[0])]
            self.pool.release(kept[-1])
            kept = kept[:-1]
        self.blocks, self.length = kept + taken, self.length + n
        return pairs

    def slots(self, start=0, end=None):
        places = torch.arange(self.block_size)
        table = torch.tensor(self.blocks, dtype=torch.int64)
        return (table[:, None] * self.block_size + places).flatten()[: self.length][start:end]

    def fork(self):
        twin = PagedSequence(self.pool, self.block_size)
        twin.blocks, twin.length = self.blocks[:], self.length
        for block in reversed(twin.blocks):
            twin.pool.share(block)
        return twin

    def truncate(self, length):
        keep = (length + self.block_size - 1) // self.block_size
        for block in reversed(self.blocks[keep:]):
            self.pool.release(block)
        self.blocks, self.length = self.blocks[:keep], length

    def free(self):
        self.truncate(0)


# %% right_sequence_forgets_all_it_writes
# RIGHT: every block that grow writes to is forgotten first, the new ones too

class PagedSequence:
    def __init__(self, pool, block_size):
        self.pool = pool
        self.block_size = block_size
        self.blocks = []
        self.length = 0

    @property
    def tail_is_shared(self):
        return self.length % self.block_size != 0 and self.pool.holders(self.blocks[-1]) > 1

    def blocks_for(self, n):
        if n <= 0:
            return 0
        last = (self.length + n - 1) // self.block_size
        return last + 1 - len(self.blocks) + int(self.tail_is_shared)

    def grow(self, n):
        needed = self.blocks_for(n)
        if needed > self.pool.num_free:
            raise OutOfBlocks(f"{needed} blocks needed")
        if not n:
            return []
        first = self.length // self.block_size
        pairs = []
        if self.tail_is_shared:
            new = self.pool.take()
            pairs.append((self.blocks[first], new))
            self.pool.release(self.blocks[first])
            self.blocks[first] = new
        self.length += n
        for _ in range(needed - len(pairs)):
            self.blocks.append(self.pool.take())
        for block in self.blocks[first:]:
            self.pool.forget(block)
        return pairs

    def slots(self, start=0, end=None):
        tokens = torch.arange(self.length)[start:end]
        table = torch.as_tensor(self.blocks, dtype=torch.int64)
        return table.index_select(0, tokens.div(self.block_size, rounding_mode="floor")) * self.block_size + tokens.remainder(self.block_size)

    def fork(self):
        twin = type(self)(self.pool, self.block_size)
        twin.blocks.extend(self.blocks)
        twin.length = self.length
        [self.pool.share(block) for block in self.blocks]
        return twin

    def truncate(self, length):
        self.length = length
        while self.blocks and (len(self.blocks) - 1) * self.block_size >= length:
            self.pool.release(self.blocks.pop())

    def free(self):
        self.truncate(0)


# %% wrong_sequence_no_copy_on_write, of right_sequence_plain
# WRONG: a shared last block is written to, no copy is made
# -         return in_all - len(self.blocks) + self.tail_is_shared
# +         return in_all - len(self.blocks)
# ...
# -         if self.tail_is_shared:
# -             old, new = self.blocks[-1], self.pool.take()
# -             self.pool.release(old)
# -             self.blocks[-1] = new
# -             copies.append((old, new))
# -         elif self.length % self.block_size:
# +         if self.length % self.block_size:

# %% wrong_sequence_copy_not_told, of right_sequence_plain
# WRONG: the last block is replaced, and the caller is not told to copy it
# -             copies.append((old, new))

# %% wrong_sequence_copy_the_wrong_way, of right_sequence_plain
# WRONG: the pair is (new, old)
# -             copies.append((old, new))
# +             copies.append((new, old))

# %% wrong_sequence_old_block_kept, of right_sequence_plain
# WRONG: the block that was copied is not released
# -             self.pool.release(old)

# %% wrong_sequence_copy_not_counted, of right_sequence_plain
# WRONG: blocks_for forgets the copy
# -         return in_all - len(self.blocks) + self.tail_is_shared
# +         return in_all - len(self.blocks)

# %% wrong_sequence_room_in_the_tail, of right_sequence_plain
# WRONG: blocks_for does not see the room that is left in the last block
# -         in_all = -(-(self.length + n) // self.block_size)
# -         return in_all - len(self.blocks) + self.tail_is_shared
# +         return -(-n // self.block_size) + self.tail_is_shared

# %% wrong_sequence_one_too_many, of right_sequence_plain
# WRONG: a block too many where the text ends at the end of a block
# -         in_all = -(-(self.length + n) // self.block_size)
# +         in_all = (self.length + n) // self.block_size + 1
# ...
# -         while len(self.blocks) * self.block_size < self.length:
# +         while len(self.blocks) * self.block_size <= self.length:

# %% wrong_sequence_needs_blocks_for_nothing, of right_sequence_plain
# WRONG: blocks_for(0) counts the copy of a shared block, though nothing is written
# -         if n == 0:
# -             return 0
#           in_all = -(-(self.length + n) // self.block_size)

# %% wrong_sequence_copies_full_blocks, of right_sequence_plain
# WRONG: a shared last block is copied though it is full and is never written again
# -         return self.length % self.block_size != 0 and self.pool.holders(self.blocks[-1]) > 1
# +         return self.length > 0 and self.pool.holders(self.blocks[-1]) > 1

# %% wrong_sequence_half_grown, of right_sequence_plain
# WRONG: blocks are taken until there are none: a refused grow has changed the sequence
# -         if self.blocks_for(n) > self.pool.num_free:
# -             raise OutOfBlocks(f"{self.blocks_for(n)} blocks needed, {self.pool.num_free} free")

# %% wrong_sequence_refuses_the_last_block, of right_sequence_plain
# WRONG: a grow that takes all free blocks is refused
# -         if self.blocks_for(n) > self.pool.num_free:
# +         if self.blocks_for(n) >= self.pool.num_free:

# %% wrong_sequence_slots_sorted, of right_sequence_plain
# WRONG: slots goes through the blocks in the order of their numbers
# -         out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]
# +         out = [sorted(self.blocks)[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]

# %% wrong_sequence_slots_run_on, of right_sequence_plain
# WRONG: slots run on from the first block
# -         out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]
# +         out = [self.blocks[0] * self.block_size + t for t in range(start, end)]

# %% wrong_sequence_slots_from_the_start, of right_sequence_plain
# WRONG: slots begins at token 0 whatever start is
# -         out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]
# +         out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(end - start)]

# %% wrong_sequence_slots_whole_blocks, of right_sequence_plain
# WRONG: slots gives the places of whole blocks, those after the last token too
# -         end = self.length if end is None else end
# +         end = len(self.blocks) * self.block_size if end is None else end

# %% wrong_sequence_slots_floats, of right_sequence_plain
# WRONG: slots are no whole numbers
# -         return torch.tensor(out, dtype=torch.int64)
# +         return torch.tensor(out, dtype=torch.float32)

# %% wrong_sequence_fork_leaves_the_last, of right_sequence_plain
# WRONG: a fork does not become a holder of the last block
# -         for block in self.blocks:
# +         for block in self.blocks[:-1]:

# %% wrong_sequence_fork_one_table, of right_sequence_plain
# WRONG: a fork and its origin have one table between them
# -         twin.blocks = list(self.blocks)
# +         twin.blocks = self.blocks

# %% wrong_sequence_fork_is_itself, of right_sequence_plain
# WRONG: a fork is the sequence itself
# -         return twin
# +         return self

# %% wrong_sequence_truncate_keeps_blocks, of right_sequence_plain
# WRONG: truncate keeps its blocks
# -         while len(self.blocks) > keep:
# -             self.pool.release(self.blocks.pop())

# %% wrong_sequence_truncate_drops_half_blocks, of right_sequence_plain
# WRONG: truncate releases the block that it cuts through
# -         keep = -(-length // self.block_size)
# +         keep = length // self.block_size

# %% wrong_sequence_truncate_without_release, of right_sequence_plain
# WRONG: truncate drops blocks from the table and does not release them
# -             self.pool.release(self.blocks.pop())
# +             self.blocks.pop()

# %% wrong_sequence_length_stays, of right_sequence_plain
# WRONG: truncate, and free with it, leaves the length
# -         self.length = length

# %% wrong_sequence_rewrites_in_silence, of right_sequence_plain
# WRONG: a block is written over after a truncate, and pool.forget is not told
# -         elif self.length % self.block_size:
# -             self.pool.forget(self.blocks[-1])

# %% wrong_sequence_forgets_shared_blocks, of right_sequence_plain
# WRONG: pool.forget is told of a shared block that is copied and stays as it is
# -             old, new = self.blocks[-1], self.pool.take()
# +             self.pool.forget(self.blocks[-1])
# +             old, new = self.blocks[-1], self.pool.take()

# %% wrong_sequence_truncate_from_the_front, of right_sequence_plain
# WRONG: what is cut off is released from its front: a beginning is idle longer than what follows it
# -         while len(self.blocks) > keep:
# -             self.pool.release(self.blocks.pop())
# +         for block in self.blocks[keep:]:
# +             self.pool.release(block)
# +         self.blocks = self.blocks[:keep]

# %% wrong_sequence_forgets_and_refuses, of right_sequence_plain
# WRONG: a grow that is refused has made the pool forget the last block already
# -         if self.blocks_for(n) > self.pool.num_free:
# +         if self.length % self.block_size and not self.tail_is_shared:
# +             self.pool.forget(self.blocks[-1])
# +         if self.blocks_for(n) > self.pool.num_free:
# ...
# -         elif self.length % self.block_size:
# -             self.pool.forget(self.blocks[-1])

# %% wrong_sequence_forgets_for_nothing, of right_sequence_plain
# WRONG: grow(0) makes the pool forget the last block, though nothing is written
# -         if n == 0:
# -             return []
# -         if self.blocks_for(n) > self.pool.num_free:
# +         if self.blocks_for(n) > self.pool.num_free:

# %% wrong_sequence_empty_slots_floats, of right_sequence_plain
# WRONG: slots of no tokens are floats, for the dtype is left to what the list holds
# -         return torch.tensor(out, dtype=torch.int64)
# +         return torch.tensor(out)

# %% wrong_sequence_truncate_forgets_the_cut, of right_sequence_plain
# WRONG: truncate makes the pool forget the block that it cuts through, though nothing is written there yet
# -         self.length = length
# +         self.length = length
# +         if length % self.block_size:
# +             self.pool.forget(self.blocks[-1])

# %% wrong_sequence_truncate_forgets_what_it_releases, of right_sequence_plain
# WRONG: truncate makes the pool forget the blocks that it releases, so that nobody finds them again
# -             self.pool.release(self.blocks.pop())
# +             block = self.blocks.pop()
# +             self.pool.release(block)
# +             self.pool.forget(block)

# %% wrong_sequence_takes_and_gives_back, of right_sequence_plain
# WRONG: a grow that is refused has taken blocks and given them back: those that were idle have lost their keys
# -         if self.blocks_for(n) > self.pool.num_free:
# -             raise OutOfBlocks(f"{self.blocks_for(n)} blocks needed, {self.pool.num_free} free")
# -         copies = []
# +         copies, taken = [], []
# +         try:
# +             for _ in range(self.blocks_for(n)):
# +                 taken.append(self.pool.take())
# +         except OutOfBlocks:
# +             for block in taken:
# +                 self.pool.release(block)
# +             raise
# ...
# -             old, new = self.blocks[-1], self.pool.take()
# +             old, new = self.blocks[-1], taken.pop()
# ...
# -         while len(self.blocks) * self.block_size < self.length:
# -             self.blocks.append(self.pool.take())
# +         self.blocks += taken


# %% wrong_sequence_stale_table, of right_sequence_plain
# WRONG: slots keeps its table as long as the number of blocks stays the same: after a copy it points into the other text
# -         end = self.length if end is None else end
# -         out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]
# +         end = self.length if end is None else end
# +         if len(getattr(self, "table", [])) != len(self.blocks):
# +             self.table = list(self.blocks)
# +         out = [self.table[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]


# %% wrong_sequence_slots_kept_by_length, of right_sequence_plain
# WRONG: slots gives what it gave at this length before, though a block may have been replaced since
# -         end = self.length if end is None else end
# -         out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]
# -         return torch.tensor(out, dtype=torch.int64)
# +         end = self.length if end is None else end
# +         known = self.__dict__.setdefault("known", {})
# +         if (start, end) not in known:
# +             out = [self.blocks[t // self.block_size] * self.block_size + t % self.block_size for t in range(start, end)]
# +             known[start, end] = torch.tensor(out, dtype=torch.int64)
# +         return known[start, end]


# %% wrong_sequence_sixteen_bits, of right_sequence_plain
# WRONG: slots pass through 16 bits: from slot 32,768 on they are negative
# -         return torch.tensor(out, dtype=torch.int64)
# +         return torch.tensor(out, dtype=torch.int64).to(torch.int16).to(torch.int64)


# %% wrong_sequence_64_blocks, of right_sequence_plain
# WRONG: a sequence has 64 blocks at most, whatever its length
# -         while len(self.blocks) * self.block_size < self.length:
# +         while len(self.blocks) * self.block_size < self.length and len(self.blocks) < 64:


# %% wrong_sequence_one_table_for_all, of right_sequence_plain
# WRONG: all sequences have one table between them, a list of the class
# - class PagedSequence:
# + class PagedSequence:
# +     blocks = []
# +
# ...
# -         self.blocks = []
# +         self.blocks.clear()


# %% wrong_sequence_forgets_within_the_block_only, of right_sequence_plain
# WRONG: a part-full last block is forgotten if no new block is needed, and overwritten in silence if one is
# -         elif self.length % self.block_size:
# +         elif self.length % self.block_size and not self.blocks_for(n):


# %% wrong_sequence_slots_in_float32, of right_sequence_plain
# WRONG: slots pass through float32, which rounds those above 2**24
# -         return torch.tensor(out, dtype=torch.int64)
# +         return torch.tensor(out, dtype=torch.float32).long()
