# Versions of BlockPool, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_pool_plain
# RIGHT: step by step, with a list of free blocks; most of the wrong versions are edits of it

class BlockPool:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.counts = [0] * num_blocks
        self.free_blocks = list(range(num_blocks))

    @property
    def num_free(self):
        return len(self.free_blocks)

    def holders(self, block):
        return self.counts[block]

    def take(self):
        if not self.free_blocks:
            raise OutOfBlocks(f"all {self.num_blocks} blocks are held")
        block = self.free_blocks.pop()
        self.counts[block] = 1
        return block

    def share(self, block):
        if self.counts[block] == 0:
            raise ValueError(f"block {block} is free")
        self.counts[block] += 1

    def release(self, block):
        if self.counts[block] == 0:
            raise ValueError(f"block {block} is free already")
        self.counts[block] -= 1
        if self.counts[block] == 0:
            self.free_blocks.append(block)

    def forget(self, block):
        pass


# %% right_pool_counts_alone
# RIGHT: no list of free blocks: those whose count is 0 are free, the lowest number first

class BlockPool:
    def __init__(self, num_blocks):
        self.num_blocks = num_blocks
        self.held = torch.zeros(num_blocks, dtype=torch.int64)

    @property
    def num_free(self):
        return int((self.held == 0).sum())

    def holders(self, block):
        return int(self.held[block])

    def take(self):
        free = (self.held == 0).nonzero().flatten().tolist()
        if not free:
            raise OutOfBlocks("no block of " + str(self.num_blocks) + " is free")
        self.share_any(free[0])
        return free[0]

    def share_any(self, block):
        self.held[block] += 1

    def share(self, block):
        if self.holders(block) < 1:
            raise ValueError(f"nobody holds block {block}")
        self.share_any(block)

    def release(self, block):
        if self.holders(block) < 1:
            raise ValueError(f"nobody holds block {block}")
        self.held[block] -= 1

    def forget(self, block):
        pass


# %% right_pool_dict
# RIGHT: a dict of the held blocks, and a queue that gives the block that has been free longest

from collections import OrderedDict


class BlockPool:
    def __init__(self, num_blocks):
        self.num_blocks, self.held = num_blocks, {}
        self.queue = OrderedDict.fromkeys(range(num_blocks))

    @property
    def num_free(self):
        return self.num_blocks - len(self.held)

    def holders(self, block):
        return self.held.get(block, 0)

    def take(self):
        try:
            block, _ = self.queue.popitem(last=False)
        except KeyError:
            raise OutOfBlocks(f"{self.num_blocks} blocks, none free") from None
        self.held[block] = 1
        return block

    def share(self, block):
        if block not in self.held:
            raise ValueError(f"{block} is not held")
        self.held[block] += 1

    def release(self, block):
        if block not in self.held:
            raise ValueError(f"{block} is not held")
        if self.held[block] == 1:
            del self.held[block]
            self.queue[block] = None
        else:
            self.held[block] -= 1

    def forget(self, block):
        pass


# %% wrong_pool_free_at_the_first, of right_pool_plain
# WRONG: a block is free as soon as one of its holders releases it
# -         self.counts[block] -= 1
# -         if self.counts[block] == 0:
# -             self.free_blocks.append(block)
# +         self.counts[block] = 0
# +         self.free_blocks.append(block)

# %% wrong_pool_listed_at_every_release, of right_pool_plain
# WRONG: a block goes to the free ones at every release, though others still hold it
# -         if self.counts[block] == 0:
# -             self.free_blocks.append(block)
# +         self.free_blocks.append(block)

# %% wrong_pool_never_frees, of right_pool_plain
# WRONG: a block that the last holder has released does not become free
# -         if self.counts[block] == 0:
# -             self.free_blocks.append(block)

# %% wrong_pool_double_release, of right_pool_plain
# WRONG: a block can be released twice
# -         if self.counts[block] == 0:
# -             raise ValueError(f"block {block} is free already")
# -         self.counts[block] -= 1
# +         self.counts[block] = max(0, self.counts[block] - 1)

# %% wrong_pool_share_does_not_count, of right_pool_plain
# WRONG: share does not count the new holder
# -         self.counts[block] += 1

# %% wrong_pool_shares_free_blocks, of right_pool_plain
# WRONG: a free block can be shared
# -         if self.counts[block] == 0:
# -             raise ValueError(f"block {block} is free")

# %% wrong_pool_take_without_a_holder, of right_pool_plain
# WRONG: a block that is taken has no holder yet
# -         self.counts[block] = 1

# %% wrong_pool_keeps_it_in_the_list, of right_pool_plain
# WRONG: take does not remove the block from the free ones
# -         block = self.free_blocks.pop()
# +         block = self.free_blocks[-1]

# %% wrong_pool_index_error, of right_pool_plain
# WRONG: a take from an empty pool raises IndexError
# -         if not self.free_blocks:
# -             raise OutOfBlocks(f"all {self.num_blocks} blocks are held")

# %% wrong_pool_says_not_how_many, of right_pool_plain
# WRONG: the message of OutOfBlocks does not name the number of blocks
# -             raise OutOfBlocks(f"all {self.num_blocks} blocks are held")
# +             raise OutOfBlocks("all blocks are held")

# %% wrong_pool_none_when_full, of right_pool_plain
# WRONG: take gives None where no block is free
# -             raise OutOfBlocks(f"all {self.num_blocks} blocks are held")
# +             return None

# %% wrong_pool_counts_in_a_byte, of right_pool_plain
# WRONG: holders are counted in a byte each, so that the 256th is refused
# -         self.counts = [0] * num_blocks
# +         self.counts = bytearray(num_blocks)

# %% wrong_pool_counts_in_uint8, of right_pool_plain
# WRONG: holders are counted in uint8: 256 of them are none, and the block is taken for free
# -         self.counts = [0] * num_blocks
# +         self.counts = torch.zeros(num_blocks, dtype=torch.uint8)
# ...
# -         return self.counts[block]
# +         return int(self.counts[block])


# %% wrong_pool_one_list_for_all, of right_pool_plain
# WRONG: all pools have one list of free blocks between them
# - class BlockPool:
# + class BlockPool:
# +     free_blocks = []
# +
# ...
# -         self.free_blocks = list(range(num_blocks))
# +         self.free_blocks[:] = range(num_blocks)


# %% wrong_pool_1024_blocks, of right_pool_plain
# WRONG: a pool has 1,024 free blocks at most
# -         self.free_blocks = list(range(num_blocks))
# +         self.free_blocks = list(range(min(num_blocks, 1024)))
