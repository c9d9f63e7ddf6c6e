# Versions of flatten_chunks, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_flatten_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def flatten_chunks(chunks):
    ids, positions, bounds = [], [], [0]
    for request, n in chunks:
        end = request.sequence.length
        start = end - n
        ids += request.tokens[start:end]
        positions += range(start, end)
        bounds.append(bounds[-1] + n)
    return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)


# %% right_flatten_tensors
# RIGHT: tensors are put one after the other

def flatten_chunks(chunks):
    spans = [torch.arange(request.sequence.length - n, request.sequence.length) for request, n in chunks]
    texts = [torch.tensor(request.tokens, dtype=torch.int64)[span] for (request, _), span in zip(chunks, spans)]
    bounds = [0, *torch.tensor([n for _, n in chunks]).cumsum(0).tolist()]
    return Flat(torch.cat(texts).unsqueeze(0), torch.cat(spans), bounds)


# %% right_flatten_pairs
# RIGHT: a list of pairs (token, position)

def flatten_chunks(chunks):
    pairs = [(r.tokens[t], t) for r, n in chunks for t in range(r.sequence.length - n, r.sequence.length)]
    bounds = [sum(n for _, n in chunks[:i]) for i in range(len(chunks) + 1)]
    both = torch.tensor(pairs, dtype=torch.int64)
    return Flat(both[:, 0].reshape(1, -1), both[:, 1], bounds)


# %% wrong_flatten_positions_restart, of right_flatten_plain
# WRONG: the positions restart in each chunk
# -         positions += range(start, end)
# +         positions += range(n)

# %% wrong_flatten_positions_run_on, of right_flatten_plain
# WRONG: the positions run on from one chunk to the next
# -         positions += range(start, end)
# +         positions += range(bounds[-1], bounds[-1] + n)

# %% wrong_flatten_first_tokens, of right_flatten_plain
# WRONG: the first n tokens are fed again
# -         ids += request.tokens[start:end]
# +         ids += request.tokens[:n]

# %% wrong_flatten_last_tokens, of right_flatten_plain
# WRONG: the last n tokens of the text are fed, also where it is not at its end
# -         ids += request.tokens[start:end]
# +         ids += request.tokens[-n:]

# %% wrong_flatten_bounds_without_the_zero, of right_flatten_plain
# WRONG: the bounds have no 0 in front
# -     return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)
# +     return Flat(torch.tensor([ids]), torch.tensor(positions), bounds[1:])

# %% wrong_flatten_bounds_are_lengths, of right_flatten_plain
# WRONG: the bounds are the lengths of the chunks
# -         bounds.append(bounds[-1] + n)
# +         bounds.append(n)

# %% wrong_flatten_prompt_alone, of right_flatten_plain
# WRONG: the tokens are taken from the prompt, which does not hold the newest one
# -         ids += request.tokens[start:end]
# +         ids += request.prompt[start:end]

# %% wrong_flatten_as_if_not_grown, of right_flatten_plain
# WRONG: the chunk is taken for what follows the tokens in the cache, though these hold it already
# -         end = request.sequence.length
# -         start = end - n
# +         start = request.sequence.length
# +         end = start + n

# %% wrong_flatten_without_a_batch, of right_flatten_plain
# WRONG: the ids have no dimension for the batch
# -     return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)
# +     return Flat(torch.tensor(ids), torch.tensor(positions), bounds)

# %% wrong_flatten_positions_from_one, of right_flatten_plain
# WRONG: the positions are counted from 1
# -         positions += range(start, end)
# +         positions += range(start + 1, end + 1)

# %% wrong_flatten_uses_the_list_up, of right_flatten_plain
# WRONG: the list of chunks is used up
# -     for request, n in chunks:
# +     while chunks:
# +         request, n = chunks.pop(0)

# %% wrong_flatten_short_positions, of right_flatten_plain
# WRONG: the positions go through 16 bits of floating point, which holds every whole number only up to 2,048
# -     return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)
# +     return Flat(torch.tensor([ids]), torch.tensor(positions, dtype=torch.float16).long(), bounds)

# %% wrong_flatten_short_ids, of right_flatten_plain
# WRONG: the ids are cut to 15 bits
# -     return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)
# +     return Flat(torch.tensor([ids]) & 0x7FFF, torch.tensor(positions), bounds)

# %% wrong_flatten_bounds_are_a_tensor, of right_flatten_plain
# WRONG: the bounds are a tensor, no list
# -     return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)
# +     return Flat(torch.tensor([ids]), torch.tensor(positions), torch.tensor(bounds))


# %% wrong_flatten_sixteen, of right_flatten_plain
# WRONG: sixteen chunks are put one after the other, and the others are lost
# -     for request, n in chunks:
# +     for request, n in chunks[:16]:


# %% wrong_flatten_chunks_of_512, of right_flatten_plain
# WRONG: of a chunk the first 512 tokens are fed
# -         end = request.sequence.length
# -         start = end - n
# +         start = request.sequence.length - n
# +         n = min(n, 512)
# +         end = start + n


# %% wrong_flatten_equal_chunks_are_one, of right_flatten_plain
# WRONG: of two chunks with the same text and positions one is left out
# -     ids, positions, bounds = [], [], [0]
# +     ids, positions, bounds, seen = [], [], [0], []
# ...
# -         start = end - n
# +         start = end - n
# +         if (request.tokens[:end], n) in seen:
# +             continue
# +         seen.append((request.tokens[:end], n))


# %% wrong_flatten_ids_in_float32, of right_flatten_plain
# WRONG: the ids pass through float32, which holds every whole number only up to 16,777,216
# -     return Flat(torch.tensor([ids]), torch.tensor(positions), bounds)
# +     return Flat(torch.tensor([ids], dtype=torch.float32).long(), torch.tensor(positions), bounds)


# %% wrong_flatten_text_by_prompt, of right_flatten_plain
# WRONG: texts are looked up by their prompt, so two requests with one prompt and different answers get the same tokens
# -     ids, positions, bounds = [], [], [0]
# +     ids, positions, bounds = [], [], [0]
# +     texts = {tuple(request.prompt): request.tokens for request, _ in chunks}
# ...
# -         ids += request.tokens[start:end]
# +         ids += texts[tuple(request.prompt)][start:end]
