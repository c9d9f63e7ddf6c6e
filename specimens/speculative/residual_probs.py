# Versions of residual_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_residual_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def residual_probs(p, q):
    lacking = (p - q).clamp(min=0)
    total = lacking.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, lacking / total, p)


# %% right_residual_row_by_row
# RIGHT: one row after the other, and p where nothing is left

def residual_probs(p, q):
    result = p.clone()
    rows, before, other = result.view(-1, p.shape[-1]), p.reshape(-1, p.shape[-1]), q.reshape(-1, p.shape[-1])
    for i in range(len(rows)):
        lacking = torch.relu(before[i] - other[i])
        if lacking.any():
            rows[i] = lacking / lacking.sum()
    return result


# %% right_residual_by_overlap
# RIGHT: p less the overlap of p and q

def residual_probs(p, q):
    lacking = p - torch.minimum(p, q)
    total = lacking.sum(dim=-1, keepdim=True)
    nothing = total == 0
    return lacking.div(total.masked_fill(nothing, 1.0)) + p * nothing


# %% wrong_residual_is_p, of right_residual_plain
# WRONG: p in place of the residual
# -     return torch.where(total > 0, lacking / total, p)
# +     return p.clone()

# %% wrong_residual_absolute, of right_residual_plain
# WRONG: |p - q| in place of max(p - q, 0)
# -     lacking = (p - q).clamp(min=0)
# +     lacking = (p - q).abs()

# %% wrong_residual_not_renormalised, of right_residual_plain
# WRONG: not renormalised
# -     return torch.where(total > 0, lacking / total, p)
# +     return torch.where(total > 0, lacking, p)

# %% wrong_residual_nan, of right_residual_plain
# WRONG: nan where p equals q
# -     return torch.where(total > 0, lacking / total, p)
# +     return lacking / total

# %% wrong_residual_turned, of right_residual_plain
# WRONG: what q has more of
# -     lacking = (p - q).clamp(min=0)
# +     lacking = (q - p).clamp(min=0)

# %% wrong_residual_epsilon, of right_residual_plain
# WRONG: a little is added to every token, so that the sum is never 0
# -     lacking = (p - q).clamp(min=0)
# +     lacking = (p - q).clamp(min=0) + 1e-9

# %% wrong_residual_zero_where_equal, of right_residual_plain
# WRONG: nothing at all where p equals q
# -     return torch.where(total > 0, lacking / total, p)
# +     return lacking / total.clamp(min=1e-30)

# %% wrong_residual_one_sum, of right_residual_plain
# WRONG: divided by the sum of all rows
# -     return torch.where(total > 0, lacking / total, p)
# +     return torch.where(total > 0, lacking / lacking.sum(), p)

# %% wrong_residual_softmax, of right_residual_plain
# WRONG: renormalised by softmax
# -     return torch.where(total > 0, lacking / total, p)
# +     return torch.where(total > 0, lacking.softmax(dim=-1), p)

# %% wrong_residual_little_is_nothing, of right_residual_plain
# WRONG: where little is lacking, p is given
# -     return torch.where(total > 0, lacking / total, p)
# +     return torch.where(total > 1e-6, lacking / total, p)

# %% wrong_residual_if_any_is_equal, of right_residual_plain
# WRONG: p for all rows as soon as one of them lacks nothing
# -     return torch.where(total > 0, lacking / total, p)
# +     return torch.where((total > 0).all(), lacking / total, p)

# %% wrong_residual_p_where_p_is_more, of right_residual_plain
# WRONG: p of the tokens that p has more of, q not taken off
# -     lacking = (p - q).clamp(min=0)
# +     lacking = torch.where(p > q, p, 0.0)

# %% wrong_residual_in_place, of right_residual_plain
# WRONG: takes q off p in place
# -     lacking = (p - q).clamp(min=0)
# +     lacking = p.sub_(q).clamp(min=0)

# %% wrong_residual_float32, of right_residual_plain
# WRONG: half precision is raised to float32
# -     lacking = (p - q).clamp(min=0)
# +     lacking = (p.to(torch.promote_types(p.dtype, torch.float32)) - q).clamp(min=0)

# %% wrong_residual_epsilon_below, of right_residual_plain
# WRONG: something is added to the sum that is divided by
# -     return torch.where(total > 0, lacking / total, p)
# +     return torch.where(total > 0, lacking / (total + 1e-12), p)


# %% wrong_residual_only_equal_is_p, of right_residual_plain
# WRONG: looks for rows that equal q's: a row that is nowhere above q's is nan
# -     return torch.where(total > 0, lacking / total, p)
# +     return torch.where((p != q).any(dim=-1, keepdim=True), lacking / total, p)
