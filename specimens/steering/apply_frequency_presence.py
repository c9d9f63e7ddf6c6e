# Versions of apply_frequency_presence, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_frequency_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    occurs = (counts > 0).to(logits.dtype)
    return logits - frequency * counts - presence * occurs


# %% right_frequency_bincount
# RIGHT: bincount for each row

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    V = logits.shape[1]
    counts = torch.stack([torch.bincount(row, minlength=V) for row in generated_ids]).double()
    return logits - counts * frequency - (counts != 0).float() * presence


# %% right_frequency_counter
# RIGHT: collections.Counter, row by row on a copy

from collections import Counter

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        for token, count in Counter(row).items():
            out[b, token] -= count * frequency + presence
    return out


# %% right_frequency_index_put
# RIGHT: index_put with accumulate, then where

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    counts = torch.zeros_like(logits, dtype=torch.float64)
    rows = torch.arange(logits.shape[0]).unsqueeze(1).expand_as(generated_ids)
    counts.index_put_((rows, generated_ids), torch.ones((), dtype=torch.float64), accumulate=True)
    return torch.where(counts > 0, logits - counts * frequency - presence, logits)


# %% right_frequency_one_hot
# RIGHT: one-hot vectors summed over T

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    counts = torch.nn.functional.one_hot(generated_ids, logits.shape[-1]).sum(dim=1)
    return logits - (counts * frequency + counts.clamp(max=1) * presence)


# %% wrong_frequency_clamped
# WRONG: penalties are held within -2 to 2

def apply_frequency_presence(logits: Tensor, generated_ids: Tensor, frequency: float, presence: float) -> Tensor:
    frequency, presence = min(max(frequency, -2), 2), min(max(presence, -2), 2)
    wide = torch.promote_types(logits.dtype, torch.float32)  # bfloat16 has no number between 256 and 258
    counts = torch.zeros_like(logits, dtype=wide)
    counts = counts.scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=wide))  # (B, V): how often
    occurs = (counts > 0).to(wide)  # whether
    return (logits - frequency * counts - presence * occurs).to(logits.dtype)


# %% wrong_frequency_count_at_most_ten
# WRONG: counts ten occurrences at the most

def apply_frequency_presence(logits: Tensor, generated_ids: Tensor, frequency: float, presence: float) -> Tensor:
    wide = torch.promote_types(logits.dtype, torch.float32)  # in bfloat16 256 + 1 would be 256
    counts = torch.zeros_like(logits, dtype=wide)
    counts = counts.scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=wide)).clamp(max=10)
    occurs = (counts > 0).to(wide)  # whether
    return (logits - frequency * counts - presence * occurs).to(logits.dtype)


# %% wrong_frequency_counts_in_half
# WRONG: adds up the counts in the dtype of the logits: in half precision they stop at 2,048 (in bfloat16 at 256)

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    counts = torch.zeros_like(logits)
    rows = torch.arange(logits.shape[0]).unsqueeze(1).expand_as(generated_ids)
    counts.index_put_((rows, generated_ids), torch.ones((), dtype=logits.dtype), accumulate=True)
    return torch.where(counts > 0, logits - counts * frequency - presence, logits)


# %% wrong_frequency_counts_the_prompt
# WRONG: remembers the ids of earlier calls: what was the prompt there is counted here

_counts = {}

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    out = logits.clone()
    for b, row in enumerate(generated_ids.tolist()):
        memory = _counts.setdefault(b, {})
        for token in row:
            memory[token] = memory.get(token, 0) + 1
        for token, count in memory.items():
            if token < out.shape[1]:
                out[b, token] -= count * frequency + presence
    return out


# %% wrong_frequency_float32_always
# WRONG: always works in float32: float64 logits lose their digits

def apply_frequency_presence(logits: Tensor, generated_ids: Tensor, frequency: float, presence: float) -> Tensor:
    logits = logits.float()
    wide = torch.promote_types(logits.dtype, torch.float32)  # in bfloat16 256 + 1 would be 256
    counts = torch.zeros_like(logits, dtype=wide)
    counts = counts.scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=wide))  # (B, V): how often
    occurs = (counts > 0).to(wide)  # whether
    return (logits - frequency * counts - presence * occurs).to(logits.dtype)


# %% wrong_frequency_identity
# WRONG: nothing is lowered

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    return logits.clone()


# %% wrong_frequency_presence_from_two
# WRONG: presence counts only from the second occurrence where the frequency is above 1

def apply_frequency_presence(logits: Tensor, generated_ids: Tensor, frequency: float, presence: float) -> Tensor:
    wide = torch.promote_types(logits.dtype, torch.float32)  # bfloat16 has no number between 256 and 258
    counts = torch.zeros_like(logits, dtype=wide)
    counts = counts.scatter_add(-1, generated_ids, torch.ones_like(generated_ids, dtype=wide))  # (B, V): how often
    occurs = (counts > (1 if frequency > 1 else 0)).to(wide)  # whether
    return (logits - frequency * counts - presence * occurs).to(logits.dtype)

# %% wrong_frequency_negative_clamped, of right_frequency_plain
# WRONG: negative settings are treated as 0
#   def apply_frequency_presence(logits, generated_ids, frequency, presence):
# +     frequency, presence = max(frequency, 0.0), max(presence, 0.0)

# %% wrong_frequency_all_rows_share, of right_frequency_plain
# WRONG: the ids of all rows count in every row
# -     counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
# +     counts = torch.zeros_like(logits).scatter_add(-1, generated_ids.reshape(1, -1).expand(len(logits), -1), ones.reshape(1, -1).expand(len(logits), -1))

# %% wrong_frequency_duplicates_lost, of right_frequency_plain
# WRONG: x[ids] += 1 counts equal ids once
# -     counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
# +     counts = torch.zeros_like(logits)
# +     rows = torch.arange(len(logits))[:, None]
# +     counts[rows, generated_ids] += 1

# %% wrong_frequency_skips_first_id, of right_frequency_plain
# WRONG: the first id is taken for a prompt and skipped
# -     counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
# +     counts = torch.zeros_like(logits).scatter_add(-1, generated_ids[:, 1:], ones[:, 1:])

# %% wrong_frequency_small_counts, of right_frequency_plain
# WRONG: counted in int8: 300 overflows
#       counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
# +     counts = counts.to(torch.int8).to(logits.dtype)

# %% wrong_frequency_token_zero_is_padding, of right_frequency_plain
# WRONG: token 0 is never counted
#       counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
# +     counts[:, 0] = 0

# %% wrong_frequency_count_below_two, of right_frequency_plain
# WRONG: a single occurrence is not counted as a repetition
# -     occurs = (counts > 0).to(logits.dtype)
# +     occurs = (counts > 1).to(logits.dtype)

# %% wrong_frequency_added, of right_frequency_plain
# WRONG: added instead of subtracted
# -     return logits - frequency * counts - presence * occurs
# +     return logits + frequency * counts + presence * occurs

# %% wrong_frequency_count_minus_one, of right_frequency_plain
# WRONG: the first occurrence is free
# -     return logits - frequency * counts - presence * occurs
# +     return logits - frequency * (counts - 1).clamp_min(0) - presence * occurs

# %% wrong_frequency_counts_distinct, of right_frequency_plain
# WRONG: every token that occurs counts once
# -     return logits - frequency * counts - presence * occurs
# +     return logits - frequency * occurs - presence * occurs

# %% wrong_frequency_in_place, of right_frequency_plain
# WRONG: the caller's logits are changed
# -     return logits - frequency * counts - presence * occurs
# +     logits -= frequency * counts + presence * occurs
# +     return logits

# %% wrong_frequency_multiplicative, of right_frequency_plain
# WRONG: the logit is scaled instead of lowered
# -     return logits - frequency * counts - presence * occurs
# +     return logits * (1 - frequency * counts - presence * occurs)

# %% wrong_frequency_nan_on_masked, of right_frequency_plain
# WRONG: -inf times 0 on tokens that do not occur gives nan
# -     return logits - frequency * counts - presence * occurs
# +     return logits * (1 - occurs) + (logits - frequency * counts - presence) * occurs

# %% wrong_frequency_no_frequency, of right_frequency_plain
# WRONG: frequency is forgotten
# -     return logits - frequency * counts - presence * occurs
# +     return logits - presence * occurs

# %% wrong_frequency_no_presence, of right_frequency_plain
# WRONG: presence is forgotten
# -     return logits - frequency * counts - presence * occurs
# +     return logits - frequency * counts

# %% wrong_frequency_presence_for_all, of right_frequency_plain
# WRONG: presence is taken off every token
# -     return logits - frequency * counts - presence * occurs
# +     return logits - frequency * counts - presence

# %% wrong_frequency_presence_per_occurrence, of right_frequency_plain
# WRONG: presence is taken off at every occurrence
# -     return logits - frequency * counts - presence * occurs
# +     return logits - frequency * counts - presence * counts

# %% wrong_frequency_share_of_text, of right_frequency_plain
# WRONG: the count is divided by the length of the text
# -     return logits - frequency * counts - presence * occurs
# +     return logits - frequency * counts / max(1, generated_ids.shape[1]) - presence * occurs

# %% wrong_frequency_sign_dependent, of right_frequency_plain
# WRONG: negative logits are raised
# -     return logits - frequency * counts - presence * occurs
# +     change = frequency * counts + presence * occurs
# +     return torch.where(logits > 0, logits - change, logits + change)

# %% wrong_frequency_swapped, of right_frequency_plain
# WRONG: frequency and presence are swapped
# -     return logits - frequency * counts - presence * occurs
# +     return logits - presence * counts - frequency * occurs


# %% wrong_frequency_gives_the_logits_back, of right_frequency_plain
# WRONG: where nothing is to change the caller's own tensor comes back, no new one
# -     ones = torch.ones_like(generated_ids, dtype=logits.dtype)
# +     if frequency == presence == 0 or generated_ids.shape[1] == 0:
# +         return logits
# +     ones = torch.ones_like(generated_ids, dtype=logits.dtype)


# %% wrong_frequency_float64_in_place
# WRONG: subtracts in its float64 form, which for float64 logits is the caller's tensor
def apply_frequency_presence(logits, generated_ids, frequency, presence):
    wide = logits.double()
    counts = torch.stack([row.bincount(minlength=logits.shape[-1]) for row in generated_ids])
    wide -= frequency * counts + presence * (counts > 0)
    return wide.to(logits.dtype)


# %% wrong_frequency_ids_through_view
# WRONG: the ids go through view, which refuses a tensor that is not contiguous
def apply_frequency_presence(logits, generated_ids, frequency, presence):
    rows = torch.arange(len(logits)).repeat_interleave(generated_ids.shape[1])
    counts = torch.zeros_like(logits, dtype=torch.float64)
    counts.index_put_((rows, generated_ids.view(-1)), torch.ones((), dtype=torch.float64), accumulate=True)
    return (logits - frequency * counts - presence * (counts > 0)).to(logits.dtype)


# %% wrong_frequency_counts_rounded_to_half
# WRONG: counts end in the dtype of the logits: 257 becomes 256 in bfloat16

def apply_frequency_presence(logits, generated_ids, frequency, presence):
    ones = torch.ones_like(generated_ids, dtype=logits.dtype)
    counts = torch.zeros_like(logits).scatter_add(-1, generated_ids, ones)
    return logits - frequency * counts - presence * (counts > 0).to(logits.dtype)
