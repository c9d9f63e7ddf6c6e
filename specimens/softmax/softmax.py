# Versions of softmax, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_softmax_float32_inside
# RIGHT: works in float32 where the logits are of half precision, as models often do
def softmax(logits):
    x = logits.float() if logits.dtype.itemsize < 4 else logits
    e = (x - x.amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(logits.dtype)


# %% right_softmax_float64_inside
# RIGHT: works in float64 and casts back
def softmax(logits):
    x = logits.double()
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)


# %% right_softmax_any_shift
# RIGHT: shifts by the maximum plus one: any shift near it will do
def softmax(logits):
    shift = logits.max(-1, keepdim=True)[0].detach() + 1
    e = torch.exp(logits - shift)
    return e / torch.einsum("...v->...", e)[..., None]


# %% right_softmax_base_two
# RIGHT: powers of two of the scaled gaps
def softmax(logits):
    gaps = logits.double() - logits.double().amax(dim=-1, keepdim=True)
    e = torch.exp2(gaps * 1.4426950408889634)
    return (e * e.sum(dim=-1, keepdim=True).reciprocal()).type_as(logits)


# %% right_softmax_library
# RIGHT: PyTorch's own
def softmax(logits):
    return torch.softmax(logits, dim=-1)


# %% right_softmax_logsumexp
# RIGHT: the exponential of the logit less log-sum-exp
def softmax(logits):
    return torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))


# %% right_softmax_masked_apart
# RIGHT: puts the masked entries to 0 explicitly
def softmax(logits):
    masked = torch.isneginf(logits)
    top = logits.masked_fill(masked, torch.finfo(logits.dtype).min).max(dim=-1, keepdim=True)[0]
    e = torch.where(masked, torch.zeros_like(logits), torch.exp(logits - top))
    return torch.nn.functional.normalize(e.double(), p=1, dim=-1).to(logits.dtype)


# %% right_softmax_moved_dimension
# RIGHT: moves the vocabulary to the front, works there, moves it back
def softmax(logits):
    x = logits.movedim(-1, 0)
    e = torch.exp(x - x.max(dim=0).values)
    return (e / e.sum(dim=0)).movedim(0, -1)


# %% right_softmax_numpy
# RIGHT: numpy inside
import numpy as np

def softmax(logits):
    x = logits.to(torch.float64).numpy()
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return torch.from_numpy(e / np.sum(e, axis=-1, keepdims=True)).to(logits.dtype)


# %% right_softmax_online
# RIGHT: one pass over the columns with a running maximum and sum
def softmax(logits):
    x = logits.double()
    m = torch.full(x.shape[:-1], float("-inf"), dtype=torch.float64)
    s = torch.zeros(x.shape[:-1], dtype=torch.float64)
    for column in x.unbind(-1):
        new = torch.maximum(m, column)
        s = torch.where(new == float("-inf"), s, s * (m - new).exp() + (column - new).exp())
        m = new
    return ((x - m.unsqueeze(-1)).exp() / s.unsqueeze(-1)).to(logits.dtype)


# %% right_softmax_own_copy_in_place
# RIGHT: in place, on a copy of its own
def softmax(logits):
    x = logits.clone()
    x.sub_(x.amax(dim=-1, keepdim=True)).exp_()
    x.div_(x.sum(dim=-1, keepdim=True))
    return x


# %% right_softmax_pure_python
# RIGHT: lists and the math module
import math

def softmax(logits):
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    out = []
    for row in rows:
        top = max(row)
        e = [math.exp(v - top) for v in row]
        total = math.fsum(e)
        out.append([v / total for v in e])
    return torch.tensor(out, dtype=torch.float64).reshape(logits.shape).to(logits.dtype)


# %% right_softmax_recursive
# RIGHT: recursion over the leading dimensions, sorted sums
def softmax(logits):
    if logits.dim() > 1:
        return torch.stack([softmax(row) for row in logits])
    top = logits.sort(descending=True).values[0]
    e = torch.exp(logits - top)
    return e / e.sort().values.sum()


# %% right_softmax_row_loop
# RIGHT: loops over the rows of a flattened view
def softmax(logits):
    rows = logits.reshape(-1, logits.shape[-1])
    out = torch.empty_like(rows)
    for i, row in enumerate(rows):
        e = torch.exp(row - row.max())
        out[i] = e / e.sum()
    return out.reshape(logits.shape)


# %% right_softmax_through_log
# RIGHT: the exponential of log_softmax, in terms of the other exercise
def softmax(logits):
    return log_softmax(logits).exp()


# %% wrong_softmax_adds_a_dimension
# WRONG: a vector comes back as a matrix of one row
def softmax(logits):
    return torch.softmax(torch.atleast_2d(logits), dim=-1)


# %% wrong_softmax_all_differences
# WRONG: all differences of a row at once: V x V numbers, which for a real vocabulary fit into no memory
def softmax(logits):
    x = logits.double()
    gaps = x.unsqueeze(-2) - x.unsqueeze(-1)  # (..., i, j): x_j - x_i
    gaps = torch.where(torch.isneginf(x).unsqueeze(-1), float("inf"), gaps)
    return (1 / gaps.exp().sum(dim=-1)).to(logits.dtype)


# %% wrong_softmax_base_ten
# WRONG: powers of ten
# SAYS: The base is 10. It is e: use exp.
def softmax(logits):
    e = 10.0 ** (logits - logits.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_base_two
# WRONG: powers of two
# SAYS: The base is 2. It is e: use exp.
def softmax(logits):
    e = torch.exp2(logits - logits.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_batch_maximum
# WRONG: one maximum for all rows of a batch entry
def softmax(logits):
    dims = (-2, -1) if logits.dim() > 1 else (-1,)
    e = (logits - logits.amax(dim=dims, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_clamped_gaps
# WRONG: no gap may be wider than 50: small probabilities all become the same
def softmax(logits):
    gaps = (logits - logits.amax(-1, keepdim=True)).clamp_min(-50.0)
    e = torch.where(logits == -float("inf"), 0.0, gaps.exp())
    return e / e.sum(-1, keepdim=True)


# %% wrong_softmax_clamped_logits
# WRONG: clamps the logits at 80 against overflow
def softmax(logits):
    e = logits.clamp(-80.0, 80.0).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_dim0
# WRONG: over the first dimension
def softmax(logits):
    return torch.softmax(logits, dim=0)


# %% wrong_softmax_dim1
# WRONG: over dimension 1: right for two dimensions only
def softmax(logits):
    return torch.softmax(logits, dim=min(1, logits.dim() - 1))


# %% wrong_softmax_dim_default
# WRONG: leaves the dimension to the library's old guess
# SAYS: The dimension is left to an old guess of the library's. Say dim=-1.
import warnings

def softmax(logits):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nn.functional.softmax(logits)


# %% wrong_softmax_divided_by_count
# WRONG: divides by the mean instead of the sum
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / e.mean(dim=-1, keepdim=True)


# %% wrong_softmax_divided_by_maximum
# WRONG: divides by the maximum, which changes the gaps
def softmax(logits):
    e = (logits / logits.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_epsilon_in_probs
# WRONG: a floor of 1e-9 under every probability
def softmax(logits):
    p = torch.softmax(logits, dim=-1) + 1e-9
    return p / p.sum(dim=-1, keepdim=True)


# %% wrong_softmax_epsilon_in_sum
# WRONG: 1e-8 added to the sum: a sure thing is no longer sure
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / (e.sum(dim=-1, keepdim=True) + 1e-8)


# %% wrong_softmax_first_row_maximum
# WRONG: the first row's maximum for all rows
def softmax(logits):
    top = logits.reshape(-1, logits.shape[-1])[0].max()
    e = (logits - top).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_five_dimensions
# WRONG: more than five dimensions are not accepted
def softmax(logits):
    if logits.dim() > 5:
        raise ValueError("too many dimensions")
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_flattened
# WRONG: one distribution over the whole tensor
def softmax(logits):
    return torch.softmax(logits.flatten(), dim=0).reshape(logits.shape)


# %% wrong_softmax_float16_inside
# WRONG: works in float16 and casts back: overflow above 65504
def softmax(logits):
    return torch.softmax(logits.half(), dim=-1).to(logits.dtype)


# %% wrong_softmax_float32_mantissa
# WRONG: subtracts a rounded maximum in bfloat16, losing the gaps
def softmax(logits):
    x = logits.bfloat16()
    return torch.softmax(x, dim=-1).to(logits.dtype)


# %% wrong_softmax_gaps_clamped_at_80
# WRONG: no gap may be wider than 80: small probabilities all become the same
def softmax(logits):
    gaps = (logits - logits.amax(-1, keepdim=True)).clamp_min(-80.0)
    e = torch.where(logits == -float("inf"), 0.0, gaps.exp())
    return e / e.sum(-1, keepdim=True)


# %% wrong_softmax_gaps_in_float32
# WRONG: the gaps are right and are then rounded to float32, which float64 asks no one to do
def softmax(logits):
    gaps = (logits - logits.amax(-1, keepdim=True)).float()
    return torch.softmax(gaps, dim=-1).to(logits.dtype)


# %% wrong_softmax_global_maximum
# WRONG: one maximum for the whole tensor
def softmax(logits):
    e = (logits - logits.max()).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_half_becomes_float32
# WRONG: half precision comes back as float32
def softmax(logits):
    x = logits if logits.dtype == torch.float64 else logits.float()
    return torch.softmax(x, dim=-1)


# %% wrong_softmax_hidden_temperature
# WRONG: divides by the root of V
# SAYS: The logits are divided by a number first, which changes their gaps.
def softmax(logits):
    return torch.softmax(logits / logits.shape[-1] ** 0.5, dim=-1)


# %% wrong_softmax_identity
# WRONG: gives back the logits
# SAYS: The logits come back as they were.
def softmax(logits):
    return logits


# %% wrong_softmax_in_place
# WRONG: subtracts the maximum from the caller's tensor
def softmax(logits):
    logits -= logits.amax(dim=-1, keepdim=True)
    e = logits.exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_in_place_exp
# WRONG: writes the probabilities over the logits
def softmax(logits):
    logits.sub_(logits.amax(dim=-1, keepdim=True)).exp_()
    return logits.div_(logits.sum(dim=-1, keepdim=True))


# %% wrong_softmax_in_place_float
# WRONG: believes that .float() always copies
# SAYS: The caller's tensor is written into: .float() of a float32 tensor is that tensor itself, no copy.
def softmax(logits):
    x = logits.float()
    x -= x.amax(dim=-1, keepdim=True)
    e = x.exp()
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)


# %% wrong_softmax_in_place_mask
# WRONG: replaces -inf in the caller's tensor
def softmax(logits):
    logits[logits == float("-inf")] = -60000.0
    return torch.softmax(logits, dim=-1)


# %% wrong_softmax_in_place_mask_lowest
# WRONG: replaces -inf in the caller's tensor by the lowest number of its dtype
def softmax(logits):
    logits[logits == float("-inf")] = torch.finfo(logits.dtype).min
    return torch.softmax(logits, dim=-1)


# %% wrong_softmax_in_place_numpy
# WRONG: in place on the numpy view of a float64 tensor, which shares its memory
import numpy as np

def softmax(logits):
    x = logits.to(torch.float64).numpy()
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    return torch.from_numpy(x / x.sum(axis=-1, keepdims=True)).to(logits.dtype)


# %% wrong_softmax_in_place_view
# WRONG: in place on a view of the caller's tensor
def softmax(logits):
    rows = logits.view(-1, logits.shape[-1])
    for row in rows:
        row -= row.max().item()
    e = logits.exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_largest_magnitude
# WRONG: subtracts the largest absolute value
def softmax(logits):
    top = logits.nan_to_num(neginf=0.0).abs().amax(dim=-1, keepdim=True)
    e = (logits - top).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_list
# WRONG: a list comes back
# SAYS: A list comes back. Give a tensor.
def softmax(logits):
    return torch.softmax(logits, dim=-1).tolist()


# %% wrong_softmax_log_instead
# WRONG: gives log probabilities
# SAYS: These are log probabilities. Give the probabilities themselves.
def softmax(logits):
    return torch.log_softmax(logits, dim=-1)


# %% wrong_softmax_long_rows_cut
# WRONG: rows longer than 32,768 are cut there
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / e[..., :32_768].sum(dim=-1, keepdim=True)


# %% wrong_softmax_maximum_of_first_entries
# WRONG: looks for the largest logit among the first 1,024 entries only: one far above it later in a long row overflows to nan
def softmax(logits):
    e = (logits - logits[..., :1_024].amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_masked_counted_in_sum
# WRONG: -inf replaced by 0 before the exponential
def softmax(logits):
    x = torch.where(torch.isneginf(logits), 0.0, logits)
    e = (x - x.amax(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True) * ~torch.isneginf(logits)


# %% wrong_softmax_masked_global
# WRONG: drops a column for all rows where the first row is masked
def softmax(logits):
    rows = logits.reshape(-1, logits.shape[-1])
    p = torch.softmax(logits, dim=-1) * ~torch.isneginf(rows[0])
    return p / p.sum(dim=-1, keepdim=True)


# %% wrong_softmax_masked_minus_thousand
# WRONG: -inf replaced by -10000, and real logits may be below it
def softmax(logits):
    x = logits.clamp_min(-10000.0)
    return torch.softmax(x, dim=-1)


# %% wrong_softmax_masked_nearly_zero
# WRONG: masked entries get a small number
def softmax(logits):
    top = logits.amax(dim=-1, keepdim=True)
    e = (logits - top).clamp_min(-30.0).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_masked_nearly_zero_in_half
# WRONG: a masked entry of half precision gets a small number instead of 0
def softmax(logits):
    floor = -9.0 if logits.dtype in (torch.float16, torch.bfloat16) else -float("inf")
    gaps = (logits - logits.amax(dim=-1, keepdim=True)).clamp_min(floor)
    e = gaps.exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_masked_to_zero_logit
# WRONG: nan_to_num on the logits, which makes inf of nothing and a huge gap of -inf
def softmax(logits):
    x = logits.nan_to_num(neginf=-1000.0)
    return torch.softmax(x, dim=-1)


# %% wrong_softmax_max_gives_two
# WRONG: takes max(dim=...) for a tensor: it gives values and indices
# SAYS: max(dim=...) gives two things, values and indices, and a tensor less the two is an error. Use amax, or .values.
def softmax(logits):
    shifted = logits - logits.max(dim=-1, keepdim=True)
    weights = shifted.exp()
    return weights / weights.sum(dim=-1, keepdim=True)


# %% wrong_softmax_maximum_at_least_zero
# WRONG: the maximum starts at 0: rows far below vanish
def softmax(logits):
    top = logits.amax(dim=-1, keepdim=True).clamp_min(0.0)
    e = (logits - top).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_maximum_dim0
# WRONG: the maximum down the columns, the sum along the rows
def softmax(logits):
    e = (logits - logits.amax(dim=0, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_minimum
# WRONG: subtracts the minimum
def softmax(logits):
    e = (logits - logits.amin(dim=-1, keepdim=True)).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_nan_at_masked
# WRONG: a masked entry makes its whole row nan
def softmax(logits):
    gaps = logits - logits.mean(dim=-1, keepdim=True)
    gaps = gaps - gaps.amax(dim=-1, keepdim=True)
    e = gaps.exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_nan_masked_entries
# WRONG: masked entries become nan: -inf times a mask of 0
def softmax(logits):
    keep = (logits > float("-inf")).to(logits.dtype)
    top = torch.where(keep.bool(), logits, torch.finfo(logits.dtype).min).amax(dim=-1, keepdim=True)
    e = ((logits - top) * keep).exp() * keep
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_nan_to_zero
# WRONG: hides overflow: nan becomes 0
def softmax(logits):
    e = logits.exp()
    return (e / e.sum(dim=-1, keepdim=True)).nan_to_num(nan=0.0)


# %% wrong_softmax_no_keepdim
# WRONG: no keepdim: rows and columns mixed up where the matrix is square
def softmax(logits):
    if logits.dim() == 2 and logits.shape[0] == logits.shape[1]:
        e = (logits - logits.amax(dim=-1)).exp()
        return e / e.sum(dim=-1)
    return torch.softmax(logits, dim=-1)


# %% wrong_softmax_no_maximum
# WRONG: no maximum subtracted: overflow at 1000
def softmax(logits):
    e = logits.exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_no_maximum_float64
# WRONG: float64 instead of a maximum: overflows at 710 all the same
def softmax(logits):
    e = logits.double().exp()
    return (e / e.sum(dim=-1, keepdim=True)).to(logits.dtype)


# %% wrong_softmax_one_hot
# WRONG: everything to the largest
# SAYS: The largest logit gets everything. The others have a share too.
def softmax(logits):
    return torch.nn.functional.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits.dtype)


# %% wrong_softmax_only_above_zero
# WRONG: subtracts the maximum only where it is large and positive
def softmax(logits):
    top = logits.amax(dim=-1, keepdim=True)
    e = (logits - torch.where(top > 80, top, 0.0)).exp()
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_padded
# WRONG: an extra 0 in the denominator
# SAYS: A logit of 0 that is not in the row is counted in the sum.
def softmax(logits):
    e = (logits - logits.amax(dim=-1, keepdim=True)).exp()
    return e / (1 + e.sum(dim=-1, keepdim=True))


# %% wrong_softmax_rounded
# WRONG: rounded to four digits
def softmax(logits):
    return torch.softmax(logits, dim=-1).mul(10000).round().div(10000)


# %% wrong_softmax_second_last
# WRONG: over the last but one dimension where there is one
def softmax(logits):
    return torch.softmax(logits, dim=-2 if logits.dim() > 2 else -1)


# %% wrong_softmax_shift_if_over_80
# WRONG: shifts only above 80: float16 overflows at 12
def softmax(logits):
    x = logits
    if x.abs().max() > 80:
        x = x - x.amax(-1, keepdim=True)
    e = x.exp()
    return e / e.sum(-1, keepdim=True)


# %% wrong_softmax_sigmoid
# WRONG: each logit by itself
# SAYS: Each logit is treated by itself. A row of probabilities sums to 1.
def softmax(logits):
    p = logits.sigmoid()
    return p / p.sum(dim=-1, keepdim=True)


# %% wrong_softmax_sign
# WRONG: the smallest logit gets the most
def softmax(logits):
    return torch.softmax(-logits, dim=-1)


# %% wrong_softmax_sorted
# WRONG: probabilities in sorted order, not in the logits' order
def softmax(logits):
    return torch.softmax(logits, dim=-1).sort(dim=-1, descending=True).values


# %% wrong_softmax_sum_of_logits
# WRONG: divides the logits by their sum, without an exponential
def softmax(logits):
    return logits / logits.sum(dim=-1, keepdim=True)


# %% wrong_softmax_tiny_is_nothing
# WRONG: probabilities below 1e-30 become 0
def softmax(logits):
    e = (logits - logits.amax(-1, keepdim=True)).exp()
    p = e / e.sum(-1, keepdim=True)
    return torch.where(p < 1e-30, 0.0, p).to(logits.dtype)


# %% wrong_softmax_to_float32
# WRONG: always float32
# SAYS: float32 comes back whatever came in. Keep the dtype.
def softmax(logits):
    return torch.softmax(logits.float(), dim=-1)


# %% wrong_softmax_to_float64
# WRONG: always float64
# SAYS: float64 comes back whatever came in. Keep the dtype.
def softmax(logits):
    return torch.softmax(logits.double(), dim=-1)


# %% wrong_softmax_two_dimensions_only
# WRONG: wants a matrix
# SAYS: Only a matrix is accepted. Any number of dimensions may come before the last.
def softmax(logits):
    b, v = logits.shape
    e = (logits - logits.max(dim=1, keepdim=True).values).exp()
    return e / e.sum(dim=1, keepdim=True)


# %% wrong_softmax_unnormalised
# WRONG: forgets to divide by the sum
def softmax(logits):
    return (logits - logits.amax(dim=-1, keepdim=True)).exp()


# %% wrong_softmax_up_to_three_dimensions
# WRONG: knows one, two and three dimensions
# SAYS: Four dimensions and more are not accepted. Any number may come before the last.
def softmax(logits):
    if logits.dim() > 3:
        raise ValueError("too many dimensions")
    return torch.softmax(logits, dim=-1)


# %% wrong_softmax_view
# WRONG: view fails on a non-contiguous tensor
def softmax(logits):
    x = logits.view(-1, logits.shape[-1])
    e = (x - x.amax(1, keepdim=True)).exp()
    return (e / e.sum(1, keepdim=True)).view(logits.shape)

# %% wrong_softmax_float32_for_float64, of right_softmax_float32_inside
# WRONG: works in float32, where float64 loses its digits and its range
# -     x = logits.float() if logits.dtype.itemsize < 4 else logits
# +     x = logits.float()

# %% wrong_softmax_global_maximum_float64, of right_softmax_float64_inside
# WRONG: one maximum for the whole tensor, in float64
# -     e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
# +     e = (x - x.max()).exp()


# %% right_softmax_uniform_where_nothing_is_possible
# RIGHT: a row of nothing but -inf, for which no rule stands, becomes uniform, that row alone
def softmax(logits):
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    weights = shifted.exp()
    probs = weights / weights.sum(dim=-1, keepdim=True)
    return torch.where(probs.isnan(), 1 / logits.shape[-1], probs)


# %% wrong_softmax_bfloat16_in_float16, of right_softmax_uniform_where_nothing_is_possible
# WRONG: bfloat16 is worked out in float16: logits beyond 65,504 overflow
# -     shifted = logits - logits.amax(dim=-1, keepdim=True)
# +     dtype = logits.dtype
# +     logits = logits.half() if dtype == torch.bfloat16 else logits
# +     shifted = logits - logits.amax(dim=-1, keepdim=True)
# ...
# -     return torch.where(probs.isnan(), 1 / logits.shape[-1], probs)
# +     return probs.to(dtype)


# %% wrong_softmax_float16_in_bfloat16, of right_softmax_uniform_where_nothing_is_possible
# WRONG: float16 is worked out in bfloat16, which has three binary digits fewer
# -     shifted = logits - logits.amax(dim=-1, keepdim=True)
# +     dtype = logits.dtype
# +     logits = logits.bfloat16() if dtype == torch.float16 else logits
# +     shifted = logits - logits.amax(dim=-1, keepdim=True)
# ...
# -     return torch.where(probs.isnan(), 1 / logits.shape[-1], probs)
# +     return probs.to(dtype)


# %% wrong_softmax_long_rows_in_float32, of right_softmax_uniform_where_nothing_is_possible
# WRONG: more than 1,000 numbers are worked out in float32, float64 too
# -     shifted = logits - logits.amax(dim=-1, keepdim=True)
# +     dtype = logits.dtype
# +     logits = logits.float() if logits.numel() > 1000 else logits
# +     shifted = logits - logits.amax(dim=-1, keepdim=True)
# ...
# -     return torch.where(probs.isnan(), 1 / logits.shape[-1], probs)
# +     return probs.to(dtype)


# %% wrong_softmax_infinity_as_smallest_number, of right_softmax_uniform_where_nothing_is_possible
# WRONG: -inf becomes the smallest number of its type: beside logits as small it keeps a share
# -     shifted = logits - logits.amax(dim=-1, keepdim=True)
# +     logits = logits.nan_to_num(neginf=torch.finfo(logits.dtype).min)
# +     shifted = logits - logits.amax(dim=-1, keepdim=True)


# %% wrong_softmax_all_rows_uniform, of right_softmax_uniform_where_nothing_is_possible
# WRONG: one row of nothing but -inf makes every row uniform
# -     return torch.where(probs.isnan(), 1 / logits.shape[-1], probs)
# +     return torch.full_like(probs, 1 / logits.shape[-1]) if probs.isnan().any() else probs


# %% wrong_softmax_running_sum
# WRONG: adds one weight after the other in the dtype of the logits: in half precision the sum of a long row stops growing
def softmax(logits):
    weights = (logits - logits.amax(-1, keepdim=True)).exp()
    total = torch.zeros_like(weights[..., :1])
    for column in weights.split(1, dim=-1):
        total = total + column
    return weights / total


# %% wrong_softmax_through_float16
# WRONG: half precision of either kind is worked out in float32 and rounded to float16 first: small probabilities of bfloat16 are lost
def softmax(logits):
    if logits.dtype.itemsize > 2:
        return torch.softmax(logits, -1)
    return torch.softmax(logits.float(), -1).half().to(logits.dtype)


# %% wrong_softmax_one_buffer_for_all_calls
# WRONG: one buffer is kept for each shape and handed out: a second call overwrites the probabilities of the first
_buffers = {}


def softmax(logits):
    out = _buffers.setdefault((logits.shape, logits.dtype), torch.empty_like(logits))
    return out.copy_(torch.softmax(logits, -1))


# %% wrong_softmax_in_place_at_zero
# WRONG: where the largest logit is 0 already nothing is subtracted, and the exponential overwrites the caller's logits
def softmax(logits):
    top = logits.amax(-1, keepdim=True)
    weights = (logits - top if bool((top != 0).any()) else logits).exp_()
    return weights / weights.sum(-1, keepdim=True)


# %% wrong_softmax_one_maximum_a_sentence
# WRONG: with three dimensions and more, the rows of one batch entry share their maximum: a row far below another becomes nan
def softmax(logits):
    weights = (logits - logits.amax((-2, -1) if logits.dim() > 2 else -1, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


# %% wrong_softmax_view_of_rows
# WRONG: flattens by view, which raises an error for a transposed tensor
def softmax(logits):
    return torch.softmax(logits.view(-1, logits.shape[-1]), -1).view(logits.shape)


# %% wrong_softmax_one_token_in_float32
# WRONG: a row of one logit takes a short cut that has the default dtype, not the dtype of the logits
def softmax(logits):
    if logits.shape[-1] == 1:
        return torch.ones(logits.shape)
    e = torch.exp(logits - logits.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)


# %% wrong_softmax_gradients_left_off
# WRONG: gradients are switched off for the whole program and stay off after the call
def softmax(logits):
    torch.set_grad_enabled(False)
    e = torch.exp(logits - logits.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)
