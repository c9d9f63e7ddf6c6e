# Repairs of the day's bug, a softmax over a part of the vocabulary. How they are judged: tests/test_asides.py.


# %% right_logits
# RIGHT: the logits themselves
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% right_before_it_is_found
# RIGHT: mended, and the cell's own list
my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% right_all_logits
# RIGHT: all logits travel
my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    return int(torch.cat(ring_all_gather(logits, comm)).argmax())


# %% right_by_index
# RIGHT: the largest and its index
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = (logits.max(), logits.argmax())
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_as_released
# WRONG: the colleague's own
my_logits = [1.0, 3.0, 0.0, 2.0, 2.5, 1.5]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.softmax(dim=0).max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_logarithms
# WRONG: logarithms of the same probabilities
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.log_softmax(dim=0).max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_less_the_mean
# WRONG: each rank takes its own mean away
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = (logits - logits.mean()).max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_magnitude
# WRONG: the largest magnitude
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.abs().max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_sigmoid
# WRONG: squeezed between 0 and 1, where large ones are alike
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.sigmoid().max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_own_number
# WRONG: the token's number on its own rank
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.max(dim=0)
    mine = torch.tensor([float(value), int(token)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_the_least
# WRONG: the least
my_logits = [3.0, 2.9, 2.9, 2.0, -5.0, -5.0]


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.min(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])


# %% wrong_no_list
# WRONG: mended, and no list
my_logits = None


def colleagues_choice(logits: Tensor, comm: Communicator) -> int:
    value, token = logits.max(dim=0)
    mine = torch.tensor([float(value), int(token) + comm.rank * len(logits)], dtype=torch.float64)
    of_all = torch.stack(ring_all_gather(mine, comm))
    return int(of_all[of_all[:, 0].argmax(), 1])
