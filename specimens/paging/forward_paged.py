# Versions of forward_paged, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_forward_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def forward_paged(model, ids, sequence, kv):
    start, t = sequence.length, ids.shape[1]
    kv.copy(sequence.grow(t))
    end = start + t
    positions = torch.arange(start, end, device=ids.device)

    def attend(layer, q, k, v):
        kv.write(layer, sequence.slots(start, end), k[0].transpose(0, 1), v[0].transpose(0, 1))
        k_all, v_all = kv.read(layer, sequence.slots())
        k_all, v_all = k_all.transpose(0, 1)[None], v_all.transpose(0, 1)[None]
        out, _ = flash_attention(q, k_all, v_all, causal=True)
        return out

    x = run_layers(model, ids, positions, attend)
    return x @ model.weights.lm_head.T


# %% right_forward_paged_attention
# RIGHT: each new token through paged_attention, as a row of its own

def forward_paged(model, ids, sequence, kv):
    start, t = sequence.length, ids.shape[1]
    kv.copy(sequence.grow(t))
    table = torch.tensor(sequence.blocks, device=ids.device).expand(t, -1)
    lengths = torch.arange(start + 1, start + t + 1, device=ids.device)

    def attend(layer, q, k, v):
        kv.write(layer, sequence.slots(start), k[0].transpose(0, 1), v[0].transpose(0, 1))
        rows = q[0].transpose(0, 1).unsqueeze(2)
        out = paged_attention(rows, kv.keys[layer], kv.values[layer], table, lengths, kv.block_size)
        return out.squeeze(2).transpose(0, 1)[None]

    return run_layers(model, ids, lengths - 1, attend) @ model.weights.lm_head.T


# %% right_forward_torch_attention
# RIGHT: torch's own attention with a mask made by positions; old keys are read, new ones put after them

def forward_paged(model, ids, sequence, kv):
    start = sequence.length
    pairs = sequence.grow(ids.shape[1])
    if pairs:
        kv.copy(pairs)
    old, new = sequence.slots(0, start), sequence.slots(start, sequence.length)
    positions = torch.arange(sequence.length, device=ids.device)
    mask = positions[None, :] <= positions[start:, None]

    def attend(layer, q, k, v):
        keys, values = kv.read(layer, old)
        k_all = torch.cat((keys.permute(1, 0, 2).unsqueeze(0), k), dim=2)
        v_all = torch.cat((values.permute(1, 0, 2).unsqueeze(0), v), dim=2)
        kv.write(layer, new, k[0].permute(1, 0, 2), v[0].permute(1, 0, 2))
        return torch.nn.functional.scaled_dot_product_attention(q, k_all, v_all, attn_mask=mask, enable_gqa=True)

    return run_layers(model, ids, positions[start:], attend) @ model.weights.lm_head.T


# %% wrong_forward_positions_from_zero, of right_forward_plain
# WRONG: positions start at 0 in every chunk
# -     positions = torch.arange(start, end, device=ids.device)
# +     positions = torch.arange(t, device=ids.device)

# %% wrong_forward_positions_in_the_block, of right_forward_plain
# WRONG: positions start again in every block
# -     positions = torch.arange(start, end, device=ids.device)
# +     positions = torch.arange(start, end, device=ids.device) % sequence.block_size

# %% wrong_forward_positions_are_slots, of right_forward_plain
# WRONG: a token's slot is taken for its position
# -     positions = torch.arange(start, end, device=ids.device)
# +     positions = sequence.slots(start, end).to(ids.device)

# %% wrong_forward_forgets_the_copy, of right_forward_plain
# WRONG: the blocks to copy are not copied
# -     kv.copy(sequence.grow(t))
# +     sequence.grow(t)

# %% wrong_forward_new_tokens_only, of right_forward_plain
# WRONG: new tokens see each other only
# -         k_all, v_all = kv.read(layer, sequence.slots())
# +         k_all, v_all = kv.read(layer, sequence.slots(start, end))

# %% wrong_forward_not_causal, of right_forward_plain
# WRONG: tokens see those after them
# -         out, _ = flash_attention(q, k_all, v_all, causal=True)
# +         out, _ = flash_attention(q, k_all, v_all, causal=False)

# %% wrong_forward_writes_in_a_row, of right_forward_plain
# WRONG: new tokens are written to the slots start to end, as if the blocks lay in a row
# -         kv.write(layer, sequence.slots(start, end), k[0].transpose(0, 1), v[0].transpose(0, 1))
# +         kv.write(layer, torch.arange(start, end), k[0].transpose(0, 1), v[0].transpose(0, 1))

# %% wrong_forward_layer_zero, of right_forward_plain
# WRONG: every layer uses the first one's memory
# -         kv.write(layer, sequence.slots(start, end), k[0].transpose(0, 1), v[0].transpose(0, 1))
# -         k_all, v_all = kv.read(layer, sequence.slots())
# +         kv.write(0, sequence.slots(start, end), k[0].transpose(0, 1), v[0].transpose(0, 1))
# +         k_all, v_all = kv.read(0, sequence.slots())

# %% wrong_forward_last_logits, of right_forward_plain
# WRONG: logits of the last token only
# -     return x @ model.weights.lm_head.T
# +     return x[:, -1:] @ model.weights.lm_head.T

# %% wrong_forward_grows_by_one, of right_forward_plain
# WRONG: the length is one short after a chunk
# -     x = run_layers(model, ids, positions, attend)
# +     x = run_layers(model, ids, positions, attend)
# +     sequence.length -= 1

# %% wrong_forward_reshaped_heads, of right_forward_plain
# WRONG: keys and values are reshaped where they have to be transposed
# -         kv.write(layer, sequence.slots(start, end), k[0].transpose(0, 1), v[0].transpose(0, 1))
# +         kv.write(layer, sequence.slots(start, end), k[0].reshape(t, *kv.keys.shape[2:]), v[0].reshape(t, *kv.keys.shape[2:]))

# %% wrong_forward_positions_on_the_cpu, of right_forward_plain
# WRONG: positions are made on the CPU, wherever the model is
# -     positions = torch.arange(start, end, device=ids.device)
# +     positions = torch.arange(start, end)


# %% wrong_forward_128_at_once, of right_forward_plain
# WRONG: of a chunk the first 128 tokens are fed, and the others get the logits of the last one of these
# -     start, t = sequence.length, ids.shape[1]
# +     asked, ids = ids.shape[1], ids[:, :128]
# +     start, t = sequence.length, ids.shape[1]
# ...
# -     return x @ model.weights.lm_head.T
# +     if asked > t:
# +         sequence.grow(asked - t)
# +         x = torch.cat((x, x[:, -1:].expand(-1, asked - t, -1)), dim=1)
# +     return x @ model.weights.lm_head.T


# %% wrong_forward_window, of right_forward_plain
# WRONG: of a long text the last 256 keys are seen
# -         k_all, v_all = kv.read(layer, sequence.slots())
# +         k_all, v_all = kv.read(layer, sequence.slots()[-max(256, t) :])


# %% wrong_forward_refused_grown, of right_forward_plain
# WRONG: a chunk that does not fit is cut to what fits
# -     start, t = sequence.length, ids.shape[1]
# +     start, asked = sequence.length, ids.shape[1]
# +     t = max(n for n in range(1, asked + 1) if n == 1 or sequence.blocks_for(n) <= sequence.pool.num_free)
# +     ids = ids[:, :t]


# %% wrong_forward_gradients_on, of right_forward_plain
# WRONG: gradients are on afterwards, though the caller had turned them off
# -     x = run_layers(model, ids, positions, attend)
# +     x = run_layers(model, ids, positions, attend)
# +     torch.set_grad_enabled(True)


# %% wrong_forward_gradients_off_after_a_refusal, of right_forward_plain
# WRONG: gradients are turned off, and after OutOfBlocks they stay off
# -     start, t = sequence.length, ids.shape[1]
# +     start, t, before = sequence.length, ids.shape[1], torch.is_grad_enabled()
# +     torch.set_grad_enabled(False)
# ...
# -     x = run_layers(model, ids, positions, attend)
# +     x = run_layers(model, ids, positions, attend)
# +     torch.set_grad_enabled(before)


# %% wrong_forward_remembers_slots, of right_forward_plain
# WRONG: slots are remembered by start and end: after a cut other blocks may be in the table
# -     kv.copy(sequence.grow(t))
# -     end = start + t
# +     kv.copy(sequence.grow(t))
# +     end = start + t
# +     known = sequence.__dict__.setdefault("known_slots", {})
# +     new, stored = known.setdefault((start, end), (sequence.slots(start, end), sequence.slots()))
# ...
# -         kv.write(layer, sequence.slots(start, end), k[0].transpose(0, 1), v[0].transpose(0, 1))
# -         k_all, v_all = kv.read(layer, sequence.slots())
# +         kv.write(layer, new, k[0].transpose(0, 1), v[0].transpose(0, 1))
# +         k_all, v_all = kv.read(layer, stored)
