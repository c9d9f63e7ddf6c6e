# Versions of rms_norm, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_norm_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight


# %% right_norm_length
# RIGHT: from the length of the vector
import math


def rms_norm(x, weight, eps):
    D = x.size(-1)
    y = x if x.dtype in (torch.float32, torch.float64) else x.float()
    length = torch.linalg.vector_norm(y, dim=-1)
    root = torch.hypot(length / math.sqrt(D), torch.full_like(length, math.sqrt(eps)))
    return weight * torch.einsum("...d,...->...d", y, 1 / root).to(x.dtype)


# %% right_norm_library
# RIGHT: torch's own rms_norm
import torch.nn.functional as F


def rms_norm(x, weight, eps):
    return F.rms_norm(x.float() if x.dtype != torch.float64 else x, (x.shape[-1],), None, eps).to(x.dtype) * weight


# %% right_norm_loop
# RIGHT: vector by vector
def rms_norm(x, weight, eps):
    rows = x.reshape(-1, x.shape[-1]).double()
    out = torch.empty_like(rows)
    for i, row in enumerate(rows):
        out[i] = row / (torch.dot(row, row) / len(row) + eps).sqrt()
    return (out * weight.double()).view(x.shape).to(x.dtype)


# %% right_norm_rsqrt
# RIGHT: the reciprocal root, weight in float32, one rounding
def rms_norm(x, weight, eps):
    dtype = x.dtype
    x = x.double()
    scale = torch.rsqrt((x * x).mean(-1, True) + eps)
    return (x * scale * weight.double()).to(dtype)


# %% right_rms_vector_norm
# RIGHT: float64 throughout, the size from vector_norm, weight before the cast
def rms_norm(x, weight, eps):
    y = x.to(torch.float64)
    length = torch.linalg.vector_norm(y, dim=-1)
    size = torch.sqrt(length**2 / y.shape[-1] + eps)
    return torch.einsum("...d,...,d->...d", y, 1 / size, weight.double()).to(x.dtype)


# %% wrong_norm_float64_lost
# WRONG: float64 comes back as float32
# SAYS: float64 comes back as float32: compute in float32 or better.
def rms_norm(x, weight, eps):
    precise = x.to(torch.float32)
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).float() * weight.float()


# %% wrong_norm_in_place
# WRONG: divides the caller's x
# SAYS: The caller's x is divided: build a new tensor.
def rms_norm(x, weight, eps):
    size = (x.float().square().mean(dim=-1, keepdim=True) + eps).sqrt()
    x /= size
    return x * weight


# %% wrong_norm_length_one
# WRONG: brings each vector to length 1
# SAYS: Each vector gets the length 1: divide by the root of the mean of the squares, not of their sum.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().sum(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight * 1.0


# %% wrong_norm_view
# WRONG: x.view(-1, D): refuses an x that is not contiguous
# SAYS: `view` needs the numbers in memory in the order of the shape, and x may be transposed: a mean over the last dimension needs no reshaping.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    rows = precise.view(-1, x.shape[-1])
    size = (rows.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (rows / size).view(x.shape).to(x.dtype) * weight


# %% wrong_norm_weight_before
# WRONG: the weight is applied before the size is taken
# SAYS: The weight is applied before the size is taken: norm first.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32)) * weight
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype)


# %% wrong_rms_norm_eps_low
# WRONG: eps rounded to the dtype of x: 1e-8 becomes 0 in float16
# SAYS: eps is rounded to the dtype of x, and 1e-8 is 0 in float16: add it in float32.
def rms_norm(x, weight, eps):
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    return (y / (y.square().mean(-1, keepdim=True) + torch.tensor(eps, dtype=x.dtype).to(y.dtype)).sqrt()).to(x.dtype) * weight

# %% wrong_norm_five_dimensions, of right_norm_plain
# WRONG: more than four dimensions are flattened, and come back so
#   def rms_norm(x, weight, eps):
# +     if x.dim() > 4:
# +         x = x.flatten(0, -2)

# %% wrong_norm_needs_three_dimensions, of right_norm_plain
# WRONG: works for (B, T, D) only
# SAYS: Only an x of shape (B, T, D) can be used: any number of dimensions may come before D.
#   def rms_norm(x, weight, eps):
# +     B, T, D = x.shape

# %% wrong_rms_eps_zero, of right_norm_plain
# WRONG: eps = 0 is replaced by 1e-6
#   def rms_norm(x, weight, eps):
# +     eps = eps or 1e-6

# %% wrong_norm_bfloat16_alone_precise, of right_norm_plain
# WRONG: bfloat16 is computed in float32, float16 is not: squares above 65,504 are infinite
# -     precise = x.to(torch.promote_types(x.dtype, torch.float32))
# +     precise = x.float() if x.dtype == torch.bfloat16 else x

# %% wrong_norm_half_precision, of right_norm_plain
# WRONG: computed in the dtype of x
# SAYS: Squares, mean and root are computed in the dtype of x: use at least float32, and go back at the end.
# -     precise = x.to(torch.promote_types(x.dtype, torch.float32))
# +     precise = x

# %% wrong_norm_mean_subtracted, of right_norm_plain
# WRONG: subtracts the mean, as LayerNorm does
# SAYS: The mean is subtracted, as LayerNorm does: RMSNorm subtracts nothing.
#       precise = x.to(torch.promote_types(x.dtype, torch.float32))
# +     precise = precise - precise.mean(dim=-1, keepdim=True)

# %% wrong_norm_eps_fixed, of right_norm_plain
# WRONG: eps is always 1e-6
# SAYS: eps is always 1e-6: use the one that is given.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()

# %% wrong_norm_eps_outside, of right_norm_plain
# WRONG: eps outside the root
# SAYS: eps is added outside the root: it belongs to the mean, sqrt(mean + eps).
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = precise.square().mean(dim=-1, keepdim=True).sqrt() + eps

# %% wrong_norm_eps_squared, of right_norm_plain
# WRONG: eps is squared
# SAYS: eps is squared: add it as it is.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().mean(dim=-1, keepdim=True) + eps**2).sqrt()

# %% wrong_norm_max_eps, of right_norm_plain
# WRONG: eps as a lower bound instead of a summand
# SAYS: eps is a lower bound for the mean: add it.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().mean(dim=-1, keepdim=True).clamp(min=eps)).sqrt()

# %% wrong_norm_mean_absolute, of right_norm_plain
# WRONG: the mean of the absolute values
# SAYS: The mean of the absolute values is used: it is the root of the mean of the squares.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = precise.abs().mean(dim=-1, keepdim=True) + eps

# %% wrong_norm_no_eps, of right_norm_plain
# WRONG: eps is not used
# SAYS: eps is not used.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().mean(dim=-1, keepdim=True)).sqrt()

# %% wrong_norm_no_root, of right_norm_plain
# WRONG: divides by the mean square, not its root
# SAYS: x is divided by the mean of the squares: divide by its root.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().mean(dim=-1, keepdim=True) + eps)

# %% wrong_norm_standard_deviation, of right_norm_plain
# WRONG: the standard deviation
# SAYS: x is divided by its standard deviation, for which the mean is subtracted: use the mean of the squares.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.var(dim=-1, keepdim=True, unbiased=False) + eps).sqrt()

# %% wrong_norm_sum, of right_norm_plain
# WRONG: the sum of squares instead of their mean
# SAYS: The sum of the squares is used: take their mean.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().sum(dim=-1, keepdim=True) + eps).sqrt()

# %% wrong_norm_whole_tensor, of right_norm_plain
# WRONG: one mean for the whole tensor
# SAYS: One mean is taken for the whole tensor: every vector has its own.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().mean() + eps).sqrt()

# %% wrong_norm_wrong_dimension, of right_norm_plain
# WRONG: the mean runs over the tokens
# SAYS: The mean runs over the tokens: it runs over the last dimension.
# -     size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
# +     size = (precise.square().mean(dim=-2 if x.dim() > 1 else -1, keepdim=True) + eps).sqrt()

# %% wrong_norm_float32, of right_norm_plain
# WRONG: returns float32
# SAYS: float32 comes back whatever comes in: keep the dtype of x.
# -     return (precise / size).to(x.dtype) * weight
# +     return (precise / size) * weight

# %% wrong_norm_multiplied, of right_norm_plain
# WRONG: multiplies by the root
# SAYS: x is multiplied by the root: divide.
# -     return (precise / size).to(x.dtype) * weight
# +     return (precise * size).to(x.dtype) * weight

# %% wrong_norm_no_weight, of right_norm_plain
# WRONG: the weight is left out
# SAYS: The weight is left out.
# -     return (precise / size).to(x.dtype) * weight
# +     return (precise / size).to(x.dtype)

# %% wrong_norm_weight_added, of right_norm_plain
# WRONG: adds the weight
# SAYS: The weight is added: multiply by it.
# -     return (precise / size).to(x.dtype) * weight
# +     return (precise / size).to(x.dtype) + weight

# %% wrong_norm_weight_plus_one, of right_norm_plain
# WRONG: multiplies by 1 + weight
# SAYS: x is multiplied by 1 + weight: by the weight.
# -     return (precise / size).to(x.dtype) * weight
# +     return (precise / size).to(x.dtype) * (1 + weight)


# %% wrong_norm_bfloat16_as_it_is
# WRONG: only float16 is raised to float32: bfloat16 is computed with its own 8 bits
def rms_norm(x, weight, eps):
    precise = x.float() if x.dtype == torch.float16 else x
    normed = precise * torch.rsqrt(precise.square().mean(-1, keepdim=True) + eps)
    return normed.to(x.dtype) * weight


# %% wrong_norm_entries_limited, of right_norm_plain
# WRONG: entries are cut at 65,504 either way, float16's largest number, in float32 too
# -     precise = x.to(torch.promote_types(x.dtype, torch.float32))
# +     precise = x.to(torch.promote_types(x.dtype, torch.float32)).clamp(-65504, 65504)
