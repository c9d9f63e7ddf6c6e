# Versions of acceptance_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_acceptance_plain
# RIGHT: divides, and puts 1 where q is 0; most of the wrong versions are edits of it

def acceptance_probs(p, q):
    ratio = p / q
    ratio = torch.where(q == 0, torch.ones_like(p), ratio)
    return ratio.clamp(max=1.0)


# %% right_acceptance_by_minimum
# RIGHT: the smaller of p and q over q

def acceptance_probs(p, q):
    never = q == 0
    return torch.minimum(p, q).masked_fill(never, 1.0) / q.masked_fill(never, 1.0)


# %% right_acceptance_where_p_is_less
# RIGHT: divides only where p is less

def acceptance_probs(p, q):
    result = torch.ones_like(p)
    less = p < q
    result[less] = p[less] / q[less]
    return result


# %% wrong_acceptance_turned, of right_acceptance_plain
# WRONG: q / p for p / q
# -     ratio = p / q
# -     ratio = torch.where(q == 0, torch.ones_like(p), ratio)
# +     ratio = torch.where(p == 0, torch.ones_like(p), q / p)

# %% wrong_acceptance_nan, of right_acceptance_plain
# WRONG: 0 / 0 stays nan
# -     ratio = torch.where(q == 0, torch.ones_like(p), ratio)

# %% wrong_acceptance_above_one, of right_acceptance_plain
# WRONG: the ratio is not cut at 1
# -     return ratio.clamp(max=1.0)
# +     return ratio

# %% wrong_acceptance_all_or_nothing, of right_acceptance_plain
# WRONG: 1 where p is not less, and 0 elsewhere
# -     return ratio.clamp(max=1.0)
# +     return (ratio >= 1).to(p.dtype)

# %% wrong_acceptance_is_p, of right_acceptance_plain
# WRONG: p itself, not its ratio to q
# -     ratio = p / q
# +     ratio = p

# %% wrong_acceptance_epsilon, of right_acceptance_plain
# WRONG: something is added to q, so that nothing is divided by 0
# -     ratio = p / q
# +     ratio = p / (q + 1e-8)

# %% wrong_acceptance_zero_where_impossible, of right_acceptance_plain
# WRONG: 0 where q is 0
# -     ratio = torch.where(q == 0, torch.ones_like(p), ratio)
# +     ratio = torch.where(q == 0, torch.zeros_like(p), ratio)

# %% wrong_acceptance_one_where_p_is_zero, of right_acceptance_plain
# WRONG: 1 where p is 0, too
# -     ratio = torch.where(q == 0, torch.ones_like(p), ratio)
# +     ratio = torch.where((q == 0) | (p == 0), torch.ones_like(p), ratio)

# %% wrong_acceptance_overlap, of right_acceptance_plain
# WRONG: the smaller of both, not divided by q
# -     return ratio.clamp(max=1.0)
# +     return torch.minimum(p, q)

# %% wrong_acceptance_in_place, of right_acceptance_plain
# WRONG: writes into p
# -     ratio = p / q
# +     ratio = p.div_(q)

# %% wrong_acceptance_float64, of right_acceptance_plain
# WRONG: the result is float64, whatever p is
# -     return ratio.clamp(max=1.0)
# +     return ratio.clamp(max=1.0).double()

# %% wrong_acceptance_over_the_best, of right_acceptance_plain
# WRONG: divided by the largest ratio of the row, so that it does not exceed 1
# -     return ratio.clamp(max=1.0)
# +     return ratio / ratio.amax(dim=-1, keepdim=True)

# %% wrong_acceptance_float32, of right_acceptance_plain
# WRONG: the result is float32, whatever p is
# -     ratio = p / q
# -     ratio = torch.where(q == 0, torch.ones_like(p), ratio)
# +     ratio = p.float() / q.float()
# +     ratio = torch.where(q == 0, torch.ones_like(ratio), ratio)


# %% wrong_acceptance_needs_contiguous
# WRONG: needs p and q in one piece
def acceptance_probs(p, q):
    a, b = p.view(-1), q.view(-1)
    return torch.where(b > 0, (a / b).clamp(max=1.0), 1.0).view(p.shape)
