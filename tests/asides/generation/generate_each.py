# Answers to the challenge of the day of the loop. How they are judged: tests/test_asides.py.


# %% right_alive
# RIGHT: a list of the rows that go on
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    made, alive = [[] for _ in idx], list(range(len(idx)))
    for _step in range(max_new_tokens):
        if not alive:
            break
        with torch.no_grad():
            logits = model(idx[:, -block_size:])[:, -1]
        token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
        for i, b in enumerate(alive):
            made[b].append(int(token[i]))
        idx = torch.cat([idx, token], dim=1)
        going = [i for i, b in enumerate(alive) if made[b][-1] != eos_token_id]
        idx, alive = idx[going], [alive[i] for i in going]
    return made


# %% right_mask
# RIGHT: all rows are kept, and those that go on are picked for each call
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    rows = [row.tolist() for row in idx]
    prompt = idx.shape[1]
    ended = [False] * len(rows)
    for _step in range(max_new_tokens):
        at = [b for b in range(len(rows)) if not ended[b]]
        if not at:
            break
        logits = model(torch.tensor([rows[b] for b in at])[:, -block_size:])[:, -1]
        for row, b in zip(logits, at):
            token = sample_next_token(row[None], generator=generators[b], **settings).item()
            rows[b].append(token)
            ended[b] = token == eos_token_id
    return [row[prompt:] for row in rows]


# %% right_dictionary
# RIGHT: the rows that go on, by their number
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    going = dict(enumerate(idx))
    done = {}
    for _step in range(max_new_tokens):
        if going:
            logits = model(torch.stack(list(going.values()))[:, -block_size:])[:, -1:]
            for b, scores in zip(list(going), logits):
                token = sample_next_token(scores, generator=generators[b], **settings)[0]
                going[b] = torch.cat([going[b], token])
                if token == eos_token_id:
                    done[b] = going.pop(b)
    return [(done | going)[b][idx.shape[1] :].tolist() for b in range(len(idx))]


# %% wrong_row_by_row
# WRONG: right, with a call for each row and step
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    limits = {"max_new_tokens": max_new_tokens, "block_size": block_size, "eos_token_id": eos_token_id}
    return [generate(model, row[None], generator=g, **limits, **settings)[0, idx.shape[1] :].tolist() for row, g in zip(idx, generators)]


# %% wrong_one_generator, of right_alive
# WRONG: the first generator for all rows
# -         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
# +         token = sample_next_token(logits, generator=generators[0], **settings)


# %% wrong_by_place, of right_alive
# WRONG: the generator of the place in the batch, not of the request
# -         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
# +         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[i], **settings) for i, b in enumerate(alive)])


# %% wrong_ended_rows_computed, of right_mask
# WRONG: the model is given the rows that have ended as well, cut to the length of the others
# -         logits = model(torch.tensor([rows[b] for b in at])[:, -block_size:])[:, -1]
# +         length = max(len(row) for row in rows)
# +         logits = model(torch.tensor([row + [0] * (length - len(row)) for row in rows])[:, -block_size:])[at, -1]


# %% wrong_fills, of right_mask
# WRONG: rows that have ended are filled with EOS
# -     return [row[prompt:] for row in rows]
# +     return [row[prompt:] + [0] * (max(map(len, rows)) - len(row)) for row in rows]


# %% wrong_drops_eos, of right_mask
# WRONG: the EOS is no part of the answer
# -     return [row[prompt:] for row in rows]
# +     return [[token for token in row[prompt:] if token != eos_token_id] for row in rows]


# %% wrong_with_prompt, of right_mask
# WRONG: the prompt stands before the answer
# -     return [row[prompt:] for row in rows]
# +     return rows


# %% wrong_no_window, of right_mask
# WRONG: the model is given more than block_size tokens
# -         logits = model(torch.tensor([rows[b] for b in at])[:, -block_size:])[:, -1]
# +         logits = model(torch.tensor([rows[b] for b in at]))[:, -1]


# %% wrong_draws_for_all, of right_mask
# WRONG: the generators of rows that have ended go on drawing
# -         for row, b in zip(logits, at):
# +         for b in set(range(len(rows))) - set(at):
# +             torch.rand(1, 1, generator=generators[b])
# +         for row, b in zip(logits, at):


# %% wrong_settings_lost, of right_mask
# WRONG: the settings do not reach the sampler
# -             token = sample_next_token(row[None], generator=generators[b], **settings).item()
# +             token = sample_next_token(row[None], generator=generators[b]).item()


# %% wrong_eos_in_prompt, of right_mask
# WRONG: an EOS in the prompt ends a row
# -     ended = [False] * len(rows)
# +     ended = [eos_token_id in row for row in rows]


# %% wrong_call_after_the_end, of right_mask
# WRONG: the model is called once more, for nobody
# -     return [row[prompt:] for row in rows]
# +     model(idx[:, -block_size:])
# +     return [row[prompt:] for row in rows]


# %% wrong_same_seed, of right_alive
# WRONG: generators of its own, with the seeds that it guesses
# -         token = torch.cat([sample_next_token(logits[i : i + 1], generator=generators[b], **settings) for i, b in enumerate(alive)])
# +         token = torch.cat([sample_next_token(logits[i : i + 1], generator=torch.Generator().manual_seed(b), **settings) for i, b in enumerate(alive)])


# %% wrong_no_eos_given_crashes
# WRONG: cannot do without an EOS
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    made, alive, ids = [[] for _ in generators], torch.arange(len(generators)), idx.clone()
    for _ in range(max_new_tokens):
        if not len(alive):
            break
        logits = model(ids[:, -block_size:])[:, -1]
        new = torch.cat([sample_next_token(logits[i:i+1], generator=generators[b], **settings) for i, b in enumerate(alive)])
        for i, b in enumerate(alive):
            made[b].append(int(new[i]))
        keep = new[:, 0] != int(eos_token_id)
        ids = torch.cat([ids, new], 1)[keep]; alive = alive[keep]
    return made


# %% wrong_tensors_instead_of_ints, of right_blind
# WRONG: tensors of one number for the numbers
# -             made[b].append(int(new[i]))
# +             made[b].append(new[i, 0])
# ...
# -         keep = [i for i, b in enumerate(alive) if eos_token_id is None or made[b][-1] != eos_token_id]
# +         keep = [i for i, b in enumerate(alive) if made[b][-1] != eos_token_id]


# %% wrong_ends_at_token_0_always, of right_blind
# WRONG: ends at token 0, whatever the EOS is
# -         keep = [i for i, b in enumerate(alive) if eos_token_id is None or made[b][-1] != eos_token_id]
# +         keep = [i for i, b in enumerate(alive) if made[b][-1] != 0]


# %% right_blind
# RIGHT: rows in a list, those that have ended left out
def generate_each(model, idx, generators, *, max_new_tokens, block_size, eos_token_id=None, **settings):
    made, alive, ids = [[] for _ in generators], list(range(len(generators))), idx.clone()
    for _ in range(max_new_tokens):
        if not alive:
            break
        logits = model(ids[:, -block_size:])[:, -1]
        new = torch.cat([sample_next_token(logits[i:i+1], generator=generators[b], **settings) for i, b in enumerate(alive)])
        for i, b in enumerate(alive):
            made[b].append(int(new[i]))
        ids = torch.cat([ids, new], 1)
        keep = [i for i, b in enumerate(alive) if eos_token_id is None or made[b][-1] != eos_token_id]
        alive, ids = [alive[i] for i in keep], ids[keep]
    return made
