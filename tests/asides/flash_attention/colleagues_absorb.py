# Repairs of the colleague's function in "Find the bug" after finish. How they are judged: tests/test_asides.py.


# %% right_zero_in_place_of_inf
# RIGHT: the larger maximum, and 0 where it is -inf
def colleagues_absorb(state, scores, values):
    m = torch.maximum(state.m, scores.max(dim=-1).values)
    top = m.masked_fill(m == -torch.inf, 0.0)
    past = torch.exp(state.m - top)
    new = torch.exp(scores - top[..., None])
    return State(m, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% right_own_function
# RIGHT: the exercise's
def colleagues_absorb(state, scores, values):
    return absorb(state, scores, values)


# %% right_no_lower_than
# RIGHT: a maximum that is never -inf
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
    past = torch.exp(state.m - top)
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% right_what_is_no_number_is_nothing
# RIGHT: what is not a number is made 0
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values)
    past = torch.exp(state.m - top).nan_to_num(0.0)
    new = torch.exp(scores - top[..., None]).nan_to_num(0.0)
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_as_released, of right_no_lower_than
# WRONG: the cell's own
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = scores.max(dim=-1).values


# %% wrong_masked_tiles_forgotten, of right_no_lower_than
# WRONG: the larger maximum, and -inf less -inf where there is none yet
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.maximum(state.m, scores.max(dim=-1).values)


# %% wrong_smaller, of right_no_lower_than
# WRONG: the smaller maximum
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.minimum(state.m, scores.max(dim=-1).values)


# %% wrong_the_first_kept, of right_no_lower_than
# WRONG: the first tile's maximum for good
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.where(state.m == -torch.inf, scores.max(dim=-1).values, state.m)


# %% wrong_one_for_all_rows, of right_no_lower_than
# WRONG: one maximum for all rows
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.maximum(state.m, scores.max())


# %% wrong_cut_off
# WRONG: the exponent cut off where float32 ends
def colleagues_absorb(state, scores, values):
    top = scores.max(dim=-1).values
    past = torch.exp((state.m - top).clamp(max=80))
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_more_precise
# WRONG: float64, which ends later
def colleagues_absorb(state, scores, values):
    top = scores.max(dim=-1).values
    past = torch.exp((state.m - top).double())
    new = torch.exp((scores - top[..., None]).double())
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values.double())


# %% wrong_no_number_is_nothing, of right_what_is_no_number_is_nothing
# WRONG: the last tile's maximum, and what is not a number is made 0
# -     top = torch.maximum(state.m, scores.max(dim=-1).values)
# +     top = scores.max(dim=-1).values


# %% wrong_upside_down
# WRONG: old and new exchanged in the factor
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values)
    past = torch.exp(top - state.m)
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_nothing_subtracted, of right_no_lower_than
# WRONG: no maximum at all
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = torch.zeros_like(state.m)


# %% wrong_one_row_only, of right_no_lower_than
# WRONG: Python's max, which needs a single row
# -     top = torch.maximum(state.m, scores.max(dim=-1).values).clamp(min=-1e30)
# +     top = max(state.m, scores.max())


# %% wrong_past_is_dropped
# WRONG: a state of the last tile only
def colleagues_absorb(state, scores, values):
    top = torch.maximum(state.m, scores.max(dim=-1).values)
    past = torch.zeros_like(top)
    new = torch.exp(scores - top[..., None])
    return State(top, past * state.l + new.sum(-1), past[..., None] * state.acc + new @ values)


# %% wrong_returns_nothing
# WRONG: without a result
def colleagues_absorb(state, scores, values):
    pass


# %% wrong_raises
# WRONG: an error of its own
def colleagues_absorb(state, scores, values):
    raise KeyError("m")


# %% wrong_no_function
# WRONG: not a function
colleagues_absorb = None
