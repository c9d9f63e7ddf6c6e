# Versions of apply_repetition_penalty, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_repetition_gather
# RIGHT: gather, penalise, scatter back: duplicates write the same value

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    score = logits.gather(1, generated_ids)
    score = torch.where(score < 0, score * penalty, score / penalty)
    return logits.scatter(1, generated_ids, score)


# %% right_repetition_loop
# RIGHT: a loop over rows and distinct tokens on a copy

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    out = logits.clone()
    for b in range(logits.shape[0]):
        for token in set(generated_ids[b].tolist()):
            if out[b, token] > 0:
                out[b, token] /= penalty
            else:
                out[b, token] *= penalty
    return out


# %% right_repetition_numpy
# RIGHT: numpy and np.unique

import numpy as np

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    x = logits.detach().numpy().copy()
    for row, ids in zip(x, generated_ids.numpy()):
        u = np.unique(ids)
        row[u] = np.where(row[u] >= 0, row[u] / penalty, row[u] * penalty)
    return torch.from_numpy(x)


# %% right_repetition_one_hot
# RIGHT: one-hot vectors, and a factor for every entry

def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError("a penalty is greater than 0")
    seen = torch.nn.functional.one_hot(generated_ids, logits.shape[-1]).sum(1).clamp(max=1)
    factor = torch.where(logits > 0, 1.0 / penalty, float(penalty)).to(logits.dtype)
    return torch.where(seen.bool(), logits * factor, logits)


# %% wrong_apply_repetition_penalty_last64
# WRONG: the last 64 ids only
def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids[:, -64:], True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_absolute_value
# WRONG: the magnitude shrinks whatever the sign, through abs

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = logits.abs() / penalty
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_all_rows_share
# WRONG: the ids of all rows are penalised in every row

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids.reshape(1, -1).expand(len(logits), -1), True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_at_least_one_id
# WRONG: takes the last position of generated_ids apart, and fails where there is none

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    seen.scatter_(-1, generated_ids[:, -1:] if generated_ids.shape[1] else generated_ids[:, 0:1].new_tensor([[0]]), True)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_bans
# WRONG: a token that occurs is forbidden

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.full_like(logits, float("-inf"))
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_below_one_ignored
# WRONG: a penalty below 1 is treated as 1

def apply_repetition_penalty(logits, generated_ids, penalty):
    penalty = max(penalty, 1.0)
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_below_one_refused
# WRONG: refuses a penalty below 1, which rewards repetition

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty < 1:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_counts_the_prompt
# WRONG: remembers the ids of earlier calls: what was the prompt there is penalised here

_seen = {}

def apply_repetition_penalty(logits, generated_ids, penalty):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        memory = _seen.setdefault(b, set())
        memory.update(row)
        for token in memory:
            if token < out.shape[-1]:
                out[b, token] = out[b, token] / penalty if out[b, token] > 0 else out[b, token] * penalty
    return out


# %% wrong_repetition_divides_negative
# WRONG: a negative logit is divided too

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = logits / penalty
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_empty_fails
# WRONG: T = 0 fails: the last id is looked for

def apply_repetition_penalty(logits, generated_ids, penalty):
    last = generated_ids.max().item()
    score = logits.gather(1, generated_ids)
    return logits.scatter(1, generated_ids, torch.where(score < 0, score * penalty, score / penalty))


# %% wrong_repetition_everything
# WRONG: every token is penalised, seen or not

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return lowered


# %% wrong_repetition_first_row_ids
# WRONG: the ids of row 0 for all rows

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids[:1].expand(len(logits), -1), True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_float32_always
# WRONG: always works in float32: float64 logits lose their digits

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    logits = logits.float()
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_identity
# WRONG: nothing is penalised

def apply_repetition_penalty(logits, generated_ids, penalty):
    return logits.clone()


# %% wrong_repetition_in_place
# WRONG: the caller's logits are changed

def apply_repetition_penalty(logits, generated_ids, penalty):
    score = logits.gather(1, generated_ids)
    return logits.scatter_(1, generated_ids, torch.where(score < 0, score * penalty, score / penalty))


# %% wrong_repetition_last_512
# WRONG: only the last 512 ids are penalised

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids[:, -512:], True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_last_token_only
# WRONG: only the last id is penalised

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids[:, -1:], True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_loop_per_occurrence
# WRONG: a loop over all ids, duplicates included

def apply_repetition_penalty(logits, generated_ids, penalty):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        for token in row:
            out[b, token] = out[b, token] / penalty if out[b, token] > 0 else out[b, token] * penalty
    return out


# %% wrong_repetition_lowers_zero
# WRONG: a logit of 0 is lowered by a small amount

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    lowered = torch.where(logits == 0, logits - 0.01 * (penalty - 1), lowered)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_multiplies_all
# WRONG: every logit is multiplied

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = logits * penalty
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_nan_on_masked
# WRONG: 0 x inf: a masked token becomes nan

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return logits + seen.to(logits.dtype) * (lowered - logits)


# %% wrong_repetition_negative_allowed
# WRONG: a negative penalty is not refused

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty == 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_nothing_refused
# WRONG: takes any penalty: no ValueError

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_on_probabilities
# WRONG: the probabilities are divided, not the logits

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = logits - torch.tensor(float(penalty)).log()
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_once_per_occurrence
# WRONG: the penalty is applied once for every occurrence

def apply_repetition_penalty(logits, generated_ids, penalty):
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=logits.dtype))
    factor = penalty**counts
    return torch.where(logits > 0, logits / factor, logits * factor)


# %% wrong_repetition_signs_swapped
# WRONG: positive logits multiplied, negative ones divided

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits * penalty, logits / penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_skips_first_id
# WRONG: the first id is taken for a prompt and skipped

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids[:, 1:], True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_small_negative_divided
# WRONG: a negative logit near 0 is divided

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > -0.05, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_subtracts
# WRONG: the penalty is subtracted

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = logits - penalty
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_token_zero_is_padding
# WRONG: token 0 is taken for padding and never penalised

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    seen[:, 0] = False
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_unseen
# WRONG: the tokens that do not occur are penalised

def apply_repetition_penalty(logits, generated_ids, penalty):
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, logits, lowered)


# %% wrong_repetition_zero_allowed
# WRONG: a penalty of 0 is not refused

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty < 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = torch.where(logits > 0, logits / max(penalty, 1e-9), logits * penalty)
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_zero_is_inf
# WRONG: scales by logits over their size, which is nan for a logit of 0

def apply_repetition_penalty(logits: Tensor, generated_ids: Tensor, penalty: float) -> Tensor:
    if penalty <= 0:
        raise ValueError(f"penalty must be greater than 0, got {penalty}")
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, generated_ids, True)  # (B, V)
    lowered = logits / penalty ** (logits / logits.abs())
    return torch.where(seen, lowered, logits)


# %% wrong_repetition_gives_the_logits_back, of right_repetition_gather
# WRONG: where nothing is to change the caller's own tensor comes back, no new one
# -     score = logits.gather(1, generated_ids)
# +     if penalty == 1 or generated_ids.shape[1] == 0:
# +         return logits
# +     score = logits.gather(1, generated_ids)


# %% wrong_repetition_as_many_ids_as_tokens, of right_repetition_gather
# WRONG: looks at no more ids than the vocabulary has tokens
# -     score = logits.gather(1, generated_ids)
# +     generated_ids = generated_ids[:, : logits.shape[1]]
# +     score = logits.gather(1, generated_ids)


# %% wrong_repetition_counts_in_int8
# WRONG: counts occurrences in int8, where 256 are none
def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError(f"penalty {penalty}")
    ones = torch.ones_like(generated_ids, dtype=torch.int8)
    counts = torch.zeros_like(logits, dtype=torch.int8).scatter_add(-1, generated_ids, ones)
    return torch.where(counts != 0, torch.where(logits > 0, logits / penalty, logits * penalty), logits)


# %% wrong_repetition_ids_through_view
# WRONG: the ids go through view, which refuses a tensor that is not contiguous
def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError(f"penalty {penalty}")
    rows = torch.arange(len(logits)).repeat_interleave(generated_ids.shape[1])
    seen = torch.zeros_like(logits, dtype=torch.bool)
    seen[rows, generated_ids.view(-1)] = True
    return torch.where(seen, torch.where(logits > 0, logits / penalty, logits * penalty), logits)


# %% wrong_repetition_counts_in_uint8
# WRONG: counts the ids in uint8 and asks whether the count is above 0: 256 occurrences count as none
def apply_repetition_penalty(logits, generated_ids, penalty):
    if penalty <= 0:
        raise ValueError(penalty)
    counts = torch.zeros_like(logits, dtype=torch.uint8)
    counts.scatter_add_(-1, generated_ids, torch.ones_like(generated_ids, dtype=torch.uint8))
    return torch.where(counts > 0, torch.where(logits > 0, logits / penalty, logits * penalty), logits)
