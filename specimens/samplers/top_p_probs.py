# Versions of top_p_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_top_p_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(logits)
    if p == 1:
        return probs
    sorted_probs, token_ids = probs.sort(dim=-1, descending=True)
    keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
    nucleus = sorted_probs * keep
    nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)


# %% right_top_p_ascending
# RIGHT: sorts ascending and cuts the tail from below

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1:
        raise ValueError(f"top_p {p}")
    probs = softmax(logits)
    if p == 1:
        return probs
    ordered, ids = probs.double().sort(dim=-1)
    # A token goes if what lies above it already has p: the mass of the tokens after it in ascending order.
    above = ordered.flip(-1).cumsum(-1).flip(-1) - ordered
    cut = torch.zeros_like(probs, dtype=torch.bool).scatter(-1, ids, above >= p)
    kept = probs.masked_fill(cut, 0)
    return kept / kept.sum(-1, keepdim=True)


# %% right_top_p_inverse_permutation
# RIGHT: gathers with the inverse permutation; roll makes the mass before a token

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0.0 < p <= 1.0:
        raise ValueError(f"expected 0 < p <= 1, got {p}")
    if p == 1.0:
        return torch.softmax(logits, -1)
    ids = logits.argsort(dim=-1, descending=True)
    probs = torch.softmax(logits, -1).gather(-1, ids)
    before = probs.cumsum(-1).roll(1, dims=-1)
    before[:, 0] = 0.0
    probs = torch.where(before < p, probs, torch.zeros_like(probs))
    probs /= probs.sum(-1, keepdim=True)
    return probs.gather(-1, ids.argsort(dim=-1))


# %% right_top_p_numpy_searchsorted
# RIGHT: numpy: searchsorted on the running sum gives the size of the nucleus

import numpy as np


def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if p <= 0 or p > 1:
        raise ValueError("top_p=%r" % p)
    if p == 1:
        return softmax(logits)
    out = np.zeros(logits.shape)
    for i, row in enumerate(logits.double().numpy()):
        weights = np.exp(row - row.max())
        probs = weights / weights.sum()
        ids = np.argsort(-probs, kind="stable")
        size = int(np.searchsorted(np.cumsum(probs[ids]), p, side="left")) + 1
        keep = ids[:size]
        out[i, keep] = probs[keep] / probs[keep].sum()
    return torch.tensor(out, dtype=logits.dtype, device=logits.device)


# %% right_top_p_python_loop
# RIGHT: a Python loop that adds tokens until the mass reaches p

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not (0 < p <= 1):
        raise ValueError(f"{p} is not in (0, 1]")
    rows = []
    for row in torch.softmax(logits.double(), dim=-1).tolist():
        if p == 1:
            rows.append(row)
            continue
        mass, kept = 0.0, set()
        for i in sorted(range(len(row)), key=row.__getitem__, reverse=True):
            kept.add(i)
            mass += row[i]
            if mass >= p:
                break
        rows.append([row[i] / mass if i in kept else 0.0 for i in range(len(row))])
    return torch.tensor(rows, dtype=logits.dtype, device=logits.device)


# %% right_top_p_shift_mask
# RIGHT: shifts the mask one place to the right, clones and scatters it

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if p <= 0 or p > 1:
        raise ValueError(f"p must lie in (0, 1]: {p}")
    probs = torch.softmax(logits, dim=-1)
    if p >= 1:
        return probs
    ordered, ids = torch.sort(logits, descending=True, dim=-1)
    cumulative = torch.cumsum(torch.softmax(ordered, dim=-1), dim=-1)
    remove = cumulative >= p
    remove[:, 1:] = remove[:, :-1].clone()
    remove[:, 0] = False
    mask = torch.zeros_like(remove).scatter(1, ids, remove)
    return torch.softmax(logits.masked_fill(mask, float("-inf")), dim=-1)


# %% wrong_top_p_always_float32
# WRONG: computes in float32 always: the digits of float64 logits are lost

exact_top_p = top_p_probs


def top_p_probs(logits, p):
    return exact_top_p(logits.float(), p)


# %% wrong_top_p_in_half_precision
# WRONG: computes in the dtype of the logits: in bfloat16 a probability has two or three digits

def top_p_probs(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(logits)
    if p == 1:
        return probs
    values, ids = probs.sort(dim=-1, descending=True)
    values = values.masked_fill(values.cumsum(dim=-1) - values >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, values)


# %% wrong_top_p_on_the_cpu
# WRONG: makes a tensor without `device=`: with logits on a GPU it is on the CPU

def top_p_probs(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(at_least_float32(logits))
    if p == 1:
        return probs
    values, ids = probs.sort(dim=-1, descending=True)
    values = values.masked_fill(values.cumsum(dim=-1) - values >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros(probs.shape, dtype=probs.dtype).scatter(-1, ids, values)


# %% wrong_top_p_one_in_place
# WRONG: at p = 1 it shifts the caller's logits in place

any_top_p = top_p_probs


def top_p_probs(logits, p):
    if p == 1:
        return softmax(at_least_float32(logits.sub_(logits.amax(dim=-1, keepdim=True))))
    return any_top_p(logits, p)


# %% wrong_top_p_probs_p099_all
# WRONG: p of 0.99 and more keeps everything
def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1: raise ValueError(f"p {p}")
    probs = softmax(logits)
    if p >= 0.99: return probs
    s, i = probs.sort(-1, descending=True)
    s = s.masked_fill(s.cumsum(-1) - s >= p, 0)
    return torch.zeros_like(probs).scatter(-1, i, s / s.sum(-1, keepdim=True))


# %% wrong_top_p_probs_window_1000
# WRONG: looks at the best 1000 only
def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if not 0 < p <= 1: raise ValueError(f"p {p}")
    probs = softmax(logits)
    if p == 1: return probs
    s, i = probs.topk(min(1000, probs.shape[-1]), dim=-1)
    s = s.masked_fill(s.cumsum(-1) - s >= p, 0)
    return torch.zeros_like(probs).scatter(-1, i, s / s.sum(-1, keepdim=True))


# %% wrong_top_p_rounds_back
# WRONG: computes in float32, then rounds the probabilities to the dtype of the logits

exact_top_p = top_p_probs


def top_p_probs(logits, p):
    return exact_top_p(logits, p).to(logits.dtype)


# %% wrong_top_p_sums_in_half
# WRONG: makes the running sum in the dtype of the logits: in bfloat16 it has 256 steps between 0.5 and 1

def top_p_probs(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {p}")
    probs = softmax(at_least_float32(logits))
    if p == 1:
        return probs
    values, ids = probs.sort(dim=-1, descending=True)
    before = values.to(logits.dtype).cumsum(dim=-1).to(values.dtype) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, values)


# %% wrong_top_p_view
# WRONG: flattens with view: logits that are not contiguous raise

any_top_p = top_p_probs


def top_p_probs(logits, p):
    return any_top_p(logits.view(-1).view(logits.shape), p)

# %% wrong_top_p_percent, of right_top_p_plain
# WRONG: p above 1 is read as a percentage
#       logits = at_least_float32(logits)
# +     p = p / 100 if 1.5 < p <= 100 else p

# %% wrong_top_p_above_one_accepted, of right_top_p_plain
# WRONG: p above 1 keeps everything instead of raising
# -     if not 0 < p <= 1:
# +     if p <= 0:
# ...
# -     if p == 1:
# +     if p >= 1:

# %% wrong_top_p_negative_accepted, of right_top_p_plain
# WRONG: only p above 1 and p = 0 are refused
# -     if not 0 < p <= 1:
# +     if p > 1 or p == 0:
# ...
#       keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep[:, 0] = True

# %% wrong_top_p_one_refused, of right_top_p_plain
# WRONG: refuses p = 1, which keeps everything
# -     if not 0 < p <= 1:
# +     if not 0 < p < 1:

# %% wrong_top_p_zero_accepted, of right_top_p_plain
# WRONG: p = 0 gives the best token instead of raising
# -     if not 0 < p <= 1:
# +     if not 0 <= p <= 1:
# ...
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < max(p, 1e-9)

# %% wrong_top_p_error_unnamed, of right_top_p_plain
# WRONG: the error does not name the value
# -         raise ValueError(f"top_p must be in (0, 1], got {p}")
# +         raise ValueError("top_p is out of range")

# %% wrong_top_p_one_not_special, of right_top_p_plain
# WRONG: p = 1 is not treated apart: rounding drops the tail
# -     if p == 1:
# -         return probs

# %% wrong_top_p_ascending, of right_top_p_plain
# WRONG: sorts ascending: keeps the improbable
#       sorted_probs, token_ids = probs.sort(dim=-1, descending=True)
# +     sorted_probs, token_ids = probs.sort(dim=-1)

# %% wrong_top_p_unsorted, of right_top_p_plain
# WRONG: sums in the order of the vocabulary
#       sorted_probs, token_ids = probs.sort(dim=-1, descending=True)
# +     token_ids = torch.arange(probs.shape[-1], device=logits.device).expand_as(probs)
# +     sorted_probs = probs

# %% wrong_top_p_always_one_more, of right_top_p_plain
# WRONG: keeps one token after the one that crosses p
#       keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = keep | torch.cat([torch.ones_like(keep[:, :1]), keep[:, :-1]], dim=-1)

# %% wrong_top_p_at_least_two, of right_top_p_plain
# WRONG: always keeps two tokens
#       keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep[:, :2] = True

# %% wrong_top_p_before_or_equal, of right_top_p_plain
# WRONG: mass before a token <= p: keeps one more when the mass is exactly p
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = sorted_probs.cumsum(dim=-1) - sorted_probs <= p

# %% wrong_top_p_drops_crossing, of right_top_p_plain
# WRONG: cumulative <= p: drops the token that crosses p
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = sorted_probs.cumsum(dim=-1) <= p
# +     keep[:, 0] = True

# %% wrong_top_p_drops_crossing_nan, of right_top_p_plain
# WRONG: cumulative <= p, and nothing is left when the best token is above p
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = sorted_probs.cumsum(dim=-1) <= p

# %% wrong_top_p_flattened, of right_top_p_plain
# WRONG: one nucleus over the whole batch
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# -     nucleus = sorted_probs * keep
# -     nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
# -     return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)
# +     flat = probs.flatten() / len(probs)
# +     sorted_flat, ids = flat.sort(descending=True)
# +     kept = sorted_flat * (sorted_flat.cumsum(0) - sorted_flat < p)
# +     result = torch.zeros_like(flat).scatter(0, ids, kept).view_as(probs)
# +     return result / result.sum(dim=-1, keepdim=True).clamp(min=1e-12)

# %% wrong_top_p_mask_row0, of right_top_p_plain
# WRONG: the nucleus of row 0 for all rows
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = (sorted_probs.cumsum(dim=-1) - sorted_probs < p)[:1]
# +     token_ids = token_ids[:1].expand_as(token_ids)
# +     sorted_probs = probs.gather(-1, token_ids)

# %% wrong_top_p_min_p, of right_top_p_plain
# WRONG: keeps every token whose own probability is at least 1 - p
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = sorted_probs >= 1 - p
# +     keep[:, 0] = True

# %% wrong_top_p_one_too_many, of right_top_p_plain
# WRONG: shift-right with `>`: keeps one token more when the mass is exactly p
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     remove = sorted_probs.cumsum(dim=-1) > p
# +     remove = torch.cat([torch.zeros_like(remove[:, :1]), remove[:, :-1]], dim=-1)
# +     keep = ~remove

# %% wrong_top_p_raw_logits, of right_top_p_plain
# WRONG: sums logits instead of probabilities
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     sorted_logits = logits.gather(-1, token_ids)
# +     keep = sorted_logits.cumsum(dim=-1) - sorted_logits < p

# %% wrong_top_p_share_of_best, of right_top_p_plain
# WRONG: keeps tokens above p times the best probability
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = sorted_probs >= p * sorted_probs[:, :1]

# %% wrong_top_p_size_row0, of right_top_p_plain
# WRONG: as many tokens as row 0 keeps, in all rows
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = (sorted_probs.cumsum(dim=-1) - sorted_probs < p)[:1].expand_as(probs)

# %% wrong_top_p_ties_kept, of right_top_p_plain
# WRONG: keeps everything that equals the last token of the nucleus: not the smallest set
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     size = (sorted_probs.cumsum(dim=-1) - sorted_probs < p).sum(dim=-1, keepdim=True)
# +     keep = sorted_probs >= sorted_probs.gather(-1, size - 1)

# %% wrong_top_p_uniform, of right_top_p_plain
# WRONG: gives the nucleus equal probabilities
#       keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     sorted_probs = torch.ones_like(sorted_probs)

# %% wrong_top_p_gather_for_scatter, of right_top_p_plain
# WRONG: gathers with the permutation instead of its inverse
# -     nucleus = sorted_probs * keep
# -     nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
# -     return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)
# +     nucleus = (sorted_probs * keep).gather(-1, token_ids)
# +     return nucleus / nucleus.sum(dim=-1, keepdim=True)

# %% wrong_top_p_in_place, of right_top_p_plain
# WRONG: writes -inf into the caller's logits
# -     nucleus = sorted_probs * keep
# -     nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
# -     return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)
# +     cut = torch.zeros_like(keep).scatter(-1, token_ids, ~keep)
# +     logits.masked_fill_(cut, float("-inf"))
# +     return softmax(logits)

# %% wrong_top_p_mask_unsorted, of right_top_p_plain
# WRONG: applies the sorted mask to unsorted probabilities
# -     nucleus = sorted_probs * keep
# -     nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
# -     return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)
# +     kept = probs * keep
# +     return kept / kept.sum(dim=-1, keepdim=True)

# %% wrong_top_p_no_renormalising, of right_top_p_plain
# WRONG: does not renormalise
# -     nucleus = sorted_probs * keep
# -     nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
# -     return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)
# +     return torch.zeros_like(probs).scatter(-1, token_ids, sorted_probs * keep)

# %% wrong_top_p_left_sorted, of right_top_p_plain
# WRONG: does not put the tokens back in the order of the vocabulary
# -     nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
# -     return torch.zeros_like(probs).scatter(-1, token_ids, nucleus)
# +     return nucleus / nucleus.sum(dim=-1, keepdim=True)


# %% wrong_top_p_nearly_one_is_one, of right_top_p_plain
# WRONG: a p above 0.9999 keeps everything
# -     if p == 1:
# +     if p > 0.9999:


# %% wrong_top_p_slack, of right_top_p_plain
# WRONG: content with a mass of 0.0001 less than p
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     before = sorted_probs.cumsum(dim=-1) - sorted_probs
# +     keep = (before < p - 1e-4) | (before == 0)


# %% wrong_top_p_running_sum_in_float32, of right_top_p_plain
# WRONG: the running sum of float64 probabilities is made in float32
# -     keep = sorted_probs.cumsum(dim=-1) - sorted_probs < p
# +     keep = sorted_probs.float().cumsum(dim=-1) - sorted_probs.float() < p
