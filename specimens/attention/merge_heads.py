# Versions of merge_heads, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_merge_cat
# RIGHT: the heads side by side
import torch


def merge_heads(x):
    return torch.cat(list(x.unbind(dim=1)), dim=-1)


# %% right_merge_einsum
# RIGHT: einsum names the new order
import torch


def merge_heads(x):
    return torch.einsum("bhtd->bthd", x).reshape(x.shape[0], x.shape[2], -1)


# %% right_merge_permute
# RIGHT: permute, contiguous, view
def merge_heads(x):
    B, H, T, Dh = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(B, T, H * Dh)


# %% wrong_merge_first_head
# WRONG: only head 0
# SAYS: Only head 0 comes back: put all heads side by side.
def merge_heads(x):
    return x[:, 0].repeat(1, 1, x.shape[1])


# %% wrong_merge_float32
# WRONG: returns float32 whatever comes in
# SAYS: float32 comes back whatever comes in: keep the dtype.
def merge_heads(x):
    return x.float().transpose(1, 2).flatten(2)


# %% wrong_merge_heads_as_strided
# WRONG: strides as if x were contiguous
def merge_heads(x):
    B, H, T, D = x.shape
    return x.as_strided((B, T, H, D), (H * T * D, D, T * D, 1)).reshape(B, T, H * D)


# %% wrong_merge_interleaved
# WRONG: entry 0 of every head, then entry 1 of every head
# SAYS: Entry 0 of every head comes first, then entry 1: each head stays in one piece.
def merge_heads(x):
    return x.permute(0, 2, 3, 1).flatten(2)


# %% wrong_merge_long
# WRONG: texts longer than 64 tokens lose their end
def merge_heads(x):
    return x[:, :, :64].transpose(1, 2).flatten(2)


# %% wrong_merge_mean
# WRONG: averages the heads, repeated to the width
# SAYS: The heads are averaged: put them side by side.
def merge_heads(x):
    return x.mean(dim=1).repeat(1, 1, x.shape[1])


# %% wrong_merge_no_flatten
# WRONG: (B, T, H, Dh)
# SAYS: The result is (B, T, H, Dh): make one dimension of the last two.
def merge_heads(x):
    return x.transpose(1, 2)


# %% wrong_merge_no_transpose
# WRONG: flattens without exchanging heads and tokens
# SAYS: Heads and tokens are flattened without being exchanged first: transpose(1, 2), then flatten.
def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.reshape(B, T, H * Dh)


# %% wrong_merge_reversed
# WRONG: the last head first
# SAYS: The last head comes first: head 0 is first.
def merge_heads(x):
    return x.flip(1).transpose(1, 2).flatten(2)


# %% wrong_merge_tokens_first
# WRONG: (T, B, H*Dh)
# SAYS: The result is (T, B, H*Dh): the batch stays in front.
def merge_heads(x):
    return x.permute(2, 0, 1, 3).flatten(2)


# %% wrong_merge_view_of_transposed
# WRONG: view of a transposed tensor, which torch refuses
# SAYS: `view` refuses a transposed tensor: use reshape or flatten, which copy.
def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.transpose(1, 2).view(B, T, H * Dh)


# %% wrong_merge_width_first
# WRONG: (B, H*Dh, T)
# SAYS: The result is (B, H*Dh, T): tokens come before entries.
def merge_heads(x):
    return x.transpose(2, 3).flatten(1, 2)


# %% wrong_merge_wrong_exchange
# WRONG: exchanges tokens and entries before flattening
# SAYS: Tokens and entries are exchanged: exchange heads and tokens, dimensions 1 and 2.
def merge_heads(x):
    B, H, T, Dh = x.shape
    return x.transpose(2, 3).reshape(B, T, H * Dh)


# %% wrong_merge_by_a_product
# WRONG: multiplies by a matrix of zeros and ones: one infinite entry makes nan of all other entries of its token
def merge_heads(x):
    H, Dh = x.shape[1], x.shape[3]
    place = torch.eye(H * Dh, dtype=x.dtype, device=x.device).reshape(H, Dh, H * Dh)
    return torch.einsum("bhtd,hdw->btw", x, place)


# %% wrong_merge_through_float32
# WRONG: goes through float32: float64 loses digits
def merge_heads(x):
    return x.float().transpose(1, 2).flatten(2).to(x.dtype)
