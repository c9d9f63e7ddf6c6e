# Versions of typical_probs, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_typical_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def typical_probs(logits, mass):
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% right_typical_loop
# RIGHT: plain Python, a row at a time

import math

def typical_probs(logits, mass):
    if not 0 < mass <= 1:
        raise ValueError(f"mass {mass}")
    rows = []
    for row in torch.softmax(logits.double(), -1).tolist():
        h = -sum(p * math.log(p) for p in row if p > 0)
        order = sorted(range(len(row)), key=lambda i: abs(-math.log(row[i]) - h) if row[i] > 0 else math.inf)
        total, keep = 0.0, set()
        for i in order:
            keep.add(i)
            total += row[i]
            if total >= mass and mass < 1:
                break
        rows.append([p / total if i in keep else 0.0 for i, p in enumerate(row)])
    return torch.tensor(rows, dtype=torch.promote_types(logits.dtype, torch.float32))


# %% right_typical_numpy
# RIGHT: numpy with searchsorted

import numpy as np

def typical_probs(logits, mass):
    if not 0 < mass <= 1:
        raise ValueError(f"mass {mass}")
    out = np.zeros(tuple(logits.shape))
    for b, row in enumerate(logits.double().numpy()):
        row = row - row.max()
        p = np.exp(row) / np.exp(row).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            surprise = -np.log(p)
            h = np.where(p > 0, p * surprise, 0).sum()
        order = np.argsort(np.abs(surprise - h), kind="stable")
        n = len(row) if mass == 1 else np.searchsorted(np.cumsum(p[order]), mass - 1e-12) + 1
        chosen = order[:n]
        out[b, chosen] = p[chosen] / p[chosen].sum()
    return torch.from_numpy(out).to(torch.promote_types(logits.dtype, torch.float32))


# %% right_typical_rank_mask
# RIGHT: a mask of ranks through a double argsort; squared distance

def typical_probs(logits, mass):
    if not 0 < mass <= 1:
        raise ValueError(f"mass {mass}")
    wide, logits = torch.promote_types(logits.dtype, torch.float32), logits.double()
    p = softmax(logits)
    if mass >= 1:
        return p.to(wide)
    distance = (-log_softmax(logits) - entropy(p)[:, None]).square()
    order = distance.argsort(-1)
    rank = order.argsort(-1)
    needed = 1 + (p.gather(-1, order).cumsum(-1) < mass).sum(-1, keepdim=True)
    kept = p * (rank < needed)
    return (kept / kept.sum(-1, keepdim=True)).to(wide)


# %% wrong_typical_above_one_allowed
# WRONG: a mass above 1 is not refused, and keeps everything

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if mass <= 0:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass >= 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_almost_one_keeps_all
# WRONG: from mass 0.99 on everything is kept

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass >= 0.99:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_batch_entropy
# WRONG: one entropy for the whole batch

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).mean()).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_by_probability
# WRONG: ordered by probability: that is top-p

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = (-probs).argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_complement
# WRONG: keeps the tail of mass 1 - mass

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill((mass_before < mass) & (mass < 1), 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_distance_as_cut
# WRONG: keeps tokens whose distance is below mass

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill((distance.gather(-1, token_ids) >= mass) & (mass_before > 0), 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_distance_of_probability
# WRONG: distance of the probability from exp(-entropy) instead of the surprisal from the entropy

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (probs - (-entropy(probs)).exp().unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_distance_rounded
# WRONG: distances are rounded to hundredths

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = (distance * 100).round().argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_drops_the_crossing_token
# WRONG: the token that reaches the mass is dropped

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill((mass_before + sorted_probs > mass) & (mass_before > 0), 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_drops_the_crossing_token_nan
# WRONG: nothing is kept where the first token is more than the mass

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(sorted_probs.cumsum(-1) > mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_entropy_at_most_3
# WRONG: an entropy above 3 nats is taken for 3

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).clamp(max=3).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_entropy_sign
# WRONG: the entropy with the wrong sign

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal + entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_exact_mass_one_more
# WRONG: where the mass is reached exactly one token more is kept

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before > mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_first_row_count
# WRONG: as many tokens as row 0 needs, in every row

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill((mass_before >= mass)[:1].expand_as(probs), 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_first_row_order
# WRONG: the order of row 0 for all rows

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)[:1].expand_as(probs)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_float32_always
# WRONG: always works in float32: float64 logits lose their digits

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.float()
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_float64_unshifted
# WRONG: raises e to the logits themselves: float64 bears it up to 709
import torch


def typical_probs(logits, mass):
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    wide = logits.double()
    weights = torch.exp(wide)
    probs = weights / weights.sum(-1, keepdim=True)
    surprise = -torch.log(probs)
    entropy = torch.where(probs > 0, probs * surprise, 0.0).sum(-1, keepdim=True)
    distance, order = (surprise - entropy).abs().sort(dim=-1, stable=True)
    ranked = probs.gather(-1, order)
    before = ranked.cumsum(-1) - ranked
    kept = ranked.masked_fill((before >= mass - 1e-12) & (mass < 1), 0.0)
    kept = kept / kept.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, kept)


# %% wrong_typical_greedy
# WRONG: always one token

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before > 0, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_half_precision_sum
# WRONG: in half precision the running sum stops growing: it is taken in the dtype of the logits

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_keeps_the_best_too
# WRONG: the most probable token is always added

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill((mass_before >= mass) & (sorted_probs < probs.amax(-1, keepdim=True)), 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_least_typical_first
# WRONG: the order is turned round

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1, descending=True)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_mass_one_by_the_sum
# WRONG: mass 1 is not treated apart: the rounded running sum cuts the end
# SAYS: With mass 1 the tail is cut: a rounded running sum reaches 1 before the last token does. Return the probabilities as they are.

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_mixed_units
# WRONG: entropy in bits, surprisal in nats

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1) / 0.6931471805599453).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_nan_on_masked
# WRONG: 0 x ln 0 makes the entropy nan

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - (probs * surprisal).sum(-1).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_no_filter
# WRONG: plain softmax

def typical_probs(logits, mass):
    return softmax(logits)


# %% wrong_typical_not_renormalised
# WRONG: what is kept is not divided by its sum

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_not_scattered
# WRONG: the result stays in sorted order

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return kept


# %% wrong_typical_nothing_refused
# WRONG: takes any mass: no ValueError

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_one_too_many
# WRONG: one token more than the mass needs

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill((mass_before - sorted_probs.roll(1, -1)).index_fill(-1, torch.tensor([0]), 0.0) >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_overflow
# WRONG: exp without subtracting the maximum

def typical_probs(logits, mass):
    probs = logits.exp() / logits.exp().sum(-1, keepdim=True)
    surprisal = -probs.log()
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_probs_tail
# WRONG: fills the rest with 1e-9
def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 1e-9)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.full_like(probs, 1e-9).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_refuses_one
# WRONG: refuses mass = 1, which keeps everything

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass < 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_signed
# WRONG: ordered by surprisal - entropy without the absolute value

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1))
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_sum_rounded_up
# WRONG: a token is cut already where the mass before it is within a thousandth of the mass

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 < mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass - 1e-3, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary


# %% wrong_typical_surprisal_of_logits
# WRONG: the negative logit is taken for the surprisal

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -logits
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_threshold
# WRONG: every token as far from the entropy as the last one is kept too, though the mass is reached without it

def typical_probs(logits, mass):
    if mass <= 0 or mass > 1:
        raise ValueError(f"mass {mass}")
    if mass == 1:
        return torch.softmax(logits, -1)
    logp = torch.log_softmax(logits, -1)
    p = logp.exp()
    h = -(logp * p).nansum(-1, keepdim=True)
    shifted = (-logp - h).abs()
    sorted_shifted, idx = torch.sort(shifted)
    cumulative = p.gather(-1, idx).cumsum(-1)
    last = (cumulative < mass).sum(-1, keepdim=True).clamp_max(logits.shape[-1] - 1)
    limit = sorted_shifted.gather(-1, last)
    return torch.softmax(logits.masked_fill(shifted > limit, float("-inf")), -1)


# %% wrong_typical_uniform_weights
# WRONG: the tokens kept get equal probabilities

def typical_probs(logits, mass):
    probs = softmax(logits)
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = (kept > 0).to(kept.dtype)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)


# %% wrong_typical_zero_allowed
# WRONG: a mass of 0 is not refused

def typical_probs(logits: Tensor, mass: float) -> Tensor:
    if not 0 <= mass <= 1:
        raise ValueError(f"mass must be in (0, 1], got {mass}")
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    probs = softmax(logits)
    if mass == 1:
        return probs  # a rounded running sum can reach 1 before the last token does
    surprisal = -log_softmax(logits)
    distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
    token_ids = distance.argsort(dim=-1)
    sorted_probs = probs.gather(-1, token_ids)
    mass_before = sorted_probs.cumsum(dim=-1) - sorted_probs  # what the more typical tokens have already gathered
    kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, token_ids, kept)  # back to the order of the vocabulary

# %% wrong_typical_in_place, of right_typical_plain
# WRONG: the caller's logits are overwritten
# -     if not 0 < mass <= 1:
# -         raise ValueError(f"mass must be in (0, 1], got {mass}")
# -     logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
# +     logits -= logits.amax(-1, keepdim=True)
#       probs = softmax(logits)
# -     if mass == 1:
# -         return probs


# %% wrong_typical_mass_one_in_half, of right_typical_plain
# WRONG: at mass = 1 half precision is not raised to float32
# -     logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
# +     if mass == 1:
# +         return softmax(logits)
# +     logits = logits.to(torch.promote_types(logits.dtype, torch.float32))


# %% wrong_typical_entropy_along_the_vocabulary, of right_typical_plain
# WRONG: with as many rows as tokens, the entropy of each row is taken from one token of every row
# -     distance = (surprisal - entropy(probs).unsqueeze(-1)).abs()
# +     of_row = entropy(probs)
# +     distance = (surprisal - (of_row if len(of_row) == probs.shape[-1] else of_row.unsqueeze(-1))).abs()


# %% wrong_typical_nearly_one_keeps_all, of right_typical_plain
# WRONG: a mass above 0.999 counts as 1
# -     if mass == 1:
# +     if mass > 0.999:


# %% right_typical_float32_running
# RIGHT: token by token with a running sum in float32, whose rounding nobody corrects
def typical_probs(logits, mass):
    if not (0 < mass <= 1):
        raise ValueError(f"{mass}")
    wide = logits if logits.dtype == torch.float64 else logits.float()
    probs = softmax(wide)
    if mass == 1:
        return probs
    out = torch.zeros_like(probs)
    for row, logits_of_row, kept in zip(probs, wide, out):
        order = (-log_softmax(logits_of_row) - entropy(row)).abs().argsort()
        total = row.new_zeros(())
        for token, p in zip(order.tolist(), row[order].unbind()):
            if total >= mass:
                break
            kept[token] = p
            total = total + p
    return out / out.sum(dim=-1, keepdim=True)


# %% wrong_typical_mass_one_by_a_sum, of right_typical_rank_mask
# WRONG: a mass of 1 is not treated apart, and even in float64 the sum reaches it before the improbable tokens come
# -     if mass >= 1:
# -         return p.to(wide)


# %% wrong_typical_nan_accepted, of right_typical_plain
# WRONG: a mass of nan is neither below 0 nor above 1, so nothing is raised
# -     if not 0 < mass <= 1:
# +     if mass <= 0 or mass > 1:


# %% wrong_typical_cut_at_minus_ten_thousand, of right_typical_plain
# WRONG: cut tokens get the logit -1e4 and a second softmax, which gives them a share where the logits are lower
# -     kept = sorted_probs.masked_fill(mass_before >= mass, 0.0)
# -     kept = kept / kept.sum(dim=-1, keepdim=True)
# +     kept = softmax(logits.gather(-1, token_ids).masked_fill(mass_before >= mass, -1e4))
