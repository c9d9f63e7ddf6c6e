# Versions of greedy_sample, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_greedy_last_of_equals
# RIGHT: topk, and of equal maxima the last one

def greedy_sample(logits):
    flipped = logits.flip(-1)
    return logits.shape[-1] - 1 - flipped.topk(1, dim=-1).indices


# %% right_greedy_loop
# RIGHT: a Python loop over rows and tokens

def greedy_sample(logits):
    tokens = []
    for row in logits.tolist():
        best = 0
        for i, value in enumerate(row):
            if value > row[best]:
                best = i
        tokens.append([best])
    return torch.tensor(tokens, dtype=torch.int64, device=logits.device)


# %% right_greedy_max_where
# RIGHT: compares with the maximum and takes the index from a mask

def greedy_sample(logits):
    top, _ = torch.max(logits, dim=1, keepdim=True)
    columns = torch.arange(logits.shape[1], device=logits.device).expand_as(logits)
    return torch.where(logits == top, columns, logits.shape[1]).amin(dim=1).unsqueeze(1)


# %% right_greedy_numpy
# RIGHT: numpy argmax, in float64

import numpy as np


def greedy_sample(logits):
    ids = np.argmax(logits.detach().cpu().double().numpy(), axis=1)
    return torch.from_numpy(ids.astype(np.int64)).reshape(-1, 1)


# %% right_greedy_sort
# RIGHT: sorts and takes the first id

def greedy_sample(logits):
    return logits.sort(dim=-1, descending=True).indices[:, :1]


# %% wrong_greedy_abs
# WRONG: compares absolute values

def greedy_sample(logits):
    return logits.abs().argmax(dim=-1, keepdim=True)


# %% wrong_greedy_argmin
# WRONG: takes the lowest logit

def greedy_sample(logits):
    return logits.argmin(dim=-1, keepdim=True)


# %% wrong_greedy_dim0
# WRONG: argmax over the rows instead of the vocabulary

def greedy_sample(logits):
    return logits.argmax(dim=0, keepdim=True).T[: len(logits)]


# %% wrong_greedy_draws
# WRONG: draws from the softmax

def greedy_sample(logits):
    return torch.multinomial(softmax(logits), 1)


# %% wrong_greedy_first_row
# WRONG: the first row's token for every row

def greedy_sample(logits):
    return logits[:1].argmax(dim=-1, keepdim=True).expand(len(logits), 1)


# %% wrong_greedy_flat_shape
# WRONG: forgets to keep the last dimension: (B,) instead of (B, 1)

def greedy_sample(logits):
    return logits.argmax(dim=-1)


# %% wrong_greedy_float32
# WRONG: compares in float32: float64 logits that differ by less count as equal

def greedy_sample(logits):
    return logits.float().argmax(dim=-1, keepdim=True)


# %% wrong_greedy_in_place
# WRONG: writes into the caller's logits

def greedy_sample(logits):
    logits -= logits.amax(dim=-1, keepdim=True)
    return logits.argmax(dim=-1, keepdim=True)


# %% wrong_greedy_int32
# WRONG: gives token ids in int32 instead of int64

def greedy_sample(logits):
    return logits.argmax(dim=-1, keepdim=True).to(torch.int32)


# %% wrong_greedy_plain_exp
# WRONG: argmax after exp without a shift: overflow makes large logits equal

def greedy_sample(logits):
    weights = logits.exp()
    return (weights / weights.sum(dim=-1, keepdim=True)).nan_to_num(0.0).argmax(dim=-1, keepdim=True)


# %% wrong_greedy_returns_values
# WRONG: returns the highest logit, not its index

def greedy_sample(logits):
    return logits.max(dim=-1, keepdim=True).values


# %% wrong_greedy_sample_f16
# WRONG: compares in half: 70000 and 80000 are both inf, and close logits tie
def greedy_sample(logits):
    return logits.half().argmax(-1, keepdim=True)


# %% wrong_greedy_through_probs
# WRONG: takes the best of the probabilities: logits that differ by less than softmax can show count as equal

def greedy_sample(logits):
    return softmax(at_least_float32(logits)).argmax(dim=-1, keepdim=True)


# %% wrong_greedy_touches_rng
# WRONG: breaks ties with noise from the global random state

def greedy_sample(logits):
    return (logits + 1e-6 * torch.rand_like(logits)).argmax(dim=-1, keepdim=True)


# %% wrong_greedy_view
# WRONG: flattens with view: logits that are not contiguous raise

def greedy_sample(logits):
    return logits.view(-1).view(logits.shape).argmax(dim=-1, keepdim=True)


# %% wrong_greedy_whole_batch
# WRONG: argmax over the whole batch

def greedy_sample(logits):
    return logits.argmax().reshape(1, 1).expand(len(logits), 1)


# %% wrong_greedy_bfloat16_for_a_vocabulary
# WRONG: compares in bfloat16 where the vocabulary is large: small leads are ties
def greedy_sample(logits):
    scores = logits.bfloat16() if logits.shape[-1] > 10_000 else logits
    return scores.argmax(dim=-1, keepdim=True)


# %% wrong_greedy_large_logits_cut
# WRONG: logits are cut at 10,000 either way: beyond, all are equal

def greedy_sample(logits):
    return logits.clamp(-1e4, 1e4).argmax(dim=-1, keepdim=True)


# %% wrong_greedy_ids_in_int16
# WRONG: token ids go through int16, where those above 32,767 become negative

def greedy_sample(logits):
    return logits.argmax(dim=-1, keepdim=True).to(torch.int16).long()
