# Repairs of the colleague's grow in "Find the bug" after start_sequence. How they are judged: tests/test_asides.py.


# %% right_third_case
# RIGHT: the pool forgets a block that is written on
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        else:
            self.pool.forget(self.blocks[-1])
        self.length = self.length + 1
    return pairs


# %% right_once_before, of right_third_case
# RIGHT: the pool forgets the last block before the loop
#       pairs = []
# +     if n and self.length % self.block_size and not self.tail_is_shared:
# +         self.pool.forget(self.blocks[-1])
# ...
# -         else:
# -             self.pool.forget(self.blocks[-1])


# %% right_own_method
# RIGHT: the exercise's
def mended_grow(self, n):
    return PagedSequence.grow(self, n)


# %% right_after_the_token, of right_third_case
# RIGHT: forgotten as soon as a token is added, when the block is its own in any case
# -         else:
# -             self.pool.forget(self.blocks[-1])
#           self.length = self.length + 1
# +         self.pool.forget(self.blocks[-1])


# %% wrong_as_released, of right_third_case
# WRONG: the cell's own
# -         else:
# -             self.pool.forget(self.blocks[-1])


# %% wrong_copied_in_any_case, of right_third_case
# WRONG: a part-full block is copied, whoever holds it
# -         elif self.pool.holders(self.blocks[-1]) > 1:
# +         else:
# ...
# -         else:
# -             self.pool.forget(self.blocks[-1])


# %% wrong_copied_if_published, of right_third_case
# WRONG: a published block is copied as if it were shared
# -         elif self.pool.holders(self.blocks[-1]) > 1:
# +         elif self.pool.holders(self.blocks[-1]) > 1 or self.blocks[-1] in self.pool.key_of:
# ...
# -         else:
# -             self.pool.forget(self.blocks[-1])


# %% wrong_full_blocks_forgotten, of right_third_case
# WRONG: the last block is forgotten, full or not
#       for _ in range(n):
# +         if self.blocks:
# +             self.pool.forget(self.blocks[-1])
# ...
# -         else:
# -             self.pool.forget(self.blocks[-1])


# %% wrong_shared_ones_forgotten, of right_third_case
# WRONG: a shared block is forgotten, too
#           elif self.pool.holders(self.blocks[-1]) > 1:
# +             self.pool.forget(self.blocks[-1])


# %% wrong_copy_forgotten, of right_third_case
# WRONG: the copy is forgotten, not the block of one's own
# -         else:


# %% wrong_first_block, of right_third_case
# WRONG: the first block is forgotten
# -             self.pool.forget(self.blocks[-1])
# +             self.pool.forget(self.blocks[0])


# %% wrong_at_the_end, of right_third_case
# WRONG: forgotten when all is written, only the last one
# -         else:
# -             self.pool.forget(self.blocks[-1])
#           self.length = self.length + 1
# +     self.pool.forget(self.blocks[-1]) if self.blocks else None


# %% wrong_not_released, of right_third_case
# WRONG: mended, and the copied block is not released
# -             self.pool.release(self.blocks[-1])


# %% wrong_copies_not_told, of right_third_case
# WRONG: mended, and nobody is told of copies
# -     return pairs
# +     return []


# %% wrong_copies_the_other_way, of right_third_case
# WRONG: mended, with (new, old) for (old, new)
# -             pairs.append((self.blocks[-1], self.pool.take()))
# +             pairs.append((self.pool.take(), self.blocks[-1]))
# ...
# -             self.blocks[-1] = pairs[-1][1]
# +             self.blocks[-1] = pairs[-1][0]


# %% wrong_a_new_block, of right_third_case
# WRONG: a new block in place of the old one, and nothing copied
# -             self.pool.forget(self.blocks[-1])
# +             self.pool.release(self.blocks[-1])
# +             self.blocks[-1] = self.pool.take()


# %% wrong_returns_nothing, of right_third_case
# WRONG: without a result
# -     return pairs


# %% wrong_does_nothing
# WRONG: nothing grows
def mended_grow(self, n):
    return []


# %% wrong_no_arguments
# WRONG: a function without arguments
def mended_grow():
    return []


# %% wrong_no_function
# WRONG: not a function
mended_grow = None
