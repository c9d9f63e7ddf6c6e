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


# %% right_absorb_plain
# RIGHT: step by step; other versions are edits of it
def absorb(state, scores, values):
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = m.masked_fill(m == -torch.inf, 0.0)
    weights = (scores - shift.unsqueeze(-1)).exp()
    fade = (state.m - shift).exp()
    l = state.l * fade + weights.sum(dim=-1)
    acc = state.acc * fade.unsqueeze(-1) + weights @ values
    return State(m, l, acc)


# %% right_absorb_logsumexp
# RIGHT: by the tile's own logsumexp, turned back into a sum under the new maximum; einsum with an ellipsis
def absorb(state, scores, values):
    peak = scores.max(dim=-1).values
    m = torch.where(peak > state.m, peak, state.m)
    known = m > -torch.inf
    base = torch.where(known, m, torch.zeros_like(m))
    l = torch.where(known, torch.exp(state.m - base) * state.l + torch.exp(torch.logsumexp(scores, dim=-1) - base), torch.zeros_like(m))
    acc = torch.einsum("...qn,...nd->...qd", torch.exp(scores - base[..., None]), values)
    return State(m, l, acc + torch.exp(state.m - base)[..., None] * state.acc)


# %% right_absorb_two_states
# RIGHT: the tile's own state first, then two states put together; an early way out where nothing is seen
def absorb(state, scores, values):
    if bool((scores == float("-inf")).all()):
        return State(state.m.clone(), state.l.clone(), state.acc.clone())
    tile_m = torch.amax(scores, -1)
    weights = torch.exp(scores - tile_m[..., None]).nan_to_num(nan=0.0)
    tile_l, tile_acc = weights.sum(-1), torch.matmul(weights, values)
    m = torch.maximum(state.m, tile_m)
    a = torch.exp(state.m - m).nan_to_num(nan=0.0)
    b = torch.exp(tile_m - m).nan_to_num(nan=0.0)
    return State(m, a * state.l + b * tile_l, a[..., None] * state.acc + b[..., None] * tile_acc)


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


# %% wrong_absorb_squeezes, of right_absorb_plain
# WRONG: drops every dimension of size 1 of the tile's maxima
# -     m = torch.maximum(state.m, scores.amax(dim=-1))
# +     m = torch.maximum(state.m, scores.amax(dim=-1).squeeze())


# %% wrong_absorb_view, of right_absorb_plain
# WRONG: raises for scores that are not contiguous
# -     weights = (scores - shift.unsqueeze(-1)).exp()
# +     weights = (scores.view(-1, scores.shape[-1]) - shift.reshape(-1, 1)).exp().view(scores.shape)


# %% wrong_absorb_hidden_keys_count_a_little, of right_absorb_plain
# WRONG: a masked key still counts exp(-80): the exponent is kept from falling below -80
# -     weights = (scores - shift.unsqueeze(-1)).exp()
# +     weights = (scores - shift.unsqueeze(-1)).clamp(min=-80.0).exp()


# %% wrong_absorb_first_256_rows, of right_absorb_plain
# WRONG: only the first 256 queries of a tile are scaled to the new maximum
# -     fade = (state.m - shift).exp()
# +     fade = (state.m - shift).exp()
# +     fade[..., 256:] = 1.0


# %% wrong_absorb_first_128_keys, of right_absorb_plain
# WRONG: of a tile only the first 128 keys are taken in
# -     m = torch.maximum(state.m, scores.amax(dim=-1))
# +     scores, values = scores[..., :128], values[..., :128, :]
# +     m = torch.maximum(state.m, scores.amax(dim=-1))


# %% wrong_absorb_base_clamped, of right_absorb_plain
# WRONG: what is subtracted is at least -10,000, in place of a guard for -inf: scores far below it lose all weight
# -     shift = m.masked_fill(m == -torch.inf, 0.0)
# +     shift = m.clamp(min=-1e4)


# %% wrong_absorb_new_scores_under_the_old_maximum
# WRONG: the new scores are taken under the old maximum and rescaled afterwards: a tile far above the one before overflows
def absorb(state, scores, values):
    m = torch.maximum(state.m, scores.amax(dim=-1))
    shift = m.masked_fill(m == -torch.inf, 0.0)
    old = torch.where(state.m == -torch.inf, shift, state.m)
    weights, fade = (scores - old.unsqueeze(-1)).exp(), (old - shift).exp()
    return State(m, (state.l + weights.sum(dim=-1)) * fade, (state.acc + weights @ values) * fade.unsqueeze(-1))
