# Versions of PrefixPool, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_prefix_plain
# RIGHT: step by step; most of the wrong versions are edits of it

from collections import OrderedDict


class PrefixPool(BlockPool):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.block_of = {}
        self.key_of = {}
        self.idle = OrderedDict()

    @property
    def num_free(self):
        return len(self.free_blocks) + len(self.idle)

    def publish(self, block, key):
        if self.counts[block] == 0:
            raise ValueError(f"block {block} is free")
        if key in self.block_of or block in self.key_of:
            return
        self.block_of[key] = block
        self.key_of[block] = key

    def forget(self, block):
        if block in self.key_of:
            key = self.key_of.pop(block)
            del self.block_of[key]
        if block in self.idle:
            del self.idle[block]
            self.free_blocks.append(block)

    def find(self, keys):
        blocks = []
        for key in keys:
            if key not in self.block_of:
                break
            blocks.append(self.block_of[key])
        return blocks

    def adopt(self, keys):
        blocks = self.find(keys)
        for block in blocks:
            self.idle.pop(block, None)
            self.counts[block] += 1
        return blocks

    def take(self):
        if not self.free_blocks and self.idle:
            block, _ = self.idle.popitem(last=False)
            self.forget(block)
            self.free_blocks.append(block)
        return super().take()

    def release(self, block):
        super().release(block)
        if self.counts[block] == 0 and block in self.key_of:
            self.free_blocks.remove(block)
            self.idle[block] = None


# %% right_prefix_one_line_of_free_blocks
# RIGHT: all free blocks in one line: those without a key go to its front, those with one to its end

class PrefixPool(BlockPool):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.block_of, self.key_of = {}, {}

    def publish(self, block, key):
        if not self.counts[block]:
            raise ValueError(f"{block} is free")
        if key not in self.block_of and block not in self.key_of:
            self.block_of[key], self.key_of[block] = block, key

    def forget(self, block):
        key = self.key_of.pop(block, None)
        if key is not None:
            self.block_of.pop(key)
        if not self.counts[block]:
            self.free_blocks.remove(block)
            self.free_blocks.insert(0, block)

    def find(self, keys):
        known = [self.block_of.get(key) for key in keys]
        return known[: known.index(None)] if None in known else known

    def adopt(self, keys):
        for block in (found := self.find(keys)):
            if not self.counts[block]:
                self.free_blocks.remove(block)
            self.counts[block] += 1
        return found

    def take(self):
        if not self.free_blocks:
            raise OutOfBlocks(f"all {self.num_blocks} are held")
        block = self.free_blocks[0]
        self.forget(block)
        self.counts[self.free_blocks.pop(0)] = 1
        return block

    def release(self, block):
        if not self.counts[block]:
            raise ValueError(f"{block} is free")
        self.counts[block] -= 1
        if not self.counts[block]:
            self.free_blocks.insert(len(self.free_blocks) if block in self.key_of else 0, block)


# %% right_prefix_a_clock
# RIGHT: a counter tells when each block came to rest; the smallest number is evicted; no list of free blocks

class PrefixPool(BlockPool):
    def __init__(self, num_blocks):
        super().__init__(num_blocks)
        self.name, self.rested, self.now = [None] * num_blocks, [0] * num_blocks, 0

    @property
    def num_free(self):
        return self.counts.count(0)

    def publish(self, block, key):
        if self.counts[block] == 0:
            raise ValueError(f"nobody holds block {block}")
        if self.name[block] is None and key not in self.name:
            self.name[block] = key

    def forget(self, block):
        self.name[block] = None

    def find(self, keys):
        found = []
        for key in keys:
            if key not in self.name:
                return found
            found.append(self.name.index(key))
        return found

    def adopt(self, keys):
        found = self.find(keys)
        for block in found:
            self.counts[block] += 1
        return found

    def take(self):
        free = [b for b in range(self.num_blocks) if self.counts[b] == 0]
        if not free:
            raise OutOfBlocks(f"{self.num_blocks} blocks are held")
        block = min(free, key=lambda b: (self.name[b] is not None, self.rested[b]))
        self.name[block], self.counts[block] = None, 1
        return block

    def release(self, block):
        if self.counts[block] == 0:
            raise ValueError(f"nobody holds block {block}")
        self.counts[block] -= 1
        if self.counts[block] == 0:
            self.now += 1
            self.rested[block] = self.now


# %% wrong_prefix_without_a_key_second, of right_prefix_one_line_of_free_blocks
# WRONG: a block without a key is put before the last of the free ones, not before all
# -             self.free_blocks.insert(len(self.free_blocks) if block in self.key_of else 0, block)
# +             self.free_blocks.insert(len(self.free_blocks) if block in self.key_of else -1, block)

# %% wrong_prefix_revived_stays_idle, of right_prefix_plain
# WRONG: an idle block that is adopted stays among the idle ones
# -             self.idle.pop(block, None)

# %% wrong_prefix_adopt_does_not_count, of right_prefix_plain
# WRONG: adopt does not count the new holder
# -             self.counts[block] += 1

# %% wrong_prefix_adopt_makes_one_holder, of right_prefix_plain
# WRONG: an adopted block has one holder, however many it had before
# -             self.counts[block] += 1
# +             self.counts[block] = 1

# %% wrong_prefix_evicts_the_newest, of right_prefix_plain
# WRONG: the block that came to rest last is evicted
# -             block, _ = self.idle.popitem(last=False)
# +             block, _ = self.idle.popitem(last=True)

# %% wrong_prefix_evicts_first, of right_prefix_plain
# WRONG: blocks with a key are taken before those without one
# -         if not self.free_blocks and self.idle:
# +         if self.idle:

# %% wrong_prefix_idle_is_not_free, of right_prefix_plain
# WRONG: idle blocks do not count as free
# -         return len(self.free_blocks) + len(self.idle)
# +         return len(self.free_blocks)

# %% wrong_prefix_never_evicts, of right_prefix_plain
# WRONG: idle blocks are never taken
# -         if not self.free_blocks and self.idle:
# -             block, _ = self.idle.popitem(last=False)
# -             self.forget(block)
# -             self.free_blocks.append(block)

# %% wrong_prefix_evicted_key_stays, of right_prefix_plain
# WRONG: the key of an evicted block is still known
# -             self.forget(block)

# %% wrong_prefix_forgets_at_release, of right_prefix_plain
# WRONG: the key is forgotten when the last holder goes
# -         if self.counts[block] == 0 and block in self.key_of:
# -             self.free_blocks.remove(block)
# -             self.idle[block] = None
# +         if self.counts[block] == 0:
# +             self.forget(block)

# %% wrong_prefix_second_publisher, of right_prefix_plain
# WRONG: the second block with the same key replaces the first
# -         if key in self.block_of or block in self.key_of:
# -             return

# %% wrong_prefix_two_keys, of right_prefix_plain
# WRONG: a block can have two keys
# -         if key in self.block_of or block in self.key_of:
# +         if key in self.block_of:

# %% wrong_prefix_publishes_free_blocks, of right_prefix_plain
# WRONG: a free block can be published
# -         if self.counts[block] == 0:
# -             raise ValueError(f"block {block} is free")

# %% wrong_prefix_keeps_the_name, of right_prefix_plain
# WRONG: forget does nothing: a block that is written over keeps its key
# -         if block in self.key_of:
# -             key = self.key_of.pop(block)
# -             del self.block_of[key]
# +         pass

# %% wrong_prefix_finds_behind_a_gap, of right_prefix_plain
# WRONG: find goes on after a key that is not known
# -                 break
# +                 continue

# %% wrong_prefix_finds_all_or_nothing, of right_prefix_plain
# WRONG: find gives nothing where one of the keys is not known
# -                 break
# +                 return []

# %% wrong_prefix_finds_held_blocks_only, of right_prefix_plain
# WRONG: only blocks that somebody holds are found
# -             if key not in self.block_of:
# +             if key not in self.block_of or not self.counts[self.block_of[key]]:

# %% wrong_prefix_find_adopts, of right_prefix_plain
# WRONG: find counts a holder
# -             blocks.append(self.block_of[key])
# -         return blocks
#
# -     def adopt(self, keys):
# -         blocks = self.find(keys)
# -         for block in blocks:
# -             self.idle.pop(block, None)
# -             self.counts[block] += 1
# -         return blocks
# +             block = self.block_of[key]
# +             self.idle.pop(block, None)
# +             self.counts[block] += 1
# +             blocks.append(block)
# +         return blocks
# +
# +     def adopt(self, keys):
# +         return self.find(keys)

# %% wrong_prefix_rest_is_not_renewed, of right_prefix_plain
# WRONG: a block that was used again keeps its old place among the idle ones
# -         self.idle = OrderedDict()
# +         self.idle = OrderedDict()
# +         self.first_rest = {}
# ...
# -             block, _ = self.idle.popitem(last=False)
# +             block = min(self.idle, key=self.first_rest.get)
# +             del self.idle[block]
# ...
# -             self.idle[block] = None
# +             self.idle[block] = None
# +             self.first_rest.setdefault(block, len(self.first_rest))

# %% wrong_prefix_shares_idle_blocks, of right_prefix_plain
# WRONG: a block that is idle, held by nobody, can be shared: only those without a key are refused
# - class PrefixPool(BlockPool):
# + class PrefixPool(BlockPool):
# +     def share(self, block):
# +         if block in self.free_blocks:
# +             raise ValueError(f"block {block} is free")
# +         self.counts[block] += 1
# +

# %% wrong_prefix_found_is_used, of right_prefix_plain
# WRONG: find counts as use: what is found goes to the end of the idle ones
# -             blocks.append(self.block_of[key])
# +             blocks.append(self.block_of[key])
# +             if blocks[-1] in self.idle:
# +                 self.idle.move_to_end(blocks[-1])

# %% wrong_prefix_releases_free_blocks, of right_prefix_plain
# WRONG: of the free blocks only the idle ones are refused at a release: any other is free twice then
# -         super().release(block)
# +         if block in self.idle:
# +             raise ValueError(f"block {block} is idle already")
# +         self.counts[block] -= 1
# +         if self.counts[block] == 0:
# +             self.free_blocks.append(block)

# %% wrong_prefix_known_keys_are_not_refused, of right_prefix_plain
# WRONG: a free block is refused only where its key is new
# -         if self.counts[block] == 0:
# -             raise ValueError(f"block {block} is free")
# -         if key in self.block_of or block in self.key_of:
# -             return
# +         if key in self.block_of or block in self.key_of:
# +             return
# +         if self.counts[block] == 0:
# +             raise ValueError(f"block {block} is free")

# %% wrong_prefix_short_keys, of right_prefix_plain
# WRONG: keys are told apart by their first eight bytes
# -         if self.counts[block] == 0:
# -             raise ValueError(f"block {block} is free")
# -         if key in self.block_of or block in self.key_of:
# +         key = key[:8]
# +         if self.counts[block] == 0:
# +             raise ValueError(f"block {block} is free")
# +         if key in self.block_of or block in self.key_of:
# ...
# -         for key in keys:
# +         for key in (key[:8] for key in keys):

# %% wrong_prefix_forgotten_is_lost, of right_prefix_plain
# WRONG: an idle block that is forgotten is neither idle nor free
# -             del self.block_of[key]
# +             del self.block_of[key]
# +             self.idle.pop(block, None)

# %% wrong_prefix_forgotten_stays_idle, of right_prefix_plain
# WRONG: an idle block that is forgotten stays in the order of the idle ones: blocks with a key may be taken before it
# -         if block in self.idle:
# -             del self.idle[block]
# -             self.free_blocks.append(block)

# %% wrong_prefix_adopts_the_first_only, of right_prefix_plain
# WRONG: only the first of the blocks that are adopted gets a holder
# -             self.counts[block] += 1
# -         return blocks
# +             self.counts[block] += 1
# +             break
# +         return blocks


# %% wrong_prefix_known_key_moves, of right_prefix_plain
# WRONG: a known key moves to the block that is published with it, if its first block is idle
# -         if key in self.block_of or block in self.key_of:
# -             return
# +         if block in self.key_of:
# +             return
# +         if key in self.block_of:
# +             if self.counts[self.block_of[key]]:
# +                 return
# +             first = self.block_of[key]
# +             self.forget(first)
# +             del self.idle[first]
# +             self.free_blocks.append(first)


# %% wrong_prefix_publish_is_use, of right_prefix_plain
# WRONG: publishing a known key counts as use of its idle block, which goes to the end of the idle ones
# -         if key in self.block_of or block in self.key_of:
# -             return
# +         if self.block_of.get(key) in self.idle:
# +             self.idle.move_to_end(self.block_of[key])
# +         if key in self.block_of or block in self.key_of:
# +             return


# %% wrong_prefix_adopt_renews_what_follows, of right_prefix_plain
# WRONG: an adopt renews the rest of every idle block, so that those it does not take change their order
# -         blocks = self.find(keys)
# -         for block in blocks:
# -             self.idle.pop(block, None)
# -             self.counts[block] += 1
# +         blocks = self.find(keys)
# +         for block in reversed(list(self.idle)):
# +             self.idle.move_to_end(block)
# +         for block in blocks:
# +             self.idle.pop(block, None)
# +             self.counts[block] += 1


# %% wrong_prefix_idle_by_number, of right_prefix_plain
# WRONG: of the blocks that are idle the one with the smallest number is evicted
# -             block, _ = self.idle.popitem(last=False)
# +             block = min(self.idle)
# +             del self.idle[block]


# %% wrong_prefix_keys_of_the_class, of right_prefix_plain
# WRONG: all pools have one table of keys between them
# - class PrefixPool(BlockPool):
# + class PrefixPool(BlockPool):
# +     block_of = {}
# +
# ...
# -         self.block_of = {}
# +         self.block_of.clear()


# %% wrong_prefix_64_keys, of right_prefix_plain
# WRONG: the pool knows 64 keys at most: with the 65th the oldest is forgotten
# -         self.block_of[key] = block
# -         self.key_of[block] = key
# +         self.block_of[key] = block
# +         self.key_of[block] = key
# +         if len(self.block_of) > 64:
# +             first = next(iter(self.key_of))
# +             self.forget(first)
# +             if first in self.idle:
# +                 del self.idle[first]
# +                 self.free_blocks.append(first)


# %% wrong_prefix_forgotten_beside_free_ones_is_lost, of right_prefix_plain
# WRONG: an idle block that is forgotten becomes free if no other block is, and is lost if one is
# -             del self.idle[block]
# -             self.free_blocks.append(block)
# +             del self.idle[block]
# +             if not self.free_blocks:
# +                 self.free_blocks.append(block)
