# Prompts for "Find the bug" before decode_batch: a step without a mask. How they are judged: tests/test_asides.py.


# %% right_two_lengths
# RIGHT: the smallest case
my_prompts = [[5], [6, 7]]


# %% right_three_lengths
# RIGHT: the three rows of the text
my_prompts = [[5, 6, 7], [8], [1, 2, 3, 4]]


# %% right_one_pad_among_many
# RIGHT: one pad in a batch of long rows
my_prompts = [list(range(20, 50)), list(range(20, 49)), list(range(30, 60))]


# %% right_same_text_and_one_more
# RIGHT: equal prompts but for the first token
my_prompts = [[10, 11, 12], [11, 12]]


# %% wrong_as_released
# WRONG: the cell's own
my_prompts = [[5, 6, 7], [8, 9, 10]]


# %% wrong_alone
# WRONG: one prompt
my_prompts = [[5, 6, 7, 8]]


# %% wrong_the_pad_id
# WRONG: prompts that hold the pad id, of equal lengths
my_prompts = [[0, 0, 5], [0, 6, 0]]


# %% wrong_long
# WRONG: long prompts of equal lengths
my_prompts = [list(range(100, 140)), list(range(200, 240))]


# %% wrong_equal
# WRONG: the same prompt many times
my_prompts = [[7]] * 30


# %% wrong_empty
# WRONG: no prompt
my_prompts = []


# %% wrong_empty_prompt
# WRONG: a prompt without a token
my_prompts = [[], [5]]


# %% wrong_outside_the_vocabulary
# WRONG: an id that tiny does not have
my_prompts = [[5, 1024], [6]]


# %% wrong_floats
# WRONG: numbers that are no ids
my_prompts = [[5.0], [6, 7]]


# %% wrong_not_a_number
# WRONG: not a number
my_prompts = [[float("nan"), 5], [6]]


# %% wrong_too_long
# WRONG: unequal, and longer than the cell takes
my_prompts = [[5] * 41, [6]]
