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


# %% right_layers_recursive
# RIGHT: from the last layer back to the embedding
def run_layers(model, ids, positions, attend):
    def after(n):
        if n == 0:
            return torch.nn.functional.embedding(ids, model.weights.embed_tokens)
        step = lambda *heads: attend(n - 1, *heads)
        return decoder_block(after(n - 1), model.weights.layers[n - 1], model.config, positions, step)

    return rms_norm(after(len(model.weights.layers)), model.weights.norm, model.config.rms_norm_eps)


# %% wrong_layers_attend_ignored
# WRONG: attend is never called: every layer reads causally
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions)
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_attend_twice
# WRONG: attend is called twice in each layer
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: (attend(number, q, k, v) + attend(number, q, k, v)) / 2)
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_attend_unused
# WRONG: attend is called, and its result is not used
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: (attend(number, q, k, v), attention(q, k, v, causal_mask(q.shape[2], q.shape[2]).to(q.device)))[1])
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_counted_from_the_config
# WRONG: the layers are counted from the config
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers[: config.num_hidden_layers]):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_first_norm_changed
# WRONG: the final norm's weights are changed by the call
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    weights.norm.mul_(1.01)
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_float32
# WRONG: the result is float32, whatever the model is
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps).float()


# %% wrong_layers_head
# WRONG: the head is applied
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% wrong_layers_keys_and_values_exchanged
# WRONG: attend is given the values as keys and the keys as values
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, v, k))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_keys_repeated
# WRONG: the keys and values are repeated for every query head
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k.repeat_interleave(q.shape[1] // k.shape[1], 1), v.repeat_interleave(q.shape[1] // k.shape[1], 1)))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_last_layer_without_attend
# WRONG: the last layer reads with causal attention, attend is not called for it
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, (lambda q, k, v, number=number: attend(number, q, k, v)) if number < len(weights.layers) - 1 else None)
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_last_position_only
# WRONG: only the last position comes back
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x[:, -1:], weights.norm, config.rms_norm_eps)


# %% wrong_layers_no_final_norm
# WRONG: the final norm is left out
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return x


# %% wrong_layers_norm_twice
# WRONG: the final norm is taken twice
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(rms_norm(x, weights.norm, config.rms_norm_eps), weights.norm, config.rms_norm_eps)


# %% wrong_layers_number_always_zero
# WRONG: every layer is called layer 0
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(0, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_numbers_from_one
# WRONG: the layers are numbered from 1
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers, 1):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_positions_of_row_zero
# WRONG: the positions of row 0 are used for every row
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions[0] if positions.dim() == 2 else positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_positions_restart
# WRONG: positions count from 0, whatever is given
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, torch.arange(ids.shape[1], device=ids.device), lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_reversed
# WRONG: the layers run from the last to the first
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in reversed(list(enumerate(weights.layers))):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_turned_twice
# WRONG: queries and keys are turned a second time
def run_layers(model, ids, positions, attend):
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, rotary(q, positions, config.rope_theta), rotary(k, positions, config.rope_theta), v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)


# %% wrong_layers_without_gradients
# WRONG: gradients are switched off for the caller
def run_layers(model, ids, positions, attend):
    torch.set_grad_enabled(False)
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]
    for number, layer in enumerate(weights.layers):
        x = decoder_block(x, layer, config, positions, lambda q, k, v, number=number: attend(number, q, k, v))
    return rms_norm(x, weights.norm, config.rms_norm_eps)
