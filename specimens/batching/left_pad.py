# Versions of left_pad, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_left_pad_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    if not prompts:
        raise ValueError("the list of prompts is empty: a batch needs at least one")
    if not all(prompts):
        raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")
    T = max(len(prompt) for prompt in prompts)
    num_pad = [T - len(prompt) for prompt in prompts]
    rows = [[pad_id] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]
    return torch.tensor(rows), torch.tensor(num_pad)


# %% right_left_pad_filled_tensor
# RIGHT: a full tensor of pads, rows written into it

def left_pad(prompts, pad_id):
    if len(prompts) == 0:
        raise ValueError("no prompts")
    lengths = torch.tensor([len(p) for p in prompts])
    if int(lengths.min()) == 0:
        raise ValueError("a prompt is empty")
    ids = torch.full((len(prompts), int(lengths.max())), pad_id, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, -len(prompt):] = torch.tensor(prompt)
    return ids, int(lengths.max()) - lengths


# %% right_left_pad_flipped
# RIGHT: reverses, pads on the right, reverses again; gives a list

def left_pad(prompts, pad_id):
    if not prompts:
        raise ValueError("empty list")
    longest = max(len(p) for p in prompts)
    rows, pads = [], []
    for p in prompts:
        if not p:
            raise ValueError("empty prompt")
        back = p[::-1]
        while len(back) < longest:
            back = back + [pad_id]
        rows.append(back)
        pads.append(longest - len(p))
    return [torch.tensor(rows).flip(1), torch.tensor(pads)]


# %% right_left_pad_full_and_slices
# RIGHT: one filled tensor, rows written from the end; the empty list is refused by max() itself
def left_pad(prompts: list[list[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(prompt) for prompt in prompts], dtype=torch.int64)
    T = max(map(len, prompts))  # a ValueError for an empty list
    if 0 in lengths:
        raise ValueError("a prompt without tokens")
    ids = torch.full((len(prompts), T), pad_id, dtype=torch.int64)
    seen = torch.arange(T) >= (T - lengths)[:, None]
    ids[seen] = torch.tensor([token for prompt in prompts for token in prompt])
    return ids, T - lengths


# %% right_left_pad_pad_sequence
# RIGHT: torch's own pad_sequence, on the left

def left_pad(prompts, pad_id):
    if not prompts or min(map(len, prompts)) == 0:
        raise ValueError("every prompt needs a token")
    rows = [torch.tensor(p) for p in prompts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id, padding_side="left")
    return ids, torch.tensor([ids.shape[1] - len(p) for p in prompts])


# %% wrong_left_pad_cuts_to_shortest
# WRONG: cuts to the shortest prompt

def left_pad(prompts, pad_id):
    if not prompts or not all(prompts):
        raise ValueError("empty")
    T = min(len(p) for p in prompts)
    return torch.tensor([p[-T:] for p in prompts]), torch.zeros(len(prompts), dtype=torch.int64)


# %% wrong_left_pad_in_place
# WRONG: pads the caller's lists

def left_pad(prompts, pad_id):
    if not prompts or not all(prompts):
        raise ValueError("empty")
    T = max(map(len, prompts))
    num_pad = [T - len(p) for p in prompts]
    for p in prompts:
        while len(p) < T:
            p.insert(0, pad_id)
    return torch.tensor(prompts), torch.tensor(num_pad)


# %% wrong_left_pad_refuses_token_zero
# WRONG: takes a prompt that consists of token 0 for an empty one
def left_pad(prompts, pad_id):
    if not prompts or not all(any(prompt) for prompt in prompts):
        raise ValueError("no prompt, or a prompt without tokens")
    T = max(len(prompt) for prompt in prompts)
    rows = [[pad_id] * (T - len(prompt)) + prompt for prompt in prompts]
    return torch.tensor(rows), torch.tensor([T - len(prompt) for prompt in prompts])

# %% wrong_left_pad_no_error_for_an_empty_list, of right_left_pad_plain
# WRONG: an empty list of prompts gives empty tensors
# -
# ...
# -         raise ValueError("the list of prompts is empty: a batch needs at least one")
# +         return torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)

# %% wrong_left_pad_no_error_for_none, of right_left_pad_plain
# WRONG: an empty list raises something else
# -         raise ValueError("the list of prompts is empty: a batch needs at least one")
# +         raise IndexError("no prompts")

# %% wrong_left_pad_empty_prompt_is_pads, of right_left_pad_plain
# WRONG: an empty prompt becomes a row of pads
# -     if not all(prompts):
# -         raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")

# %% wrong_left_pad_only_first_is_looked_at, of right_left_pad_plain
# WRONG: only the first prompt is looked at
# -     if not all(prompts):
# -         raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")
# +     if not prompts[0]:
# +         raise ValueError(f"prompt {0} is empty: the first token has to come from somewhere")

# %% wrong_left_pad_sorted, of right_left_pad_plain
# WRONG: sorts rows by length
#           raise ValueError(f"prompt {prompts.index([])} is empty: the first token has to come from somewhere")
# +     prompts = sorted(prompts, key=len)

# %% wrong_left_pad_one_column_more, of right_left_pad_plain
# WRONG: one column of pads too many
# -     T = max(len(prompt) for prompt in prompts)
# +     T = max(len(prompt) for prompt in prompts) + 1

# %% wrong_left_pad_always_zero, of right_left_pad_plain
# WRONG: pads with 0 whatever the pad id
# -     rows = [[pad_id] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]
# +     rows = [[0] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]

# %% wrong_left_pad_on_the_right, of right_left_pad_plain
# WRONG: pads on the right
# -     rows = [[pad_id] * pads + list(prompt) for pads, prompt in zip(num_pad, prompts, strict=True)]
# +     rows = [list(prompt) + [pad_id] * pads for pads, prompt in zip(num_pad, prompts, strict=True)]

# %% wrong_left_pad_strips_pad_ids, of right_left_pad_plain
# WRONG: pad ids with which a prompt begins are taken for old padding and removed
#       T = max(len(prompt) for prompt in prompts)
# -     num_pad = [T - len(prompt) for prompt in prompts]
# +     prompts = [prompt[next((i for i, token in enumerate(prompt) if token != pad_id), 0) :] for prompt in prompts]
# +     num_pad = [T - len(prompt) for prompt in prompts]

# %% wrong_left_pad_counts_pad_ids, of right_left_pad_plain
# WRONG: counts the pad id instead of the pads
# -     return torch.tensor(rows), torch.tensor(num_pad)
# +     return torch.tensor(rows), (torch.tensor(rows) == pad_id).sum(dim=1)

# %% wrong_left_pad_floats, of right_left_pad_plain
# WRONG: num_pad in float
# -     return torch.tensor(rows), torch.tensor(num_pad)
# +     return torch.tensor(rows), torch.tensor(num_pad).float()

# %% wrong_left_pad_int32, of right_left_pad_plain
# WRONG: ids in int32
# -     return torch.tensor(rows), torch.tensor(num_pad)
# +     return torch.tensor(rows, dtype=torch.int32), torch.tensor(num_pad)

# %% wrong_left_pad_lengths, of right_left_pad_plain
# WRONG: gives lengths instead of pads
# SAYS: The second result holds the rows' lengths. num_pad counts the pads: the longest length minus the row's own.
# -     return torch.tensor(rows), torch.tensor(num_pad)
# +     return torch.tensor(rows), torch.tensor([len(p) for p in prompts])

# %% wrong_left_pad_num_pad_2d, of right_left_pad_plain
# WRONG: num_pad (B, 1)
# -     return torch.tensor(rows), torch.tensor(num_pad)
# +     return torch.tensor(rows), torch.tensor(num_pad)[:, None]

# %% wrong_left_pad_cuts_long_prompts
# WRONG: keeps the last 2,048 tokens of a longer prompt
def left_pad(prompts, pad_id):
    if not prompts or not all(prompts):
        raise ValueError("no prompts, or an empty one")
    prompts = [prompt[-2048:] for prompt in prompts]
    T = max(len(prompt) for prompt in prompts)
    rows = [[pad_id] * (T - len(prompt)) + prompt for prompt in prompts]
    return torch.tensor(rows), torch.tensor([T - len(prompt) for prompt in prompts])

# %% wrong_left_pad_sixteen_bits, of right_left_pad_plain
# WRONG: ids pass through 16 bits: those from 32,768 on come out negative
# -     return torch.tensor(rows), torch.tensor(num_pad)
# +     return torch.tensor(rows).to(torch.int16).long(), torch.tensor(num_pad)
