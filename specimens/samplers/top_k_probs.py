# Versions of top_k_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_top_k_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    k = min(k, logits.shape[-1])
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))


# %% right_top_k_count_larger
# RIGHT: counts for each token how many are larger

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"got k = {k}, need k >= 1")
    ordered = logits.sort(dim=-1).values
    larger = logits.shape[-1] - torch.searchsorted(ordered, logits.contiguous(), right=True)  # (B, V): tokens above each token
    return softmax(logits.masked_fill(larger >= k, float("-inf")))


# %% right_top_k_kthvalue
# RIGHT: kthvalue finds the threshold

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"k={k}")
    size = logits.shape[-1]
    if k >= size:
        return torch.softmax(logits, -1)
    threshold = logits.kthvalue(size - k + 1, dim=-1, keepdim=True).values
    return torch.softmax(torch.where(logits >= threshold, logits, torch.tensor(float("-inf"), device=logits.device)), -1)


# %% right_top_k_mask_probs
# RIGHT: softmax first, mask and renormalise afterwards

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be positive but is {k}")
    probs = torch.softmax(logits.double(), dim=-1)
    ordered, _ = torch.sort(logits, dim=-1, descending=True)
    threshold = ordered[:, min(k, ordered.shape[1]) - 1].unsqueeze(1)
    probs = probs * (logits >= threshold)
    return (probs / probs.sum(dim=-1, keepdim=True)).to(logits.dtype)


# %% right_top_k_numpy_partition
# RIGHT: numpy partition, row by row

import numpy as np


def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    out = np.zeros(logits.shape, dtype=np.float64)
    for i, row in enumerate(logits.numpy().astype(np.float64)):
        kk = min(k, len(row))
        kth = np.partition(row, len(row) - kk)[len(row) - kk]
        chosen = row >= kth
        weights = np.where(chosen, np.exp(row - row.max()), 0.0)
        out[i] = weights / weights.sum()
    return torch.from_numpy(out).to(logits.dtype)


# %% right_top_k_very_negative
# RIGHT: cuts with a very negative number in a clone instead of -inf

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"k: {k}")
    copy = logits.clone()
    for row in copy:
        kth = row.sort(descending=True)[0][min(k, row.numel()) - 1]
        row[row < kth] = torch.finfo(row.dtype).min
    return torch.nn.functional.softmax(copy, dim=-1)


# %% wrong_top_k_all_in_place
# WRONG: where everything is kept it shifts the caller's logits in place

any_top_k = top_k_probs


def top_k_probs(logits, k):
    if k >= logits.shape[-1]:
        return softmax(at_least_float32(logits.sub_(logits.amax(dim=-1, keepdim=True))))
    return any_top_k(logits, k)


# %% wrong_top_k_always_float32
# WRONG: computes in float32 always: the digits of float64 logits are lost

exact_top_k = top_k_probs


def top_k_probs(logits, k):
    return exact_top_k(logits.float(), k)


# %% wrong_top_k_distinct_values
# WRONG: takes the k-th of the different values: with ties more than they are kept

def top_k_probs(logits, k):
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    rows = []
    for x in at_least_float32(logits):
        values = x.unique().sort(descending=True).values
        rows.append(x.masked_fill(x < values[min(k, len(values)) - 1], float("-inf")))
    return softmax(torch.stack(rows))


# %% wrong_top_k_in_half_precision
# WRONG: computes in the dtype of the logits: in bfloat16 a probability has two or three digits

def top_k_probs(logits, k):
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    kth = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < kth, float("-inf")))


# %% wrong_top_k_nearly_equal
# WRONG: takes logits within a tolerance of the k-th for ties

def top_k_probs(logits, k):
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    logits = at_least_float32(logits)
    kth = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < kth - 1e-6, float("-inf")))


# %% wrong_top_k_probs_fill_1e4
# WRONG: forbidden tokens get -1e4, not small beside -20000
def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1: raise ValueError(f"top_k {k}")
    t = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < t, -1e4))


# %% wrong_top_k_probs_isclose
# WRONG: keeps tokens whose logit is nearly the k-th, too
def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1: raise ValueError(f"top_k {k}")
    t = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < t - 1e-3, float("-inf")))


# %% wrong_top_k_rounds_back
# WRONG: computes in float32, then rounds the probabilities to the dtype of the logits

exact_top_k = top_k_probs


def top_k_probs(logits, k):
    return exact_top_k(logits, k).to(logits.dtype)


# %% wrong_top_k_through_probs
# WRONG: compares probabilities: logits that differ by less than softmax can show count as ties

def top_k_probs(logits, k):
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    probs = softmax(at_least_float32(logits))
    kth = probs.topk(min(k, probs.shape[-1]), dim=-1).values[:, -1:]
    kept = probs.masked_fill(probs < kth, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% wrong_top_k_view
# WRONG: flattens with view: logits that are not contiguous raise

any_top_k = top_k_probs


def top_k_probs(logits, k):
    return any_top_k(logits.view(-1).view(logits.shape), k)

# %% wrong_top_k_clamped, of right_top_k_plain
# WRONG: a bad k is raised to 1 in silence
# -     if k < 1:
# -         raise ValueError(f"top_k must be 1 or more, got {k}")
# -     k = min(k, logits.shape[-1])
# +     k = max(1, min(k, logits.shape[-1]))

# %% wrong_top_k_zero_accepted, of right_top_k_plain
# WRONG: k = 0 switches the filter off instead of raising
# -     if k < 1:
# +     if k < 0:
#           raise ValueError(f"top_k must be 1 or more, got {k}")
# -     k = min(k, logits.shape[-1])
# +     k = min(k or logits.shape[-1], logits.shape[-1])

# %% wrong_top_k_error_unnamed, of right_top_k_plain
# WRONG: the error does not name the value
# -         raise ValueError(f"top_k must be 1 or more, got {k}")
# +         raise ValueError("top_k is too small")

# %% wrong_top_k_large_k_raises, of right_top_k_plain
# WRONG: k above V is not clamped: topk raises
# -     k = min(k, logits.shape[-1])

# %% wrong_top_k_one_too_many, of right_top_k_plain
# WRONG: keeps k + 1 tokens
#       k = min(k, logits.shape[-1])
# +     k = min(k + 1, logits.shape[-1])

# %% wrong_top_k_ascending, of right_top_k_plain
# WRONG: sorts ascending: the lowest k-th value is the threshold
# -     kth_logit = logits.topk(k, dim=-1).values[:, -1:]
# +     kth_logit = logits.sort(dim=-1).values[:, k - 1 : k]

# %% wrong_top_k_drops_ties, of right_top_k_plain
# WRONG: keeps exactly k indices, so ties are cut
# -     kth_logit = logits.topk(k, dim=-1).values[:, -1:]
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     top = logits.topk(k, dim=-1)
# +     return softmax(torch.full_like(logits, float("-inf")).scatter(-1, top.indices, top.values))

# %% wrong_top_k_first_row, of right_top_k_plain
# WRONG: the threshold of row 0 for all rows
# -     kth_logit = logits.topk(k, dim=-1).values[:, -1:]
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     kth_logit = logits[0].topk(k).values[-1]
# +     cut = logits.masked_fill(logits < kth_logit, float("-inf"))
# +     return softmax(cut).nan_to_num(0.0)

# %% wrong_top_k_lowest_kept, of right_top_k_plain
# WRONG: keeps the k lowest
# -     kth_logit = logits.topk(k, dim=-1).values[:, -1:]
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     kth_logit = logits.topk(k, dim=-1, largest=False).values[:, -1:]
# +     return softmax(logits.masked_fill(logits > kth_logit, float("-inf")))

# %% wrong_top_k_returns_sorted, of right_top_k_plain
# WRONG: returns the k survivors' probabilities in sorted order, padded
# -     kth_logit = logits.topk(k, dim=-1).values[:, -1:]
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     top = softmax(logits.topk(k, dim=-1).values)
# +     return torch.nn.functional.pad(top, (0, logits.shape[-1] - k))

# %% wrong_top_k_banned_nan, of right_top_k_plain
# WRONG: masks by multiplication: -inf times 0 is nan
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     keep = (logits >= kth_logit).float()
# +     return softmax(logits * keep - 1e9 * (1 - keep))

# %% wrong_top_k_batch_sum, of right_top_k_plain
# WRONG: renormalises over the whole batch
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     probs = softmax(logits).masked_fill(logits < kth_logit, 0.0)
# +     return probs * len(probs) / probs.sum()

# %% wrong_top_k_drops_kth, of right_top_k_plain
# WRONG: cuts the k-th token itself
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     return softmax(logits.masked_fill(logits <= kth_logit, float("-inf")).where(logits < logits.amax(-1, keepdim=True), logits))

# %% wrong_top_k_in_place, of right_top_k_plain
# WRONG: writes -inf into the caller's logits
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     logits[logits < kth_logit] = float("-inf")
# +     return softmax(logits)

# %% wrong_top_k_mask_of_first_row, of right_top_k_plain
# WRONG: the mask of row 0 for all rows
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     mask = (logits < kth_logit)[:1].expand_as(logits)
# +     return softmax(logits.masked_fill(mask, float("-inf")))

# %% wrong_top_k_minus_hundred, of right_top_k_plain
# WRONG: sets cut logits to -100: below nothing when all logits are lower
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     return softmax(logits.masked_fill(logits < kth_logit, -100.0))

# %% wrong_top_k_no_renormalising, of right_top_k_plain
# WRONG: cuts probabilities and does not renormalise
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     return softmax(logits).masked_fill(logits < kth_logit, 0.0)

# %% wrong_top_k_uniform, of right_top_k_plain
# WRONG: gives the survivors equal probabilities
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     kept = (logits >= kth_logit).float()
# +     return kept / kept.sum(dim=-1, keepdim=True)

# %% wrong_top_k_zero_logits, of right_top_k_plain
# WRONG: sets cut logits to 0, which is a logit like any other
# -     return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
# +     return softmax(logits.masked_fill(logits < kth_logit, 0.0))


# %% wrong_top_k_at_most_1024, of right_top_k_plain
# WRONG: a k above 1,024 is taken as 1,024
# -     k = min(k, logits.shape[-1])
# +     k = min(k, logits.shape[-1], 1024)


# %% wrong_top_k_minus_one_keeps_everything, of right_top_k_plain
# WRONG: k = -1 switches the filter off, as in other libraries instead of an error
# -     if k < 1:
# +     if k == -1:
# +         k = logits.shape[-1]
# +     if k < 1:
