# === my_ids
# Texts that the first place guesses better than the latest. How they are judged: tests/lessons/test_asides.py.


# %% right_one_token
# RIGHT: a text that only repeats itself
my_ids = [1] * 40


# %% right_two_tokens
# RIGHT: two tokens in turns, as a tensor
my_ids = torch.tensor([7, 8] * 20)


# %% right_the_first_again
# RIGHT: the beginning comes back, and a place between them leads astray
my_ids = [1, 2, 3, 4, 5, 6, 1, 2, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6]


# %% wrong_released
# WRONG: the cell's own, with which the latest place is better
my_ids = [1, 2, 3, 1, 2, 4, 1, 2, 4, 1, 2, 4, 1, 2, 4]


# %% wrong_nothing_twice
# WRONG: no token occurs twice
my_ids = list(range(30))


# %% wrong_one_place
# WRONG: the first place is the latest
my_ids = [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]


# %% wrong_short
# WRONG: one token after the prompt
my_ids = [1, 1, 1, 1]


# %% wrong_long
# WRONG: longer than asked for
my_ids = [1] * 100


# %% wrong_words
# WRONG: words in place of tokens
my_ids = ["the", "the", "the", "the", "the", "the"]


# %% wrong_none
# WRONG: nothing
my_ids = None


# === my_p
# Lists (my_q with them) for which a random number that is used twice shows. How they are judged: tests/lessons/test_asides.py.


# %% right_the_lessons
# RIGHT: four tokens, the other way round
my_p, my_q = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]


# %% right_certain_draft
# RIGHT: a draft that is certain, and two tokens in the residual
my_p, my_q = [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]


# %% right_tensors
# RIGHT: tensors that do not sum to 1
my_p, my_q = torch.tensor([4, 3, 2, 1]), torch.tensor([1, 2, 3, 4])


# %% wrong_as_released
# WRONG: the cell's own, one token in the residual
my_p, my_q = [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]


# %% wrong_two_tokens
# WRONG: of two tokens only one can be in the residual
my_p, my_q = [0.5, 0.5], [0.9, 0.1]


# %% wrong_one_in_the_residual
# WRONG: one token in the residual again
my_p, my_q = [0.25, 0.25, 0.5], [0.5, 0.5, 0.0]


# %% wrong_the_same
# WRONG: no guess is refused
my_p, my_q = [0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]


# %% wrong_two_lengths
# WRONG: lists of two lengths
my_p, my_q = [0.4, 0.3, 0.3], [0.1, 0.9]


# %% wrong_zeros
# WRONG: nothing to divide by
my_p, my_q = [0, 0, 0], [1, 1, 1]


# %% wrong_none
# WRONG: nothing
my_p, my_q = None, None


# === colleagues_verify
# Repairs of the day's bug, a random number that is used twice; and lists that are none. How they are judged: tests/lessons/test_asides.py.


# %% right_v
# RIGHT: the number that was not used
def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:
    if u < acceptance_probs(p, q)[token]:
        return token
    return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))


# %% right_stretched, of right_v
# RIGHT: u, stretched to what it still can be
# -     return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))
# +     return int(draw(residual_probs(p, q)[None], torch.tensor([[(u - (a := float(acceptance_probs(p, q)[token]))) / (1 - a)]], dtype=torch.float64)))


# %% right_the_other_way_round
# RIGHT: v says whether, u says which
def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:
    if v < acceptance_probs(p, q)[token]:
        return token
    return int(draw(residual_probs(p, q)[None], torch.tensor([[u]], dtype=torch.float64)))


# %% right_both_together, of right_v
# RIGHT: the two added up, without the whole
# -     return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))
# +     return int(draw(residual_probs(p, q)[None], torch.tensor([[(u + v) % 1]], dtype=torch.float64)))


# %% wrong_as_released, of right_v
# WRONG: the colleague's own
# -     return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))
# +     return int(draw(residual_probs(p, q)[None], torch.tensor([[u]], dtype=torch.float64)))


# %% wrong_turned_round, of right_v
# WRONG: u from the other end
# -     return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))
# +     return int(draw(residual_probs(p, q)[None], torch.tensor([[1 - u]], dtype=torch.float64)))


# %% wrong_a_half, of right_v
# WRONG: no random number at all
# -     return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))
# +     return int(draw(residual_probs(p, q)[None], torch.tensor([[0.5]], dtype=torch.float64)))


# %% wrong_product, of right_v
# WRONG: the product of the two
# -     return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))
# +     return int(draw(residual_probs(p, q)[None], torch.tensor([[u * v]], dtype=torch.float64)))


# %% wrong_v_twice, of right_v
# WRONG: v for both
# -     if u < acceptance_probs(p, q)[token]:
# +     if v < acceptance_probs(p, q)[token]:


# %% wrong_from_p, of right_v
# WRONG: the replacement from p
# -     return int(draw(residual_probs(p, q)[None], torch.tensor([[v]], dtype=torch.float64)))
# +     return int(draw(p[None], torch.tensor([[v]], dtype=torch.float64)))


# %% wrong_always_kept, of right_v
# WRONG: no guess is refused
# -     if u < acceptance_probs(p, q)[token]:
# +     if True:


# %% wrong_lists_of_two_lengths
# WRONG: lists of two lengths
my_p, my_q = [0.5, 0.5], [1.0]


def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:
    if u < acceptance_probs(p, q)[token]:
        return token
    return int(draw(residual_probs(p, q)[None], torch.tensor([[u]], dtype=torch.float64)))


# %% wrong_negative_numbers, of right_v
# WRONG: a number below 0
# + my_p, my_q = [-1, 2], [1, 1]
# +
# +
#   def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:


# %% wrong_no_lists, of right_v
# WRONG: no lists
# + my_p, my_q = None, "q"
# +
# +
#   def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:


# %% wrong_not_a_number, of right_v
# WRONG: not a number
# + my_p, my_q = [float("nan"), 1], [1, 1]
# +
# +
#   def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:


# %% wrong_zeros, of right_v
# WRONG: nothing to divide by
# + my_p, my_q = [0, 0], [0, 0]
# +
# +
#   def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:


# %% wrong_too_long, of right_v
# WRONG: more than the grid has time for
# + my_p, my_q = [1] * 1000, [1] * 1000
# +
# +
#   def colleagues_verify(p: Tensor, q: Tensor, token: int, u: float, v: float) -> int:


# === my_draft
# Drafts that refute "the further you guess, the more you gain". How they are judged: tests/lessons/test_asides.py.


# %% right_middling
# RIGHT: kept rather often, and not cheap
my_draft = (0.6, 0.3)


# %% right_half
# RIGHT: four guesses lose already
my_draft = (0.5, 0.3)


# %% right_good_and_dear
# RIGHT: kept often, and dear
my_draft = [0.8, 0.45]


# %% right_at_the_edge
# RIGHT: one guess brings 1.1 exactly
my_draft = (0.65, 0.5)


# %% right_tensor
# RIGHT: a tensor
my_draft = torch.tensor([0.6, 0.3])


# %% wrong_as_released
# WRONG: the cell's own
my_draft = (0.9, 0.05)


# %% wrong_one_guess_loses
# WRONG: the first guess does not pay
my_draft = (0.3, 0.4)


# %% wrong_hardly_pays
# WRONG: the first guess brings less than 1.1
my_draft = (0.6, 0.5)


# %% wrong_eight_still_pay
# WRONG: eight bring less than four, and more than none
my_draft = (0.9, 0.6)


# %% wrong_always_right
# WRONG: alpha 1
my_draft = (1, 0.9)


# %% wrong_costs_nothing
# WRONG: no price
my_draft = (0.5, 0)


# %% wrong_negative_price
# WRONG: a price below 0
my_draft = (0.6, -0.125)


# %% wrong_per_cent
# WRONG: alpha in per cent
my_draft = (60, 0.3)


# %% wrong_one_number
# WRONG: one number
my_draft = 0.6


# %% wrong_three_numbers
# WRONG: with a k
my_draft = (0.6, 0.3, 8)


# %% wrong_not_a_number
# WRONG: not a number
my_draft = (float("nan"), 0.3)


# %% wrong_infinite_price
# WRONG: an infinite price
my_draft = (0.6, float("inf"))


# %% wrong_text
# WRONG: text
my_draft = "0.6, 0.3"


# %% wrong_none
# WRONG: nothing
my_draft = None


# === my_guesses
# Drafts that refute "speculative decoding trades quality for speed". How they are judged: tests/lessons/test_asides.py.


# %% right_the_last_alone
# RIGHT: all on the last token
my_guesses = [0, 0, 0, 0, 1]


# %% right_nearly_all
# RIGHT: nearly all on the last token
my_guesses = [0.001, 0.001, 0.001, 0.001, 0.996]


# %% right_just_few_enough
# RIGHT: hardly less than one in a hundred
my_guesses = [0.0, 0.0, 0.0, 0.0059, 0.9941]


# %% right_tensor
# RIGHT: a tensor
my_guesses = torch.tensor([0.0, 0.002, 0.0, 0.0, 0.998])


# %% wrong_as_released
# WRONG: the cell's own, the model's
my_guesses = [0.5, 0.3, 0.15, 0.046, 0.004]


# %% wrong_turned_round
# WRONG: the other way round
my_guesses = [0.004, 0.046, 0.15, 0.3, 0.5]


# %% wrong_even
# WRONG: all alike
my_guesses = [0.2] * 5


# %% wrong_the_fourth
# WRONG: all on the fourth token
my_guesses = [0, 0, 0, 1, 0]


# %% wrong_the_last_mostly
# WRONG: one guess in twenty stays
my_guesses = [0, 0, 0, 0.1, 0.9]


# %% wrong_zeros
# WRONG: nothing is guessed
my_guesses = [0, 0, 0, 0, 0]


# %% wrong_per_cent
# WRONG: in per cent
my_guesses = [0, 0, 0, 0, 100]


# %% wrong_negative
# WRONG: a number below 0
my_guesses = [-0.5, 0, 0, 0.5, 1]


# %% wrong_four
# WRONG: four numbers
my_guesses = [0, 0, 0, 1]


# %% wrong_not_a_number
# WRONG: not a number
my_guesses = [float("nan")] * 5


# %% wrong_infinite
# WRONG: infinite
my_guesses = [0, 0, 0, 0, float("inf")]
