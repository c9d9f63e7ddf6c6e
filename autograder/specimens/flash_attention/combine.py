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
