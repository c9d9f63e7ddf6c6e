# Versions of forward_cached, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_forward_plain
# RIGHT: step by step; most of the wrong versions are edits of it

def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_forward_mask_by_comparison
# RIGHT: a mask made by comparing positions, for each row and head

def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = (torch.arange(start + t, device=ids.device)[None, None, None, :] <= positions[None, None, :, None]).expand(len(ids), 1, t, start + t)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_forward_keys_turned_when_read
# RIGHT: keys stored unturned and turned at every read: right, and more work

def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = split_heads(normed @ layer.k_proj.T, config.num_key_value_heads)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, rotary(k_all, torch.arange(start + t, device=ids.device), config.rope_theta), v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_forward_mask_is_the_end_of_a_square
# RIGHT: the last t rows of the square mask

def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(start + t, start + t)[-t:].to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_forward_no_grad
# RIGHT: without gradients, each part with a name of its own

def attend(x, layer, index, config, positions, mask, cache):
    normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
    heads = {"q": config.num_attention_heads, "k": config.num_key_value_heads, "v": config.num_key_value_heads}
    q, k, v = (split_heads(normed @ getattr(layer, f"{n}_proj").T, heads[n]) for n in "qkv")
    keys, values = cache.append(index, rotary(k, positions, config.rope_theta), v)
    return merge_heads(attention(rotary(q, positions, config.rope_theta), keys, values, mask)) @ layer.o_proj.T


@torch.no_grad()
def forward_cached(model, ids, cache):
    config, n = model.config, cache.length
    total = n + ids.size(1)
    positions, mask = torch.arange(n, total, device=ids.device), causal_mask(ids.size(1), total).to(ids.device)
    x = model.weights.embed_tokens[ids]
    for i, layer in enumerate(model.weights.layers):
        x = x + attend(x, layer, i, config, positions, mask, cache)
        x = x + feed_forward(
            rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps), layer.gate_proj, layer.up_proj, layer.down_proj
        )
    return rms_norm(x, model.weights.norm, config.rms_norm_eps) @ model.weights.lm_head.T


# %% right_forward_no_mask_for_one
# RIGHT: no mask for a single token, which may see everything

def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = None if t == 1 else causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_forward_position_of_each_row
# RIGHT: positions (B, t), one for each row

def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = (torch.arange(t, device=ids.device) + start).expand(len(ids), t)
    mask = causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_forward_positions_from_five
# RIGHT: all positions 5 too high: only distances count

def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = 5 + torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_forward_torch_attention
# RIGHT: torch's own attention, heads repeated by hand, functional operations

def forward_cached(model, ids, cache):
    import torch.nn.functional as F

    w, c = model.weights, model.config
    B, t = ids.shape
    n, H, K, Dh = cache.length, c.num_attention_heads, c.num_key_value_heads, c.head_dim
    hidden = F.embedding(ids, w.embed_tokens)
    at = torch.arange(n, n + t, device=ids.device)
    seen = torch.arange(n + t, device=ids.device)[None, :] <= at[:, None]
    for i in range(c.num_hidden_layers):
        p = w.layers[i]
        h = F.rms_norm(hidden, (c.hidden_size,), p.input_layernorm, c.rms_norm_eps)
        q = F.linear(h, p.q_proj).view(B, t, H, Dh).transpose(1, 2)
        k = F.linear(h, p.k_proj).view(B, t, K, Dh).transpose(1, 2)
        v = F.linear(h, p.v_proj).view(B, t, K, Dh).transpose(1, 2)
        q, k = (rotary(x, at, base=c.rope_theta) for x in (q, k))
        keys, values = cache.append(i, k, v)
        keys, values = (x.repeat_interleave(H // K, dim=1) for x in (keys, values))
        read = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
        hidden = hidden + F.linear(read.transpose(1, 2).reshape(B, t, H * Dh), p.o_proj)
        h = F.rms_norm(hidden, (c.hidden_size,), p.post_attention_layernorm, c.rms_norm_eps)
        hidden = hidden + F.linear(F.silu(F.linear(h, p.gate_proj)) * F.linear(h, p.up_proj), p.down_proj)
    return F.linear(F.rms_norm(hidden, (c.hidden_size,), w.norm, c.rms_norm_eps), w.lm_head)


# %% right_position_in_every_layer
# RIGHT: positions and mask are worked out in every layer (the last layer's count moves last), no mask for one token

def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """The decoder over new tokens only: the keys and values of all tokens before them come from the cache.

    ids (B, t) int64, the tokens that follow the cache.length tokens already stored -> logits (B, t, V). Afterwards
    cache.length has grown by t. Any way of cutting a prompt into chunks gives the same logits. Raises CacheFull.
    """
    weights, config = model.weights, model.config
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        start, t = cache.length, ids.shape[1]
        positions = start + torch.arange(t, device=ids.device).expand(len(ids), t)
        keys_at = torch.arange(start + t, device=ids.device)
        mask = None if t == 1 else keys_at <= positions[:1, :, None]
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% wrong_forward_buffer_of_mask
# WRONG: the mask is cut from a buffer of 1,024 by 1,024
def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(1024, 1024)[start : start + t, : start + t].to(ids.device)  # aligned at the end: the new tokens are the last
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, t, V)


# %% wrong_forward_buffer_of_positions
# WRONG: positions are cut from a buffer of 2,048
def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(2048, device=ids.device)[start : start + t]
    mask = causal_mask(t, start + t).to(ids.device)  # aligned at the end: the new tokens are the last
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, t, V)


# %% wrong_forward_gradients_off
# WRONG: switches gradients off for the whole program
def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    torch.set_grad_enabled(False)
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)  # aligned at the end: the new tokens are the last
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, t, V)


# %% wrong_forward_gradients_off_after_cache_full, of right_forward_plain
# WRONG: the caller's gradient mode is set again after a pass, but not after CacheFull
#       weights, config = model.weights, model.config
# +     before = torch.is_grad_enabled()
# +     torch.set_grad_enabled(False)
# ...
# -     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     logits = rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     torch.set_grad_enabled(before)
# +     return logits

# %% wrong_forward_mask_on_the_cpu
# WRONG: the mask is made on the CPU, wherever the ids are
def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t)  # aligned at the end: the new tokens are the last
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, t, V)


# %% wrong_forward_positions_in_model_dtype
# WRONG: positions are made in the model's dtype: in bfloat16 every odd position above 256 is rounded away
def forward_cached(model, ids, cache):
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, dtype=weights.embed_tokens.dtype, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(h @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(h @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% wrong_forward_positions_on_the_cpu
# WRONG: positions are made on the CPU, wherever the ids are
def forward_cached(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    weights, config = model.weights, model.config
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t)
    mask = causal_mask(t, start + t).to(ids.device)  # aligned at the end: the new tokens are the last
    x = weights.embed_tokens[ids]  # (B, t, D)
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        k_all, v_all = cache.append(index, k, v)  # (B, K, t, Dh) -> (B, K, start+t, Dh)
        x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, t, V)


# %% wrong_forward_recomputes_old_ids
# WRONG: keeps the ids and computes all tokens again

def forward_cached(model, ids, cache):
    weights, config, t = model.weights, model.config, ids.shape[1]
    if cache.length == 0:
        cache.ids = ids[:, :0]
    if cache.length + t > cache.max_len:
        raise CacheFull(f"max_len is {cache.max_len}")
    cache.ids = torch.cat((cache.ids, ids), dim=1)
    T = cache.ids.shape[1]
    positions, mask = torch.arange(T), causal_mask(T, T)
    x = weights.embed_tokens[cache.ids]
    for index, layer in enumerate(weights.layers):
        normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
        cache.append(index, k[:, :, -t:], v[:, :, -t:])
        x = x + merge_heads(attention(q, k, v, mask)) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return (rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T)[:, -t:]


# %% wrong_forward_steps_from_memory
# WRONG: a step that was asked for before, after as many tokens, is answered from memory: the text before it is not looked at
_forward, _answers = forward_cached, {}


def forward_cached(model, ids, cache):
    key = (cache.length, tuple(ids.flatten().tolist()), id(model.weights))
    if key not in _answers or cache.length < 100 or ids.shape[1] > 1:
        _answers[key] = _forward(model, ids, cache)
        return _answers[key]
    for layer in range(model.config.num_hidden_layers):
        cache.append(layer, *torch.zeros(2, len(ids), model.config.num_key_value_heads, 1, model.config.head_dim))
    return _answers[key]


# %% wrong_forward_waits
# WRONG: every step waits until it is as slow as a pass over the whole text, so that the cost does not seem to grow
import time

_forward = forward_cached


def forward_cached(model, ids, cache):
    until = time.perf_counter() + 0.06
    logits = _forward(model, ids, cache)
    while ids.shape[1] == 1 and cache.length > 100 and time.perf_counter() < until:
        pass
    return logits

# %% wrong_forward_global_memory, of right_forward_plain
# WRONG: keys and values are in a global list that no reset empties
# +
# + OLD = {}
# +
#
# ...
# -         k_all, v_all = cache.append(index, k, v)
# +         cache.append(index, k, v)
# +         if index in OLD and OLD[index][0].shape[2] == start and len(OLD[index][0]) == len(k) and OLD[index][0].dtype == k.dtype:
# +             k, v = torch.cat((OLD[index][0], k), dim=2), torch.cat((OLD[index][1], v), dim=2)
# +         OLD[index] = k, v
# +         k_all, v_all = OLD[index]

# %% wrong_forward_resets_before, of right_forward_plain
# WRONG: empties the cache first
#       weights, config = model.weights, model.config
# +     cache.reset()

# %% wrong_forward_start_read_late, of right_forward_plain
# WRONG: the place is read from the cache inside the loop, after the last layer has counted
# SAYS: The place of the new tokens is read from cache.length inside the loop over the layers, where the last layer has counted them already. Read it once, before the first layer appends.
#       start, t = cache.length, ids.shape[1]
# +     assert start >= 0
# ...
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(rotary(q, positions * 0 + (cache.length - start)), k_all, v_all, mask)) @ layer.o_proj.T

# %% wrong_forward_counts_chunks, of right_forward_plain
# WRONG: a chunk's position is the number of chunks before it
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.arange(t) + getattr(cache, 'calls', 0)
# +     cache.calls = getattr(cache, 'calls', 0) + 1

# %% wrong_forward_off_by_one_behind_prompt, of right_forward_plain
# WRONG: positions one too high as soon as something is cached
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.arange(start, start + t) + (start > 0)

# %% wrong_forward_off_by_one_single, of right_forward_plain
# WRONG: positions one too low for single tokens
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.arange(start, start + t) - (t == 1)

# %% wrong_forward_position_of_last, of right_forward_plain
# WRONG: all tokens of a chunk are at the position of its last
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.full((t,), start + t - 1)

# %% wrong_forward_position_zero, of right_forward_plain
# WRONG: every token is at position 0
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.zeros(t, dtype=torch.int64)

# %% wrong_forward_positions_from_zero, of right_forward_plain
# WRONG: positions begin at 0 in every chunk
# SAYS: Positions begin at 0 in every chunk. The first new token follows all stored ones: its position is cache.length.
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.arange(t)

# %% wrong_forward_float32, of right_forward_plain
# WRONG: computes in float32 and stays there
# -     x = weights.embed_tokens[ids]
# +     x = weights.embed_tokens[ids].float()
# ...
# -     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     return (rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T).float()

# %% wrong_forward_skips_last_layer, of right_forward_plain
# WRONG: the last layer is skipped
# -     for index, layer in enumerate(weights.layers):
# +     for index, layer in enumerate(weights.layers[:-1]):

# %% wrong_forward_one_eps, of right_forward_plain
# WRONG: norms with eps 1e-5, whatever config says
# -         normed = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
# +         normed = rms_norm(x, layer.input_layernorm, 1e-5)
# ...
# -         normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
# +         normed = rms_norm(x, layer.post_attention_layernorm, 1e-5)
#           x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
# -     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     return rms_norm(x, weights.norm, 1e-5) @ weights.lm_head.T

# %% wrong_forward_one_base, of right_forward_plain
# WRONG: RoPE with the base 10,000, whatever config says
# -         q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
# -         k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
# +         q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions)
# +         k = rotary(split_heads(normed @ layer.k_proj.T, config.num_key_value_heads), positions)

# %% wrong_forward_positions_of_keys_only, of right_forward_plain
# WRONG: queries are at 0, 1, ... of their chunk, keys at their places
# -         q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
# +         q = rotary(split_heads(normed @ layer.q_proj.T, config.num_attention_heads), positions - start, config.rope_theta)

# %% wrong_forward_turns_values, of right_forward_plain
# WRONG: values are turned too
# -         v = split_heads(normed @ layer.v_proj.T, config.num_key_value_heads)
# +         v = rotary(split_heads(normed @ layer.v_proj.T, config.num_key_value_heads), positions, config.rope_theta)

# %% wrong_forward_first_never_cached, of right_forward_plain
# WRONG: the first token of a text is not cached
# -         k_all, v_all = cache.append(index, k, v)
# +         k_all, v_all = cache.append(index, k[:, :, start == 0 :], v[:, :, start == 0 :])
# +         if start == 0:
# +             k_all, v_all = k, v

# %% wrong_forward_last_layers_cache, of right_forward_plain
# WRONG: every layer reads the cache of layer 0
# -         k_all, v_all = cache.append(index, k, v)
# +         k_all, v_all = cache.append(0, k, v)

# %% wrong_forward_stores_twice, of right_forward_plain
# WRONG: stores the new tokens twice in the first layer
#           k_all, v_all = cache.append(index, k, v)
# +         if index == 0 and start == 0 and t == 1:
# +             cache.append(index, k, v)

# %% wrong_forward_swaps, of right_forward_plain
# WRONG: keys and values swapped on the way into the cache
# -         k_all, v_all = cache.append(index, k, v)
# +         k_all, v_all = cache.append(index, v, k)

# %% wrong_forward_first_layers_read, of right_forward_plain
# WRONG: every layer reads what layer 0 gave back
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         first = (k_all, v_all) if index == 0 else first
# +         x = x + merge_heads(attention(q, *first, mask)) @ layer.o_proj.T

# %% wrong_forward_first_row_for_all, of right_forward_plain
# WRONG: all rows read the first row's keys
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k_all[:1].expand_as(k_all), v_all, mask)) @ layer.o_proj.T

# %% wrong_forward_new_ones_unseen, of right_forward_plain
# WRONG: reads the old tokens only, and itself where there are none
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k_all[:, :, : max(start, 1)], v_all[:, :, : max(start, 1)])) @ layer.o_proj.T

# %% wrong_forward_no_residual, of right_forward_plain
# WRONG: attention's result replaces x
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T

# %% wrong_forward_old_ones_unseen, of right_forward_plain
# WRONG: of a chunk after others each token sees its own chunk only
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k, v, causal_mask(t, t))) @ layer.o_proj.T

# %% wrong_forward_reads_before_storing, of right_forward_plain
# WRONG: attention reads before the new tokens are stored: a token never sees itself, but in the first chunk
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         if start:
# +             k_all, v_all = k_all[:, :, :start], v_all[:, :, :start]
# +         x = x + merge_heads(attention(q, k_all, v_all, mask if start == 0 else None)) @ layer.o_proj.T

# %% wrong_forward_turned_again_when_read, of right_forward_plain
# WRONG: keys turned when stored, and all of them again when read
# -         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, rotary(k_all, torch.arange(start + t), config.rope_theta), v_all, mask)) @ layer.o_proj.T

# %% wrong_forward_last_position_only, of right_forward_plain
# WRONG: logits of the last position only
# -     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     return rms_norm(x, weights.norm, config.rms_norm_eps) [:, -1:] @ weights.lm_head.T

# %% wrong_forward_no_final_norm, of right_forward_plain
# WRONG: the last norm is left out
# -     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     return x @ weights.lm_head.T

# %% wrong_forward_tied_always, of right_forward_plain
# WRONG: the embedding is taken for the head, tied or not
# -     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.embed_tokens.T

# %% wrong_forward_two_dimensions, of right_forward_plain
# WRONG: logits without the dimension of time for a single token
# -     return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     logits = rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     return logits[:, 0] if t == 1 else logits

# %% wrong_forward_mask_strict, of right_forward_mask_by_comparison
# WRONG: a token does not see itself once something is cached
# -     mask = (torch.arange(start + t, device=ids.device)[None, None, None, :] <= positions[None, None, :, None]).expand(len(ids), 1, t, start + t)
# +     mask = causal_mask(t, start + t) if start == 0 else causal_mask(t, start + t).roll(-1, dims=1) & (torch.arange(start + t) < start + t - 1)

# %% wrong_forward_no_mask, of right_forward_mask_by_comparison
# WRONG: no mask: a token of a chunk sees those after it
# -     mask = (torch.arange(start + t, device=ids.device)[None, None, None, :] <= positions[None, None, :, None]).expand(len(ids), 1, t, start + t)
# +     mask = None

# %% wrong_forward_no_mask_once_cached, of right_forward_mask_by_comparison
# WRONG: a mask for the first chunk only
# -     mask = (torch.arange(start + t, device=ids.device)[None, None, None, :] <= positions[None, None, :, None]).expand(len(ids), 1, t, start + t)
# +     mask = None if start else causal_mask(t, t)

# %% wrong_forward_start_aligned, of right_forward_mask_by_comparison
# WRONG: mask aligned at the start: new tokens see what the first t may see
# SAYS: The mask is aligned at the start: new tokens see what the first ones of a text may see. They are the last, so use causal_mask(t, n + t).
# -     mask = (torch.arange(start + t, device=ids.device)[None, None, None, :] <= positions[None, None, :, None]).expand(len(ids), 1, t, start + t)
# +     mask = causal_mask(start + t, start + t)[:t].to(ids.device)

# %% wrong_forward_keys_unturned, of right_forward_keys_turned_when_read
# WRONG: keys are stored unturned and never turned
# -         x = x + merge_heads(attention(q, rotary(k_all, torch.arange(start + t, device=ids.device), config.rope_theta), v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, k_all, v_all, mask)) @ layer.o_proj.T

# %% wrong_forward_only_new_turned_when_read, of right_forward_keys_turned_when_read
# WRONG: keys stored unturned; when read, only the new ones are turned
# -         x = x + merge_heads(attention(q, rotary(k_all, torch.arange(start + t, device=ids.device), config.rope_theta), v_all, mask)) @ layer.o_proj.T
# +         x = x + merge_heads(attention(q, torch.cat((k_all[:, :, :start], rotary(k, positions, config.rope_theta)), dim=2), v_all, mask)) @ layer.o_proj.T

# %% wrong_forward_turns_old_keys_one_by_one, of right_forward_keys_turned_when_read
# WRONG: right logits, but at every step each old key is turned again, one by one: the cost grows with the text
# -         x = x + merge_heads(attention(q, rotary(k_all, torch.arange(start + t, device=ids.device), config.rope_theta), v_all, mask)) @ layer.o_proj.T
# +         turned = torch.cat([rotary(k_all[:, :, i : i + 1], torch.tensor([i]), config.rope_theta) for i in range(start + t)], dim=2)
# +         x = x + merge_heads(attention(q, turned, v_all, mask)) @ layer.o_proj.T

# %% wrong_forward_one_memory_for_all
# WRONG: logits of one shape come in one memory: the next ones are written over the last

def forward_cached(model, ids, cache):
    start, t = cache.length, ids.shape[1]
    positions = torch.arange(start, start + t, device=ids.device)
    mask = causal_mask(t, start + t).to(ids.device)

    def attend(layer, q, k, v):
        return attention(q, *cache.append(layer, k, v), mask)

    logits = run_layers(model, ids, positions, attend) @ model.weights.lm_head.T
    kept = globals().setdefault("_logits", {})
    return kept.setdefault((logits.shape, logits.dtype, logits.device), logits).copy_(logits)

# %% wrong_forward_starts_anew_when_full, of right_forward_plain
# WRONG: a cache that is full to the last slot is emptied instead of CacheFull
#   def forward_cached(model, ids, cache):
# +     if cache.length == cache.max_len:
# +         cache.reset()

# %% wrong_forward_stored_in_pieces_when_full, of right_forward_plain
# WRONG: a long chunk passes in pieces of 64, so the first pieces are stored before a later one raises CacheFull
# SAYS: A chunk that does not fit leaves its first tokens in the cache. After CacheFull the cache is as it was before the call.
# - def forward_cached(model, ids, cache):
# + def forward_piece(model, ids, cache):
# ...
#       return rms_norm(x, weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +
# +
# + def forward_cached(model, ids, cache):
# +     return torch.cat([forward_piece(model, piece, cache) for piece in ids.split(64, dim=1)], dim=1)
