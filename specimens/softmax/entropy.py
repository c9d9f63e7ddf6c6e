# Versions of entropy, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_entropy_bits_converted
# RIGHT: in bits, converted to nats, from float64
import math

def entropy(probs):
    p = probs.double()
    bits = torch.where(p == 0, 0.0, -p * p.log2())
    return (bits.sum(-1) * math.log(2)).to(probs.dtype)


# %% right_entropy_categorical
# RIGHT: the library's categorical distribution in float64, which raises only probabilities below 2e-16
def entropy(probs):
    return torch.distributions.Categorical(probs=probs.double(), validate_args=False).entropy().to(probs.dtype)


# %% right_entropy_clamped_tiny
# RIGHT: clamps at the smallest normal number, which changes no other value
def entropy(probs):
    floor = torch.finfo(probs.dtype).tiny
    return -(probs * probs.clamp_min(floor).log()).sum(dim=-1)


# %% right_entropy_einsum
# RIGHT: an inner product of probabilities and surprisals
def entropy(probs):
    surprisal = torch.where(probs > 0, -torch.log(probs), torch.zeros_like(probs))
    return torch.einsum("...v,...v->...", probs, surprisal)


# %% right_entropy_entr
# RIGHT: torch.special.entr
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1)


# %% right_entropy_from_logits
# RIGHT: takes the logs as logits and uses the other two exercises
def entropy(probs):
    log_probs = log_softmax(probs.log())
    terms = softmax(probs.log()) * log_probs
    return -torch.where(torch.isneginf(log_probs), 0.0, terms).sum(dim=-1)


# %% right_entropy_masked_ones
# RIGHT: puts 1 where 0 stood, on a copy: ln 1 is 0
def entropy(probs):
    safe = probs.masked_fill(probs == 0, 1.0)
    return (safe.log().neg() * probs).sum(-1)


# %% right_entropy_nan_to_num
# RIGHT: repairs the terms, before the sum
def entropy(probs):
    return -(probs * probs.log()).nan_to_num(nan=0.0).sum(dim=-1)


# %% right_entropy_numpy
# RIGHT: numpy, with a mask for the logarithm
import numpy as np

def entropy(probs):
    p = probs.double().numpy()
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return torch.as_tensor(-(p * logs).sum(axis=-1)).to(probs.dtype)


# %% right_entropy_pure_python
# RIGHT: row by row with math.fsum
import math

def entropy(probs):
    rows = probs.reshape(-1, probs.shape[-1]).tolist()
    sums = [-math.fsum(p * math.log(p) for p in row if p > 0.0) for row in rows]
    return torch.tensor(sums, dtype=probs.dtype).reshape(probs.shape[:-1])


# %% right_entropy_xlogy
# RIGHT: xlogy knows that 0 log 0 is 0
def entropy(probs):
    return -torch.xlogy(probs, probs).sum(-1)


# %% wrong_entropy_absolute
# WRONG: -0.0 and small negative results are turned positive by abs, and so is the sum of a sign mistake
# SAYS: Probabilities of 0 are made 1e-8 first, which adds to every row. A probability of 0 adds nothing.
def entropy(probs):
    return (probs.clamp_min(1e-8) * probs.clamp_min(1e-8).log()).sum(dim=-1).abs()


# %% wrong_entropy_absolute_certain
# WRONG: a certain row gives nan, the rest is right
def entropy(probs):
    h = torch.special.entr(probs).sum(dim=-1)
    return h / (h > 0)


# %% wrong_entropy_batch_mean
# WRONG: the mean over all rows
# SAYS: The rows are averaged. Each row has an entropy of its own.
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1).mean()


# %% wrong_entropy_binary
# WRONG: adds the terms of 1 - p
# SAYS: The terms of 1 - p are added. Each token has one term, p times -log p.
def entropy(probs):
    return (torch.special.entr(probs) + torch.special.entr(1 - probs)).sum(dim=-1)


# %% wrong_entropy_bits
# WRONG: in bits
# SAYS: These are bits. Nats come from the natural logarithm.
def entropy(probs):
    return -torch.where(probs > 0, probs * probs.log2(), 0.0).sum(dim=-1)


# %% wrong_entropy_bits_for_long_rows
# WRONG: bits where the row is longer than 1,000, nats elsewhere
def entropy(probs):
    nats = torch.special.entr(probs).sum(dim=-1)
    return nats / math.log(2) if probs.shape[-1] > 1000 else nats


import math


# %% wrong_entropy_clamped
# WRONG: probabilities below 1e-6 count as 1e-6
def entropy(probs):
    p = probs.clamp_min(1e-6)
    return -(p * p.log()).sum(dim=-1)


# %% wrong_entropy_clamped_log
# WRONG: the logarithm clamped at -10
def entropy(probs):
    return -(probs * probs.log().clamp_min(-10.0)).sum(dim=-1)


# %% wrong_entropy_dim0
# WRONG: over the first dimension
def entropy(probs):
    return torch.special.entr(probs).sum(dim=0)


# %% wrong_entropy_dim1
# WRONG: over dimension 1 where there is one
def entropy(probs):
    return torch.special.entr(probs).sum(dim=min(1, probs.dim() - 1))


# %% wrong_entropy_epsilon
# WRONG: 1e-6 added inside the logarithm
def entropy(probs):
    return -(probs * (probs + 1e-6).log()).sum(dim=-1)


# %% wrong_entropy_epsilon_both
# WRONG: 1e-6 added to the probabilities everywhere
def entropy(probs):
    p = probs + 1e-6
    return -(p * p.log()).sum(dim=-1)


# %% wrong_entropy_epsilon_small
# WRONG: 1e-9 added inside the logarithm
def entropy(probs):
    return -(probs * (probs + 1e-9).log()).sum(dim=-1)


# %% wrong_entropy_epsilon_tiny
# WRONG: 1e-12 added inside the logarithm: the entropy of a sure thing is negative
def entropy(probs):
    return -(probs * torch.log(probs + 1e-12)).sum(dim=-1)


# %% wrong_entropy_everything
# WRONG: one number for the whole tensor
# SAYS: One number for the whole tensor. Each row has an entropy of its own.
def entropy(probs):
    return torch.special.entr(probs).sum()


# %% wrong_entropy_flat_rows
# WRONG: a list of rows: the leading dimensions are lost
def entropy(probs):
    return torch.special.entr(probs.reshape(-1, probs.shape[-1])).sum(dim=-1)


# %% wrong_entropy_float32_for_float64
# WRONG: works in float32, where float64 loses its digits
def entropy(probs):
    p = probs.float()
    return torch.special.entr(p).sum(dim=-1).to(probs.dtype)


# %% wrong_entropy_gini
# WRONG: one minus the sum of squares
# SAYS: This is 1 minus the sum of squares, another measure. Entropy weights each surprisal, -log p, by p.
def entropy(probs):
    return 1 - (probs * probs).sum(dim=-1)


# %% wrong_entropy_half
# WRONG: works in float16: the tail underflows
def entropy(probs):
    return torch.special.entr(probs.half()).sum(dim=-1).to(probs.dtype)


# %% wrong_entropy_in_place
# WRONG: writes 1 over the zeros of the caller's tensor
def entropy(probs):
    probs[probs == 0] = 1.0
    return -(probs * probs.log()).sum(dim=-1)


# %% wrong_entropy_in_place_always
# WRONG: multiplies the caller's tensor by its logarithm
def entropy(probs):
    return -probs.mul_(probs.log().nan_to_num(neginf=0.0)).sum(dim=-1)


# %% wrong_entropy_in_place_clamp
# WRONG: clamps the caller's tensor
def entropy(probs):
    probs.clamp_(min=1e-30)
    return -(probs * probs.log()).sum(dim=-1)


# %% wrong_entropy_item
# WRONG: a Python number: one row only
# SAYS: One Python number comes back. Each row has its own, as a tensor.
def entropy(probs):
    return float(torch.special.entr(probs).sum())


# %% wrong_entropy_keepdim
# WRONG: keeps the last dimension
# SAYS: The last dimension is kept. (..., V) becomes (...).
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1, keepdim=True)


# %% wrong_entropy_log10
# WRONG: logarithms to base 10
# SAYS: The logarithm is to base 10. Use the natural one.
def entropy(probs):
    return -torch.where(probs > 0, probs * probs.log10(), 0.0).sum(dim=-1)


# %% wrong_entropy_long_rows_cut
# WRONG: rows longer than 32,768 are cut there
def entropy(probs):
    return torch.special.entr(probs[..., :32_768]).sum(dim=-1)


# %% wrong_entropy_mean
# WRONG: the mean of the terms
# SAYS: The terms are averaged. Sum them: each is weighted by its probability already.
def entropy(probs):
    return torch.special.entr(probs).mean(dim=-1)


# %% wrong_entropy_nan_at_zero
# WRONG: 0 times log 0 is nan
def entropy(probs):
    return -(probs * probs.log()).sum(dim=-1)


# %% wrong_entropy_nansum_everything
# WRONG: nansum over the whole tensor: one number for all rows
def entropy(probs):
    return -(probs * probs.log()).nansum()


# %% wrong_entropy_normalised
# WRONG: divided by ln V
# SAYS: The entropy is divided by ln V.
import math

def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1) / math.log(max(probs.shape[-1], 2))


# %% wrong_entropy_of_logits
# WRONG: takes the probabilities for logits
# SAYS: The probabilities are taken for logits: softmax is applied to them once more.
def entropy(probs):
    p = torch.softmax(probs, dim=-1)
    return torch.special.entr(p).sum(dim=-1)


# %% wrong_entropy_of_renormalised_top
# WRONG: tokens below a thousandth of the largest are left out
def entropy(probs):
    kept = torch.where(probs < probs.amax(-1, keepdim=True) / 1000, 0.0, probs)
    return torch.special.entr(kept).sum(dim=-1)


# %% wrong_entropy_perplexity
# WRONG: exp of the entropy
# SAYS: This is the perplexity, exp of the entropy. Give the entropy itself.
def entropy(probs):
    return torch.special.entr(probs).sum(dim=-1).exp()


# %% wrong_entropy_relative_to_uniform
# WRONG: what is missing to ln V
# SAYS: This is ln V less the entropy. Give the entropy itself.
import math

def entropy(probs):
    return math.log(probs.shape[-1]) - torch.special.entr(probs).sum(dim=-1)


# %% wrong_entropy_repaired_after_sum
# WRONG: nan becomes 0 after the sum: the other terms are lost
def entropy(probs):
    return (-(probs * probs.log()).sum(dim=-1)).nan_to_num(nan=0.0)


# %% wrong_entropy_rounded
# WRONG: rounded to two digits
def entropy(probs):
    return (torch.special.entr(probs).sum(dim=-1) * 100).round() / 100


# %% wrong_entropy_selected_flat
# WRONG: selects the positive entries of all rows at once
def entropy(probs):
    p = probs[probs > 0]
    return -(p * p.log()).sum()


# %% wrong_entropy_sign
# WRONG: the sign turned round
def entropy(probs):
    return torch.xlogy(probs, probs).sum(dim=-1)


# %% wrong_entropy_squeeze
# WRONG: squeezes
# SAYS: Dimensions of size 1 are squeezed away. Only the last dimension goes.
def entropy(probs):
    return torch.special.entr(probs).sum(-1).squeeze()


# %% wrong_entropy_surprisal_mean
# WRONG: surprisals averaged with equal weights
def entropy(probs):
    positive = probs > 0
    return torch.where(positive, -probs.log(), 0.0).sum(dim=-1) / positive.sum(dim=-1)


# %% wrong_entropy_surprisal_of_top
# WRONG: the surprisal of the most probable token
def entropy(probs):
    return -probs.amax(dim=-1).log()


# %% wrong_entropy_surprisal_unweighted
# WRONG: surprisals summed without their weights
def entropy(probs):
    return torch.where(probs > 0, -probs.log(), 0.0).sum(dim=-1)


# %% wrong_entropy_tail_dropped
# WRONG: ignores probabilities below 1e-8
def entropy(probs):
    return torch.where(probs > 1e-8, -probs * probs.log(), 0.0).sum(dim=-1)


# %% wrong_entropy_below_eps_is_nothing
# WRONG: probabilities up to the dtype's eps count as 0: in bfloat16 eps is 0.0078, more than each of 256 equal probabilities
def entropy(probs):
    seen = probs > torch.finfo(probs.dtype).eps
    return torch.where(seen, -probs * probs.log(), torch.zeros_like(probs)).sum(dim=-1)


# %% wrong_entropy_below_eps_is_eps
# WRONG: takes the logarithm of no probability below the dtype's eps, 0.0078 in bfloat16, as torch.distributions.Categorical does
def entropy(probs):
    return torch.distributions.Categorical(probs=probs, validate_args=False).entropy()


# %% wrong_entropy_terms
# WRONG: the terms, not their sum
# SAYS: These are the terms. Sum them over the last dimension.
def entropy(probs):
    return torch.special.entr(probs)


# %% wrong_entropy_top_ten
# WRONG: the ten most probable only
def entropy(probs):
    top = probs.topk(min(10, probs.shape[-1]), dim=-1).values
    return torch.special.entr(top).sum(dim=-1)


# %% wrong_entropy_two_dimensions_only
# WRONG: wants a matrix
# SAYS: Only a matrix is accepted. Any number of dimensions may come before the last.
def entropy(probs):
    b, v = probs.shape
    return torch.special.entr(probs).sum(dim=1)


# %% wrong_entropy_zero_column_dropped
# WRONG: drops the columns where the first row has zeros
def entropy(probs):
    keep = probs.reshape(-1, probs.shape[-1])[0] > 0
    p = probs[..., keep]
    return -torch.xlogy(p, p).sum(dim=-1)


# %% wrong_entropy_zero_rows_certain
# WRONG: takes a row with a zero for a certain one
def entropy(probs):
    h = torch.special.entr(probs).sum(dim=-1)
    return torch.where((probs == 0).any(dim=-1), torch.zeros_like(h), h)


# %% wrong_entropy_zeros_in_half
# WRONG: 0 log 0 is cared for in float32 and float64 only
def entropy(probs):
    terms = -probs * probs.log()
    if probs.dtype in (torch.float32, torch.float64):
        terms = torch.where(probs > 0, terms, 0)
    return terms.sum(dim=-1)


# %% wrong_entropy_float16_in_bfloat16
# WRONG: float16 is worked out in bfloat16, which has three binary digits fewer
def entropy(probs):
    p = probs.bfloat16() if probs.dtype == torch.float16 else probs
    return torch.special.entr(p).sum(dim=-1).to(probs.dtype)


# %% wrong_entropy_one_probability_in_a_row
# WRONG: of one probability alone, the answer keeps the last dimension
def entropy(probs):
    out = torch.special.entr(probs).sum(dim=-1)
    return out.unsqueeze(-1) if probs.ndim == 1 and probs.shape[-1] == 1 else out


# %% wrong_entropy_number_for_one_row
# WRONG: one row gives a Python number, which has no exp()
def entropy(probs):
    out = torch.special.entr(probs).sum(dim=-1)
    return out.item() if probs.ndim == 1 else out


# %% wrong_entropy_rest_of_chunks_lost
# WRONG: adds the terms in whole chunks of 1,024, and loses the rest of a longer row
def entropy(probs):
    terms = torch.special.entr(probs)
    whole = max(terms.shape[-1] // 1024, 1) * 1024
    return terms[..., :whole].sum(dim=-1)


# %% wrong_entropy_one_buffer_for_all_calls
# WRONG: one buffer is kept for each shape and handed out: a second call overwrites the result of the first
_buffers = {}


def entropy(probs):
    out = torch.special.entr(probs).sum(dim=-1)
    return _buffers.setdefault((out.shape, out.dtype), torch.empty_like(out)).copy_(out)
