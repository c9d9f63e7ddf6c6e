# Answers to "Check what you read" of the steering day, the presence that halves the odds. How they are judged: tests/test_asides.py.


# %% right_ln_2
# RIGHT: the logarithm of 2
my_presence = math.log(2)


# %% right_three_digits
# RIGHT: three digits are enough
my_presence = 0.693


# %% right_found_by_trying
# RIGHT: two digits
my_presence = 0.69


# %% wrong_presence_as_it_is
# WRONG: the sentence's own
my_presence = 0.5


# %% wrong_two
# WRONG: the end of the range
my_presence = 2.0


# %% wrong_one
# WRONG: divides by e
my_presence = 1.0


# %% wrong_zero
# WRONG: nothing happens
my_presence = 0.0


# %% wrong_doubled
# WRONG: the other way
my_presence = -math.log(2)


# %% wrong_base_ten
# WRONG: the logarithm of another base
my_presence = math.log10(2)


# %% wrong_nan
# WRONG: not a number
my_presence = math.nan


# %% wrong_infinite
# WRONG: never again
my_presence = math.inf


# %% wrong_near
# WRONG: not near enough
my_presence = 0.71
