# === repaired_grow
# Repairs of the colleague's grow in "Find the bug" after start_sequence. How they are judged: tests/lessons/test_asides.py.


# %% right_third_case
# RIGHT: the pool forgets a block that is written on
def repaired_grow(self, n):
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
def repaired_grow(self, n):
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
# WRONG: repaired, and the copied block is not released
# -             self.pool.release(self.blocks[-1])


# %% wrong_copies_not_told, of right_third_case
# WRONG: repaired, and nobody is told of copies
# -     return pairs
# +     return []


# %% wrong_copies_the_other_way, of right_third_case
# WRONG: repaired, with (new, old) for (old, new)
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
def repaired_grow(self, n):
    return []


# %% wrong_no_arguments
# WRONG: a function without arguments
def repaired_grow():
    return []


# %% wrong_no_function
# WRONG: not a function
repaired_grow = None


# === my_story
# Stories for "Find the bug" after start_sequence: a cut block is written on, and keeps its name. How they are judged: tests/lessons/test_asides.py.


# %% right_shortest
# RIGHT: a published block is cut and filled again
my_story = [("write", "a", 4), ("publish", "a"), ("cut", "a", 2), ("write", "a", 2)]


# %% right_second_block
# RIGHT: the second of two blocks
my_story = [("write", "a", 9), ("publish", "a"), ("cut", "a", 7), ("write", "a", 1)]


# %% right_before_others
# RIGHT: a step in between that changes nothing
my_story = [("write", "a", 4), ("publish", "a"), ("cut", "a", 2), ("publish", "a"), ("write", "a", 2), ("free", "a")]


# %% right_lists
# RIGHT: lists in place of tuples, and two texts
my_story = [["write", "b", 5], ["write", "a", 8], ["publish", "a"], ["cut", "a", 1], ["write", "a", 1]]


# %% wrong_as_released
# WRONG: the cell's own
my_story = [("write", "a", 9), ("publish", "a"), ("write", "a", 3), ("cut", "a", 8), ("write", "a", 2), ("free", "a"), ("write", "b", 5)]


# %% wrong_cut_between_blocks
# WRONG: cut where a block ends
my_story = [("write", "a", 6), ("publish", "a"), ("cut", "a", 4), ("write", "a", 4)]


# %% wrong_not_full
# WRONG: what is cut was never full, and has no name
my_story = [("write", "a", 3), ("publish", "a"), ("cut", "a", 1), ("write", "a", 3)]


# %% wrong_not_published
# WRONG: what is cut has no name
my_story = [("write", "a", 4), ("cut", "a", 2), ("write", "a", 2), ("publish", "a")]


# %% wrong_not_written_on
# WRONG: cut, and not written on
my_story = [("write", "a", 4), ("publish", "a"), ("cut", "a", 2)]


# %% wrong_freed
# WRONG: freed and written by another text: the name goes with the room
my_story = [("write", "a", 8), ("publish", "a"), ("free", "a"), ("write", "b", 24)]


# %% wrong_cut_to_nothing
# WRONG: cut to nothing: the block is given back
my_story = [("write", "a", 4), ("publish", "a"), ("cut", "a", 0), ("write", "a", 4)]


# %% wrong_no_room
# WRONG: more than six blocks hold
my_story = [("write", "a", 24), ("write", "b", 1)]


# %% wrong_cut_to_more
# WRONG: cut to more than there is
my_story = [("write", "a", 4), ("publish", "a"), ("cut", "a", 6), ("write", "a", 2)]


# %% wrong_below_nothing
# WRONG: less than no token
my_story = [("write", "a", 4), ("publish", "a"), ("cut", "a", -2), ("write", "a", 2)]


# %% wrong_half_tokens
# WRONG: half a token
my_story = [("write", "a", 4.5), ("publish", "a"), ("cut", "a", 2), ("write", "a", 2)]


# %% wrong_not_a_number
# WRONG: not a number
my_story = [("write", "a", float("nan"))]


# %% wrong_another_step
# WRONG: a step that there is not
my_story = [("write", "a", 4), ("read", "a")]


# %% wrong_number_missing
# WRONG: how many is not said
my_story = [("write", "a")]


# %% wrong_label
# WRONG: a text that is called by a list
my_story = [("write", ["a"], 4)]


# %% wrong_none
# WRONG: nothing
my_story = None


# %% wrong_empty
# WRONG: no step
my_story = []


# %% wrong_words
# WRONG: a text
my_story = "write a 4, publish a, cut a 2, write a 2"


# %% wrong_tensor
# WRONG: a tensor
my_story = torch.zeros(3)


# %% wrong_too_long
# WRONG: more steps than the cell plays
my_story = [("write", "a", 4), ("publish", "a"), ("cut", "a", 2), ("write", "a", 2)] * 20


# === my_tokens
# Tokens that refute "any fast hash will do": another text with the same polynomial name. How they are judged: tests/lessons/test_asides.py.


# %% right_twice
# RIGHT: the trick done twice
my_tokens = [501, 470, 503, 472]


# %% right_three_times
# RIGHT: the trick done at each place but the last
my_tokens = [501, 471, 472, 472]


# %% right_the_other_way
# RIGHT: one less, and 31 more behind it
my_tokens = (499, 532, 501, 534)


# %% right_tensor
# RIGHT: as a tensor
my_tokens = torch.tensor([502, 439, 505, 410])


# %% right_far
# RIGHT: many times 31
my_tokens = [490, 811, 492, 813]


# %% wrong_as_released
# WRONG: the cell's own: the same tokens in another order
my_tokens = [503, 502, 501, 500]


# %% wrong_the_lessons_pair
# WRONG: two tokens are those of mine
my_tokens = [500, 501, 503, 472]


# %% wrong_three_differ
# WRONG: the last token is that of mine
my_tokens = [501, 471, 471, 503]


# %% wrong_mine
# WRONG: the text itself
my_tokens = [500, 501, 502, 503]


# %% wrong_same_sum
# WRONG: all tokens differ, and so do the names
my_tokens = [501, 502, 501, 502]


# %% wrong_upside_down
# WRONG: 31 more in front, and one less behind it
my_tokens = [531, 500, 533, 502]


# %% wrong_negative
# WRONG: a token below 0
my_tokens = [517, -26, 502, 503]


# %% wrong_longer
# WRONG: five tokens
my_tokens = [0, 501, 470, 503, 472]


# %% wrong_three_tokens
# WRONG: three tokens
my_tokens = [16001, 502, 503]


# %% wrong_outside_the_vocabulary
# WRONG: a token that there is not
my_tokens = [10**30, 0, 0, 0]


# %% wrong_floats
# WRONG: numbers that are no tokens
my_tokens = [501.0, 470.0, 503.0, 472.0]


# %% wrong_truth
# WRONG: truth values
my_tokens = [True, False, True, False]


# %% wrong_text
# WRONG: a text
my_tokens = "501 470 503 472"


# %% wrong_none
# WRONG: nothing
my_tokens = None


# %% wrong_a_number
# WRONG: the name itself
my_tokens = 15393026


# %% wrong_not_a_number
# WRONG: not a number
my_tokens = [float("nan"), 470, 503, 472]


# %% wrong_rows
# WRONG: a row of rows
my_tokens = [[501, 470, 503, 472]]
