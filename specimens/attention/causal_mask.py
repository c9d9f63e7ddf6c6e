# Versions of causal_mask, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_mask_last_rows
# RIGHT: the last rows of the square mask, as the negation of what is forbidden
import torch


def causal_mask(q_len, k_len):
    forbidden = torch.triu(torch.ones(k_len, k_len), diagonal=1)
    return (forbidden == 0)[k_len - q_len:, :]


# %% right_mask_loops
# RIGHT: entry by entry
import torch


def causal_mask(q_len, k_len):
    mask = torch.zeros((q_len, k_len), dtype=torch.bool)
    for i in range(q_len):
        mask[i, : k_len - q_len + i + 1] = True
    return mask


# %% right_mask_tril
# RIGHT: the lower triangle of a matrix of ones, moved by the difference of lengths
import torch


def causal_mask(q_len, k_len):
    return torch.tril(torch.ones(q_len, k_len, dtype=torch.bool), diagonal=k_len - q_len)


# %% wrong_causal_mask_buffer128
# WRONG: cut from a buffer of 128 positions
# SAYS: The mask is cut from one of 128 positions: make it from q_len and k_len.
_buffer = None
def causal_mask(q_len, k_len):
    global _buffer
    if _buffer is None:
        _buffer = torch.ones(128, 128, dtype=torch.bool).tril()
    return _buffer[k_len - q_len:k_len, :k_len]


# %% wrong_causal_mask_window
# WRONG: only the last 256 keys
# SAYS: Only the last 256 keys may be seen: a query sees everything before it.
def causal_mask(q_len, k_len):
    m = torch.ones(q_len, k_len, dtype=torch.bool)
    return m.tril(k_len - q_len) & m.triu(k_len - q_len - 255)


# %% wrong_mask_additive
# WRONG: zeros and -inf to be added, instead of bool
# SAYS: The mask is made of zeros and -inf: it should be bool, True where attention is allowed.
def causal_mask(q_len, k_len):
    return torch.full((q_len, k_len), float("-inf")).triu(k_len - q_len + 1)


# %% wrong_mask_aligned_at_start
# WRONG: query i is placed at position i
# SAYS: Query i is placed at position i: the queries are the last, so its position is k_len - q_len + i.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril()


# %% wrong_mask_all
# WRONG: everything is allowed
# SAYS: Everything is allowed: a query sees nothing after itself.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool)


# %% wrong_mask_buffer1024
# WRONG: cut from a buffer of 1,024 positions: too small for a longer text
# SAYS: The mask is cut from one of 1,024 positions: a longer text gets too small a mask. Make it from q_len and k_len.
def causal_mask(q_len, k_len):
    keys = torch.arange(1024)
    return (keys <= keys[:, None])[k_len - q_len : k_len, :k_len]


# %% wrong_mask_buffer8192
# WRONG: cut from a buffer of 8,192 positions: too small for a longer text
# SAYS: The mask is cut from one of 8,192 positions: a longer text gets too small a mask. Make it from q_len and k_len.
def causal_mask(q_len, k_len):
    keys = torch.arange(8192)
    return (keys <= keys[:, None])[k_len - q_len : k_len, :k_len]


# %% wrong_mask_diagonal
# WRONG: a query sees only itself
# SAYS: A query sees only itself: it sees everything before it too.
def causal_mask(q_len, k_len):
    return torch.arange(k_len) == torch.arange(k_len - q_len, k_len)[:, None]


# %% wrong_mask_floats
# WRONG: ones and zeros as floats
# SAYS: The mask holds ones and zeros as floats: a comparison gives bool.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len).tril(k_len - q_len)


# %% wrong_mask_four_dimensions
# WRONG: two extra dimensions in front
# SAYS: The mask has two extra dimensions in front: it is (q_len, k_len).
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)[None, None]


# %% wrong_mask_integers
# WRONG: ones and zeros as integers
# SAYS: The mask holds ones and zeros as integers: a comparison gives bool.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.int64).tril(k_len - q_len)


# %% wrong_mask_inverted
# WRONG: True where attention is forbidden
# SAYS: True marks the keys that a query must not see: True means that the query may see the key.
def causal_mask(q_len, k_len):
    return ~torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)


# %% wrong_mask_not_itself
# WRONG: a query does not see itself
# SAYS: A query does not see itself: the comparison is less than or equal.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len - 1)


# %% wrong_mask_one_too_many
# WRONG: a query sees the token after it
# SAYS: A query sees the token after it: its own position is the last that it sees.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len + 1)


# %% wrong_mask_only_future
# WRONG: a query sees itself and what comes after
# SAYS: A query sees itself and what comes after: it should see what comes before.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).triu(k_len - q_len)


# %% wrong_mask_single_query_special
# WRONG: a single query sees key 0 only
# SAYS: A single query sees key 0 only: it comes after all keys before it and sees every one.
def causal_mask(q_len, k_len):
    if q_len == 1:
        return torch.arange(k_len)[None] == 0
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)


# %% wrong_mask_square
# WRONG: always (k_len, k_len)
# SAYS: The mask is always (k_len, k_len): its rows are the queries, q_len of them.
def causal_mask(q_len, k_len):
    return torch.ones(k_len, k_len, dtype=torch.bool).tril()


# %% wrong_mask_square_of_queries
# WRONG: only the new tokens, as if nothing came before them
# SAYS: Only the new tokens are in the mask, as if nothing came before them: its columns are all k_len keys.
def causal_mask(q_len, k_len):
    mask = torch.zeros(q_len, k_len, dtype=torch.bool)
    mask[:, k_len - q_len:] = torch.ones(q_len, q_len, dtype=torch.bool).tril()
    return mask


# %% wrong_mask_transposed
# WRONG: keys are rows
# SAYS: The keys are rows: queries are rows, keys are columns.
def causal_mask(q_len, k_len):
    return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len).T.contiguous()


# %% wrong_mask_window
# WRONG: a query sees itself and the last three before it only
# SAYS: A query sees itself and three tokens before it: it sees everything before it.
def causal_mask(q_len, k_len):
    at = torch.arange(k_len - q_len, k_len)[:, None]
    keys = torch.arange(k_len)
    return (keys <= at) & (keys > at - 4)


# %% wrong_mask_window_of_4096
# WRONG: a query sees only the last 4,096 positions
def causal_mask(q_len, k_len):
    distance = torch.arange(k_len - q_len, k_len)[:, None] - torch.arange(k_len)
    return (distance >= 0) & (distance < 4096)
