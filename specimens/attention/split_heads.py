# Versions of split_heads, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_split_loops
# RIGHT: copies head by head into a new tensor
import torch


def split_heads(x, num_heads):
    B, T, D = x.shape
    Dh = D // num_heads
    out = torch.zeros(B, num_heads, T, Dh, dtype=x.dtype, device=x.device)
    for h in range(num_heads):
        out[:, h] = x[..., h * Dh:(h + 1) * Dh]
    return out


# %% right_split_slices
# RIGHT: slices, stacked
import torch


def split_heads(x, num_heads):
    return torch.stack(torch.chunk(x, num_heads, dim=2), dim=1)


# %% right_split_view
# RIGHT: view and permute
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.view(B, T, num_heads, D // num_heads).permute(0, 2, 1, 3)


# %% wrong_split_batch_and_heads
# WRONG: heads before rows
# SAYS: Heads come before rows: the result is (B, H, T, Dh).
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(2, 0, 1, 3)


# %% wrong_split_every_hth
# WRONG: head h gets every H-th entry
# SAYS: Head h has every H-th entry: it is one contiguous piece, entries h*Dh to (h+1)*Dh.
def split_heads(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


# %% wrong_split_flattens_rows
# WRONG: cuts the whole batch, not each token
# SAYS: The whole batch is cut, not each token: cut the last dimension only.
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(num_heads, B, T, D // num_heads).transpose(0, 1)


# %% wrong_split_float32
# WRONG: returns float32 whatever comes in
# SAYS: float32 comes back whatever comes in: keep the dtype.
def split_heads(x, num_heads):
    return x.float().unflatten(-1, (num_heads, -1)).transpose(1, 2)


# %% wrong_split_folds_batch
# WRONG: rows and heads in one dimension
# SAYS: Rows and heads are in one dimension: the result is (B, H, T, Dh).
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2).flatten(0, 1)


# %% wrong_split_heads_as_strided
# WRONG: strides as if x were contiguous
def split_heads(x, num_heads):
    B, T, W = x.shape
    d = W // num_heads
    return x.as_strided((B, num_heads, T, d), (T * W, d, W, 1))


# %% wrong_split_long
# WRONG: texts longer than 64 tokens lose their end
def split_heads(x, num_heads):
    return x[:, :64].unflatten(-1, (num_heads, -1)).transpose(1, 2)


# %% wrong_split_no_transpose
# WRONG: leaves tokens before heads
# SAYS: Tokens still come before heads: exchange dimensions 1 and 2.
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))


# %% wrong_split_reversed
# WRONG: the heads in reversed order
# SAYS: The heads come in reversed order.
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2).flip(1)


# %% wrong_split_tokens_last
# WRONG: (B, H, Dh, T)
# SAYS: The result is (B, H, Dh, T): tokens come before entries.
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 3, 1)


# %% wrong_split_tokens_reversed
# WRONG: the order of the tokens is lost by reading the tensor in the wrong order
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.transpose(1, 2).reshape(B, num_heads, D // num_heads, T).transpose(2, 3).flip(2)


# %% wrong_split_view_only
# WRONG: reshapes straight to (B, H, T, Dh)
# SAYS: x is reshaped straight to (B, H, T, Dh), which mixes tokens: cut the last dimension first, then exchange heads and tokens.
def split_heads(x, num_heads):
    B, T, D = x.shape
    return x.reshape(B, num_heads, T, D // num_heads)


# %% wrong_split_width_for_count
# WRONG: num_heads taken for the width of a head
# SAYS: num_heads is taken for the width of a head: it counts heads.
def split_heads(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).transpose(1, 2)


# %% wrong_split_through_float32
# WRONG: goes through float32: float64 loses digits
def split_heads(x, num_heads):
    return x.float().unflatten(-1, (num_heads, -1)).transpose(1, 2).to(x.dtype)


# %% wrong_split_by_a_product
# WRONG: multiplies by a matrix of zeros and ones: one infinite entry makes nan of all other entries of its token
def split_heads(x, num_heads):
    pick = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).unflatten(-1, (num_heads, -1))
    return torch.einsum("btw,whd->bhtd", x, pick)


# %% wrong_split_heads_of_64
# WRONG: cuts heads of 64, as SmolLM2's are, wherever 64 divides the vector, whatever num_heads says
def split_heads(x, num_heads):
    width = 64 if x.shape[-1] % 64 == 0 else x.shape[-1] // num_heads
    return x.unflatten(-1, (-1, width)).transpose(1, 2)
