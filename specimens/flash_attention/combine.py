# Versions of combine, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_combine_einsum
# RIGHT: the weighted sum by einsum

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = (lses - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
    return torch.einsum("s...,s...d->...d", shares, outs), lse


# %% right_combine_maximum_first
# RIGHT: the maximum taken out by hand

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    top = lses.amax(dim=0).masked_fill(lses.amax(dim=0) == -torch.inf, 0.0)
    lse = top + (lses - top).exp().sum(dim=0).log()
    shares = (lses - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse


# %% right_combine_plain
# RIGHT: step by step; other versions are edits of it
def combine(outs, lses):
    top = lses.amax(dim=0)
    base = top.masked_fill(top == -torch.inf, 0.0)
    weights = (lses - base).exp()
    total = weights.sum(dim=0)
    lse = base + total.log()
    shares = weights / total.masked_fill(total == 0, 1.0)
    out = (shares.unsqueeze(-1) * outs).sum(dim=0)
    return out, lse


# %% right_combine_softmax
# RIGHT: softmax over the parts, einsum
def combine(outs, lses):
    shares = torch.softmax(lses, dim=0).nan_to_num(nan=0.0)
    return torch.einsum("s...,s...d->...d", shares, outs), torch.logsumexp(lses, dim=0)


# %% right_combine_one_by_one
# RIGHT: one part after the other, by logaddexp
def combine(outs, lses):
    out, lse = torch.zeros_like(outs[0]), torch.full_like(lses[0], -torch.inf)
    for part, part_lse in zip(outs, lses):
        new = torch.logaddexp(lse, part_lse)
        safe = torch.where(new == -torch.inf, torch.zeros_like(new), new)
        out = out * (lse - safe).exp()[..., None] + part * (part_lse - safe).exp()[..., None]
        lse = new
    return out, lse


# %% right_combine_states
# RIGHT: each part is a tile of one key, whose score is its lse and whose value is its out
def combine(outs, lses):
    state = State.empty(tuple(lses.shape[1:]) + (1,), outs.shape[-1], lses.dtype, lses.device)
    state = absorb(state, lses.movedim(0, -1).unsqueeze(-2), outs.movedim(0, -2))
    out, lse = finish(state)
    return out.squeeze(-2), lse.squeeze(-1)


# %% wrong_combine_nan_without_keys
# WRONG: nan where no part has a key

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = (lses - lse).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse


# %% wrong_combine_not_normalised
# WRONG: the shares do not add up to one

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = (lses - lses.amax(dim=0).nan_to_num(neginf=0.0)).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse


# %% wrong_combine_weighted_by_lse
# WRONG: the parts are weighted by lse itself

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = lses / lses.sum(dim=0)
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse


# %% wrong_combine_largest_lse, of right_combine_einsum
# WRONG: lse is the largest of the parts
# -     return torch.einsum("s...,s...d->...d", shares, outs), lse
# +     return (shares.unsqueeze(-1) * outs).sum(dim=0), lses.amax(dim=0)


# %% wrong_combine_plain_mean, of right_combine_einsum
# WRONG: the plain mean of the parts
# -     return torch.einsum("s...,s...d->...d", shares, outs), lse
# +     return outs.mean(dim=0), lse


# %% wrong_combine_no_maximum, of right_combine_maximum_first
# WRONG: exp of lse without a maximum
# -     top = lses.amax(dim=0).masked_fill(lses.amax(dim=0) == -torch.inf, 0.0)
# -     lse = top + (lses - top).exp().sum(dim=0).log()
# +     lse = lses.exp().sum(dim=0).log()


# %% wrong_combine_float32, of right_combine_plain
# WRONG: works in float32 for float64
# -     weights = (lses - base).exp()
# +     weights = (lses - base).float().exp().to(lses.dtype)


# %% wrong_combine_one_base, of right_combine_plain
# WRONG: one maximum for all queries: one that is far below another has no weight left
# -     top = lses.amax(dim=0)
# +     top = lses.amax().expand(lses.shape[1:])


# %% wrong_combine_on_the_cpu, of right_combine_plain
# WRONG: makes a tensor on the CPU
# -     base = top.masked_fill(top == -torch.inf, 0.0)
# +     base = torch.where(top == -torch.inf, torch.zeros(top.shape, dtype=top.dtype), top)


# %% wrong_combine_eight_parts, of right_combine_plain
# WRONG: the first eight parts are put together, and the others are lost
# -     top = lses.amax(dim=0)
# +     outs, lses = outs[:8], lses[:8]
# +     top = lses.amax(dim=0)


# %% wrong_combine_first_part_taken_out, of right_combine_plain
# WRONG: the first part's lse is subtracted, not the largest: nan where the first part has no key, inf where another lse is far larger
# -     base = top.masked_fill(top == -torch.inf, 0.0)
# +     base = torch.where(top == -torch.inf, 0.0, lses[0])


# %% wrong_combine_nearly_nothing, of right_combine_plain
# WRONG: the exponent is kept from falling below -80: a part without a key adds a little
# -     weights = (lses - base).exp()
# +     weights = (lses - base).clamp(min=-80.0).exp()


# %% wrong_combine_drops_a_part, of right_combine_plain
# WRONG: drops a part for all queries if one of them has no key in it
# -     top = lses.amax(dim=0)
# +     full = (lses > -torch.inf).flatten(1).all(dim=1)
# +     if full.any():
# +         outs, lses = outs[full], lses[full]
# +     top = lses.amax(dim=0)


# %% wrong_combine_float32_for_sixteen_bits, of right_combine_plain
# WRONG: sums 16-bit parts in float32 and gives that back
# -     out = (shares.unsqueeze(-1) * outs).sum(dim=0)
# +     out = (shares.unsqueeze(-1) * outs).sum(dim=0, dtype=torch.promote_types(outs.dtype, torch.float32))


# %% wrong_combine_one_part_as_it_is, of right_combine_einsum
# WRONG: one part alone comes back as it is, also where no key was seen and its out holds anything
# -     lse = lses.logsumexp(dim=0)
# +     if len(outs) == 1:
# +         return outs[0].clone(), lses[0].clone()
# +     lse = lses.logsumexp(dim=0)
