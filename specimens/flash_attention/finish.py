# Versions of finish, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_finish_clamp
# RIGHT: the divisor is kept off zero: l is 0 or at least 1

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.clamp(min=1e-30).unsqueeze(-1)
    return out, state.m + state.l.log()


# %% right_finish_reciprocal
# RIGHT: multiplies by the reciprocal

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc * state.l.masked_fill(state.l == 0, 1.0).reciprocal().unsqueeze(-1)
    return out, state.m + state.l.log()


# %% right_finish_where
# RIGHT: the division guarded by where

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = torch.where(state.l.unsqueeze(-1) > 0, state.acc / state.l.unsqueeze(-1), torch.zeros_like(state.acc))
    return out, state.m + state.l.log()


# %% right_finish_plain
# RIGHT: step by step; other versions are edits of it
def finish(state):
    total = state.l.masked_fill(state.l == 0, 1.0)
    out = state.acc / total.unsqueeze(-1)
    lse = state.m + state.l.log()
    return out, lse


# %% wrong_finish_lse_in_bits
# WRONG: lse is in bits

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1)
    return out, state.m / 0.6931471805599453 + state.l.log2()


# %% wrong_finish_lse_without_m
# WRONG: lse is the logarithm of l alone

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1)
    return out, state.l.log()


# %% wrong_finish_minus_m
# WRONG: m is subtracted

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1)
    return out, -state.m + state.l.log()


# %% wrong_finish_divides_in_place, of right_finish_clamp
# WRONG: the given state is divided in place
# -     out = state.acc / state.l.clamp(min=1e-30).unsqueeze(-1)
# +     out = state.acc.div_(state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1))


# %% wrong_finish_nan_without_keys, of right_finish_clamp
# WRONG: a query without keys is divided by zero
# -     out = state.acc / state.l.clamp(min=1e-30).unsqueeze(-1)
# +     out = state.acc / state.l.unsqueeze(-1)


# %% wrong_finish_not_divided, of right_finish_clamp
# WRONG: the sum of the values is not divided by l
# -     out = state.acc / state.l.clamp(min=1e-30).unsqueeze(-1)
# +     out = state.acc


# %% wrong_finish_empty_by_acc, of right_finish_plain
# WRONG: takes a query whose sum of values is 0 for one without a key: its lse is -inf
# -     lse = state.m + state.l.log()
# +     lse = (state.m + state.l.log()).masked_fill((state.acc == 0).all(dim=-1), -torch.inf)


# %% wrong_finish_guards_the_state, of right_finish_plain
# WRONG: an empty query's sum becomes 1 in the state itself
# -     total = state.l.masked_fill(state.l == 0, 1.0)
# -     out = state.acc / total.unsqueeze(-1)
# -     lse = state.m + state.l.log()
# +     lse = state.m + state.l.log()
# +     total = state.l.masked_fill_(state.l == 0, 1.0)
# +     out = state.acc / total.unsqueeze(-1)


# %% wrong_finish_log_of_product, of right_finish_plain
# WRONG: the logarithm of exp(m) * l: overflows where m is large
# -     lse = state.m + state.l.log()
# +     lse = (state.m.exp() * state.l).log()


# %% wrong_finish_one_axis, of right_finish_plain
# WRONG: the sums get their new axis after the first one: only for states of one axis
# -     out = state.acc / total.unsqueeze(-1)
# +     out = state.acc / total.unsqueeze(1)


# %% wrong_finish_out_float32, of right_finish_plain
# WRONG: out is worked out in float32 for a state of float64
# -     out = state.acc / total.unsqueeze(-1)
# +     out = (state.acc.float() / total.float().unsqueeze(-1)).to(state.acc.dtype)


# %% wrong_finish_nearly_nothing, of right_finish_plain
# WRONG: a tiny number is added to l, so that a query without a key gets an lse that is not -inf
# -     total = state.l.masked_fill(state.l == 0, 1.0)
# -     out = state.acc / total.unsqueeze(-1)
# -     lse = state.m + state.l.log()
# +     total = state.l + 1e-30
# +     out = state.acc / total.unsqueeze(-1)
# +     lse = state.m.clamp(min=-1e30) + total.log()


# %% wrong_finish_first_256_rows, of right_finish_plain
# WRONG: only the first 256 queries are divided by their sum
# -     out = state.acc / total.unsqueeze(-1)
# +     total[..., 256:] = 1.0
# +     out = state.acc / total.unsqueeze(-1)


# %% wrong_finish_empty_by_low_m, of right_finish_plain
# WRONG: takes a query for one without a key if its m is below -10,000
# -     return out, lse
# +     unseen = state.m < -1e4
# +     return out.masked_fill(unseen.unsqueeze(-1), 0.0), lse.masked_fill(unseen, -torch.inf)
