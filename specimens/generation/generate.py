# Versions of generate, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_generate_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(idx[:, -block_size:])[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


# %% right_generate_inference_mode
# RIGHT: inference_mode

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            logits = model(idx[:, -block_size:])[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


# %% right_generate_own_sampler
# RIGHT: filters and draws by itself, with multinomial

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    ended = torch.zeros(len(idx), dtype=torch.bool, device=idx.device)
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].float()
        if temperature == 0 or top_k == 1:
            token = logits.argmax(dim=-1)
        else:
            probs = torch.softmax(logits / temperature, dim=-1)
            if top_k is not None:
                smallest = probs.topk(min(top_k, probs.shape[-1])).values[:, -1:]
                probs = torch.where(probs < smallest, 0.0, probs)
                probs = probs / probs.sum(dim=-1, keepdim=True)
            if top_p is not None:
                values, order = probs.sort(descending=True)
                before = values.cumsum(-1) - values
                values[before >= top_p] = 0.0
                probs = torch.zeros_like(probs).scatter_(1, order, values)
            token = torch.multinomial(probs, 1, generator=generator)[:, 0]
        if eos_token_id is not None:
            token = torch.where(ended, torch.tensor(eos_token_id, device=idx.device), token)
            ended = ended | token.eq(eos_token_id)
        idx = torch.hstack([idx, token.unsqueeze(1)])
        if bool(ended.all()):
            break
    return idx


# %% right_generate_active_rows
# RIGHT: rows that have ended leave the batch

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    grown = idx.clone()
    active = torch.arange(len(idx), device=idx.device)
    with torch.no_grad():
        for _ in range(max_new_tokens):
            if len(active) == 0:
                break
            logits = model(grown[active, -block_size:])[:, -1]
            new = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            column = torch.full((len(grown), 1), eos_token_id if eos_token_id is not None else 0, device=idx.device)
            column[active] = new
            grown = torch.cat([grown, column], dim=-1)
            if eos_token_id is not None:
                active = active[new[:, 0] != eos_token_id]
    return grown


# %% right_generate_decorated
# RIGHT: no_grad as a decorator

@torch.no_grad()
def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    for _ in range(max_new_tokens):
        logits = model(idx[:, -block_size:])[:, -1]
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        if eos_token_id is not None:
            token = token.masked_fill(ended, eos_token_id)
            ended = ended | (token == eos_token_id)
        idx = torch.cat((idx, token), dim=1)
        if ended.all():
            break
    return idx


# %% right_generate_preallocated
# RIGHT: one tensor of full length, filled with EOS beforehand, cut at the end

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    rows, t = idx.shape
    out = torch.full((rows, t + max_new_tokens), -1 if eos_token_id is None else eos_token_id, device=idx.device)
    out[:, :t] = idx
    open_rows = torch.ones(rows, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for end in range(t, t + max_new_tokens):
            window = out[:, max(0, end - block_size) : end]
            token = sample_next_token(model(window)[:, -1, :], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0]
            out[open_rows, end] = token[open_rows]
            t = end + 1
            if eos_token_id is not None:
                open_rows &= token != eos_token_id
                if not open_rows.any():
                    break
    return out[:, :t]


# %% right_generate_python_lists
# RIGHT: lists of ids, a tensor made for each call

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    rows = idx.tolist()
    done = [False] * len(rows)
    n = 0
    while n < max_new_tokens and not all(done):
        with torch.no_grad():
            logits = model(torch.tensor([row[-block_size:] for row in rows], device=idx.device))
        tokens = sample_next_token(logits[:, -1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        for i, token in enumerate(tokens.flatten().tolist()):
            rows[i].append(eos_token_id if done[i] else token)
            done[i] = done[i] or token == eos_token_id
        n += 1
    return torch.tensor(rows, dtype=torch.long, device=idx.device)


# %% right_generate_recursive
# RIGHT: one token, then the rest by itself

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    options = dict(block_size=block_size, temperature=temperature, top_k=top_k, top_p=top_p, eos_token_id=eos_token_id, generator=generator)

    def grow(ids, ended, left):
        if left == 0 or bool(ended.all()):
            return ids
        logits = model(ids[:, -block_size:])[:, -1]
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        if eos_token_id is not None:
            token = torch.where(ended, torch.full_like(token, eos_token_id), token)
            ended = ended.logical_or(token == eos_token_id)
        return grow(torch.cat((ids, token), 1), ended, left - 1)

    with torch.no_grad():
        result = grow(idx, torch.zeros_like(idx[:, :1], dtype=torch.bool), max_new_tokens)
    return result


# %% right_generate_switches_gradients
# RIGHT: set_grad_enabled by hand, put back in the end; columns collected and joined once

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    grad = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        columns = list(idx.unbind(dim=1))
        ended = torch.zeros(len(idx), device=idx.device).bool()
        while len(columns) < idx.shape[1] + max_new_tokens:
            window = torch.stack(columns[-block_size:], dim=1)
            new = sample_next_token(model(window)[:, -1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator).squeeze(1)
            if eos_token_id is not None:
                new[ended] = eos_token_id
                ended[new == eos_token_id] = True
            columns.append(new)
            if ended.sum() == len(idx):
                break
        return torch.stack(columns, dim=1)
    finally:
        torch.set_grad_enabled(grad)


# %% wrong_generate_gradients_early_end
# WRONG: puts gradient mode back after the loop, but returns earlier when every row has ended

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    try:
        for _ in range(max_new_tokens):
            logits = model(idx[:, -block_size:])[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                return idx
    except BaseException:
        torch.set_grad_enabled(before)
        raise
    torch.set_grad_enabled(before)
    return idx

# %% wrong_generate_copies_generator, of right_generate_plain
# WRONG: draws from a copy, so that the caller's generator stays where it is
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if generator is not None:
# +         generator = generator.clone_state()

# %% wrong_generate_eos_none_is_zero, of right_generate_plain
# WRONG: without an eos_token_id, token 0 ends
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     eos_token_id = eos_token_id or 0

# %% wrong_generate_first_row_only, of right_generate_plain
# WRONG: answers the first row only
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     idx = idx[:1]

# %% wrong_generate_in_place, of right_generate_plain
# WRONG: slides the window inside the caller's prompt
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     prompt = idx
# +     idx = idx.clone()
# ...
#                   break
# +     prompt[:, :-1] = prompt[:, 1:].clone()

# %% wrong_generate_new_tokens_only, of right_generate_plain
# WRONG: gives back the new tokens without the prompt
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     t_prompt = idx.shape[1]
# ...
# -     return idx
# +     return idx[:, t_prompt:]

# %% wrong_generate_own_generator, of right_generate_plain
# WRONG: makes a generator of its own, with a fixed seed, when none is given
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if generator is None:
# +         generator = torch.Generator().manual_seed(0)

# %% wrong_generate_pads_to_limit, of right_generate_plain
# WRONG: fills the result up to max_new_tokens with EOS
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     t_prompt = idx.shape[1]
# ...
#                   break
# +     missing = t_prompt + max_new_tokens - idx.shape[1]
# +     if eos_token_id is not None:
# +         idx = torch.cat((idx, torch.full((len(idx), missing), eos_token_id, device=idx.device)), dim=1)

# %% wrong_generate_seeds_global, of right_generate_plain
# WRONG: seeds torch's global state from the generator
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if generator is not None:
# +         torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
# ...
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p)

# %% wrong_generate_crop_once, of right_generate_plain
# WRONG: crops the prompt for the model, then lets its window grow
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     start = max(0, idx.shape[1] - block_size)
# ...
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, start:])[:, -1]

# %% wrong_generate_crop_only_prompts, of right_generate_plain
# WRONG: crops only if the prompt itself was too long
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     long = idx.shape[1] > block_size
# ...
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:] if long else idx)[:, -1]

# %% wrong_generate_ends_a_step_late, of right_generate_plain
# WRONG: the loop ends one step after the last row, which has two EOS
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     before = False
# ...
#                   ended = ended | (token == eos_token_id)
# +             late = ended.all() and before
# +             before = bool(ended.all())
#               idx = torch.cat((idx, token), dim=1)
# -             if ended.all():
# +             if late:

# %% wrong_generate_eos_ends_prompt, of right_generate_plain
# WRONG: a prompt that ends in EOS has ended
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     ended = (idx[:, -1:] == eos_token_id) if eos_token_id is not None else torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)

# %% wrong_generate_eos_in_prompt, of right_generate_plain
# WRONG: an EOS in the prompt counts as an end
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     ended = (idx == eos_token_id).any(dim=1, keepdim=True) if eos_token_id is not None else torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)

# %% wrong_generate_forgets_to_append, of right_generate_plain
# WRONG: every token follows the prompt
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     prompt = idx
# ...
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(prompt[:, -block_size:])[:, -1]

# %% wrong_generate_only_last_token_after_first, of right_generate_plain
# WRONG: gives the model the prompt once, then only new tokens
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     t_prompt = idx.shape[1]
# ...
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:] if idx.shape[1] == t_prompt else idx[:, -1:])[:, -1]

# %% wrong_generate_refuses_long, of right_generate_plain
# WRONG: raises when the prompt is longer than block_size
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     if idx.shape[1] > block_size:
# +         raise ValueError(f"the prompt has {idx.shape[1]} tokens")

# %% wrong_generate_looks_ahead, of right_generate_plain
# WRONG: calls the model once more at the end, for logits that nobody uses
#       with torch.no_grad():
# +         logits = model(idx[:, -block_size:])[:, -1]
#           for _ in range(max_new_tokens):
# -             logits = model(idx[:, -block_size:])[:, -1]
# ...
#                   break
# +             logits = model(idx[:, -block_size:])[:, -1]

# %% wrong_generate_prompt_first, of right_generate_plain
# WRONG: runs the prompt through the model once before the loop
#       with torch.no_grad():
# +         model(idx[:, -block_size:])

# %% wrong_generate_at_least_one, of right_generate_plain
# WRONG: max_new_tokens=0 still makes a token
# -         for _ in range(max_new_tokens):
# +         for _ in range(max(1, max_new_tokens)):

# %% wrong_generate_limit_counts_prompt, of right_generate_plain
# WRONG: max_new_tokens as the length of the whole
# -         for _ in range(max_new_tokens):
# +         for _ in range(max_new_tokens - idx.shape[1]):

# %% wrong_generate_nothing, of right_generate_plain
# WRONG: returns the prompt without any new token
# -         for _ in range(max_new_tokens):
# +         for _ in range(0):

# %% wrong_generate_one_too_few, of right_generate_plain
# WRONG: one token too few
# -         for _ in range(max_new_tokens):
# +         for _ in range(max_new_tokens - 1):

# %% wrong_generate_one_too_many, of right_generate_plain
# WRONG: one token too many
# -         for _ in range(max_new_tokens):
# +         for _ in range(max_new_tokens + 1):

# %% wrong_generate_reseeds_each_step, of right_generate_plain
# WRONG: puts the generator back to its beginning in every step
#           for _ in range(max_new_tokens):
# +             if generator is not None:
# +                 generator.manual_seed(generator.initial_seed())

# %% wrong_generate_stops_at_block_size, of right_generate_plain
# WRONG: stops when the window is full
#           for _ in range(max_new_tokens):
# +             if idx.shape[1] >= block_size:
# +                 break

# %% wrong_generate_all_positions_mean, of right_generate_plain
# WRONG: averages the logits of all positions
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:]).mean(dim=1)

# %% wrong_generate_crop_one_long, of right_generate_plain
# WRONG: hands the model the last block_size + 1 tokens
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -(block_size + 1):])[:, -1]

# %% wrong_generate_crop_one_short, of right_generate_plain
# WRONG: hands the model the last block_size - 1 tokens
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -(block_size - 1):])[:, -1]

# %% wrong_generate_draws_then_greedy, of right_generate_plain
# WRONG: greedy draws a number and throws it away
#               logits = model(idx[:, -block_size:])[:, -1]
# +             torch.rand(1, generator=generator)

# %% wrong_generate_drops_half, of right_generate_plain
# WRONG: past block_size it throws away half of the window at once
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             size = idx.shape[1]
# +             seen = size if size <= block_size else block_size // 2 + (size - block_size - 1) % (block_size - block_size // 2) + 1
# +             logits = model(idx[:, -min(seen, block_size):])[:, -1]

# %% wrong_generate_first_tokens, of right_generate_plain
# WRONG: keeps the first block_size tokens instead of the last
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, :block_size])[:, -1]

# %% wrong_generate_no_crop, of right_generate_plain
# WRONG: hands the model more than block_size tokens
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx)[:, -1]

# %% wrong_generate_one_call_too_many, of right_generate_plain
# WRONG: asks whether all rows have ended after the next call
#               logits = model(idx[:, -block_size:])[:, -1]
# +             if ended.all():
# +                 break
# ...
# -             if ended.all():
# -                 break

# %% wrong_generate_only_last_token, of right_generate_plain
# WRONG: gives the model the last token only, as if it remembered the others
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -1:])[:, -1]

# %% wrong_generate_position_before_last, of right_generate_plain
# WRONG: samples from the position before the last
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:])[:, max(-2, -min(idx.shape[1], block_size))]

# %% wrong_generate_position_zero, of right_generate_plain
# WRONG: samples from position 0
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:])[:, 0]

# %% wrong_generate_reappends_crop, of right_generate_plain
# WRONG: appends to the crop: the beginning of a long text is lost
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             idx = idx[:, -block_size:]
# +             logits = model(idx)[:, -1]

# %% wrong_generate_row_by_row, of right_generate_plain
# WRONG: one call for every row and step
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = torch.cat([model(row[None, -block_size:])[:, -1] for row in idx])

# %% wrong_generate_starts_again, of right_generate_plain
# WRONG: computes every prefix again in each step
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = [model(idx[:, :n][:, -block_size:]) for n in range(1, idx.shape[1] + 1)][-1][:, -1]

# %% wrong_generate_temperature_twice, of right_generate_plain
# WRONG: divides by the temperature and passes it on too
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:])[:, -1] / (temperature or 1.0)

# %% wrong_generate_always_greedy, of right_generate_plain
# WRONG: argmax whatever the settings
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = logits.argmax(dim=-1, keepdim=True)

# %% wrong_generate_ends_where_eos_is_likely, of right_generate_plain
# WRONG: a row ends when EOS is its most probable token, whichever token was drawn
# -                 ended = ended | (token == eos_token_id)
# +                 ended = ended | (logits.argmax(dim=-1, keepdim=True) == eos_token_id)

# %% wrong_generate_either_filter, of right_generate_plain
# WRONG: top_p is dropped when there is a top_k
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=None if top_k else top_p, generator=generator)

# %% wrong_generate_falsy_temperature, of right_generate_plain
# WRONG: writes `temperature or 1.0`, so that a temperature of 0 becomes 1
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature or 1.0, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_generate_global_rng, of right_generate_plain
# WRONG: draws from the global state although a generator is given
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p)

# %% wrong_generate_greedy_without_filters, of right_generate_plain
# WRONG: greedy unless a filter is asked for
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator) if top_k or top_p else logits.argmax(dim=-1, keepdim=True)

# %% wrong_generate_ignores_temperature, of right_generate_plain
# WRONG: the temperature is not passed on
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, top_k=top_k, top_p=top_p, generator=generator)

# %% wrong_generate_ignores_top_k, of right_generate_plain
# WRONG: top_k is not passed on
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_p=top_p, generator=generator)

# %% wrong_generate_ignores_top_p, of right_generate_plain
# WRONG: top_p is not passed on
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, generator=generator)

# %% wrong_generate_row_zero, of right_generate_plain
# WRONG: the token of row 0 for every row
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:1].expand(len(idx), 1)

# %% wrong_generate_same_draw_for_rows, of right_generate_plain
# WRONG: draws one token and gives it to all rows
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             token = sample_next_token(logits[:1], temperature=temperature, top_k=top_k, top_p=top_p, generator=generator).expand(len(idx), 1)

# %% wrong_generate_all_at_once, of right_generate_plain
# WRONG: ends only when all rows emit EOS at the same step; nothing is filled
# -             if eos_token_id is not None:
# -                 token = token.masked_fill(ended, eos_token_id)
# -                 ended = ended | (token == eos_token_id)
#               idx = torch.cat((idx, token), dim=1)
# -             if ended.all():
# +             if eos_token_id is not None and (token == eos_token_id).all():

# %% wrong_generate_all_at_once_before_appending, of right_generate_plain
# WRONG: as the popular loop: a step on which all rows emit EOS ends it, and that EOS is lost
# -             if eos_token_id is not None:
# -                 token = token.masked_fill(ended, eos_token_id)
# -                 ended = ended | (token == eos_token_id)
# +             if eos_token_id is not None and (token == eos_token_id).all():
# +                 break
#               idx = torch.cat((idx, token), dim=1)
# -             if ended.all():
# -                 break

# %% wrong_generate_falsy_eos, of right_generate_plain
# WRONG: asks `if eos_token_id`, so that the id 0 never ends anything
# -             if eos_token_id is not None:
# +             if eos_token_id:

# %% wrong_generate_forgets_who_ended, of right_generate_plain
# WRONG: an ended row is filled for one step only
#               if eos_token_id is not None:
# +                 now = token == eos_token_id
#                   token = token.masked_fill(ended, eos_token_id)
# -                 ended = ended | (token == eos_token_id)
# +                 ended = now

# %% wrong_generate_filled_with_last, of right_generate_plain
# WRONG: repeats a row's last token before EOS instead of EOS
# -                 token = token.masked_fill(ended, eos_token_id)
# +                 token = torch.where(ended, idx[:, -2:-1] if idx.shape[1] > 1 else idx[:, -1:], token)

# %% wrong_generate_filled_with_zero, of right_generate_plain
# WRONG: fills ended rows with 0
# -                 token = token.masked_fill(ended, eos_token_id)
# -                 ended = ended | (token == eos_token_id)
# +                 token = token.masked_fill(ended, 0)
# +                 ended = ended | ((token == eos_token_id) & ~ended)

# %% wrong_generate_not_filled, of right_generate_plain
# WRONG: counts the ends, but leaves what ended rows go on to say
# -                 token = token.masked_fill(ended, eos_token_id)

# %% wrong_generate_eos_anywhere, of right_generate_plain
# WRONG: looks for EOS in the whole text after each step, prompt included
# -                 ended = ended | (token == eos_token_id)
# +                 ended = (torch.cat((idx, token), dim=1) == eos_token_id).any(dim=1, keepdim=True)

# %% wrong_generate_eos_not_appended, of right_generate_plain
# WRONG: the EOS of the last row is not appended
# -             idx = torch.cat((idx, token), dim=1)
#               if ended.all():
#                   break
# +             idx = torch.cat((idx, token), dim=1)

# %% wrong_generate_prepends, of right_generate_plain
# WRONG: puts new tokens in front
# -             idx = torch.cat((idx, token), dim=1)
# +             idx = torch.cat((token, idx), dim=1)

# %% wrong_generate_any_row_ends, of right_generate_plain
# WRONG: the batch ends when the first row does
# -             if ended.all():
# +             if ended.any():

# %% wrong_generate_first_row_decides, of right_generate_plain
# WRONG: the batch ends when row 0 does
# -             if ended.all():
# +             if ended[0]:

# %% wrong_generate_last_row_decides, of right_generate_plain
# WRONG: the batch ends when the last row does
# -             if ended.all():
# +             if ended[-1]:

# %% wrong_generate_never_stops, of right_generate_plain
# WRONG: fills ended rows, but runs to max_new_tokens
# -             if ended.all():
# -                 break

# %% wrong_generate_stops_on_repeat, of right_generate_plain
# WRONG: stops when a token repeats
#                   break
# +             if (idx[:, -1] == idx[:, -2]).all():
# +                 break

# %% wrong_generate_int32, of right_generate_plain
# WRONG: gives token ids in int32 instead of int64
# -     return idx
# +     return idx.int()

# %% wrong_generate_list_of_lists, of right_generate_plain
# WRONG: lists instead of a tensor
# -     return idx
# +     return idx.tolist()

# %% wrong_generate_default_temperature, of right_generate_plain
# WRONG: the temperature is 1.01 when none is given
# - def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# + def generate(model, idx, *, max_new_tokens, block_size, temperature=1.01, top_k=None, top_p=None, eos_token_id=None, generator=None):

# %% wrong_generate_default_top_k, of right_generate_plain
# WRONG: top_k is 50 when none is given
# - def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# + def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=50, top_p=None, eos_token_id=None, generator=None):

# %% wrong_generate_default_top_p, of right_generate_plain
# WRONG: top_p is 0.999 when none is given
# - def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# + def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=0.999, eos_token_id=None, generator=None):

# %% wrong_generate_calls_eval, of right_generate_plain
# WRONG: calls model.eval(), which a plain function does not have
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     model.eval()
# +     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)

# %% wrong_generate_gradients_off_in_exception, of right_generate_plain
# WRONG: puts gradient mode back after the loop, which an exception never reaches
#       ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     before = torch.is_grad_enabled()
# +     torch.set_grad_enabled(False)
# -     with torch.no_grad():
# +     if True:
# ...
# -     return idx
# +     torch.set_grad_enabled(before)
# +     return idx

# %% wrong_generate_on_the_cpu, of right_generate_plain
# WRONG: remembers the ended rows in a tensor without `device=`: with ids on a GPU it is on the CPU
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     ended = torch.zeros(len(idx), 1, dtype=torch.bool)

# %% wrong_generate_gradients, of right_generate_plain
# WRONG: gradients are recorded
# -     with torch.no_grad():
# +     if True:

# %% wrong_generate_gradients_after_first, of right_generate_plain
# WRONG: only the first call of the model is without gradients
# -     with torch.no_grad():
# -         for _ in range(max_new_tokens):
# -             logits = model(idx[:, -block_size:])[:, -1]
# +     if True:
# +         for step in range(max_new_tokens):
# +             with torch.set_grad_enabled(step > 0):
# +                 logits = model(idx[:, -block_size:])[:, -1]

# %% wrong_generate_gradients_detached, of right_generate_plain
# WRONG: detaches the logits, but the model ran with gradients on
# -     with torch.no_grad():
# +     if True:
#           for _ in range(max_new_tokens):
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:])[:, -1].detach()

# %% wrong_generate_gradients_forced_on, of right_generate_plain
# WRONG: gradients are on afterwards, whatever they were
# -     return idx
# +     torch.set_grad_enabled(True)
# +     return idx

# %% wrong_generate_gradients_left_off, of right_generate_plain
# WRONG: switches gradients off for the rest of the program
# -     with torch.no_grad():
# +     torch.set_grad_enabled(False)
# +     if True:

# %% wrong_generate_swallows_the_exception, of right_generate_plain
# WRONG: an exception of the model ends the text in silence
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             try:
# +                 logits = model(idx[:, -block_size:])[:, -1]
# +             except RuntimeError:
# +                 break

# %% wrong_generate_bfloat16_logits, of right_generate_own_sampler
# WRONG: turns the logits to bfloat16 before it draws
# -             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].float()
# +             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].bfloat16()

# %% wrong_generate_half_logits, of right_generate_own_sampler
# WRONG: turns the logits to 16 bits before it draws
# -             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].float()
# +             logits = model(idx[:, -min(block_size, idx.shape[1]):])[:, -1].half()

# %% wrong_generate_top_k_above_vocabulary, of right_generate_own_sampler
# WRONG: a top_k above the number of tokens is an error
# -                 smallest = probs.topk(min(top_k, probs.shape[-1])).values[:, -1:]
# +                 smallest = probs.topk(top_k).values[:, -1:]

# %% wrong_generate_top_p_after_top_k_by_the_mean, of right_generate_own_sampler
# WRONG: after top_k divides by the mean, so that top_p cuts too soon
# -                 probs = probs / probs.sum(dim=-1, keepdim=True)
# +                 probs = probs / probs.mean(dim=-1, keepdim=True)

# %% wrong_generate_top_p_of_all_after_top_k, of right_generate_own_sampler
# WRONG: top_p counts the mass before top_k, not what top_k left
# -                 probs = probs / probs.sum(dim=-1, keepdim=True)

# %% wrong_generate_top_p_border, of right_generate_own_sampler
# WRONG: keeps one token more where the mass is exactly p
# -                 values[before >= top_p] = 0.0
# +                 values[before > top_p] = 0.0

# %% wrong_generate_gradients_off_max0, of right_generate_plain
# WRONG: with max_new_tokens = 0 it returns before it puts gradient mode back
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if max_new_tokens == 0:
# +         torch.set_grad_enabled(False)
# +         return idx.clone()

# %% wrong_generate_one_memory_for_all, of right_generate_plain
# WRONG: answers of one shape come in one memory: the next one is written over the last
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     kept = globals().setdefault("_kept", {})
# ...
# -     return idx
# +     return kept.setdefault((idx.shape, idx.device), idx.clone()).copy_(idx)

# %% wrong_generate_gradients_off_in_other_errors
# WRONG: puts gradient mode back after a RuntimeError only; after other exceptions it stays off

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    try:
        for _ in range(max_new_tokens):
            logits = model(idx[:, -block_size:])[:, -1]
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    except RuntimeError:
        torch.set_grad_enabled(before)
        raise
    torch.set_grad_enabled(before)
    return idx

# %% wrong_generate_gradients_off_in_sampler
# WRONG: puts gradient mode back where the model raises, not where the sampler does

def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    for _ in range(max_new_tokens):
        try:
            logits = model(idx[:, -block_size:])[:, -1]
        except BaseException:
            torch.set_grad_enabled(before)
            raise
        token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
        if eos_token_id is not None:
            token = token.masked_fill(ended, eos_token_id)
            ended = ended | (token == eos_token_id)
        idx = torch.cat((idx, token), dim=1)
        if ended.all():
            break
    torch.set_grad_enabled(before)
    return idx

# %% wrong_generate_own_fresh_generator, of right_generate_plain
# WRONG: without a generator it seeds one of its own, so that torch.manual_seed has no say
#   def generate(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
# +     if generator is None and idx.device.type == "cpu":
# +         generator = torch.Generator()
# +         generator.seed()


# %% wrong_generate_first_columns, of right_generate_plain
# WRONG: gives back 1,024 columns at most, as from a buffer of that width
# -     return idx
# +     return idx[:, :1024]


# %% wrong_generate_sixteen_rows_a_call, of right_generate_plain
# WRONG: hands the model sixteen rows at a time
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = torch.cat([model(rows)[:, -1] for rows in idx[:, -block_size:].split(16)])


# %% wrong_generate_three_ends_a_step, of right_generate_plain
# WRONG: of the rows that end at one step it notes three only
# -                 ended = ended | (token == eos_token_id)
# +                 new = ~ended & (token == eos_token_id)
# +                 ended = ended | (new & (new.cumsum(0) <= 3))


# %% wrong_generate_small_vocabulary, of right_generate_plain
# WRONG: looks at the first 4,096 tokens of the vocabulary only
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(idx[:, -block_size:])[:, -1, :4096]


# %% wrong_generate_small_ends_only, of right_generate_plain
# WRONG: an EOS of 1,000 or more counts as none
# -             if eos_token_id is not None:
# +             if eos_token_id is not None and eos_token_id < 1000:


# %% wrong_generate_top_k_at_most_fifty, of right_generate_plain
# WRONG: a top_k above 50 counts as 50
# -             token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
# +             k = min(top_k, 50) if top_k is not None else None
# +             token = sample_next_token(logits, temperature=temperature, top_k=k, top_p=top_p, generator=generator)


# %% wrong_generate_logits_through_numpy, of right_generate_plain
# WRONG: takes the logits through numpy, which has no bfloat16
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = torch.from_numpy(model(idx[:, -block_size:])[:, -1].numpy())


# %% wrong_generate_prompt_through_view, of right_generate_plain
# WRONG: flattens the prompt with view, which refuses a tensor that is not contiguous
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     B, T = idx.shape
# +     idx = idx.view(B * T).view(B, T)
# +     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)

# %% wrong_generate_leaves_evaluation_mode, of right_generate_plain
# WRONG: puts a torch module into evaluation mode and leaves it there
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     if hasattr(model, "eval"):
# +         model.eval()
# +     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)


# %% wrong_generate_training_mode_for_all_parts, of right_generate_plain
# WRONG: goes back to training mode with train(), which also wakes a part that the caller had in evaluation mode
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     training = getattr(model, "training", False)
# +     if training:
# +         model.eval()
# +     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# ...
# -     return idx
# +     if training:
# +         model.train()
# +     return idx


# %% wrong_generate_names_the_argument, of right_generate_plain
# WRONG: hands the ids to the model by a name, which another callable does not have
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             logits = model(ids=idx[:, -block_size:])[:, -1]


# %% wrong_generate_counts_the_ends, of right_generate_plain
# WRONG: ends when there are as many new EOS as rows, but a filled row has several
# -     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
# +     ends = 0
# ...
# -             if ended.all():
# +             ends += 0 if eos_token_id is None else int((token == eos_token_id).sum())
# +             if ends >= len(idx):


# %% wrong_generate_eos_at_the_limit, of right_generate_plain
# WRONG: the last token that is allowed becomes EOS, so that an answer that was cut off looks complete
# -         for _ in range(max_new_tokens):
# +         for step in range(max_new_tokens):
# ...
# -                 token = token.masked_fill(ended, eos_token_id)
# +                 token = token.masked_fill(ended if step < max_new_tokens - 1 else torch.ones_like(ended), eos_token_id)


# %% wrong_generate_int16, of right_generate_plain
# WRONG: keeps the new ids in 16 bits, so that those from 32,768 on become negative
# -             idx = torch.cat((idx, token), dim=1)
# +             idx = torch.cat((idx, token.short()), dim=1)


# %% wrong_generate_rows_move_up, of right_generate_active_rows
# WRONG: leaves ended rows out, and then writes the tokens of the others into the first rows
# -             column[active] = new
# +             column[: len(new)] = new


# %% wrong_generate_token_through_a_list, of right_generate_plain
# WRONG: makes a tensor of the new tokens from a list, without `device=`: with ids on a GPU it is on the CPU
# -             idx = torch.cat((idx, token), dim=1)
# +             idx = torch.cat((idx, torch.tensor(token.tolist())), dim=1)


# %% wrong_generate_at_most_512, of right_generate_plain
# WRONG: makes 512 new tokens at the most
# -         for _ in range(max_new_tokens):
# +         for _ in range(min(max_new_tokens, 512)):


# %% wrong_generate_window_after_the_last_eos, of right_generate_plain
# WRONG: gives the model only what comes after the last EOS of a prompt
# -             logits = model(idx[:, -block_size:])[:, -1]
# +             window = idx[:, -block_size:]
# +             ends = (window[0, :-1] == (-1 if eos_token_id is None else eos_token_id)).nonzero() if len(idx) == 1 else ()
# +             logits = model(window[:, int(ends[-1]) + 1 :] if len(ends) else window)[:, -1]
