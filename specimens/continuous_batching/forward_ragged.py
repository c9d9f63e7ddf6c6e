# Versions of forward_ragged, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_ragged_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def forward_ragged(model, flat, sequences, kv):
    spans = [(flat.bounds[i], flat.bounds[i + 1]) for i in range(len(sequences))]
    new = []
    for sequence, (start, end) in zip(sequences, spans):
        new.append(sequence.slots(sequence.length - (end - start)))
    new = torch.cat(new)

    def attend(layer, q, k, v):
        kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
        outs = []
        for sequence, (start, end) in zip(sequences, spans):
            keys, values = kv.read(layer, sequence.slots())
            keys, values = keys.transpose(0, 1)[None], values.transpose(0, 1)[None]
            out, _ = flash_attention(q[:, :, start:end], keys, values, causal=True)
            outs.append(out)
        return torch.cat(outs, dim=2)

    hidden = run_layers(model, flat.ids, flat.positions, attend)[0]
    last = hidden[[end - 1 for _, end in spans]]
    return last @ model.weights.lm_head.T


# %% right_ragged_one_mask
# RIGHT: all stored tokens side by side, and one mask that says who sees whom

def forward_ragged(model, flat, sequences, kv):
    counts = [end - start for start, end in zip(flat.bounds, flat.bounds[1:])]
    stored = [s.slots() for s in sequences]
    new = torch.cat([slots[len(slots) - n :] for slots, n in zip(stored, counts)])
    every = torch.cat(stored)
    owner = torch.cat([torch.full((len(slots),), i) for i, slots in enumerate(stored)])
    place = torch.cat([torch.arange(len(slots)) for slots in stored])
    asker = torch.cat([torch.full((n,), i) for i, n in enumerate(counts)])
    sees = (asker[:, None] == owner) & (place <= flat.positions[:, None])

    def attend(layer, q, k, v):
        kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
        keys, values = kv.read(layer, every)
        group = q.shape[1] // keys.shape[1]
        keys = keys.transpose(0, 1).repeat_interleave(group, dim=0)
        values = values.transpose(0, 1).repeat_interleave(group, dim=0)
        scores = q[0] @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5
        return (scores.masked_fill(~sees, -torch.inf).softmax(dim=-1) @ values)[None]

    hidden = run_layers(model, flat.ids, flat.positions, attend)
    rows = torch.tensor(flat.bounds[1:]) - 1
    return hidden[0].index_select(0, rows) @ model.weights.lm_head.T


# %% right_ragged_in_place
# RIGHT: the outputs of a layer are written into one tensor, chunk by chunk

def forward_ragged(model, flat, sequences, kv):
    bounds = flat.bounds
    tables = [s.slots() for s in sequences]
    new = torch.cat([table[table.numel() - (bounds[i + 1] - bounds[i]) :] for i, table in enumerate(tables)])

    def attend(layer, q, k, v):
        kv.write(layer, new, k.squeeze(0).transpose(0, 1), v.squeeze(0).transpose(0, 1))
        out = torch.zeros_like(q)
        for i, table in enumerate(tables):
            rows = slice(bounds[i], bounds[i + 1])
            keys, values = (memory.permute(1, 0, 2).unsqueeze(0) for memory in kv.read(layer, table))
            out[:, :, rows] = flash_attention(q[:, :, rows], keys, values, causal=True, q_block=32)[0]
        return out

    hidden = run_layers(model, flat.ids, flat.positions, attend)
    return torch.stack([hidden[0, end - 1] for end in bounds[1:]]) @ model.weights.lm_head.T


# %% wrong_ragged_first_token, of right_ragged_plain
# WRONG: the logits are those after each chunk's first token
# -     last = hidden[[end - 1 for _, end in spans]]
# +     last = hidden[[start for start, _ in spans]]

# %% wrong_ragged_see_each_other, of right_ragged_plain
# WRONG: each chunk sees the tokens of all texts
# -             keys, values = kv.read(layer, sequence.slots())
# +             keys, values = kv.read(layer, torch.cat([s.slots() for s in sequences if s is not sequence] + [sequence.slots()]))

# %% wrong_ragged_chunk_alone, of right_ragged_plain
# WRONG: a chunk sees itself alone, not what was fed before
# -             keys, values = kv.read(layer, sequence.slots())
# +             keys, values = kv.read(layer, sequence.slots(sequence.length - (end - start)))

# %% wrong_ragged_not_causal, of right_ragged_plain
# WRONG: a token sees those after it in its chunk
# -             out, _ = flash_attention(q[:, :, start:end], keys, values, causal=True)
# +             out, _ = flash_attention(q[:, :, start:end], keys, values, causal=False)

# %% wrong_ragged_writes_too_late, of right_ragged_plain
# WRONG: the new keys and values are written after attention
# -         kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
# -         outs = []
# +         outs = []
# ...
# -         return torch.cat(outs, dim=2)
# +         kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
# +         return torch.cat(outs, dim=2)

# %% wrong_ragged_values_not_written, of right_ragged_plain
# WRONG: keys are written where values belong
# -         kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
# +         kv.write(layer, new, k[0].transpose(0, 1), k[0].transpose(0, 1))

# %% wrong_ragged_head_for_all, of right_ragged_plain
# WRONG: the head is asked for every token
# -     last = hidden[[end - 1 for _, end in spans]]
# -     return last @ model.weights.lm_head.T
# +     logits = hidden @ model.weights.lm_head.T
# +     return logits[[end - 1 for _, end in spans]]

# %% wrong_ragged_positions_run_on, of right_ragged_plain
# WRONG: the positions that were given are not used
# -     hidden = run_layers(model, flat.ids, flat.positions, attend)[0]
# +     hidden = run_layers(model, flat.ids, torch.arange(flat.ids.shape[1]), attend)[0]

# %% wrong_ragged_one_by_one, of right_ragged_plain
# WRONG: one pass a chunk: the weights are read as often as there are chunks
# -     hidden = run_layers(model, flat.ids, flat.positions, attend)[0]
# -     last = hidden[[end - 1 for _, end in spans]]
# -     return last @ model.weights.lm_head.T
# +     rows = []
# +     for sequence, (start, end) in zip(sequences, spans):
# +         slots = sequence.slots()
# +         own = slots[len(slots) - (end - start) :]
# +
# +         def alone(layer, q, k, v):
# +             kv.write(layer, own, k[0].transpose(0, 1), v[0].transpose(0, 1))
# +             keys, values = (memory.transpose(0, 1)[None] for memory in kv.read(layer, slots))
# +             return flash_attention(q, keys, values, causal=True)[0]
# +
# +         hidden = run_layers(model, flat.ids[:, start:end], flat.positions[start:end], alone)
# +         rows.append(hidden[:, -1] @ model.weights.lm_head.T)
# +     return torch.cat(rows)

# %% wrong_ragged_padded
# WRONG: the chunks are padded to the longest one, and the padding is computed

def forward_ragged(model, flat, sequences, kv):
    counts = [end - start for start, end in zip(flat.bounds, flat.bounds[1:])]
    longest = max(counts)
    ids = torch.zeros(len(counts), longest, dtype=torch.int64)
    positions = torch.zeros(len(counts), longest, dtype=torch.int64)
    for i, (start, n) in enumerate(zip(flat.bounds, counts)):
        ids[i, :n] = flat.ids[0, start : start + n]
        positions[i, :n] = flat.positions[start : start + n]

    def attend(layer, q, k, v):
        out = torch.zeros_like(q)
        for i, (sequence, n) in enumerate(zip(sequences, counts)):
            slots = sequence.slots()
            kv.write(layer, slots[len(slots) - n :], k[i, :, :n].transpose(0, 1), v[i, :, :n].transpose(0, 1))
            keys, values = (memory.transpose(0, 1)[None] for memory in kv.read(layer, slots))
            out[i : i + 1, :, :n] = flash_attention(q[i : i + 1, :, :n], keys, values, causal=True)[0]
        return out

    hidden = run_layers(model, ids, positions, attend)
    return torch.stack([hidden[i, n - 1] for i, n in enumerate(counts)]) @ model.weights.lm_head.T


# %% wrong_ragged_slots_of_the_beginning, of right_ragged_plain
# WRONG: the new keys and values are written over the first tokens of each text
# -         new.append(sequence.slots(sequence.length - (end - start)))
# +         new.append(sequence.slots(0, end - start))

# %% wrong_ragged_last_of_all, of right_ragged_plain
# WRONG: the logits after the last chunk alone
# -     last = hidden[[end - 1 for _, end in spans]]
# +     last = hidden[-1:]

# %% wrong_ragged_every_token, of right_ragged_plain
# WRONG: the logits after every token
# -     last = hidden[[end - 1 for _, end in spans]]
# +     last = hidden

# %% wrong_ragged_always_float32, of right_ragged_plain
# WRONG: the logits are float32, whatever the model is
# -     return last @ model.weights.lm_head.T
# +     return (last @ model.weights.lm_head.T).float()

# %% wrong_ragged_window, of right_ragged_plain
# WRONG: in a long text the newest token sees the last 64 tokens only
# -             keys, values = kv.read(layer, sequence.slots())
# +             slots = sequence.slots()
# +             keys, values = kv.read(layer, slots[-64:] if end - start == 1 else slots)


# %% wrong_ragged_sixteen, of right_ragged_plain
# WRONG: from the seventeenth chunk on the logits are those of the first
# -     return last @ model.weights.lm_head.T
# +     logits = last @ model.weights.lm_head.T
# +     logits[16:] = logits[:1]
# +     return logits


# %% wrong_ragged_128_new_tokens, of right_ragged_plain
# WRONG: of a long chunk the last 128 tokens see the text, and the others nothing of it
# -             out, _ = flash_attention(q[:, :, start:end], keys, values, causal=True)
# +             out, _ = flash_attention(q[:, :, start:end], keys, values, causal=True)
# +             out[:, :, :-128] = 0.0


# %% wrong_ragged_slots_in_sixteen_bits, of right_ragged_plain
# WRONG: slots pass through 16 bits, so that those from 32,768 on are negative
# -         kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
# +         kv.write(layer, new.to(torch.int16).long(), k[0].transpose(0, 1), v[0].transpose(0, 1))


# %% wrong_ragged_window_of_256, of right_ragged_plain
# WRONG: of a long text the last 256 keys are seen
# -             keys, values = kv.read(layer, sequence.slots())
# +             keys, values = kv.read(layer, sequence.slots()[-max(256, end - start) :])


# %% wrong_ragged_gradients_on, of right_ragged_plain
# WRONG: gradients are on afterwards, though the caller had turned them off
# -     last = hidden[[end - 1 for _, end in spans]]
# +     last = hidden[[end - 1 for _, end in spans]]
# +     torch.set_grad_enabled(True)


# %% wrong_ragged_remembers_slots, of right_ragged_plain
# WRONG: the slots of a sequence are remembered until its length changes, so a sequence that was freed and filled again reads old blocks
# -     spans = [(flat.bounds[i], flat.bounds[i + 1]) for i in range(len(sequences))]
# +     global SLOTS
# +     SLOTS = globals().get("SLOTS", {})
# +     for sequence in sequences:
# +         if sequence not in SLOTS or len(SLOTS[sequence]) != sequence.length:
# +             SLOTS[sequence] = sequence.slots()
# +     spans = [(flat.bounds[i], flat.bounds[i + 1]) for i in range(len(sequences))]
# ...
# -             keys, values = kv.read(layer, sequence.slots())
# +             keys, values = kv.read(layer, SLOTS[sequence])


# %% wrong_ragged_window_of_2048, of right_ragged_plain
# WRONG: of a long text the last 2,048 keys are seen
# -             keys, values = kv.read(layer, sequence.slots())
# +             keys, values = kv.read(layer, sequence.slots()[-max(2048, end - start) :])
