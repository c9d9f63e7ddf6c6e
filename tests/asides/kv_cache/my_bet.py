# Bets on how many layers keep what they have stored when the oldest slot is dropped. How they are judged: tests/test_asides.py.


# %% right_one
# RIGHT: the first layer alone
my_bet = 1


# %% right_float
# RIGHT: the same as a float
my_bet = 1.0


# %% right_from_a_tensor
# RIGHT: a tensor with one number
my_bet = torch.tensor(1)


# %% right_counted
# RIGHT: only layer 0 reads embeddings alone
my_bet = len([layer for layer in range(tiny.config.num_hidden_layers) if layer == 0])


# %% wrong_in_quotes
# WRONG: a text
my_bet = "1"


# %% wrong_as_released
# WRONG: the cell's own, RoPE believed
my_bet = 5


# %% wrong_none_of_them
# WRONG: no layer at all
my_bet = 0


# %% wrong_two
# WRONG: one too many
my_bet = 2


# %% wrong_all_but_one
# WRONG: the other way round
my_bet = 4


# %% wrong_half
# WRONG: half a layer
my_bet = 0.5


# %% wrong_nearly_one
# WRONG: no whole number
my_bet = 1.0001


# %% wrong_six
# WRONG: more than there are
my_bet = 6


# %% wrong_negative
# WRONG: below 0
my_bet = -1


# %% wrong_true
# WRONG: yes is no number of layers
my_bet = True


# %% wrong_none
# WRONG: nothing
my_bet = None


# %% wrong_words
# WRONG: a word
my_bet = "the first"


# %% wrong_empty
# WRONG: an empty list
my_bet = []


# %% wrong_list
# WRONG: the layers, not their number
my_bet = [0]


# %% wrong_nan
# WRONG: not a number
my_bet = math.nan


# %% wrong_infinite
# WRONG: without end
my_bet = math.inf


# %% wrong_huge
# WRONG: too large for a float
my_bet = 10**400


# %% wrong_tensor
# WRONG: a number for each layer
my_bet = torch.tensor([1, 0, 0, 0, 0])
