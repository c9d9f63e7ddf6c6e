# Inputs for "Find the bug" of the KV cache day, a cache that stores and then looks. How they are judged: tests/test_asides.py.


# %% right_a_smaller_one_after
# RIGHT: two tokens would fit behind the refused three
my_calls = [(0, 3), (1, 3), (0, 3), (0, 2)]


# %% right_at_once
# RIGHT: six are refused, one fits
my_calls = [(0, 6), (0, 1)]


# %% right_the_last_layer
# RIGHT: refused in layer 1
my_calls = [(1, 4), (1, 2), (1, 1)]


# %% right_the_other_layer_between
# RIGHT: the other layer goes on meanwhile
my_calls = [(0, 4), (0, 2), (1, 4), (1, 1), (0, 1)]


# %% wrong_calls_as_they_are
# WRONG: the cell's own
my_calls = [(0, 3), (1, 3), (0, 3)]


# %% wrong_full_to_the_brim
# WRONG: five fit
my_calls = [(0, 3), (1, 3), (0, 2), (1, 2)]


# %% wrong_refused_again
# WRONG: what does not fit either time
my_calls = [(0, 4), (0, 2), (0, 2), (0, 3)]


# %% wrong_refused_when_full
# WRONG: it was full before: nothing fits afterwards
my_calls = [(0, 5), (0, 1), (0, 1)]


# %% wrong_the_other_layer_only
# WRONG: a refusal, and then the other layer
my_calls = [(0, 6), (1, 5)]


# %% wrong_one_by_one
# WRONG: one token at a time
my_calls = [(0, 1), (1, 1)] * 5


# %% wrong_no_calls
# WRONG: nothing is asked
my_calls = []


# %% wrong_no_such_layer
# WRONG: there are two layers
my_calls = [(0, 6), (2, 1)]


# %% wrong_no_tokens
# WRONG: nothing is stored
my_calls = [(0, 6), (0, 0)]


# %% wrong_tuple_alone
# WRONG: a call without its list
my_calls = (0, 3)
