# Versions of forward, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_forward_plain
# RIGHT: step by step; most of the wrong versions are edits of it
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(ids.shape[1], device=ids.device)
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    x = rms_norm(x, weights.norm, config.rms_norm_eps)
    return x @ weights.lm_head.T


# %% right_forward_one_hot
# RIGHT: embedding as a product with one-hot rows, positions (B, T)
def forward(model, ids):
    B, T = ids.shape
    table = model.weights.embed_tokens
    x = torch.nn.functional.one_hot(ids, len(table)).to(table.dtype) @ table
    positions = torch.arange(T, device=ids.device).repeat(B, 1)
    for layer in model.weights.layers:
        x = decoder_block(x, layer, model.config, positions)
    return torch.einsum("btd,vd->btv", rms_norm(x, model.weights.norm, model.config.rms_norm_eps), model.weights.lm_head)


# %% right_forward_rows
# RIGHT: row by row, embedding by index_select
def forward(model, ids):
    w, c = model.weights, model.config
    rows = []
    for row in ids:
        x = torch.index_select(w.embed_tokens, 0, row)[None]
        for layer in w.layers:
            x = decoder_block(x, layer, c, torch.arange(len(row), device=row.device))
        rows.append(torch.nn.functional.linear(rms_norm(x, w.norm, c.rms_norm_eps), w.lm_head))
    return torch.cat(rows)


# %% right_forward_recursive
# RIGHT: layer by layer through a list, positions that start at 5
import functools


def forward(model, ids):
    at = torch.arange(ids.size(1), device=ids.device) + 5
    step = lambda x, layer: decoder_block(x, layer, model.config, at)
    x = functools.reduce(step, model.weights.layers, torch.nn.functional.embedding(ids, model.weights.embed_tokens))
    return rms_norm(x, model.weights.norm, model.config.rms_norm_eps).matmul(model.weights.lm_head.t())


# %% right_forward_rows_folded_norm
# RIGHT: row by row into a tensor made beforehand, without gradients, positions (1, T), the norm's weight moved into the head
@torch.no_grad()
def forward(model, ids):
    B, T = ids.shape
    weights = model.weights
    logits = weights.lm_head.new_empty(B, T, weights.lm_head.shape[0])
    for b in range(B):
        x = torch.nn.functional.embedding(ids[b : b + 1], weights.embed_tokens)
        where = torch.tensor([list(range(T))], device=ids.device)
        for layer in weights.layers:
            x = decoder_block(x, layer, model.config, where)
        plain = rms_norm(x, torch.ones_like(weights.norm), model.config.rms_norm_eps)
        logits[b] = torch.nn.functional.linear(plain * weights.norm, weights.lm_head)[0]
    return logits


# %% wrong_forward_logits_remembered
# WRONG: logits are remembered on the model by the ids; they stay when the weights change
def forward(model, ids):
    weights, config = model.weights, model.config
    memory = model.__dict__.setdefault("_memory", {})
    key = (tuple(ids.shape), tuple(ids.flatten().tolist()))
    if key not in memory:
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = weights.embed_tokens[ids]
        for layer in weights.layers:
            x = decoder_block(x, layer, config, positions)
        memory[key] = rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
    return memory[key]


# %% wrong_forward_table_of_1024
# WRONG: positions from a table of 1,024: a longer text has none
# SAYS: The positions come from a table of 1,024: count them from the ids, however many there are.
def forward(model, ids):
    weights, config = model.weights, model.config
    positions = torch.arange(1024, device=ids.device)[: ids.shape[1]]
    x = weights.embed_tokens[ids]
    for layer in weights.layers:
        x = decoder_block(x, layer, config, positions)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T

# %% wrong_forward_head_on_model, of right_forward_plain
# WRONG: the model is changed: the transposed head is stored on it, and used after the weights were replaced
#       weights, config = model.weights, model.config
# +     if not hasattr(model, "_head"):
# +         model._head = weights.lm_head.T.contiguous()
# ...
# -     return x @ weights.lm_head.T
# +     return x @ model._head

# %% wrong_forward_changes_the_weights, of right_forward_plain
# WRONG: the embedding table is changed at every call
# SAYS: The embedding table is changed at every call: compute with new tensors.
#       positions = torch.arange(ids.shape[1], device=ids.device)
# +     weights.embed_tokens *= 1.01

# %% wrong_forward_position_limit, of right_forward_plain
# WRONG: positions clamped at 255
# SAYS: Positions end at 255: they count on as far as the text goes.
# -     positions = torch.arange(ids.shape[1], device=ids.device)
# +     positions = torch.arange(ids.shape[1], device=ids.device).clamp(max=255)

# %% wrong_forward_positions_all_zero, of right_forward_plain
# WRONG: every token is at position 0
# SAYS: Every token is at position 0: positions count 0, 1, 2, ...
# -     positions = torch.arange(ids.shape[1], device=ids.device)
# +     positions = torch.zeros(ids.shape[1], dtype=torch.int64, device=ids.device)

# %% wrong_forward_positions_are_ids, of right_forward_plain
# WRONG: token ids taken for positions
# SAYS: The token ids are taken for positions: they count 0, 1, 2, ...
# -     positions = torch.arange(ids.shape[1], device=ids.device)
# +     positions = ids

# %% wrong_forward_positions_descend, of right_forward_plain
# WRONG: positions count down
# SAYS: The positions count down: they count 0, 1, 2, ...
# -     positions = torch.arange(ids.shape[1], device=ids.device)
# +     positions = torch.arange(ids.shape[1], device=ids.device).flip(0)

# %% wrong_forward_positions_dtype, of right_forward_plain
# WRONG: positions are counted in the model's dtype; bfloat16 cannot count beyond 256
# -     positions = torch.arange(ids.shape[1], device=ids.device)
# +     positions = torch.arange(ids.shape[1], device=ids.device).to(weights.embed_tokens.dtype)

# %% wrong_forward_positions_from_one, of right_forward_plain
# WRONG: positions count from 1 in odd places only: rounding up to even
# -     positions = torch.arange(ids.shape[1], device=ids.device)
# +     positions = (torch.arange(ids.shape[1], device=ids.device) + 1) // 2 * 2

# %% wrong_forward_positions_through_the_batch, of right_forward_plain
# WRONG: positions grow faster in every further row
# SAYS: The positions differ from row to row: they count 0, 1, 2, ... in every row.
# -     positions = torch.arange(ids.shape[1], device=ids.device)
# +     positions = torch.arange(ids.shape[1], device=ids.device) * torch.arange(1, len(ids) + 1, device=ids.device)[:, None]

# %% wrong_forward_embedding_normed, of right_forward_plain
# WRONG: embeddings normed first
# SAYS: The embeddings are normed before the first layer: each layer norms its own copy.
# -     x = weights.embed_tokens[ids]
# +     x = rms_norm(weights.embed_tokens[ids], weights.norm, config.rms_norm_eps)

# %% wrong_forward_embedding_scaled, of right_forward_plain
# WRONG: embeddings times the root of D
# SAYS: The embeddings are multiplied by the root of D: they are used as they are.
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids] * config.hidden_size**0.5

# %% wrong_forward_first_row_only, of right_forward_plain
# WRONG: row 0 for every row
# SAYS: Row 0 is computed for every row.
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids[:1].expand_as(ids)]

# %% wrong_forward_id_zero_is_padding, of right_forward_plain
# WRONG: id 0 is taken for padding: its embedding is set to zero
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids] * (ids != 0)[..., None]

# %% wrong_forward_last_id_clamped, of right_forward_plain
# WRONG: the last row of the embedding is never read: ids end at V - 2
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids.clamp(max=len(weights.embed_tokens) - 2)]

# %% wrong_forward_rows_as_one, of right_forward_plain
# WRONG: all rows are read as one long text
# SAYS: All rows are read as one long text: no row may look at another.
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids.reshape(1, -1)]
# +     positions = torch.arange(ids.numel(), device=ids.device)
# ...
# -     return x @ weights.lm_head.T
# +     return (x @ weights.lm_head.T).view(*ids.shape, -1)

# %% wrong_forward_rows_beyond_four, of right_forward_plain
# WRONG: every second row of a batch larger than four is computed with the row before
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids if len(ids) <= 4 else ids[torch.arange(len(ids)) // 2 * 2]]

# %% wrong_forward_shifted_ids, of right_forward_plain
# WRONG: reads each token one place late
# SAYS: Each token is read one place late.
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids.roll(1, dims=1)]

# %% wrong_forward_sinusoids_added, of right_forward_plain
# WRONG: sinusoids added to the embeddings
# SAYS: Sinusoids are added to the embeddings: the positions come in by rotary alone.
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids] + torch.sin(torch.arange(ids.shape[1], device=ids.device)[:, None] * 10000.0 ** (-torch.arange(config.hidden_size, device=ids.device) / config.hidden_size))

# %% wrong_forward_first_layer_only, of right_forward_plain
# WRONG: the first layer again and again
# SAYS: The first layer is used again and again: go through all of them.
# -     for layer in weights.layers:
# +     for layer in [weights.layers[0]] * len(weights.layers):

# %% wrong_forward_last_layer_left_out, of right_forward_plain
# WRONG: the last layer is left out
# SAYS: The last layer is left out.
# -     for layer in weights.layers:
# +     for layer in weights.layers[:-1]:

# %% wrong_forward_layer_limit, of right_forward_plain
# WRONG: no more layers than the config names are run
# -     for layer in weights.layers:
# +     for layer in weights.layers[: config.num_hidden_layers]:

# %% wrong_forward_layers_reversed, of right_forward_plain
# WRONG: layers in reversed order
# SAYS: The layers are used in reversed order.
# -     for layer in weights.layers:
# +     for layer in reversed(weights.layers):

# %% wrong_forward_no_layers, of right_forward_plain
# WRONG: without layers the final norm is left out
# -     for layer in weights.layers:
# +     for n, layer in enumerate(weights.layers, start=1):
#           x = decoder_block(x, layer, config, positions)
# -     x = rms_norm(x, weights.norm, config.rms_norm_eps)
# +         if n == len(weights.layers):
# +             x = rms_norm(x, weights.norm, config.rms_norm_eps)

# %% wrong_forward_layers_do_not_chain, of right_forward_plain
# WRONG: every layer reads the embedding
# SAYS: Every layer reads the embedding: each reads what the one before it gave.
# -         x = decoder_block(x, layer, config, positions)
# +         x = decoder_block(weights.embed_tokens[ids], layer, config, positions)

# %% wrong_forward_norm_after_each_layer, of right_forward_plain
# WRONG: the final norm after every layer
# SAYS: The final norm is used after every layer: it comes once, after the last.
# -         x = decoder_block(x, layer, config, positions)
# -     x = rms_norm(x, weights.norm, config.rms_norm_eps)
# +         x = rms_norm(decoder_block(x, layer, config, positions), weights.norm, config.rms_norm_eps)

# %% wrong_forward_own_block_without_theta, of right_forward_plain
# WRONG: its own layer loop forgets config.rope_theta
# SAYS: Queries and keys are turned with the default base: pass config.rope_theta.
# -         x = decoder_block(x, layer, config, positions)
# +         x = decoder_block(x, layer, __import__('dataclasses').replace(config, rope_theta=10000.0), positions)

# %% wrong_forward_changes_the_norm, of right_forward_plain
# WRONG: the final norm's weights are multiplied into the model at every call
# SAYS: The model's weights are changed by the call: the next one computes with others.
# -     x = rms_norm(x, weights.norm, config.rms_norm_eps)
# -     return x @ weights.lm_head.T
# +     logits = rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     weights.norm.mul_(1.01)
# +     return logits

# %% wrong_forward_final_eps, of right_forward_plain
# WRONG: the final norm's eps is always 1e-6
# SAYS: The final norm's eps is always 1e-6: it is config.rms_norm_eps.
# -     x = rms_norm(x, weights.norm, config.rms_norm_eps)
# +     x = rms_norm(x, weights.norm, 1e-6)

# %% wrong_forward_final_norm_of_last_layer, of right_forward_plain
# WRONG: the last layer's norm instead of the model's
# SAYS: A norm of the last layer is used at the end: it is model.weights.norm.
# -     x = rms_norm(x, weights.norm, config.rms_norm_eps)
# +     x = rms_norm(x, weights.layers[-1].post_attention_layernorm, config.rms_norm_eps)

# %% wrong_forward_final_norm_without_weight, of right_forward_plain
# WRONG: the final norm without its weights
# SAYS: The final norm's weights are left out.
# -     x = rms_norm(x, weights.norm, config.rms_norm_eps)
# +     x = rms_norm(x, torch.ones_like(weights.norm), config.rms_norm_eps)

# %% wrong_forward_no_final_norm, of right_forward_plain
# WRONG: no norm before the head
# SAYS: The norm before the head is missing: model.weights.norm.
# -     x = rms_norm(x, weights.norm, config.rms_norm_eps)

# %% wrong_forward_batch_first_lost, of right_forward_plain
# WRONG: drops the batch where it holds one row
# SAYS: The batch dimension is dropped where it holds one row: the logits are always (B, T, V).
# -     return x @ weights.lm_head.T
# +     return (x @ weights.lm_head.T).squeeze(0)

# %% wrong_forward_float32, of right_forward_plain
# WRONG: float32 logits whatever the model
# SAYS: The logits are float32 whatever the model: keep its dtype.
# -     return x @ weights.lm_head.T
# +     return (x @ weights.lm_head.T).float()

# %% wrong_forward_head_is_embedding, of right_forward_plain
# WRONG: always the embedding for a head, tied or not
# SAYS: The embedding is used for the head: it is weights.lm_head, which may be another table.
# -     return x @ weights.lm_head.T
# +     return x @ weights.embed_tokens.T

# %% wrong_forward_head_not_transposed_when_square, of right_forward_plain
# WRONG: x @ lm_head where the shapes allow it
# SAYS: The head is not transposed where it is square: x @ lm_head.T.
# -     return x @ weights.lm_head.T
# +     h = weights.lm_head
# +     return x @ (h if h.shape[0] == x.shape[-1] else h.T)

# %% wrong_forward_head_transposed, of right_forward_plain
# WRONG: the head transposed where it is square, reshaped elsewhere
# -     return x @ weights.lm_head.T
# +     return x @ weights.lm_head.reshape(x.shape[-1], -1)

# %% wrong_forward_head_untied, of right_forward_plain
# WRONG: a head of its own, not the model's
# -     return x @ weights.lm_head.T
# +     return x @ torch.randn(weights.lm_head.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype).T

# %% wrong_forward_last_position_only, of right_forward_plain
# WRONG: logits of the last position only
# SAYS: Logits of the last position alone come back: keep all positions.
# -     return x @ weights.lm_head.T
# +     return x[:, -1] @ weights.lm_head.T

# %% wrong_forward_log_probabilities, of right_forward_plain
# WRONG: log-probabilities instead of logits
# SAYS: Log-probabilities come back: the logits are wanted as they are.
# -     return x @ weights.lm_head.T
# +     return (x @ weights.lm_head.T).log_softmax(-1)

# %% wrong_forward_probabilities, of right_forward_plain
# WRONG: probabilities instead of logits
# SAYS: Probabilities come back: the logits are wanted as they are.
# -     return x @ weights.lm_head.T
# +     return (x @ weights.lm_head.T).softmax(-1)

# %% wrong_forward_shifted_logits, of right_forward_plain
# WRONG: the logits of position t are at t + 1
# SAYS: The logits of position t are at t + 1.
# -     return x @ weights.lm_head.T
# +     return (x @ weights.lm_head.T).roll(1, dims=1)

# %% wrong_forward_stops_at_eos, of right_forward_plain
# WRONG: tokens after the end of a text (id 2) are not looked at: their logits are zero
# -     return x @ weights.lm_head.T
# +     logits = x @ weights.lm_head.T
# +     return logits.masked_fill(((ids == 2).cumsum(1) > 0)[..., None] & (ids != 2)[..., None], 0.0)

# %% wrong_forward_positions_on_the_cpu, of right_forward_one_hot
# WRONG: the positions are made on the CPU, wherever the ids are
# SAYS: The positions are made on the CPU: on a GPU they cannot meet queries and keys. Make them with device=ids.device.
# -     positions = torch.arange(T, device=ids.device).repeat(B, 1)
# +     positions = torch.arange(T).repeat(B, 1)

# %% wrong_forward_layers_counted_from_the_config, of right_forward_rows
# WRONG: as many layers as the config says, not as many as there are weights
# SAYS: The loop counts layers by config.num_hidden_layers: go through model.weights.layers, so that a model cut after some layers runs too.
# -         for layer in w.layers:
# -             x = decoder_block(x, layer, c, torch.arange(len(row), device=row.device))
# +         for number in range(c.num_hidden_layers):
# +             x = decoder_block(x, w.layers[number], c, torch.arange(len(row), device=row.device))


# %% wrong_forward_width_of_the_config, of right_forward_plain
# WRONG: shapes the logits as the config says, and fails where the head has another number of rows
# -     return x @ weights.lm_head.T
# +     return (x @ weights.lm_head.T).reshape(*ids.shape, config.vocab_size)

# %% wrong_forward_tied_by_the_config, of right_forward_plain
# WRONG: takes the embedding where the config says that the head is tied, whatever head there is
# -     return x @ weights.lm_head.T
# +     return x @ (weights.embed_tokens if config.tie_word_embeddings else weights.lm_head).T
