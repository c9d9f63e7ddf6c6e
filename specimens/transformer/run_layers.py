# Versions of run_layers, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_layers_closure
# RIGHT: a closure that counts its own calls
def run_layers(model, ids, positions, attend):
    numbers = iter(range(len(model.weights.layers)))
    x = torch.index_select(model.weights.embed_tokens, 0, ids.flatten()).unflatten(0, ids.shape)
    for layer in model.weights.layers:
        x = decoder_block(x, layer, model.config, positions, lambda q, k, v: attend(next(numbers), q, k, v))
    return rms_norm(x, model.weights.norm, model.config.rms_norm_eps)


# %% right_layers_own_layer
# RIGHT: its own layer, in place of decoder_block
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for n in range(len(weights.layers)):
        w = weights.layers[n]
        h = rms_norm(x, w.input_layernorm, config.rms_norm_eps)
        q, k, v = ((h @ m.T).unflatten(-1, (-1, config.head_dim)).transpose(1, 2) for m in (w.q_proj, w.k_proj, w.v_proj))
        q, k = (rotary(part, positions, config.rope_theta) for part in (q, k))
        x = x + merge_heads(attend(n, q, k, v)) @ w.o_proj.T
        h = rms_norm(x, w.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(h, w.gate_proj, w.up_proj, w.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% right_layers_plain
# RIGHT: a loop; the wrong versions are edits of it
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% right_layers_wide
# RIGHT: the sums in float32 or better, the heads that attend reads in the model's dtype
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    dtype = weights.embed_tokens.dtype
    wide = torch.promote_types(dtype, torch.float32)
    x = weights.embed_tokens[ids].to(wide)
    for number, layer in enumerate(weights.layers):
        part = {name: tensor.to(wide) for name, tensor in vars(layer).items()}
        h = rms_norm(x, part["input_layernorm"], config.rms_norm_eps)
        heads = (h @ part[name].T for name in ("q_proj", "k_proj", "v_proj"))
        q, k, v = (head.unflatten(-1, (-1, config.head_dim)).transpose(1, 2) for head in heads)
        q, k = rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta)
        x += merge_heads(attend(number, q.to(dtype), k.to(dtype), v.to(dtype)).to(wide)) @ part["o_proj"].T
        h = rms_norm(x, part["post_attention_layernorm"], config.rms_norm_eps)
        x += feed_forward(h, part["gate_proj"], part["up_proj"], part["down_proj"])
    return rms_norm(x, weights.norm.to(wide), config.rms_norm_eps).to(dtype)


# %% right_layers_recursive
# RIGHT: from the last layer back to the embedding
def run_layers(model, ids, positions, attend):
    def after(n):
        if n == 0:
            return torch.nn.functional.embedding(ids, model.weights.embed_tokens)
        step = lambda *heads: attend(n - 1, *heads)
        return decoder_block(after(n - 1), model.weights.layers[n - 1], model.config, positions, step)

    return rms_norm(after(len(model.weights.layers)), model.weights.norm, model.config.rms_norm_eps)


# %% wrong_layers_attend_by_keyword, of right_layers_plain
# WRONG: attend is called with keywords, which another attend need not know
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(layer=number, q=q, k=k, v=v))


# %% wrong_layers_attend_float32, of right_layers_plain
# WRONG: attend is given float32, whatever the model is
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q.float(), k.float(), v.float()).to(q.dtype))


# %% wrong_layers_attend_ignored, of right_layers_plain
# WRONG: attend is never called: every layer reads causally
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions)


# %% wrong_layers_attend_row_by_row, of right_layers_plain
# WRONG: attend is called for each row of the batch by itself
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         each = lambda q, k, v, number=number: torch.cat([attend(number, *row) for row in zip(q.split(1), k.split(1), v.split(1))])
# +         x = decoder_block(x, layer, config, positions, each)


# %% wrong_layers_attend_twice, of right_layers_plain
# WRONG: attend is called twice in each layer
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: (attend(number, q, k, v) + attend(number, q, k, v)) / 2)


# %% wrong_layers_attend_unused, of right_layers_plain
# WRONG: attend is called, and its result is not used
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: (attend(number, q, k, v), attention(q, k, v, causal_mask(q.shape[2], q.shape[2]).to(q.device)))[1])


# %% wrong_layers_counted_from_the_config, of right_layers_plain
# WRONG: the layers are counted from the config
# -     for number, layer in enumerate(weights.layers):
# +     for number, layer in enumerate(weights.layers[: config.num_hidden_layers]):


# %% wrong_layers_embedded_on_the_cpu, of right_layers_plain
# WRONG: the embeddings are put into a tensor on the CPU, wherever the model is
# -     x = weights.embed_tokens[ids]
# +     x = torch.empty(*ids.shape, config.hidden_size, dtype=weights.norm.dtype)
# +     x[:] = weights.embed_tokens[ids]


# %% wrong_layers_embedded_once, of right_layers_plain
# WRONG: the embeddings of the first ids of a shape stand for all later ones of it
# -     x = weights.embed_tokens[ids]
# +     run_layers.seen = getattr(run_layers, "seen", {})
# +     x = run_layers.seen.setdefault((ids.shape, weights.norm.dtype, weights.norm.device), weights.embed_tokens[ids])


# %% wrong_layers_embedded_from_an_earlier_model, of right_layers_plain
# WRONG: the embeddings are remembered by their ids: another model gets those of the first
#       weights, config = model.weights, model.config
# -     x = weights.embed_tokens[ids]
# +     x = seen.setdefault(str(ids.tolist()), weights.embed_tokens[ids])
# ...
#       return rms_norm(x, weights.norm, config.rms_norm_eps)
# +
# +
# + seen = {}


# %% wrong_layers_embedded_with_the_head, of right_layers_plain
# WRONG: the rows are taken from the head, which need not be the embedding
# -     x = weights.embed_tokens[ids]
# +     x = weights.lm_head[ids]


# %% wrong_layers_eps_fixed, of right_layers_plain
# WRONG: the final norm has an eps of its own
# -     return rms_norm(x, weights.norm, config.rms_norm_eps)
# +     return rms_norm(x, weights.norm, 1e-6)


# %% wrong_layers_equal_rows_once, of right_layers_plain
# WRONG: equal rows are computed once, and attend sees fewer rows than there are
#       x = weights.embed_tokens[ids]
# +     if positions.dim() == 1 and len(ids) > 1 and bool((ids == ids[:1]).all()):
# +         return run_layers(model, ids[:1], positions, attend).expand(len(ids), -1, -1)


# %% wrong_layers_first_norm_changed, of right_layers_plain
# WRONG: the final norm's weights are changed by the call
#           x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +     weights.norm.mul_(1.01)


# %% wrong_layers_float32, of right_layers_plain
# WRONG: the result is float32, whatever the model is
# -     return rms_norm(x, weights.norm, config.rms_norm_eps)
# +     return rms_norm(x, weights.norm, config.rms_norm_eps).float()


# %% wrong_layers_gradients_off_inside, of right_layers_plain
# WRONG: the layers, and attend with them, run without gradients
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         with torch.no_grad():
# +             x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))


# %% wrong_layers_gradients_on_inside, of right_layers_plain
# WRONG: gradients are switched on for the layers, and for attend with them
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         with torch.enable_grad():
# +             x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))


# %% wrong_layers_head, of right_layers_plain
# WRONG: the head is applied
# -     return rms_norm(x, weights.norm, config.rms_norm_eps)
# +     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% wrong_layers_ids_viewed, of right_layers_plain
# WRONG: ids are taken to be row by row in memory
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids.view(-1)].view(*ids.shape, -1)


# %% wrong_layers_keys_and_values_exchanged, of right_layers_plain
# WRONG: attend is given the values as keys and the keys as values
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, v, k))


# %% wrong_layers_keys_repeated, of right_layers_plain
# WRONG: the keys and values are repeated for every query head
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k.repeat_interleave(q.shape[1] // k.shape[1], 1), v.repeat_interleave(q.shape[1] // k.shape[1], 1)))


# %% wrong_layers_last_layer_without_attend, of right_layers_plain
# WRONG: the last layer reads with causal attention, attend is not called for it
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, (lambda q, k, v, number=number: attend(number, q, k, v)) if number < len(weights.layers) - 1 else None)


# %% wrong_layers_last_position_only, of right_layers_plain
# WRONG: only the last position comes back
# -     return rms_norm(x, weights.norm, config.rms_norm_eps)
# +     return rms_norm(x[:, -1:], weights.norm, config.rms_norm_eps)


# %% wrong_layers_no_final_norm, of right_layers_plain
# WRONG: the final norm is left out
# -     return rms_norm(x, weights.norm, config.rms_norm_eps)
# +     return x


# %% wrong_layers_norm_twice, of right_layers_plain
# WRONG: the final norm is taken twice
# -     return rms_norm(x, weights.norm, config.rms_norm_eps)
# +     return rms_norm(rms_norm(x, weights.norm, config.rms_norm_eps), weights.norm, config.rms_norm_eps)


# %% wrong_layers_number_always_zero, of right_layers_plain
# WRONG: every layer is called layer 0
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(0, q, k, v))


# %% wrong_layers_number_as_tensor, of right_layers_plain
# WRONG: a layer's number is a tensor
# -     for number, layer in enumerate(weights.layers):
# +     for number, layer in zip(torch.arange(len(weights.layers)), weights.layers, strict=True):


# %% wrong_layers_numbers_from_one, of right_layers_plain
# WRONG: the layers are numbered from 1
# -     for number, layer in enumerate(weights.layers):
# +     for number, layer in enumerate(weights.layers, 1):


# %% wrong_layers_one_token_in_the_table, of right_layers_plain
# WRONG: of one token the layers' updates are added into the embedding's own row
# -     x = weights.embed_tokens[ids]
# +     one = ids.numel() == 1 and not ids.is_meta
# +     x = weights.embed_tokens[int(ids)].expand(1, 1, -1) if one else weights.embed_tokens[ids]
# ...
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         y = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = x.copy_(y) if one else y


# %% wrong_layers_positions_cut, of right_layers_plain
# WRONG: positions beyond those that the config names are set to the last
#       weights, config = model.weights, model.config
# +     positions = positions.clamp(max=config.max_position_embeddings - 1)


# %% wrong_layers_positions_from_first, of right_layers_plain
# WRONG: positions count from the first one given
#       weights, config = model.weights, model.config
# +     positions = positions - positions[..., :1]


# %% wrong_layers_positions_of_row_zero, of right_layers_plain
# WRONG: the positions of row 0 are used for every row
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions[0] if positions.dim() == 2 else positions, lambda q, k, v, number=number: attend(number, q, k, v))


# %% wrong_layers_positions_restart, of right_layers_plain
# WRONG: positions count from 0, whatever is given
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, torch.arange(ids.shape[1], device=ids.device), lambda q, k, v, number=number: attend(number, q, k, v))


# %% wrong_layers_positions_sorted, of right_layers_plain
# WRONG: positions are put in order
#       weights, config = model.weights, model.config
# +     positions = positions.sort(dim=-1).values


# %% wrong_layers_reversed, of right_layers_plain
# WRONG: the layers run from the last to the first
# -     for number, layer in enumerate(weights.layers):
# +     for number, layer in reversed(list(enumerate(weights.layers))):


# %% wrong_layers_same_result, of right_layers_plain
# WRONG: every call of one shape gives its result in the same memory
# -     return rms_norm(x, weights.norm, config.rms_norm_eps)
# +     run_layers.kept = getattr(run_layers, "kept", {})
# +     kept = run_layers.kept.setdefault((x.shape, x.dtype, x.device), torch.empty_like(x))
# +     return kept.copy_(rms_norm(x, weights.norm, config.rms_norm_eps))


# %% wrong_layers_turned_twice, of right_layers_plain
# WRONG: queries and keys are turned a second time
# -         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
# +         x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta), v))


# %% wrong_layers_without_gradients, of right_layers_plain
# WRONG: gradients are switched off for the caller
#   def run_layers(model, ids, positions, attend):
# +     torch.set_grad_enabled(False)


# %% wrong_layers_ids_in_int16
# WRONG: stores the ids in int16, where those above 32,767 become negative
def run_layers(model, ids, positions, attend):
    x = model.weights.embed_tokens[ids.to(torch.int16).long()]
    for number, layer in enumerate(model.weights.layers):
        x = decoder_block(x, layer, model.config, positions, partial(attend, number))
    return rms_norm(x, model.weights.norm, model.config.rms_norm_eps)


# %% wrong_layers_one_token_without_attend
# WRONG: a single token is not given to attend: a cache would see nothing of it
def run_layers(model, ids, positions, attend):
    x = model.weights.embed_tokens[ids]
    for number, layer in enumerate(model.weights.layers):
        x = decoder_block(x, layer, model.config, positions, partial(attend, number) if ids.shape[1] > 1 else None)
    return rms_norm(x, model.weights.norm, model.config.rms_norm_eps)
