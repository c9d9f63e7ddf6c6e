# Versions of shard_layer, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".

# %% right_shard_layer_plain
# RIGHT: by names; most of the wrong versions are edits of it

def shard_layer(layer, config, rank, world):
    heads = kv_heads_of(config, rank, world)
    Dh = config.head_dim
    first, last = heads[0] * Dh, (heads[-1] + 1) * Dh
    return LayerWeights(
        input_layernorm=layer.input_layernorm,
        q_proj=column_shard(layer.q_proj, rank, world),
        k_proj=layer.k_proj[first:last],
        v_proj=layer.v_proj[first:last],
        o_proj=row_shard(layer.o_proj, rank, world),
        post_attention_layernorm=layer.post_attention_layernorm,
        gate_proj=column_shard(layer.gate_proj, rank, world),
        up_proj=column_shard(layer.up_proj, rank, world),
        down_proj=row_shard(layer.down_proj, rank, world),
    )

# %% right_shard_layer_replace
# RIGHT: a copy of the layer with other matrices

def shard_layer(layer, config, rank, world):
    from dataclasses import replace

    heads = list(kv_heads_of(config, rank, world))
    columns = {name: column_shard(getattr(layer, name), rank, world) for name in ("q_proj", "gate_proj", "up_proj")}
    rows = {name: row_shard(getattr(layer, name), rank, world) for name in ("o_proj", "down_proj")}
    kept = {name: getattr(layer, name).unflatten(0, (-1, config.head_dim))[heads].flatten(0, 1) for name in ("k_proj", "v_proj")}
    return replace(layer, **columns, **rows, **kept)

# %% right_shard_layer_copies
# RIGHT: copies, so that the whole can be let go

def shard_layer(layer, config, rank, world):
    H, K, Dh, F = config.num_attention_heads, config.num_key_value_heads, config.head_dim, config.intermediate_size
    kv = kv_heads_of(config, rank, world)
    if F % world:
        raise ValueError(f"intermediate_size {F} does not divide by {world}")
    q, f = H // world * Dh, F // world
    mine, wide = slice(rank * q, (rank + 1) * q), slice(rank * f, (rank + 1) * f)
    kept = slice(kv.start * Dh, kv.stop * Dh)
    return LayerWeights(
        layer.input_layernorm.clone(), layer.q_proj[mine].clone(), layer.k_proj[kept].clone(), layer.v_proj[kept].clone(),
        layer.o_proj[:, mine].clone(), layer.post_attention_layernorm.clone(), layer.gate_proj[wide].clone(),
        layer.up_proj[wide].clone(), layer.down_proj[:, wide].clone(),
    )

# %% wrong_shard_layer_kv_by_rows, of right_shard_layer_plain
# WRONG: k and v are cut as q is: with more ranks than heads a head is cut in two
# -         k_proj=layer.k_proj[first:last],
# -         v_proj=layer.v_proj[first:last],
# +         k_proj=column_shard(layer.k_proj, rank, world),
# +         v_proj=column_shard(layer.v_proj, rank, world),

# %% wrong_shard_layer_o_by_columns, of right_shard_layer_plain
# WRONG: o_proj is cut by its outputs, where each rank has a part of the inputs
# -         o_proj=row_shard(layer.o_proj, rank, world),
# +         o_proj=column_shard(layer.o_proj, rank, world),

# %% wrong_shard_layer_down_by_columns, of right_shard_layer_plain
# WRONG: down_proj is cut by its outputs
# -         down_proj=row_shard(layer.down_proj, rank, world),
# +         down_proj=column_shard(layer.down_proj, rank, world),

# %% wrong_shard_layer_norms_cut, of right_shard_layer_plain
# WRONG: a norm's weight is cut too
# -         input_layernorm=layer.input_layernorm,
# +         input_layernorm=layer.input_layernorm.chunk(world)[rank],

# %% wrong_shard_layer_kv_whole, of right_shard_layer_plain
# WRONG: every rank keeps all of k and v
# -     first, last = heads[0] * Dh, (heads[-1] + 1) * Dh
# +     first, last = 0, len(layer.k_proj)

# %% wrong_shard_layer_heads_not_rows, of right_shard_layer_plain
# WRONG: numbers of heads are taken for rows
# -     first, last = heads[0] * Dh, (heads[-1] + 1) * Dh
# +     first, last = heads[0], heads[-1] + 1

# %% wrong_shard_layer_width_by_d, of right_shard_layer_plain
# WRONG: a head's width is taken for D / H
# -     Dh = config.head_dim
# +     Dh = config.hidden_size // config.num_attention_heads

# %% wrong_shard_layer_half_heads, of right_shard_layer_plain
# WRONG: rows are divided whether or not a head stays whole: nobody asks kv_heads_of
# -     heads = kv_heads_of(config, rank, world)
# -     Dh = config.head_dim
# -     first, last = heads[0] * Dh, (heads[-1] + 1) * Dh
# +     K, Dh = config.num_key_value_heads, config.head_dim
# +     head = rank * K // world
# +     first, last = head * Dh, (head + max(K // world, 1)) * Dh

# %% wrong_shard_layer_gate_and_up_exchanged, of right_shard_layer_plain
# WRONG: gate_proj and up_proj are exchanged
# -         gate_proj=column_shard(layer.gate_proj, rank, world),
# -         up_proj=column_shard(layer.up_proj, rank, world),
# +         gate_proj=column_shard(layer.up_proj, rank, world),
# +         up_proj=column_shard(layer.gate_proj, rank, world),

# %% wrong_shard_layer_norms_exchanged, of right_shard_layer_plain
# WRONG: both norms are the first one
# -         post_attention_layernorm=layer.post_attention_layernorm,
# +         post_attention_layernorm=layer.input_layernorm,

# %% wrong_shard_layer_v_of_k, of right_shard_layer_plain
# WRONG: v_proj holds k_proj's rows
# -         v_proj=layer.v_proj[first:last],
# +         v_proj=layer.k_proj[first:last],

# %% wrong_shard_layer_in_place
# WRONG: the layer that is given is cut, and given back

def shard_layer(layer, config, rank, world):
    heads = kv_heads_of(config, rank, world)
    first, last = heads[0] * config.head_dim, (heads[-1] + 1) * config.head_dim
    layer.q_proj = column_shard(layer.q_proj, rank, world)
    layer.k_proj, layer.v_proj = layer.k_proj[first:last], layer.v_proj[first:last]
    layer.o_proj = row_shard(layer.o_proj, rank, world)
    layer.gate_proj, layer.up_proj = column_shard(layer.gate_proj, rank, world), column_shard(layer.up_proj, rank, world)
    layer.down_proj = row_shard(layer.down_proj, rank, world)
    return layer

# %% wrong_shard_layer_dict, of right_shard_layer_plain
# WRONG: a dict instead of LayerWeights
# -     return LayerWeights(
# +     return dict(

# %% wrong_shard_layer_up_whole, of right_shard_layer_plain
# WRONG: up_proj stays whole
# -         up_proj=column_shard(layer.up_proj, rank, world),
# +         up_proj=layer.up_proj,

# %% wrong_shard_layer_remembered, of right_shard_layer_plain
# WRONG: the first layer's parts are given again
# -     heads = kv_heads_of(config, rank, world)
# +     known = shard_layer.__dict__
# +     if (rank, world, layer.q_proj.shape) in known:
# +         return known[rank, world, layer.q_proj.shape]
# +     heads = kv_heads_of(config, rank, world)
# ...
# -     return LayerWeights(
# +     known[rank, world, layer.q_proj.shape] = LayerWeights(
# ...
# -         down_proj=row_shard(layer.down_proj, rank, world),
# -     )
# +         down_proj=row_shard(layer.down_proj, rank, world),
# +     )
# +     return known[rank, world, layer.q_proj.shape]
