# Inputs for "Find the bug" of the KV cache day, a decoder without a mask. How they are judged: tests/test_asides.py.


# %% right_behind_four
# RIGHT: five tokens behind a prompt of four
my_chunks = [4, 5]


# %% right_at_once
# RIGHT: the whole text
my_chunks = [9]


# %% right_two_at_the_end
# RIGHT: the smallest chunk that shows it
my_chunks = [1, 1, 1, 1, 1, 1, 1, 2]


# %% right_prompt_and_steps
# RIGHT: a prompt, and then one at a time
my_chunks = [3, 1, 1, 1, 1, 1, 1]


# %% wrong_chunks_as_they_are
# WRONG: the cell's own
my_chunks = [1, 1, 1, 1, 1, 1, 1, 1, 1]


# %% wrong_too_many_tokens
# WRONG: ten tokens
my_chunks = [5, 5]


# %% wrong_too_few_tokens
# WRONG: eight tokens
my_chunks = [4, 4]


# %% wrong_an_empty_chunk
# WRONG: a chunk of nothing
my_chunks = [0, 9]


# %% wrong_a_negative_chunk
# WRONG: less than nothing
my_chunks = [-1, 10]


# %% wrong_halves
# WRONG: no whole tokens
my_chunks = [4.5, 4.5]


# %% wrong_no_chunks
# WRONG: nothing is fed
my_chunks = []


# %% right_range
# RIGHT: a range of two
my_chunks = range(4, 6)
