# Repairs of the day's bug, a softmax over a part of the vocabulary. How they are judged: tests/test_asides.py.


# %% right_logits
# RIGHT: the logits themselves
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% right_before_it_is_found, of right_logits
# RIGHT: mended, and the cell's own list
# - my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]
# + my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


# %% right_all_logits
# RIGHT: all logits travel
my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    return int(torch.cat(ring_all_gather(logits, comm)).argmax())


# %% right_by_index, of right_logits
# RIGHT: the largest and its index
# -     value, token = logits.max(dim=0)
# +     value, token = (logits.max(), logits.argmax())


# %% wrong_as_released, of right_logits
# WRONG: the colleague's own
# - my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]
# + my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]
# ...
# -     value, token = logits.max(dim=0)
# +     value, token = logits.softmax(dim=0).max(dim=0)


# %% wrong_logarithms, of right_logits
# WRONG: logarithms of the same probabilities
# -     value, token = logits.max(dim=0)
# +     value, token = logits.log_softmax(dim=0).max(dim=0)


# %% wrong_less_the_mean, of right_logits
# WRONG: each rank takes its own mean away
# -     value, token = logits.max(dim=0)
# +     value, token = (logits - logits.mean()).max(dim=0)


# %% wrong_magnitude, of right_logits
# WRONG: the largest magnitude
# -     value, token = logits.max(dim=0)
# +     value, token = logits.abs().max(dim=0)


# %% wrong_sigmoid, of right_logits
# WRONG: squeezed between 0 and 1, where large ones are alike
# -     value, token = logits.max(dim=0)
# +     value, token = logits.sigmoid().max(dim=0)


# %% wrong_own_number, of right_logits
# WRONG: the token's number on its own rank
# -     mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
# +     mine = torch.tensor([float(value), int(token)], dtype=torch.float64)


# %% wrong_the_least, of right_logits
# WRONG: the least
# -     value, token = logits.max(dim=0)
# +     value, token = logits.min(dim=0)


# %% wrong_no_list, of right_logits
# WRONG: mended, and no list
# - my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]
# + my_logits = None
