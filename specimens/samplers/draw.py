# Versions of draw, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_draw_first_true
# RIGHT: argmax of a mask finds the first sum above u; the sums of the last token that has a share are set above every u

def draw(probs, u):
    sums = probs.double().cumsum(dim=-1)
    above = (sums > u.double().view(-1, 1)) | (sums == sums[:, -1:])
    return above.to(torch.uint8).argmax(dim=-1, keepdim=True)


# %% right_draw_numpy
# RIGHT: numpy searchsorted in float64, scaled to the total

import numpy as np


def draw(probs, u):
    probs = at_least_float32(probs)
    tokens = []
    for row, x in zip(probs.numpy().astype(np.float64), u.numpy().reshape(-1)):
        sums = np.cumsum(row)
        tokens.append(int(np.searchsorted(sums / sums[-1], float(x), side="right")))
    return torch.tensor(tokens, dtype=torch.long, device=probs.device)[:, None]


# %% right_draw_python_loop
# RIGHT: a loop that subtracts probabilities from u

def draw(probs, u):
    probs = at_least_float32(probs)
    tokens = []
    for row, x in zip(probs.tolist(), u.flatten().tolist()):
        total, chosen = 0.0, None
        for i, q in enumerate(row):
            total += q
            if q > 0:
                chosen = i
            if total > x:
                break
        tokens.append([chosen])
    return torch.tensor(tokens, device=probs.device)


# %% right_draw_searchsorted
# RIGHT: searchsorted on the running sum, clamped to the last token that has a share

def draw(probs, u):
    cumulative = at_least_float32(probs).cumsum(dim=-1).contiguous()
    index = torch.searchsorted(cumulative, u.reshape(-1, 1).to(cumulative.dtype), right=True)
    last = (cumulative < cumulative[:, -1:]).sum(dim=-1, keepdim=True)
    return torch.minimum(index, last)


# %% right_draw_squeezes_u
# RIGHT: takes u as a column and works with one number a row

def draw(probs, u):
    probs = at_least_float32(probs)
    u = u.squeeze(-1) if u.dim() == 2 else u
    below = torch.cumsum(probs, -1).le(u[:, None])
    last = probs.gt(0).long().cumsum(-1).argmax(-1)
    return torch.minimum(below.sum(-1), last).reshape(-1, 1)


# %% wrong_draw_always_float32
# WRONG: compares in float32 always: the digits of float64 probabilities and of a float64 u are lost

def draw(probs, u):
    sums = probs.float().cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u.float().reshape(-1, 1)).sum(dim=-1, keepdim=True)


# %% wrong_draw_argmax
# WRONG: takes the most probable token

def draw(probs, u):
    probs = at_least_float32(probs)
    return probs.argmax(dim=-1, keepdim=True)


# %% wrong_draw_at_least
# WRONG: >= instead of >: at u = 0 a token of probability 0 can come

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return (cumulative < u.reshape(-1, 1)).sum(dim=-1, keepdim=True)


# %% wrong_draw_best_at_the_end
# WRONG: where rounding leaves the last sum below u it takes the most probable token

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    tokens = (sums <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True)
    return torch.where(tokens == probs.shape[-1], probs.argmax(dim=-1, keepdim=True), tokens)


# %% wrong_draw_clamped_to_the_vocabulary
# WRONG: where rounding leaves the last sum below u it answers V - 1, even if that token was cut

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_dim0
# WRONG: makes the running sums over the rows of the batch instead of along the vocabulary

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=0)
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_f16
# WRONG: running sums in half precision
def draw(probs, u):
    probs = at_least_float32(probs)
    c = probs.half().cumsum(-1); c = c / c[:, -1:]
    return (c <= u.reshape(-1, 1)).sum(-1, keepdim=True)


# %% wrong_draw_first_row
# WRONG: the first row's distribution for all rows

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs[:1].cumsum(dim=-1)
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_flat_shape
# WRONG: the token ids have shape (B,) instead of a column (B, 1)

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_flat_u_flat_answer
# WRONG: a u of shape (B,) gives token ids of shape (B,)

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    tokens = (sums / sums[:, -1:] <= u.reshape(-1, 1)).sum(dim=-1)
    return tokens.reshape(u.shape)


# %% wrong_draw_in_place
# WRONG: sums up in the caller's tensor

def draw(probs, u):
    probs = at_least_float32(probs)
    probs.copy_(probs.cumsum(dim=-1))
    return (probs <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_left_searchsorted
# WRONG: searchsorted from the left: the wrong token on an edge

def draw(probs, u):
    probs = at_least_float32(probs)
    index = torch.searchsorted(probs.cumsum(dim=-1), u.reshape(-1, 1))
    return index.clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_modulo
# WRONG: where rounding leaves the last sum below u it begins again at token 0

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True) % probs.shape[-1]


# %% wrong_draw_multinomial
# WRONG: ignores u and draws a random number of its own

def draw(probs, u):
    probs = at_least_float32(probs)
    return torch.multinomial(probs, 1)


# %% wrong_draw_mutates_u
# WRONG: changes the caller's u in place
def draw(probs, u):
    probs = at_least_float32(probs)
    c = probs.cumsum(-1)
    x = u.view(-1, 1)
    x *= c[:, -1:]
    return (c <= x).sum(-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_nearest
# WRONG: the token whose running sum is nearest to u

def draw(probs, u):
    probs = at_least_float32(probs)
    return (probs.cumsum(dim=-1) - u.reshape(-1, 1)).abs().argmin(dim=-1, keepdim=True)


# %% wrong_draw_no_cumsum
# WRONG: compares single probabilities with u

def draw(probs, u):
    probs = at_least_float32(probs)
    return (probs > u.reshape(-1, 1)).int().argmax(dim=-1, keepdim=True)


# %% wrong_draw_off_by_one
# WRONG: the last sum that does not exceed u

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return ((cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True) - 1).clamp(min=0)


# %% wrong_draw_on_the_cpu
# WRONG: makes a tensor without `device=`: with logits on a GPU it is on the CPU

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    zero = torch.zeros(len(probs), 1, dtype=sums.dtype)
    starts = torch.cat((zero, sums[:, :-1] / sums[:, -1:]), dim=-1)
    has_share = probs > 0
    return (torch.arange(probs.shape[-1]) * ((starts <= u.reshape(-1, 1)) & has_share)).amax(dim=-1, keepdim=True)


# %% wrong_draw_one_too_far
# WRONG: names the token after the one at u

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    index = (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True) + 1
    return index.clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_one_u
# WRONG: compares the first u with the sums of every row

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return (cumulative <= u.flatten()[0]).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_past_the_end
# WRONG: when rounding leaves the last sum below u, an id outside the vocabulary

def draw(probs, u):
    probs = at_least_float32(probs)
    return torch.searchsorted(probs.cumsum(dim=-1), u.reshape(-1, 1), right=True)


# %% wrong_draw_reversed_u
# WRONG: compares with 1 - u: the frequencies are right, the tokens for a given u are not

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.cumsum(dim=-1)
    return (cumulative <= 1 - u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_sorted
# WRONG: sums in sorted order and returns the rank

def draw(probs, u):
    probs = at_least_float32(probs)
    cumulative = probs.sort(dim=-1, descending=True).values.cumsum(dim=-1)
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_sorted_ids
# WRONG: sums in sorted order and maps back: right frequencies, not this inverse CDF

def draw(probs, u):
    probs = at_least_float32(probs)
    values, ids = probs.sort(dim=-1, descending=True)
    rank = (values.cumsum(dim=-1) <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
    return ids.gather(-1, rank)


# %% wrong_draw_sums_in_half
# WRONG: makes the running sum in the dtype of the probabilities: in bfloat16 most tokens of a large vocabulary can never come

def draw(probs, u):
    sums = probs.cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True)


# %% wrong_draw_u_along_the_vocabulary
# WRONG: a u of shape (B,) is compared along the vocabulary

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u).sum(dim=-1, keepdim=True)


# %% wrong_draw_u_in_the_probs_dtype
# WRONG: rounds u to the dtype of the probabilities

def draw(probs, u):
    u = u.to(probs.dtype)
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= at_least_float32(u).reshape(-1, 1)).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)


# %% wrong_draw_u_needs_a_column
# WRONG: refuses a u of shape (B,)

def draw(probs, u):
    if u.dim() != 2:
        raise ValueError(f"u must be a column, got {tuple(u.shape)}")
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u).sum(dim=-1, keepdim=True)


# %% wrong_draw_view
# WRONG: flattens with view: probabilities that are not contiguous raise

def draw(probs, u):
    sums = at_least_float32(probs).view(-1).view(probs.shape).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True)


# %% wrong_draw_normalises_the_callers
# WRONG: divides float64 probabilities by their sum in the caller's tensor
def draw(probs, u):
    wide = at_least_float32(probs)
    if probs.dtype == torch.float64:
        wide /= wide.sum(dim=-1, keepdim=True)
    cumulative = wide.cumsum(dim=-1)
    cumulative = cumulative / cumulative[:, -1:]
    return (cumulative <= u.reshape(-1, 1)).sum(dim=-1, keepdim=True)


# %% wrong_draw_float64_u_in_float32
# WRONG: a u in float64 is rounded to float32: one just below 1 becomes 1, and the token is V

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u.reshape(-1, 1).to(sums.dtype)).sum(dim=-1, keepdim=True)


# %% wrong_draw_u_away_from_the_ends
# WRONG: u is held between 1e-5 and 1 - 1e-5: a rare token at either end never comes

def draw(probs, u):
    sums = at_least_float32(probs).cumsum(dim=-1)
    return (sums / sums[:, -1:] <= u.reshape(-1, 1).clamp(1e-5, 1 - 1e-5)).sum(dim=-1, keepdim=True)
