# Versions of decode_step, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_decode_flattened
# RIGHT: flattens (B, 1, V)

def decode_step(model, ids, cache):
    B = ids.shape[0]
    return forward_cached(model, ids, cache).reshape(B, -1)


# %% right_decode_position_zero_of_one
# RIGHT: the only position is also the first

def decode_step(model, ids, cache):
    with torch.no_grad():
        logits = forward_cached(model, ids[:, -1:], cache)
    return logits[:, 0, :]


# %% right_decode_squeezed
# RIGHT: squeezes the one position away

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache).squeeze(1)


# %% right_decode_through_prefill
# RIGHT: a decode step is a prefill of one token

def decode_step(model, ids, cache):
    return prefill(model, ids, cache)


# %% wrong_decode_does_not_store
# WRONG: takes the token out of the cache again

def decode_step(model, ids, cache):
    before = list(cache.counts)
    logits = forward_cached(model, ids, cache)[:, -1]
    cache.counts = before
    return logits


# %% wrong_decode_first_row_fed
# WRONG: feeds the first row's token to all rows

def decode_step(model, ids, cache):
    return forward_cached(model, ids[:1].expand_as(ids), cache)[:, -1]


# %% wrong_decode_float32
# WRONG: the logits of a float64 model come out as float32
def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].float()


# %% wrong_decode_greedy_token
# WRONG: the token instead of the logits
# SAYS: This is the most probable token. The logits (B, V) are asked for: choosing is the caller's affair.

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].argmax(dim=-1, keepdim=True)


# %% wrong_decode_keeps_dimension
# WRONG: gives logits (B, 1, V): the dimension of the tokens is kept
# SAYS: Your logits are (B, 1, V). One token is fed, and its one position is to be taken out: [:, -1] gives (B, V).

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)


# %% wrong_decode_last_row
# WRONG: the last row's logits for all

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)[-1]


# %% wrong_decode_memo
# WRONG: remembers the logits by token and length: a second text of the same length gets those of the first

_SEEN = {}


def decode_step(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """Feed the one newest token of each row; the logits of the token after it.

    ids (B, 1) int64 -> (B, V).
    """
    key = (id(model), cache.length, tuple(ids.flatten().tolist()))
    logits = forward_cached(model, ids, cache)[:, -1]
    return _SEEN.setdefault(key, logits)


# %% wrong_decode_negative_logits
# WRONG: the logits have the opposite sign

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].abs()


# %% wrong_decode_own_cache
# WRONG: a fresh cache for each step

def decode_step(model, ids, cache):
    cache = KVCache(model.config, len(ids), 1, model.weights.embed_tokens.dtype)
    return forward_cached(model, ids, cache)[:, -1]


# %% wrong_decode_position_lost
# WRONG: one position too few in the cache before the step

def decode_step(model, ids, cache):
    cache.counts = [max(n - 1, 0) for n in cache.counts]
    return forward_cached(model, ids, cache)[:, -1]


# %% wrong_decode_positions_by_cache_id
# WRONG: an own pass for one token, whose positions are counted in a module global for each cache and not set back by reset
_POSITION = {}


def decode_step(model, ids, cache):
    weights, config = model.weights, model.config
    position = _POSITION.setdefault(id(cache), cache.length)
    _POSITION[id(cache)] += 1
    positions = torch.tensor([position], device=ids.device)
    x = weights.embed_tokens[ids]
    for index, layer in enumerate(weights.layers):
        h = rms_norm(x, layer.input_layernorm, config.rms_norm_eps)
        q = rotary(split_heads(h @ layer.q_proj.T, config.num_attention_heads), positions, config.rope_theta)
        k = rotary(split_heads(h @ layer.k_proj.T, config.num_key_value_heads), positions, config.rope_theta)
        v = split_heads(h @ layer.v_proj.T, config.num_key_value_heads)
        x = x + merge_heads(attention(q, *cache.append(index, k, v))) @ layer.o_proj.T
        h = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(h, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% wrong_decode_probabilities
# WRONG: probabilities instead of logits

def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].softmax(dim=-1)


# %% wrong_decode_remembers_all
# WRONG: keeps the tokens and computes all of them again

def decode_step(model, ids, cache):
    logits = forward_cached(model, ids, cache)[:, -1]
    spare = KVCache(model.config, len(ids), cache.length, model.weights.embed_tokens.dtype)
    forward_cached(model, ids.expand(-1, cache.length), spare)
    return logits


# %% wrong_decode_resets
# WRONG: empties the cache first

def decode_step(model, ids, cache):
    cache.reset()
    return forward_cached(model, ids, cache)[:, -1]


# %% wrong_decode_row_by_row
# WRONG: feeds the rows one after another into the same slots of a cache of one row each

def decode_step(model, ids, cache):
    return torch.cat([forward_cached(model, ids[i : i + 1].expand_as(ids), cache)[:1, -1] for i in range(len(ids))])


# %% wrong_decode_step_always_float32
# WRONG: the logits come in float32, whatever the dtype of the model
def decode_step(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].float()


# %% wrong_decode_step_row_by_row_sequential
# WRONG: one pass of the model for each row, the others' rows riding along: B times the work
def decode_step(model, ids, cache):
    rows = []
    n = cache.length
    for b in range(len(ids)):
        cache.counts = [n] * len(cache.counts)
        rows.append(forward_cached(model, ids, cache)[b, -1])
    return torch.stack(rows)


# %% wrong_decode_step_sees_128
# WRONG: looks back over 128 tokens at most
def decode_step(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
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
        x = x + merge_heads(attention(q, k_all[:, :, -128:], v_all[:, :, -128:])) @ layer.o_proj.T
        normed = rms_norm(x, layer.post_attention_layernorm, config.rms_norm_eps)
        x = x + feed_forward(normed, layer.gate_proj, layer.up_proj, layer.down_proj)
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T  # (B, t, V)


# %% wrong_decode_tied_always
# WRONG: the embedding is taken for the head, tied or not

def decode_step(model, ids, cache):
    positions = torch.full((1,), cache.length, device=ids.device)

    def attend(layer, q, k, v):
        return attention(q, *cache.append(layer, k, v))

    return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.embed_tokens.T

# %% wrong_decode_stores_twice
# WRONG: feeds the token twice

def decode_step(model, ids, cache):
    forward_cached(model, ids, cache)
    return forward_cached(model, ids, cache)[:, -1]

# %% wrong_decode_one_memory_for_all
# WRONG: logits of one shape come in one memory: the next ones are written over the last

def decode_step(model, ids, cache):
    logits = forward_cached(model, ids, cache)[:, -1]
    kept = globals().setdefault("_decoded", {})
    return kept.setdefault((logits.shape, logits.dtype, logits.device), logits.clone()).copy_(logits)
