# Versions of prefill_flash, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_prefill_head_of_all
# RIGHT: the head runs at every position, the last is taken

def prefill_flash(model: WeightsOnly, ids: Tensor, cache: KVCache, *, q_block: int = 64, k_block: int = 64) -> Tensor:
    start = cache.length
    positions = torch.arange(start, start + ids.shape[1], device=ids.device)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k_all, v_all = cache.append(layer, k, v)
        return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]

    return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]


# %% right_prefill_last_by_size
# RIGHT: the last position by its number

def prefill_flash(model: WeightsOnly, ids: Tensor, cache: KVCache, *, q_block: int = 64, k_block: int = 64) -> Tensor:
    start = cache.length
    positions = torch.arange(start, start + ids.shape[1], device=ids.device)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k_all, v_all = cache.append(layer, k, v)
        return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]

    return run_layers(model, ids, positions, attend)[:, ids.shape[1] - 1] @ model.weights.lm_head.T

# %% wrong_prefill_positions_from_zero, of right_prefill_head_of_all
# WRONG: positions start at 0 in every chunk
# -     start = cache.length
# +     start = 0
# ...
# -     return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]
# +     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T

# %% wrong_prefill_layer_zero, of right_prefill_head_of_all
# WRONG: every layer uses the first one's cache
# -         k_all, v_all = cache.append(layer, k, v)
# +         k_all, v_all = cache.append(0, k, v)
# ...
# -     return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]
# +     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T

# %% wrong_prefill_dense, of right_prefill_head_of_all
# WRONG: the matrix of scores is written down
# -         return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]
# +         return flash_attention(q, k_all, v_all, causal=True, q_block=1 << 20, k_block=1 << 20)[0]
#
# -     return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]
# +     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T

# %% wrong_prefill_new_keys_only, of right_prefill_head_of_all
# WRONG: new tokens see each other only
# -         return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]
# +         return flash_attention(q, k, v, causal=True, q_block=q_block, k_block=k_block)[0]
#
# -     return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]
# +     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T

# %% wrong_prefill_not_causal, of right_prefill_head_of_all
# WRONG: tokens see those behind them
# -         return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]
# +         return flash_attention(q, k_all, v_all, causal=False, q_block=q_block, k_block=k_block)[0]
#
# -     return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]
# +     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T

# %% wrong_prefill_every_position, of right_prefill_head_of_all
# WRONG: the logits of all tokens
# -     return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]
# +     return run_layers(model, ids, positions, attend) @ model.weights.lm_head.T

# %% wrong_prefill_first_position, of right_prefill_head_of_all
# WRONG: the logits of the first token
# -     return (run_layers(model, ids, positions, attend) @ model.weights.lm_head.T)[:, -1]
# +     return run_layers(model, ids, positions, attend)[:, 0] @ model.weights.lm_head.T
