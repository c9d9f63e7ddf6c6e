# Versions of min_p_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_min_p_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def min_p_probs(logits: Tensor, min_p: float) -> Tensor:
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must be in [0, 1], got {min_p}")
    probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    threshold = min_p * probs.amax(dim=-1, keepdim=True)  # (B, 1): high where the model is sure, low where it is not
    kept = probs.masked_fill(probs < threshold, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% right_min_p_loop
# RIGHT: plain Python, token by token

import math

def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    result = []
    for row in logits.tolist():
        top = max(row)
        weights = [math.exp(x - top) for x in row]
        weights = [w if w >= min_p * 1.0 else 0.0 for w in weights]
        total = sum(weights)
        result.append([w / total for w in weights])
    return torch.tensor(result, dtype=torch.promote_types(logits.dtype, torch.float32))


# %% right_min_p_numpy
# RIGHT: numpy, one row at a time

import numpy as np

def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    out = []
    for row in logits.detach().double().numpy():
        e = np.exp(row - row.max())
        e[e < min_p] = 0.0
        out.append(e / e.sum())
    return torch.from_numpy(np.stack(out)).to(torch.promote_types(logits.dtype, torch.float32))


# %% right_min_p_on_logits
# RIGHT: the threshold as a gap of logits: ln p - ln max p >= ln min_p

def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    gap = torch.tensor(float(min_p), dtype=logits.dtype).log()
    best = logits.max(dim=-1, keepdim=True).values
    return torch.softmax(torch.where(logits - best >= gap, logits, float("-inf")), dim=-1)


# %% right_min_p_sorted
# RIGHT: sorted, cut after the last token that qualifies, scattered back

def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    values, order = logits.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32)).sort(dim=-1, descending=True)
    keep = values >= min_p * values[:, :1]
    values = values * keep
    values = values / values.sum(-1, keepdim=True)
    out = torch.empty_like(values)
    out.scatter_(-1, order, values)
    return out


# %% wrong_min_p_absolute
# WRONG: min_p itself is the threshold, not min_p times the best probability

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill((probs < min_p) & (probs < probs.amax(-1, keepdim=True)), 0.0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_difference
# WRONG: within min_p of the best, instead of a share of it

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < probs.amax(-1, keepdim=True) - (1 - min_p), 0.0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_first_row
# WRONG: the first row's threshold is used for all rows

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs[0].max(), 0.0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_first_row_mask
# WRONG: the mask of row 0 is used for all rows

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    keep = (probs >= min_p * probs.amax(-1, keepdim=True))[0]
    kept = probs * keep
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_gives_logits
# WRONG: filtered logits instead of probabilities

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return logits.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), float("-inf"))


# %% wrong_min_p_greedy
# WRONG: only the best token

def min_p_probs(logits, min_p):
    return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)


# %% wrong_min_p_in_place
# WRONG: the caller's logits are overwritten

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    logits[probs < min_p * probs.amax(-1, keepdim=True)] = float("-inf")
    return softmax(logits)


# %% wrong_min_p_log_zero
# WRONG: math.log(0): min_p = 0 raises

import math

def min_p_probs(logits, min_p):
    best = logits.amax(-1, keepdim=True)
    return softmax(logits.masked_fill(logits < best + math.log(min_p), float("-inf")))


# %% wrong_min_p_masked_stay_alive
# WRONG: a token of logit -inf gets a little probability

def min_p_probs(logits, min_p):
    logits = logits.clamp_min(logits[logits > float("-inf")].min() - 1.0)
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), 0.0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_masked_to_zero_logits
# WRONG: what is cut gets logit 0 instead of -inf

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return softmax(logits.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), 0.0))


# %% wrong_min_p_no_filter
# WRONG: plain softmax

def min_p_probs(logits, min_p):
    return softmax(logits)


# %% wrong_min_p_no_max_subtraction
# WRONG: exp without subtracting the maximum

def min_p_probs(logits, min_p):
    weights = logits.exp()
    kept = weights.masked_fill(weights < min_p * weights.amax(-1, keepdim=True), 0.0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_not_renormalised
# WRONG: what is kept is not divided by its sum

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return probs.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), 0.0)


# %% wrong_min_p_on_raw_logits
# WRONG: the share is taken of the highest logit

def min_p_probs(logits, min_p):
    keep = logits >= min_p * logits.amax(-1, keepdim=True)
    return softmax(logits.masked_fill(~keep, float("-inf")))


# %% wrong_min_p_probs_fill1e4
# WRONG: filled with -1e4: wrong where all logits are far below
def min_p_probs(logits: Tensor, min_p: float) -> Tensor:
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must be in [0, 1], got {min_p}")
    probs = softmax(logits)
    threshold = min_p * probs.amax(dim=-1, keepdim=True)  # (B, 1): high where the model is sure, low where it is not
    kept = probs.masked_fill(probs < threshold, 0.0)
    return softmax(logits.masked_fill(probs < threshold, -1e4))


# %% wrong_min_p_probs_topk50
# WRONG: only the best 50 looked at
def min_p_probs(logits: Tensor, min_p: float) -> Tensor:
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must be in [0, 1], got {min_p}")
    probs = softmax(logits)
    threshold = min_p * probs.amax(dim=-1, keepdim=True)  # (B, 1): high where the model is sure, low where it is not
    fifty = probs.topk(min(50, probs.shape[-1])).values[:, -1:]
    threshold = torch.maximum(threshold, fifty)
    kept = probs.masked_fill(probs < threshold, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% wrong_min_p_share_of_entropy
# WRONG: the share is taken of the average probability

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.mean(-1, keepdim=True), 0.0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_softmax_of_probabilities
# WRONG: softmax a second time to renormalise

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    return softmax(probs.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), float("-inf")))


# %% wrong_min_p_strict
# WRONG: a token exactly at the threshold is cut

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    top = probs.amax(-1, keepdim=True)
    keep = (probs > min_p * top) | torch.zeros_like(probs, dtype=torch.bool).scatter(-1, probs.argmax(-1, keepdim=True), True)
    kept = probs * keep
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_strict_no_survivor
# WRONG: strictly above the threshold: nothing survives min_p = 1

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = torch.where(probs > min_p * probs.amax(-1, keepdim=True), probs, 0.0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_top_p
# WRONG: keeps the smallest set of mass 1 - min_p: that is top-p

def min_p_probs(logits, min_p):
    if min_p == 0:
        return softmax(logits)
    probs, ids = softmax(logits).sort(-1, descending=True)
    before = probs.cumsum(-1) - probs
    probs = probs.masked_fill((before >= 1 - min_p) & (before > 0), 0.0)
    probs = probs / probs.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, probs)


# %% wrong_min_p_whole_batch
# WRONG: the threshold is taken from the best of the whole batch

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.max(), 0.0)
    return kept / kept.sum(-1, keepdim=True).clamp_min(1e-9)


# %% wrong_min_p_wrong_dimension
# WRONG: maximum and sum over the batch dimension

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = probs.masked_fill(probs < min_p * probs.amax(0, keepdim=True), 0.0)
    return kept / kept.sum(0, keepdim=True)

# %% wrong_min_p_asserts, of right_min_p_plain
# WRONG: raises an AssertionError instead of a ValueError
# -     if not 0 <= min_p <= 1:
# -         raise ValueError(f"min_p must be in [0, 1], got {min_p}")
# +     assert 0 <= min_p <= 1

# %% wrong_min_p_clamped, of right_min_p_plain
# WRONG: a min_p outside of 0 to 1 is moved to the border instead of refused
# -     if not 0 <= min_p <= 1:
# -         raise ValueError(f"min_p must be in [0, 1], got {min_p}")
# +     min_p = min(max(min_p, 0.0), 1.0)

# %% wrong_min_p_nothing_refused, of right_min_p_plain
# WRONG: takes any min_p: no ValueError
# -     if not 0 <= min_p <= 1:
# -         raise ValueError(f"min_p must be in [0, 1], got {min_p}")

# %% wrong_min_p_refuses_one, of right_min_p_plain
# WRONG: refuses min_p = 1, which keeps the best
# -     if not 0 <= min_p <= 1:
# +     if not 0 <= min_p < 1:

# %% wrong_min_p_refuses_only_above, of right_min_p_plain
# WRONG: a min_p below 0 is not refused
# -     if not 0 <= min_p <= 1:
# +     if min_p > 1:

# %% wrong_min_p_refuses_only_below, of right_min_p_plain
# WRONG: a min_p above 1 is not refused
# -     if not 0 <= min_p <= 1:
# +     if min_p < 0:

# %% wrong_min_p_refuses_zero, of right_min_p_plain
# WRONG: refuses min_p = 0, which keeps everything
# -     if not 0 <= min_p <= 1:
# +     if not 0 < min_p <= 1:

# %% wrong_min_p_zero_means_default, of right_min_p_plain
# WRONG: min_p = 0 is taken for a default of 0.001
#           raise ValueError(f"min_p must be in [0, 1], got {min_p}")
# +     min_p = min_p or 1e-3

# %% wrong_min_p_first_32000, of right_min_p_plain
# WRONG: only the first 32,000 tokens are looked at
#       probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
# +     probs[:, 32_000:] = 0

# %% wrong_min_p_float32_always, of right_min_p_plain
# WRONG: always works in float32: float64 logits lose their digits
# -     probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
# +     probs = softmax(logits.float())

# %% wrong_min_p_near_best_kept, of right_min_p_plain
# WRONG: a token whose logit is within 0.001 of the best is kept, whatever min_p
# -     kept = probs.masked_fill(probs < threshold, 0.0)
# +     kept = probs.masked_fill((probs < threshold) & (logits < logits.amax(dim=-1, keepdim=True) - 1e-3), 0.0)


# %% wrong_min_p_zero_in_half, of right_min_p_plain
# WRONG: at min_p = 0 half precision is not raised to float32
# +     if min_p == 0:
# +         return softmax(logits)
#       probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))


# %% wrong_min_p_float64_in_place
# WRONG: fills its float64 form, which for float64 logits is the caller's tensor
def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p must be in [0, 1], got {min_p}")
    wide = logits.double()
    probs = softmax(wide)
    wide.masked_fill_(probs < min_p * probs.amax(dim=-1, keepdim=True), float("-inf"))
    return softmax(wide).to(torch.promote_types(logits.dtype, torch.float32))


# %% wrong_min_p_zero_is_a_millionth
# WRONG: raises min_p to a millionth: at 0, what is less probable than that is cut
def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    kept = torch.where(probs >= max(min_p, 1e-6) * probs.amax(-1, keepdim=True), probs, 0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_nan_accepted
# WRONG: a min_p of nan is neither below 0 nor above 1, so nothing is raised
def min_p_probs(logits, min_p):
    if min_p < 0 or min_p > 1:
        raise ValueError(min_p)
    probs = softmax(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    kept = probs.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), 0)
    return kept / kept.sum(-1, keepdim=True)


# %% wrong_min_p_cut_at_minus_ten_thousand
# WRONG: cut tokens get the logit -1e4 and a second softmax, which gives them a share where the logits are lower
def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(wide)
    return softmax(wide.masked_fill(probs < min_p * probs.amax(-1, keepdim=True), -1e4))
