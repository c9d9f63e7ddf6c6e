# Bets on what 64 users make of the intensity of one, in the table of prefill and decode. How they are judged: tests/test_asides.py.


# %% right_read_off
# RIGHT: the intensity of 64 users, over nearly 1
my_bet = 28.1


# %% right_rounded
# RIGHT: a whole number near it
my_bet = 29


# %% right_on_paper
# RIGHT: 64 times the work on so many times the bytes, weights of 7 billion
weights, cache = 14e9, 2 * 32 * 32 * 128 * 2 * 512
my_bet = 64 * (weights + cache) / (weights + 64 * cache)


# %% right_from_a_tensor
# RIGHT: a tensor with one number
my_bet = torch.tensor(28.65)


# %% wrong_in_quotes
# WRONG: a text
my_bet = "28.6"


# %% right_a_little_too_high
# RIGHT: within a tenth
my_bet = 31


# %% wrong_as_released
# WRONG: the cell's own, caches forgotten
my_bet = 64.0


# %% wrong_long_texts
# WRONG: what it is with 4,096 tokens behind each
my_bet = 5.7


# %% wrong_half
# WRONG: too much by more than a tenth
my_bet = 32


# %% wrong_too_little
# WRONG: too little by more than a tenth
my_bet = 25


# %% wrong_one
# WRONG: nothing gained
my_bet = 1


# %% wrong_zero
# WRONG: no factor
my_bet = 0


# %% wrong_negative
# WRONG: below 0
my_bet = -28.6


# %% wrong_none
# WRONG: nothing
my_bet = None


# %% wrong_words
# WRONG: a word
my_bet = "about thirty"


# %% wrong_empty
# WRONG: an empty text
my_bet = ""


# %% wrong_nan
# WRONG: not a number
my_bet = math.nan


# %% wrong_infinite
# WRONG: without end
my_bet = math.inf


# %% wrong_huge
# WRONG: too large for a float
my_bet = 10**400


# %% wrong_true
# WRONG: no number of times
my_bet = True


# %% wrong_two_numbers
# WRONG: both questions at once
my_bet = (28.65, 5.8)


# %% wrong_tensor
# WRONG: a tensor with two numbers
my_bet = torch.tensor([28.65, 28.65])


# %% wrong_complex
# WRONG: a complex number
my_bet = 28.65 + 0j


# %% wrong_function
# WRONG: a function, not its result
my_bet = lambda: 28.65
