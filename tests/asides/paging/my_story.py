# Stories for "Find the bug" after start_sequence: a cut block is written on, and keeps its name. How they are judged: tests/test_asides.py.


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
