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


# %% right_once_before
# RIGHT: the pool forgets the last block before the loop
def mended_grow(self, n):
    pairs = []
    if n and self.length % self.block_size and not self.tail_is_shared:
        self.pool.forget(self.blocks[-1])
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        self.length = self.length + 1
    return pairs


# %% right_own_method
# RIGHT: the exercise's
def mended_grow(self, n):
    return PagedSequence.grow(self, n)


# %% right_after_the_token
# RIGHT: forgotten as soon as a token is added, when the block is its own in any case
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        self.length = self.length + 1
        self.pool.forget(self.blocks[-1])
    return pairs


# %% wrong_as_released
# WRONG: the cell's own
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        self.length = self.length + 1
    return pairs


# %% wrong_copied_in_any_case
# WRONG: a part-full block is copied, whoever holds it
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        else:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        self.length = self.length + 1
    return pairs


# %% wrong_copied_if_published
# WRONG: a published block is copied as if it were shared
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1 or self.blocks[-1] in self.pool.key_of:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        self.length = self.length + 1
    return pairs


# %% wrong_full_blocks_forgotten
# WRONG: the last block is forgotten, full or not
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.blocks:
            self.pool.forget(self.blocks[-1])
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        self.length = self.length + 1
    return pairs


# %% wrong_shared_ones_forgotten
# WRONG: a shared block is forgotten, too
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            self.pool.forget(self.blocks[-1])
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        else:
            self.pool.forget(self.blocks[-1])
        self.length = self.length + 1
    return pairs


# %% wrong_copy_forgotten
# WRONG: the copy is forgotten, not the block of one's own
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
            self.pool.forget(self.blocks[-1])
        self.length = self.length + 1
    return pairs


# %% wrong_first_block
# WRONG: the first block is forgotten
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
            self.pool.forget(self.blocks[0])
        self.length = self.length + 1
    return pairs


# %% wrong_at_the_end
# WRONG: forgotten when all is written, only the last one
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][1]
        self.length = self.length + 1
    self.pool.forget(self.blocks[-1]) if self.blocks else None
    return pairs


# %% wrong_not_released
# WRONG: mended, and the copied block is not released
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.blocks[-1], self.pool.take()))
            self.blocks[-1] = pairs[-1][1]
        else:
            self.pool.forget(self.blocks[-1])
        self.length = self.length + 1
    return pairs


# %% wrong_copies_not_told
# WRONG: mended, and nobody is told of copies
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
    return []


# %% wrong_copies_the_other_way
# WRONG: mended, with (new, old) for (old, new)
def mended_grow(self, n):
    pairs = []
    for _ in range(n):
        if self.length % self.block_size == 0:
            self.blocks.append(self.pool.take())
        elif self.pool.holders(self.blocks[-1]) > 1:
            pairs.append((self.pool.take(), self.blocks[-1]))
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = pairs[-1][0]
        else:
            self.pool.forget(self.blocks[-1])
        self.length = self.length + 1
    return pairs


# %% wrong_a_new_block
# WRONG: a new block in place of the old one, and nothing copied
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
            self.pool.release(self.blocks[-1])
            self.blocks[-1] = self.pool.take()
        self.length = self.length + 1
    return pairs


# %% wrong_returns_nothing
# WRONG: without a result
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
