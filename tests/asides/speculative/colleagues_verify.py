# Repairs of the day's bug, a random number that is used twice; and lists that are none. How they are judged: tests/test_asides.py.


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
