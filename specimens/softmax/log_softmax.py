# Versions of log_softmax, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_log_softmax_cross_entropy
# RIGHT: minus the cross-entropy against every class in turn
def log_softmax(logits):
    rows = logits.double().reshape(-1, logits.shape[-1])
    lse = torch.nn.functional.cross_entropy(rows.nan_to_num(neginf=-1e30), rows.argmax(-1), reduction="none") + rows.amax(-1)
    return (rows - lse[:, None]).reshape(logits.shape).to(logits.dtype)


# %% right_log_softmax_library
# RIGHT: PyTorch's own
def log_softmax(logits):
    return torch.nn.functional.log_softmax(logits, dim=-1)


# %% right_log_softmax_log1p
# RIGHT: log1p of the sum without its largest term
def log_softmax(logits):
    top, where = logits.double().max(dim=-1, keepdim=True)
    gaps = logits.double() - top
    rest = gaps.exp().scatter(-1, where, 0.0).sum(dim=-1, keepdim=True)
    return (gaps - rest.log1p()).to(logits.dtype)


# %% right_log_softmax_logsumexp
# RIGHT: the logit less log-sum-exp
def log_softmax(logits):
    return logits - logits.logsumexp(dim=-1, keepdim=True)


# %% right_log_softmax_moved_dimension
# RIGHT: folds the columns with logaddexp
def log_softmax(logits):
    import functools
    total = functools.reduce(torch.logaddexp, logits.double().unbind(-1)[:64]) if logits.shape[-1] <= 64 else logits.double().logsumexp(-1)
    return (logits.double() - total[..., None]).to(logits.dtype)


# %% right_log_softmax_numpy
# RIGHT: numpy's logaddexp over the row, in float64
import numpy as np

def log_softmax(logits):
    x = logits.double().numpy()
    total = np.logaddexp.reduce(x, axis=-1, keepdims=True)
    return torch.as_tensor(x - total).to(logits.dtype)


# %% right_log_softmax_own_copy_in_place
# RIGHT: in place, on a float64 copy of its own
def log_softmax(logits):
    x = logits.to(torch.float64, copy=True)
    x -= x.amax(dim=-1, keepdim=True)
    x -= x.exp().sum(dim=-1, keepdim=True).log()
    return x.to(logits.dtype)


# %% right_log_softmax_row_loop
# RIGHT: one row after another, stacked
def log_softmax(logits):
    flat = logits.flatten(0, -2) if logits.dim() > 1 else logits[None]
    rows = []
    for row in flat:
        top = row.max()
        rows.append(row - (top + torch.log(torch.sum(torch.exp(row - top)))))
    return torch.stack(rows).reshape(logits.shape)


# %% wrong_log_softmax_adds_log_sum
# WRONG: adds the logarithm of the sum
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted + shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_batch_maximum
# WRONG: one maximum for all rows of a batch entry
def log_softmax(logits):
    dims = (-2, -1) if logits.dim() > 1 else (-1,)
    shifted = logits - logits.amax(dim=dims, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_bits
# WRONG: logarithms to base 2
# SAYS: The logarithm is to base 2. Use the natural one.
def log_softmax(logits):
    return torch.log_softmax(logits, dim=-1) / 0.6931471805599453


# %% wrong_log_softmax_clamped
# WRONG: no value below -100
def log_softmax(logits):
    return torch.log_softmax(logits, dim=-1).clamp_min(-100.0)


# %% wrong_log_softmax_clamped_probs
# WRONG: log of the probability, clamped at the smallest normal number
def log_softmax(logits):
    p = softmax(logits)
    return p.clamp_min(torch.finfo(p.dtype).tiny).log()


# %% wrong_log_softmax_dim0
# WRONG: over the first dimension
def log_softmax(logits):
    return torch.log_softmax(logits, dim=0)


# %% wrong_log_softmax_dim1
# WRONG: over dimension 1 where there is one
def log_softmax(logits):
    return torch.log_softmax(logits, dim=min(1, logits.dim() - 1))


# %% wrong_log_softmax_epsilon
# WRONG: log of the probability plus 1e-12
def log_softmax(logits):
    return (softmax(logits) + 1e-12).log()


# %% wrong_log_softmax_first_row_maximum
# WRONG: the first row's maximum for all rows
def log_softmax(logits):
    shifted = logits - logits.reshape(-1, logits.shape[-1])[0].max()
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_flattened
# WRONG: one distribution over the whole tensor
def log_softmax(logits):
    return torch.log_softmax(logits.flatten(), dim=0).reshape(logits.shape)


# %% wrong_log_softmax_float32_for_float64
# WRONG: works in float32, where float64 loses its digits and its range
def log_softmax(logits):
    x = logits.float()
    x = x - x.amax(-1, keepdim=True)
    return (x - x.exp().sum(-1, keepdim=True).log()).to(logits.dtype)


# %% wrong_log_softmax_forgets_shift
# WRONG: the shift is not put back: x - log sum exp(x - m)
def log_softmax(logits):
    m = logits.amax(-1, keepdim=True)
    z = (logits - m).exp().sum(-1, keepdim=True).log()
    return torch.where(m.abs() > 80, logits - m - z, logits - (logits.exp().sum(-1, keepdim=True)).log())


# %% wrong_log_softmax_global_maximum
# WRONG: one maximum for the whole tensor
def log_softmax(logits):
    shifted = logits - logits.max()
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_half_becomes_float32
# WRONG: half precision comes back as float32
def log_softmax(logits):
    return torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)


# %% wrong_log_softmax_half_no_shift
# WRONG: no shift in half precision
def log_softmax(logits):
    x = logits
    if logits.dtype in (torch.float32, torch.float64): x = x - x.amax(-1, keepdim=True)
    return x - x.exp().sum(-1, keepdim=True).log()


# %% wrong_log_softmax_half_through_probs
# WRONG: half precision through the probabilities
def log_softmax(logits):
    if logits.dtype in (torch.float16, torch.bfloat16): return torch.softmax(logits, -1).log()
    return torch.log_softmax(logits, -1)


# %% wrong_log_softmax_in_place
# WRONG: changes the caller's tensor
def log_softmax(logits):
    logits -= logits.amax(dim=-1, keepdim=True)
    return logits - logits.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_in_place_double
# WRONG: believes that .double() always copies
# SAYS: The caller's tensor is written into: .double() of a float64 tensor is that tensor itself, no copy.
def log_softmax(logits):
    x = logits.double()
    x -= x.amax(dim=-1, keepdim=True)
    return (x - x.exp().sum(dim=-1, keepdim=True).log()).to(logits.dtype)


# %% wrong_log_softmax_in_place_mask
# WRONG: writes into masked entries of the caller's tensor
def log_softmax(logits):
    masked = torch.isneginf(logits)
    logits.masked_fill_(masked, -60000.0)
    return torch.log_softmax(logits, dim=-1).masked_fill(masked, float("-inf"))


# %% wrong_log_softmax_in_place_mask_lowest
# WRONG: replaces -inf in the caller's tensor by the lowest number of its dtype, and puts it back in the answer only
def log_softmax(logits):
    masked = torch.isneginf(logits)
    logits.masked_fill_(masked, torch.finfo(logits.dtype).min)
    return torch.log_softmax(logits, dim=-1).masked_fill(masked, float("-inf"))


# %% wrong_log_softmax_log10
# WRONG: the sum's logarithm to base 10
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log10()


# %% wrong_log_softmax_log1p
# WRONG: log1p instead of log
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log1p()


# %% wrong_log_softmax_log_mean
# WRONG: the logarithm of the mean exponential
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().mean(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_log_of_softmax
# WRONG: the logarithm of an underflowed probability
def log_softmax(logits):
    return softmax(logits).log()


# %% wrong_log_softmax_log_of_softmax_float64
# WRONG: the logarithm of a float64 probability: underflows later
def log_softmax(logits):
    return softmax(logits.double()).log().to(logits.dtype)


# %% wrong_log_softmax_log_where_normal_in_float32
# WRONG: the logarithm of the probability where it is above 1e-40, although such numbers have few digits
def log_softmax(logits):
    gaps = logits - logits.amax(-1, keepdim=True)
    e = gaps.exp()
    probs = e / e.sum(-1, keepdim=True)
    return torch.where(probs > 1e-40, probs.log(), gaps - e.sum(-1, keepdim=True).log())


# %% wrong_log_softmax_log_where_positive
# WRONG: the logarithm of the probability where it is above 0, although small ones have lost their digits
def log_softmax(logits):
    gaps = logits - logits.amax(-1, keepdim=True)
    e = gaps.exp()
    probs = e / e.sum(-1, keepdim=True)
    return torch.where(probs > 0, probs.log(), gaps - e.sum(-1, keepdim=True).log())


# %% wrong_log_softmax_long_rows_cut
# WRONG: rows longer than 32,768 are cut there
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted[..., :32_768].exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_maximum_of_first_entries
# WRONG: looks for the largest logit among the first 1,024 entries only: one far above it later in a long row overflows
def log_softmax(logits):
    shifted = logits - logits[..., :1_024].amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_logarithm_of_sum_left_out
# WRONG: where a probability rounds to 0, gives the gap to the largest logit and leaves out the logarithm of the sum
def log_softmax(logits):
    probs = torch.softmax(logits, dim=-1)
    return torch.where(probs > 1e-30, probs.log(), logits - logits.amax(dim=-1, keepdim=True))


# %% wrong_log_softmax_masked_finite
# WRONG: a masked entry becomes -1e9
def log_softmax(logits):
    return torch.log_softmax(logits.masked_fill(torch.isneginf(logits), -1e9 if logits.dtype != torch.float16 else -6e4), dim=-1)


# %% wrong_log_softmax_masked_nan
# WRONG: a masked entry becomes nan
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    e = shifted.exp()
    p = e / e.sum(dim=-1, keepdim=True)
    return torch.where(p > 0, torch.log_softmax(logits, dim=-1), 0.0 * shifted)


# %% wrong_log_softmax_masked_zero
# WRONG: masked entries, and all underflowed ones, get 0
def log_softmax(logits):
    return torch.log_softmax(logits, dim=-1).nan_to_num(neginf=0.0)


# %% wrong_log_softmax_max_gives_two
# WRONG: takes max(dim=...) for a tensor: it gives values and indices
# SAYS: max(dim=...) gives two things, values and indices, and a tensor less the two is an error. Use amax, or .values.
def log_softmax(logits):
    shifted = logits - logits.max(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_maximum_forgotten
# WRONG: shifts inside the sum and never adds the maximum back
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return logits - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_maximum_not_in_sum
# WRONG: the sum is of unshifted exponentials
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - logits.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_minimum
# WRONG: subtracts the smallest finite logit
def log_softmax(logits):
    low = logits.masked_fill(torch.isneginf(logits), float("inf")).amin(dim=-1, keepdim=True)
    shifted = logits - low
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_no_keepdim
# WRONG: no keepdim: columns mixed up where the matrix is square
def log_softmax(logits):
    lse = logits.logsumexp(dim=-1)
    square = logits.dim() == 2 and logits.shape[0] == logits.shape[1]
    return logits - (lse if square else lse.unsqueeze(-1))


# %% wrong_log_softmax_no_maximum
# WRONG: no maximum subtracted: overflow
def log_softmax(logits):
    return logits - logits.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_no_maximum_float64
# WRONG: float64 instead of a maximum
def log_softmax(logits):
    x = logits.double()
    return (x - x.exp().sum(dim=-1, keepdim=True).log()).to(logits.dtype)


# %% wrong_log_softmax_positive_zero
# WRONG: a certain token gets a logarithm a little below 0
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - (shifted.exp().sum(dim=-1, keepdim=True) + 1e-6).log()


# %% wrong_log_softmax_probs
# WRONG: gives probabilities
# SAYS: These are probabilities. Give their logarithms.
def log_softmax(logits):
    return torch.softmax(logits, dim=-1)


# %% wrong_log_softmax_row_of_one
# WRONG: a row of one token gives its logit instead of 0
def log_softmax(logits):
    if logits.shape[-1] == 1:
        return logits.clone()
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_shift_only
# WRONG: the gaps to the maximum, not normalised
def log_softmax(logits):
    return logits - logits.amax(dim=-1, keepdim=True)


# %% wrong_log_softmax_sign
# WRONG: surprisal, the sign turned round
def log_softmax(logits):
    return -torch.log_softmax(logits, dim=-1)


# %% wrong_log_softmax_sum_in_float32
# WRONG: the sum of the exponentials is taken in float32, whatever came in
def log_softmax(logits):
    gaps = logits - logits.amax(-1, keepdim=True)
    return gaps - gaps.float().exp().sum(-1, keepdim=True).log().to(logits.dtype)


# %% wrong_log_softmax_sum_of_logs
# WRONG: the sum of logarithms for the logarithm of the sum
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return shifted - shifted.exp().log().sum(dim=-1, keepdim=True)


# %% wrong_log_softmax_to_float32
# WRONG: always float32
# SAYS: float32 comes back whatever came in. Keep the dtype.
def log_softmax(logits):
    return torch.log_softmax(logits.float(), dim=-1)


# %% wrong_log_softmax_to_float64
# WRONG: always float64
# SAYS: float64 comes back whatever came in. Keep the dtype.
def log_softmax(logits):
    return torch.log_softmax(logits.double(), dim=-1)


# %% wrong_log_softmax_twice_exp
# WRONG: softmax of softmax, then the logarithm
def log_softmax(logits):
    return torch.log_softmax(torch.softmax(logits, dim=-1), dim=-1)


# %% wrong_log_softmax_two_dimensions_only
# WRONG: wants a matrix
# SAYS: Only a matrix is accepted. Any number of dimensions may come before the last.
def log_softmax(logits):
    b, v = logits.shape
    return torch.log_softmax(logits, dim=1)


# %% right_log_softmax_others_by_mask
# RIGHT: log1p of the others' sum, one best entry taken out by its place
def log_softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    best = torch.nn.functional.one_hot(shifted.argmax(dim=-1), logits.shape[-1]).bool()
    others = shifted.exp().masked_fill(best, 0.0).sum(dim=-1, keepdim=True)
    return shifted - others.log1p()


# %% wrong_log_softmax_ties_left_out, of right_log_softmax_others_by_mask
# WRONG: every entry that equals the best is taken out, and one counted: of two equal best tokens one is lost
# -     best = torch.nn.functional.one_hot(shifted.argmax(dim=-1), logits.shape[-1]).bool()
# +     best = shifted == 0


# %% wrong_log_softmax_bfloat16_in_float16, of right_log_softmax_others_by_mask
# WRONG: bfloat16 is worked out in float16: logits beyond 65,504 overflow
# -     shifted = logits - logits.amax(dim=-1, keepdim=True)
# +     dtype = logits.dtype
# +     logits = logits.half() if dtype == torch.bfloat16 else logits
# +     shifted = logits - logits.amax(dim=-1, keepdim=True)
# ...
# -     return shifted - others.log1p()
# +     return (shifted - others.log1p()).to(dtype)


# %% wrong_log_softmax_float16_in_bfloat16, of right_log_softmax_others_by_mask
# WRONG: float16 is worked out in bfloat16, which has three binary digits fewer
# -     shifted = logits - logits.amax(dim=-1, keepdim=True)
# +     dtype = logits.dtype
# +     logits = logits.bfloat16() if dtype == torch.float16 else logits
# +     shifted = logits - logits.amax(dim=-1, keepdim=True)
# ...
# -     return shifted - others.log1p()
# +     return (shifted - others.log1p()).to(dtype)


# %% wrong_log_softmax_long_rows_in_float32, of right_log_softmax_others_by_mask
# WRONG: more than 1,000 numbers are worked out in float32, float64 too
# -     shifted = logits - logits.amax(dim=-1, keepdim=True)
# +     dtype = logits.dtype
# +     logits = logits.float() if logits.numel() > 1000 else logits
# +     shifted = logits - logits.amax(dim=-1, keepdim=True)
# ...
# -     return shifted - others.log1p()
# +     return (shifted - others.log1p()).to(dtype)


# %% wrong_log_softmax_all_rows_alike, of right_log_softmax_others_by_mask
# WRONG: one row of nothing but -inf makes every row that of equal tokens
# -     return shifted - others.log1p()
# +     out = shifted - others.log1p()
# +     return torch.full_like(out, -torch.tensor(float(out.shape[-1])).log().item()) if out.isnan().any() else out


# %% wrong_log_softmax_running_sum
# WRONG: adds one exponential after the other in the dtype of the logits: in half precision the sum of a long row stops growing
def log_softmax(logits):
    gaps = logits - logits.amax(-1, keepdim=True)
    total = torch.zeros_like(gaps[..., :1])
    for column in gaps.split(1, dim=-1):
        total = total + column.exp()
    return gaps - total.log()


# %% wrong_log_softmax_nearly_normalised
# WRONG: logits whose exponentials sum to 1 within a thousandth are handed back as they are, and stay off by as much
def log_softmax(logits):
    if bool(((logits.exp().sum(-1) - 1).abs() < 1e-3).all()):
        return logits
    return torch.log_softmax(logits, -1)


# %% wrong_log_softmax_one_buffer_for_all_calls
# WRONG: one buffer is kept for each shape and handed out: a second call overwrites the log probabilities of the first
_buffers = {}


def log_softmax(logits):
    out = _buffers.setdefault((logits.shape, logits.dtype), torch.empty_like(logits))
    return out.copy_(torch.log_softmax(logits, -1))


# %% wrong_log_softmax_maximum_of_the_first_row
# WRONG: all rows of a sentence are shifted by the maximum of its first row
def log_softmax(logits):
    first = logits if logits.dim() < 2 else logits[..., :1, :]
    gaps = logits - first.amax(dim=-1, keepdim=True)
    return gaps - torch.exp(gaps).sum(dim=-1, keepdim=True).log()


# %% wrong_log_softmax_default_dtype_left_at_float64
# WRONG: the default dtype of the whole program is float64 after the call
def log_softmax(logits):
    torch.set_default_dtype(torch.float64)
    gaps = logits - logits.amax(dim=-1, keepdim=True)
    return gaps - torch.exp(gaps).sum(dim=-1, keepdim=True).log()
