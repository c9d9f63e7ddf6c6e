# Versions of absorb, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_absorb_maximum_of_all
# RIGHT: the old maximum and the scores are put side by side

def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    m = torch.cat((state.m.unsqueeze(-1), scores), dim=-1).amax(dim=-1)
    shift = m.masked_fill(m == -torch.inf, 0.0)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (state.m - shift).exp()  # what all that came before is worth under the new maximum
    return State(m, state.l * fade + weights.sum(dim=-1), state.acc * fade.unsqueeze(-1) + weights @ values)


# %% right_absorb_nan_to_num
# RIGHT: -inf of the maximum through nan_to_num

def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = torch.where(m.isneginf(), torch.zeros_like(m), m)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (state.m - shift).exp()  # what all that came before is worth under the new maximum
    return State(m, state.l * fade + weights.sum(dim=-1), state.acc * fade.unsqueeze(-1) + weights @ values)


# %% wrong_absorb_factor_upside_down
# WRONG: the factor is upside down: exp(new - old)

def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = m.masked_fill(m == -torch.inf, 0.0)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (shift - state.m).exp()  # what all that came before is worth under the new maximum
    return State(m, state.l * fade + weights.sum(dim=-1), state.acc * fade.unsqueeze(-1) + weights @ values)


# %% wrong_absorb_no_maximum
# WRONG: no maximum is taken out

def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    m = torch.zeros_like(state.m)
    shift = m.masked_fill(m == -torch.inf, 0.0)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = torch.ones_like(m)  # what all that came before is worth under the new maximum
    return State(m, state.l * fade + weights.sum(dim=-1), state.acc * fade.unsqueeze(-1) + weights @ values)


# %% wrong_absorb_normalised_each_tile
# WRONG: the outputs are divided by the sum at every tile

def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = m.masked_fill(m == -torch.inf, 0.0)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (state.m - shift).exp()  # what all that came before is worth under the new maximum
    total = state.l * fade + weights.sum(dim=-1)
    return State(m, total, (state.acc * fade.unsqueeze(-1) + weights @ values) / total.unsqueeze(-1))


# %% wrong_absorb_outputs_not_scaled
# WRONG: the outputs so far are not scaled to the new maximum

def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = m.masked_fill(m == -torch.inf, 0.0)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (state.m - shift).exp()  # what all that came before is worth under the new maximum
    return State(m, state.l * fade + weights.sum(dim=-1), state.acc + weights @ values)


# %% wrong_absorb_sum_not_scaled
# WRONG: the sum so far is not scaled to the new maximum

def absorb(state: State, scores: Tensor, values: Tensor) -> State:
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = m.masked_fill(m == -torch.inf, 0.0)  # without any key there is nothing to subtract: -inf - -inf is nan
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (state.m - shift).exp()  # what all that came before is worth under the new maximum
    return State(m, state.l + weights.sum(dim=-1), state.acc * fade.unsqueeze(-1) + weights @ values)

# %% wrong_absorb_in_place, of right_absorb_maximum_of_all
# WRONG: the given state is changed in place
# -     m = torch.cat((state.m.unsqueeze(-1), scores), dim=-1).amax(dim=-1)
# +     m = torch.maximum(state.m, scores.amax(dim=-1))
# ...
#       fade = (state.m - shift).exp()  # what all that came before is worth under the new maximum
# +     state.m.copy_(m)

# %% wrong_absorb_maximum_of_the_tile, of right_absorb_maximum_of_all
# WRONG: m is the maximum of this tile only
# -     m = torch.cat((state.m.unsqueeze(-1), scores), dim=-1).amax(dim=-1)
# +     m = scores.amax(dim=-1)

# %% wrong_absorb_nan_without_keys, of right_absorb_nan_to_num
# WRONG: a query without a key becomes nan: -inf minus -inf
# -     shift = torch.where(m.isneginf(), torch.zeros_like(m), m)  # without any key there is nothing to subtract: -inf - -inf is nan
# +     shift = m  # without any key there is nothing to subtract: -inf - -inf is nan
