# Versions of prefill, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_prefill_head_at_the_end
# RIGHT: the head at the last position only

def prefill(model, ids, cache):
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
    return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T


# %% right_prefill_in_bites
# RIGHT: the prompt goes in by chunks of five; only the last logits are kept

def prefill(model: WeightsOnly, ids: Tensor, cache: KVCache) -> Tensor:
    """Put a prompt (or its next chunk) into the cache; the logits of the token that follows it.

    ids (B, t) int64 -> (B, V).
    """
    for bite in ids.split(5, dim=1):
        logits = forward_cached(model, bite, cache)[:, -1]
    return logits


# %% right_prefill_in_pieces
# RIGHT: feeds the prompt in pieces of four

def prefill(model, ids, cache):
    for piece in ids.split(4, dim=1):
        logits = forward_cached(model, piece, cache)
    return logits[:, -1, :]


# %% right_prefill_named_dimension
# RIGHT: select instead of an index

def prefill(model, ids, cache):
    logits = forward_cached(model, ids, cache)
    return logits.select(dim=1, index=ids.shape[1] - 1).clone()


# %% right_prefill_without_gradients
# RIGHT: in inference mode

@torch.no_grad()
def prefill(model, ids, cache):
    *_, last = forward_cached(model, ids, cache).unbind(dim=1)
    return last


# %% wrong_prefill_all_positions
# WRONG: logits of all positions

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)


# %% wrong_prefill_crops
# WRONG: drops the oldest tokens that do not fit, in place of CacheFull
def prefill(model, ids, cache):
    return forward_cached(model, ids[:, -(cache.keys.shape[3] - cache.length):], cache)[:, -1]


# %% wrong_prefill_drops_first
# WRONG: leaves out the first token of the prompt

def prefill(model, ids, cache):
    return forward_cached(model, ids[:, 1:] if ids.shape[1] > 1 else ids, cache)[:, -1]


# %% wrong_prefill_first_position
# WRONG: logits of the first position

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:, 0]


# %% wrong_prefill_float32
# WRONG: always float32
def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].float()


# %% wrong_prefill_forgets
# WRONG: computes the logits and empties the cache again

def prefill(model, ids, cache):
    logits = forward_cached(model, ids, cache)[:, -1]
    cache.reset()
    return logits


# %% wrong_prefill_keeps_dimension
# WRONG: gives logits (B, 1, V): the dimension of the tokens is kept
# SAYS: Your logits are (B, 1, V). Take the last position out with [:, -1], which gives (B, V); [:, -1:] keeps the dimension.

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1:]


# %% wrong_prefill_last_row
# WRONG: the last row's logits instead of the last position's

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[-1]


# %% wrong_prefill_last_token_only
# WRONG: feeds the last token only

def prefill(model, ids, cache):
    return forward_cached(model, ids[:, -1:], cache)[:, -1]


# %% wrong_prefill_last_token_twice
# WRONG: feeds the last token twice

def prefill(model, ids, cache):
    forward_cached(model, ids, cache)
    return forward_cached(model, ids[:, -1:], cache)[:, -1]


# %% wrong_prefill_mean
# WRONG: the mean over all positions

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache).mean(dim=1)


# %% wrong_prefill_one_row
# WRONG: one row for all

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:1, -1].expand(len(ids), -1)


# %% wrong_prefill_own_cache
# WRONG: fills a cache of its own

def prefill(model, ids, cache):
    cache = KVCache(model.config, len(ids), ids.shape[1] + cache.length, model.weights.embed_tokens.dtype)
    return forward_cached(model, ids, cache)[:, -1]


# %% wrong_prefill_position_before_last
# WRONG: logits of the last position but one, where there is one

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -2 if ids.shape[1] > 1 else -1]


# %% wrong_prefill_probabilities
# WRONG: probabilities instead of logits

def prefill(model, ids, cache):
    return forward_cached(model, ids, cache)[:, -1].softmax(dim=-1)


# %% wrong_prefill_remembers_prompts
# WRONG: prompt keys, values and logits are kept in a module global by config name and ids: another model of that name gets the first one's
_PROMPTS = {}


def prefill(model, ids, cache):
    if cache.length:
        return forward_cached(model, ids, cache)[:, -1]
    name = (model.config.name, tuple(map(tuple, ids.tolist())), cache.keys.dtype)
    t = ids.shape[1]
    if name in _PROMPTS:
        keys, values, logits = _PROMPTS[name]
        for layer, (k, v) in enumerate(zip(keys, values)):
            cache.append(layer, k, v)
        return logits.clone()
    logits = forward_cached(model, ids, cache)[:, -1]
    _PROMPTS[name] = (cache.keys[:, :, :, :t].clone(), cache.values[:, :, :, :t].clone(), logits.clone())
    return logits


# %% wrong_prefill_zero_is_a_pad
# WRONG: takes id 0 for a pad: the logits of the last token that is not 0
def prefill(model, ids, cache):
    logits = forward_cached(model, ids, cache)
    last = torch.where(ids != 0, torch.arange(ids.shape[1], device=ids.device), 0).amax(dim=1)
    return logits[torch.arange(len(ids), device=ids.device), last]


# %% wrong_prefill_resets
# WRONG: empties the cache first: the first chunk is lost

def prefill(model, ids, cache):
    cache.reset()
    return forward_cached(model, ids, cache)[:, -1]


# %% wrong_prefill_runs_twice
# WRONG: runs the prompt twice, once for nothing

def prefill(model, ids, cache):
    forward_cached(model, ids, KVCache(model.config, len(ids), cache.length + ids.shape[1], model.weights.embed_tokens.dtype))
    return forward_cached(model, ids, cache)[:, -1]

# %% wrong_prefill_positions_on_the_cpu, of right_prefill_head_at_the_end
# WRONG: positions are made on the default device
# -     positions = torch.arange(start, start + t, device=ids.device)
# +     positions = torch.arange(start, start + t)

# %% wrong_prefill_mask_on_the_cpu, of right_prefill_head_at_the_end
# WRONG: the mask stays on the default device
# -     mask = causal_mask(t, start + t).to(ids.device)
# +     mask = causal_mask(t, start + t)

# %% wrong_prefill_in_bites_of_rows, of right_prefill_in_bites
# WRONG: splits the rows instead of the tokens: from six rows on they do not fit the cache
# -     for bite in ids.split(5, dim=1):
# +     for bite in ids.split(5):

# %% wrong_prefill_tied_always, of right_prefill_head_at_the_end
# WRONG: the embedding is taken for the head, tied or not
# -     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.lm_head.T
# +     return rms_norm(x[:, -1], weights.norm, config.rms_norm_eps) @ weights.embed_tokens.T

# %% wrong_prefill_rest_of_the_pieces, of right_prefill_in_bites
# WRONG: of a prompt above 128 tokens only whole pieces of 128 are fed; the rest is never read
# SAYS: Of a long prompt you feed whole pieces only: the tokens after the last whole piece are never read.
# -     for bite in ids.split(5, dim=1):
# -         logits = forward_cached(model, bite, cache)[:, -1]
# +     size = min(128, ids.shape[1])
# +     for first in range(0, ids.shape[1] - size + 1, size):
# +         logits = forward_cached(model, ids[:, first : first + size], cache)[:, -1]

# %% wrong_prefill_one_memory_for_all
# WRONG: logits of one shape come in one memory: the next ones are written over the last

def prefill(model, ids, cache):
    logits = forward_cached(model, ids, cache)[:, -1]
    kept = globals().setdefault("_prefilled", {})
    return kept.setdefault((logits.shape, logits.dtype, logits.device), logits.clone()).copy_(logits)
