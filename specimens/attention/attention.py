# Versions of attention, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_attention_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v


# %% right_attention_additive
# RIGHT: the mask as a float bias with the smallest finite number, its own stable softmax, scores in float32 or better
import torch


def attention(q, k, v, mask=None):
    rep = q.shape[1] // k.shape[1]
    B, K, Tk, Dh = k.shape
    k = k[:, :, None].expand(B, K, rep, Tk, Dh).reshape(B, K * rep, Tk, Dh)
    v = v[:, :, None].expand(B, K, rep, Tk, -1).reshape(B, K * rep, Tk, -1)
    precise = torch.promote_types(q.dtype, torch.float32)
    scores = (q.to(precise) * Dh**-0.25) @ (k.to(precise) * Dh**-0.25).mT
    if mask is not None:
        scores = scores + torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, torch.finfo(torch.float32).min)
    scores -= scores.max(-1, keepdim=True).values
    scores.exp_()
    scores /= scores.sum(-1, keepdim=True)
    return (scores.to(v.dtype) @ v).to(q.dtype)


# %% right_attention_einsum
# RIGHT: einsum, keys and values repeated by interleaving, torch.where for the mask
import math

import torch


def attention(q, k, v, mask=None):
    groups = q.size(1) // k.size(1)
    k = torch.repeat_interleave(k, groups, dim=1)
    v = torch.repeat_interleave(v, groups, dim=1)
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(float("-inf"), dtype=scores.dtype))
    return torch.einsum("bhqk,bhkd->bhqd", torch.softmax(scores, dim=-1), v)


# %% right_attention_five_dimensions
# RIGHT: an axis for the group, keys expanded instead of copied
import torch


def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K = k.shape[1]
    q5 = q.view(B, K, H // K, Tq, Dh) / Dh**0.5
    scores = q5 @ k.unsqueeze(2).expand(-1, -1, H // K, -1, -1).transpose(-1, -2)
    if mask is not None:
        full = mask.expand(B, H, Tq, k.shape[2]).view(B, K, H // K, Tq, -1)
        scores = scores.masked_fill(full.logical_not(), -torch.inf)
    out = softmax(scores) @ v.unsqueeze(2)
    return out.reshape(B, H, Tq, v.shape[-1])


# %% right_attention_library
# RIGHT: torch's own attention
import torch.nn.functional as F


def attention(q, k, v, mask=None):
    if mask is not None:
        mask = mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


# %% right_attention_loops
# RIGHT: one query at a time, in float64
import torch


def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1], k.shape[2]
    allowed = torch.ones(B, H, Tq, Tk, dtype=torch.bool, device=q.device)
    if mask is not None:
        allowed = allowed & mask
    out = torch.zeros(B, H, Tq, v.shape[-1], dtype=torch.float64, device=q.device)
    for b in range(B):
        for h in range(H):
            g = h * K // H
            for i in range(Tq):
                s = (k[b, g].double() @ q[b, h, i].double()) / Dh**0.5
                s[~allowed[b, h, i]] = -torch.inf
                out[b, h, i] = s.softmax(0) @ v[b, g].double()
    return out.to(q.dtype)


# %% right_attention_negative_billion
# RIGHT: hidden scores become -1e9, far below any other
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = (q @ k.transpose(2, 3)) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ v


# %% right_attention_normalised_last
# RIGHT: divides by the sum of the exponentials after averaging, head by head
import torch


def attention(q, k, v, mask=None):
    outs = []
    for h in range(q.shape[1]):
        g = h // (q.shape[1] // k.shape[1])
        s = q[:, h] @ k[:, g].transpose(1, 2) * q.shape[-1] ** -0.5
        if mask is not None:
            m = mask.broadcast_to(q.shape[0], q.shape[1], q.shape[2], k.shape[2])[:, h]
            s = s.masked_fill(m == 0, float("-inf"))
        e = torch.exp(s - s.amax(-1, keepdim=True))
        outs.append((e @ v[:, g]) / e.sum(-1, keepdim=True))
    return torch.stack(outs, dim=1)


# %% wrong_attention_always_causal
# WRONG: causal even where no mask is given
# SAYS: Without a mask every query sees every key; a causal mask is put in here though none is given.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is None:
        mask = causal_mask(q.shape[2], k.shape[2]).to(q.device)
    return softmax(scores.masked_fill(~mask, float("-inf"))) @ v


# %% wrong_attention_eight_groups
# WRONG: groups of more than four query heads share the first four only
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    q = q if groups <= 4 else q[:, torch.arange(q.shape[1]) // groups * groups + torch.arange(q.shape[1]) % groups % 4]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v


# %% wrong_attention_groups_and_mask
# WRONG: a mask for each query head is applied to the groups in the wrong order
# SAYS: Where query heads are grouped, a mask for each head meets the wrong heads: head h stays at place h.
def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K = k.shape[1]
    q = q.view(B, K, H // K, Tq, Dh).transpose(1, 2)
    scores = q @ k[:, None].mT / Dh**0.5
    if mask is not None:
        mask = mask.expand(B, H, Tq, k.shape[2]).reshape(B, H // K, K, Tq, -1)
        scores = scores.masked_fill(~mask, float("-inf"))
    return (softmax(scores) @ v[:, None]).transpose(1, 2).reshape(B, H, Tq, Dh)


# %% wrong_attention_hardest_only
# WRONG: takes the value of the best key alone
# SAYS: The value of the best key alone is taken: the output is an average of all values by their weights.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    best = scores.argmax(-1, keepdim=True)
    return torch.zeros_like(scores).scatter(-1, best, 1.0) @ v


# %% wrong_attention_keys_as_values
# WRONG: averages the keys
# SAYS: The keys are averaged: the weights belong to the values.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(groups, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ k


# %% wrong_attention_mask_after_softmax
# WRONG: weights of hidden keys set to 0 after the softmax
# SAYS: Weights of hidden keys are set to 0 after the softmax, and the rest no longer sums to 1: put -inf before it.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    weights = softmax(q @ k.mT / q.shape[-1] ** 0.5)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ v


# %% wrong_attention_mask_ignored
# WRONG: the mask is not used
# SAYS: The mask is not used.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    return softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v


# %% wrong_attention_mask_inverted_in_place_of_a_row
# WRONG: a mask for each row is inverted in the caller's memory
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        hidden = ~mask if mask.dim() == 2 else mask.logical_not_()
        scores = scores.masked_fill(hidden, -torch.inf)
    return softmax(scores) @ v


# %% wrong_attention_mask_of_three_dimensions
# WRONG: a mask (H, Tq, Tk) is taken for one of rows
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        mask = mask[:, None] if mask.dim() == 3 and len(mask) in (1, len(q)) else mask
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v


# %% wrong_attention_no_groups
# WRONG: as many key/value heads as query heads, or an error
# SAYS: There must be as many key/value heads as query heads here: give each query head its own, h // (H/K).
def attention(q, k, v, mask=None):
    scores = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).mT).view(q.shape[0], q.shape[1], q.shape[2], -1)
    scores = scores / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) @ v


# %% wrong_attention_no_more_queries_than_keys
# WRONG: the scores have room for as many queries as there are keys: more queries do not fit
# SAYS: There is only room for as many queries as there are keys: the two numbers are independent.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    room = q.new_zeros(*q.shape[:2], k.shape[2], k.shape[2])
    room[:, :, : q.shape[2]] = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = room[:, :, : q.shape[2]]
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v


# %% wrong_attention_one_key_in_place
# WRONG: where there is one query, the caller's queries are scaled in place
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    q = q.mul_(q.shape[-1] ** -0.5) if q.shape[2] == 1 else q * q.shape[-1] ** -0.5
    scores = q @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v


# %% wrong_attention_one_query_ignores_mask
# WRONG: a single query sees every key, whatever the mask says
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None and q.shape[2] > 1:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v


# %% wrong_attention_output_like_queries
# WRONG: the output is made in the shape of the queries: values of another width do not fit
# SAYS: The output is given the shape of q: it is as wide as the values, which may differ.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    out = torch.empty_like(q)
    out[:] = softmax(scores) @ v
    return out


# %% wrong_attention_over_heads
# WRONG: the heads of one token attend to each other
# SAYS: The heads of one token attend to each other here: tokens must be in the last dimension but one, (B, H, T, Dh).
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    q, k, v = q.transpose(1, 2), k.transpose(1, 2)[:, -q.shape[2]:], v.transpose(1, 2)[:, -q.shape[2]:]
    return (softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v).transpose(1, 2)


# %% wrong_attention_scale_after_softmax
# WRONG: the scale is applied to the weights
# SAYS: The weights are scaled instead of the scores: divide before the softmax.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores) / q.shape[-1] ** 0.5 @ v


# %% wrong_attention_scale_from_values
# WRONG: the scores are divided by the root of the values' width
# SAYS: The scores are divided by the root of the values' width; Dh is the width of queries and keys.
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-2, -1) / v.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores) @ v


# %% wrong_attention_ten_thousand
# WRONG: hidden scores become -1e4: above visible ones that are lower still
# SAYS: Hidden scores become -10,000, which is above visible ones that are lower still: use -inf.
def attention(q, k, v, mask=None):
    g = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, -1e4)
    return softmax(s) @ v


# %% wrong_attention_top64
# WRONG: only the 64 largest scores of each query count
# SAYS: Only the 64 largest scores of each query count: all of them do.
def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    g = H // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    s = q @ k.mT / Dh ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    if s.shape[-1] > 64:
        s = s.masked_fill(s < s.topk(64, -1).values[..., -1:], float("-inf"))
    return softmax(s) @ v


# %% wrong_attention_view
# WRONG: view of q to (B*H, Tq, Dh): refuses what split_heads gives
# SAYS: `view` needs the numbers in memory in the order of the shape, and split_heads gives a transposed tensor: use reshape.
def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    g = H // k.shape[1]
    k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
    s = (q.view(B * H, Tq, Dh) @ k.reshape(B * H, -1, Dh).mT).reshape(B, H, Tq, -1) / Dh ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return softmax(s) @ v


# %% wrong_attention_views_turned_queries
# WRONG: groups the queries with view: raises for what split_heads gives, which is transposed

def attention(q, k, v, mask=None):
    B, H, Tq, Dh = q.shape
    K, Tk = k.shape[1:3]
    grouped = (q * Dh**-0.5).view(B, K, H // K * Tq, Dh)
    scores = (grouped @ k.transpose(-2, -1)).reshape(B, H, Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = softmax(scores).reshape(B, K, H // K * Tq, Tk)
    return (weights @ v).reshape(B, H, Tq, v.shape[-1])


# %% wrong_attention_weights
# WRONG: returns the weights, not the average
# SAYS: The weights come back: multiply them with the values.
def attention(q, k, v, mask=None):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores)

# %% wrong_attention_float32, of right_attention_plain
# WRONG: returns float32 whatever comes in
# SAYS: The result is float32 whatever comes in: give back the dtype of the inputs.
#   def attention(q, k, v, mask=None):
# +     q, k, v = q.float(), k.float(), v.float()

# %% wrong_attention_through_float32, of right_attention_plain
# WRONG: goes through float32 and back: float64 loses all digits after the seventh
#   def attention(q, k, v, mask=None):
# +     given = q.dtype
# +     q, k, v = q.float(), k.float(), v.float()
# ...
# -     return softmax(scores) @ v
# +     return (softmax(scores) @ v).to(given)

# %% wrong_attention_square_only, of right_attention_plain
# WRONG: only the last Tq keys are read
# SAYS: Only the last Tq keys are read: a query sees all keys that the mask allows.
#   def attention(q, k, v, mask=None):
# +     k, v = k[:, :, -q.shape[2]:], v[:, :, -q.shape[2]:]
# ...
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores.masked_fill(~mask[..., -q.shape[2]:], float("-inf"))

# %% wrong_attention_first_group, of right_attention_plain
# WRONG: every query head reads key/value head 0 where heads are grouped
# SAYS: Every query head reads key/value head 0 where heads are grouped: head h reads h // (H/K).
# -     groups = q.shape[1] // k.shape[1]
# -     k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
# +     if k.shape[1] != q.shape[1]:
# +         k, v = k[:, :1], v[:, :1]

# %% wrong_attention_groups_of_two, of right_attention_plain
# WRONG: groups are taken to hold two query heads
# SAYS: Groups are taken to hold two query heads: they hold H/K.
# -     groups = q.shape[1] // k.shape[1]
# -     k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
# +     if k.shape[1] != q.shape[1]:
# +         index = (torch.arange(q.shape[1]) // 2).clamp(max=k.shape[1] - 1)
# +         k, v = k[:, index], v[:, index]

# %% wrong_attention_modulo_groups, of right_attention_plain
# WRONG: query head h reads key/value head h // K
# SAYS: Query head h reads key/value head h // K: the group holds H/K heads, so it is h // (H/K).
# -     groups = q.shape[1] // k.shape[1]
# -     k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
# +     index = (torch.arange(q.shape[1]) // k.shape[1]).clamp(max=k.shape[1] - 1) if k.shape[1] != q.shape[1] else torch.arange(k.shape[1])
# +     k, v = k[:, index], v[:, index]

# %% wrong_attention_heads_repeated, of right_attention_plain
# WRONG: repeat instead of repeat_interleave: head h reads key/value head h % K
# SAYS: Key/value heads are repeated as 0 1 0 1: with repeat_interleave they are 0 0 1 1, and query head h reads h // (H/K).
# -     k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
# +     k, v = k.repeat(1, groups, 1, 1), v.repeat(1, groups, 1, 1)

# %% wrong_attention_keys_repeated, of right_attention_plain
# WRONG: values in the right order, keys in the wrong one
# SAYS: The values are in the right order and the keys are not: repeat both with repeat_interleave.
# -     k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
# +     k, v = k.repeat(1, groups, 1, 1), v.repeat_interleave(groups, 1)

# %% wrong_attention_values_repeated, of right_attention_plain
# WRONG: keys in the right order, values in the wrong one
# SAYS: The keys are in the right order and the values are not: repeat both with repeat_interleave.
# -     k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
# +     k, v = k.repeat_interleave(groups, 1), v.repeat(1, groups, 1, 1)

# %% wrong_attention_changes_q, of right_attention_plain
# WRONG: scales the caller's queries in place
# SAYS: The caller's queries are scaled in place: write q * scale, not q *= scale.
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     q /= q.shape[-1] ** 0.5
# +     scores = q @ k.mT

# %% wrong_attention_multiplied_by_root, of right_attention_plain
# WRONG: multiplies by the root of Dh
# SAYS: The scores are multiplied by the root of Dh: divide.
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT * q.shape[-1] ** 0.5

# %% wrong_attention_no_scale, of right_attention_plain
# WRONG: no scale
# SAYS: The scores are not divided by the root of Dh.
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT

# %% wrong_attention_q_and_k_exchanged, of right_attention_plain
# WRONG: rows of the scores are keys
# SAYS: The rows of the scores are keys: queries are rows, q @ k.transpose(-2, -1).
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = k @ q.mT / q.shape[-1] ** 0.5

# %% wrong_attention_scale_dh, of right_attention_plain
# WRONG: divides by Dh instead of its root
# SAYS: The scores are divided by Dh: divide by its root.
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT / q.shape[-1]

# %% wrong_attention_scale_keys, of right_attention_plain
# WRONG: the root of the number of keys instead of Dh
# SAYS: The scores are divided by the root of the number of keys: Dh is the width of a head.
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT / k.shape[2] ** 0.5

# %% wrong_attention_scale_width, of right_attention_plain
# WRONG: the root of the model's width H*Dh
# SAYS: The scores are divided by the root of H*Dh, all heads together: Dh is the width of one.
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT / (q.shape[1] * q.shape[-1]) ** 0.5

# %% wrong_attention_sum_of_values, of right_attention_plain
# WRONG: the plain mean of the allowed values
# SAYS: The plain mean of the allowed values comes back: the scores have no part in it.
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = torch.zeros(q.shape[0], q.shape[1], q.shape[2], k.shape[2], dtype=q.dtype, device=q.device)

# %% wrong_attention_mask_head_zero, of right_attention_plain
# WRONG: the first head's mask for every head
# SAYS: The first head's part of the mask is used for every head: let the mask broadcast as it is.
#       if mask is not None:
# +         if mask.dim() == 4:
# +             mask = mask[:, :1]

# %% wrong_attention_mask_per_row_misread, of right_attention_plain
# WRONG: a mask (B, 1, Tq, Tk) is laid along the heads where B equals H
# SAYS: A mask (B, 1, Tq, Tk) is laid along the heads where B equals H: its first dimension is the batch.
#       if mask is not None:
# +         if mask.dim() == 4 and mask.shape[1] == 1 and mask.shape[0] == scores.shape[1]:
# +             mask = mask.transpose(0, 1)

# %% wrong_attention_mask_row_zero, of right_attention_plain
# WRONG: the first row's mask for every row of the batch
# SAYS: The first row's mask is used for every row of the batch: let the mask broadcast as it is.
#       if mask is not None:
# +         if mask.dim() == 4:
# +             mask = mask[:1]

# %% wrong_attention_causal_instead, of right_attention_plain
# WRONG: any mask is taken for the causal one
# SAYS: The mask that is given is replaced by the causal one: use its own entries.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores.masked_fill(~causal_mask(q.shape[2], k.shape[2]).to(q.device), float("-inf"))

# %% wrong_attention_changes_mask, of right_attention_plain
# WRONG: inverts the caller's mask in place
# SAYS: The caller's mask is inverted in place: write ~mask.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores.masked_fill(mask.logical_not_(), float("-inf"))

# %% wrong_attention_mask_added, of right_attention_plain
# WRONG: adds the bool mask to the scores
# SAYS: The bool mask is added to the scores, which hides nothing: put -inf where it is False.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores + mask

# %% wrong_attention_mask_before_scores, of right_attention_plain
# WRONG: hidden scores are set to -inf times 0, which is nan
# SAYS: Minus infinity times 0 is nan: use masked_fill or torch.where in place of a product.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores + (~mask) * float("-inf")

# %% wrong_attention_mask_inverted, of right_attention_plain
# WRONG: hides where the mask is True
# SAYS: Scores are hidden where the mask is True: True means that the query may see the key.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores.masked_fill(mask, -1e9)

# %% wrong_attention_mask_multiplied, of right_attention_plain
# WRONG: multiplies the scores by the mask: a hidden key still has exp(0)
# SAYS: The scores are multiplied by the mask, and a hidden score of 0 still has a weight: put -inf there.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores * mask

# %% wrong_attention_mask_two_dimensions_only, of right_attention_plain
# WRONG: takes the mask for (Tq, Tk) and cannot use (B, 1, Tq, Tk)
# SAYS: Only a mask (Tq, Tk) can be used: it may come in any shape that broadcasts to (B, H, Tq, Tk).
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores.masked_fill(~mask.view(1, 1, scores.shape[2], scores.shape[3]), float("-inf"))

# %% wrong_attention_mask_weak, of right_attention_plain
# WRONG: hidden scores lose 100 only, which large scores make up for
# SAYS: Hidden scores are only lowered by 100, which large scores make up for: use -inf.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# +         scores = scores - 100.0 * (~mask).to(scores.dtype)

# %% wrong_attention_no_softmax, of right_attention_plain
# WRONG: scores used as weights
# SAYS: The scores themselves are used as weights: the softmax is missing.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# -     return softmax(scores) @ v
# +         scores = scores.masked_fill(~mask, 0.0)
# +     return scores @ v

# %% wrong_attention_softmax_over_heads, of right_attention_plain
# WRONG: the softmax runs over the heads
# SAYS: The softmax runs over the heads: it runs over the keys, the last dimension.
# -         scores = scores.masked_fill(~mask, float("-inf"))
# -     return softmax(scores) @ v
# +         scores = scores.masked_fill(~mask, -1e9)
# +     return scores.softmax(1) @ v

# %% wrong_attention_batch_maximum, of right_attention_plain
# WRONG: one maximum for the whole tensor, so that other rows underflow
# SAYS: One maximum is taken for the whole tensor before the softmax: scores of other rows far below it all underflow to 0. Take it over the last dimension.
# -     return softmax(scores) @ v
# +     weights = (scores - scores.max()).exp()
# +     return weights / weights.sum(-1, keepdim=True) @ v

# %% wrong_attention_merged, of right_attention_plain
# WRONG: returns the heads merged, (B, Tq, H*Dh)
# SAYS: The heads are merged: the result is (B, H, Tq, Dv), and merging is the next step's.
# -     return softmax(scores) @ v
# +     return merge_heads(softmax(scores) @ v)

# %% wrong_attention_softmax_over_everything, of right_attention_plain
# WRONG: one softmax over queries and keys together
# SAYS: One softmax runs over queries and keys together: each query has its own, over the keys.
# -     return softmax(scores) @ v
# +     return softmax(scores.flatten(2)).view(scores.shape) @ v

# %% wrong_attention_softmax_over_queries, of right_attention_plain
# WRONG: the softmax runs over the queries
# SAYS: The softmax runs over the queries: it runs over the keys, the last dimension.
# -     return softmax(scores) @ v
# +     return softmax(scores.mT).mT @ v

# %% wrong_attention_unstable_softmax, of right_attention_plain
# WRONG: exponentials of the scores themselves overflow
# SAYS: The exponential of a large score overflows: use your softmax of Day 1, which subtracts the maximum first.
# -     return softmax(scores) @ v
# +     weights = scores.exp()
# +     return weights / weights.sum(-1, keepdim=True) @ v

# %% wrong_attention_mask_on_the_cpu, of right_attention_additive
# WRONG: the bias made of the mask is on the CPU, wherever the inputs are
# SAYS: The tensor of zeros that becomes the bias is made on the CPU: on a GPU it cannot be added to the scores. Make it with device=mask.device.
# -     v = v[:, :, None].expand(B, K, rep, Tk, -1).reshape(B, K * rep, Tk, -1)
# +     v = v.repeat_interleave(rep, dim=1)
# ...
# -         scores = scores + torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, torch.finfo(torch.float32).min)
# +         scores = scores + torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)


# %% right_attention_queries_in_blocks
# RIGHT: queries in blocks of 64, each with its rows of the mask
def attention(q, k, v, mask=None):
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    out = []
    for start in range(0, q.shape[2], 64):
        scores = q[:, :, start : start + 64] @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            rows = mask if mask.dim() == 1 or mask.shape[-2] == 1 else mask[..., start : start + 64, :]
            scores = scores.masked_fill(~rows, float("-inf"))
        out.append(softmax(scores) @ v)
    return torch.cat(out, dim=2)


# %% wrong_attention_blocks_cut_every_mask, of right_attention_queries_in_blocks
# WRONG: cuts a block's rows out of a mask of one row for all: from the second block on nothing is left of it
# -             rows = mask if mask.dim() == 1 or mask.shape[-2] == 1 else mask[..., start : start + 64, :]
# +             rows = mask if mask.dim() == 1 or (start == 0 and mask.shape[-2] == 1) else mask[..., start : start + 64, :]


# %% wrong_attention_blocks_with_the_first_rows, of right_attention_queries_in_blocks
# WRONG: every block of queries gets the mask's first rows
# -             rows = mask if mask.dim() == 1 or mask.shape[-2] == 1 else mask[..., start : start + 64, :]
# +             rows = mask if mask.dim() == 1 or mask.shape[-2] == 1 else mask[..., : scores.shape[2], :]


# %% wrong_attention_mask_of_one_dimension, of right_attention_plain
# WRONG: a mask of shape (Tk,), the same for all queries, is refused
#       if mask is not None:
# +         mask = mask.expand(*scores.shape[:2], *mask.shape[-2:])


# %% wrong_attention_small_weights_dropped, of right_attention_plain
# WRONG: weights below a millionth are made 0
# -     return softmax(scores) @ v
# +     weights = softmax(scores)
# +     return weights.masked_fill(weights < 1e-6, 0.0) @ v


# %% wrong_attention_scale_of_64_at_most, of right_attention_plain
# WRONG: divides by the root of 64 where the heads are wider
# -     scores = q @ k.mT / q.shape[-1] ** 0.5
# +     scores = q @ k.mT / min(q.shape[-1], 64) ** 0.5


# %% wrong_attention_keys_of_the_last_query
# WRONG: to save work on long texts, keys that the last query may not see are cut off for all queries
def attention(q, k, v, mask=None):
    mask = mask[None] if mask is not None and mask.dim() == 1 else mask
    if mask is not None and mask.dim() == 2 and k.shape[2] > 256:
        seen = mask[-1]
        k, v, mask = k[:, :, seen], v[:, :, seen], mask[:, seen]
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
