# Inputs for "Find the bug" of the samplers day, the token that crosses p is dropped. How they are judged: tests/test_asides.py.


# %% right_three
# RIGHT: the second crosses
my_probs = [0.5, 0.3, 0.2]


# %% right_even
# RIGHT: twenty alike
my_probs = [0.04] * 25


# %% right_two
# RIGHT: two alike
my_probs = [0.5, 0.5]


# %% right_out_of_order
# RIGHT: the crossing token stands first
my_probs = [0.2, 0.1, 0.3, 0.4]


# %% right_situation_b
# RIGHT: the lesson's places, and a tail
my_probs = [0.08, 0.07, 0.06, 0.05, 0.04, 0.04, 0.03] + [0.0063] * 100


# %% wrong_probs_as_they_are
# WRONG: the cell's own
my_probs = [0.0971, 0.0029, 0.0177, 0.8764, 0.0059]


# %% wrong_paris
# WRONG: the first alone has it
my_probs = [0.97, 0.01, 0.008, 0.012]


# %% wrong_exactly_p
# WRONG: the first has p exactly
my_probs = [0.75, 0.25]


# %% wrong_exactly_p_with_two
# WRONG: two have p exactly, so that nothing crosses
my_probs = [0.5, 0.25, 0.25]


# %% wrong_one
# WRONG: one token
my_probs = [1.0]


# %% wrong_empty
# WRONG: none
my_probs = []


# %% wrong_no_distribution
# WRONG: they sum to less than p
my_probs = [0.3, 0.2]


# %% wrong_negative
# WRONG: a negative one
my_probs = [0.6, 0.6, -0.2]


# %% wrong_nan
# WRONG: not a number
my_probs = [math.nan, 0.5, 0.5]


# %% wrong_a_zero
# WRONG: a token that cannot come, and the first alone has it
my_probs = [0.0, 0.9, 0.1]


# %% wrong_infinite
# WRONG: no number
my_probs = [math.inf, 0.5]


# %% wrong_short
# WRONG: brought to a sum of 1 the mass is reached
my_probs = [0.7496, 0.2496]
