# Versions of prefill_flash, right and wrong. How to read them and add one: docs/contributing.md, "A specimen".


# %% right_prefill_typed
# RIGHT: with types, and one expression at the end

def prefill_flash(model: WeightsOnly, ids: Tensor, cache: KVCache, *, q_block: int = 64, k_block: int = 64) -> Tensor:
    start = cache.length
    positions = torch.arange(start, start + ids.shape[1], device=ids.device)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k_all, v_all = cache.append(layer, k, v)
        return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]

    return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T


# %% right_prefill_last_by_size
# RIGHT: the last position by its number

def prefill_flash(model: WeightsOnly, ids: Tensor, cache: KVCache, *, q_block: int = 64, k_block: int = 64) -> Tensor:
    start = cache.length
    positions = torch.arange(start, start + ids.shape[1], device=ids.device)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k_all, v_all = cache.append(layer, k, v)
        return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]

    return run_layers(model, ids, positions, attend)[:, ids.shape[1] - 1] @ model.weights.lm_head.T


# %% right_prefill_flash_plain
# RIGHT: step by step; other versions are edits of it
def prefill_flash(model, ids, cache, *, q_block=64, k_block=64):
    start = cache.length
    positions = torch.arange(start, start + ids.shape[1], device=ids.device)

    def attend(layer, q, k, v):
        keys, values = cache.append(layer, k, v)
        out, _ = flash_attention(q, keys, values, causal=True, q_block=q_block, k_block=k_block)
        return out

    x = run_layers(model, ids, positions, attend)
    return x[:, -1] @ model.weights.lm_head.T


# %% right_prefill_flash_linear
# RIGHT: linear in place of a product; a callable object; positions for each row
class _Attend:
    def __init__(self, cache, sizes):
        self.cache, self.sizes = cache, sizes

    def __call__(self, layer, q, *kv):
        return flash_attention(q, *self.cache.append(layer, *kv), causal=True, **self.sizes)[0]


def prefill_flash(model, ids, cache, *, q_block=64, k_block=64):
    positions = (torch.arange(ids.shape[1], device=ids.device) + cache.length).expand(ids.shape)
    x = run_layers(model, ids, positions, _Attend(cache, {"q_block": q_block, "k_block": k_block}))
    return torch.nn.functional.linear(x[:, -1, :], model.weights.lm_head)


# %% right_prefill_flash_lambda
# RIGHT: one expression in place of attend; the last row by einsum
def prefill_flash(model, ids, cache, *, q_block=64, k_block=64):
    blocks = dict(q_block=q_block, k_block=k_block)
    before = cache.length
    x = run_layers(
        model,
        ids,
        torch.arange(before, before + ids.size(1)).to(ids.device),
        lambda layer, q, k, v: flash_attention(q, *cache.append(layer, k, v), causal=True, **blocks)[0],
    )
    return torch.einsum("bd,vd->bv", x.select(1, -1), model.weights.lm_head)


# %% wrong_prefill_positions_from_zero, of right_prefill_typed
# WRONG: positions start at 0 in every chunk
# -     start = cache.length
# +     start = 0


# %% wrong_prefill_layer_zero, of right_prefill_typed
# WRONG: every layer uses the first one's cache
# -         k_all, v_all = cache.append(layer, k, v)
# +         k_all, v_all = cache.append(0, k, v)


# %% wrong_prefill_dense, of right_prefill_typed
# WRONG: the matrix of scores is written down
# -         return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]
# +         return flash_attention(q, k_all, v_all, causal=True, q_block=1 << 20, k_block=1 << 20)[0]


# %% wrong_prefill_new_keys_only, of right_prefill_typed
# WRONG: new tokens see each other only
# -         return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]
# +         return flash_attention(q, k, v, causal=True, q_block=q_block, k_block=k_block)[0]


# %% wrong_prefill_not_causal, of right_prefill_typed
# WRONG: tokens see those after them
# -         return flash_attention(q, k_all, v_all, causal=True, q_block=q_block, k_block=k_block)[0]
# +         return flash_attention(q, k_all, v_all, causal=False, q_block=q_block, k_block=k_block)[0]


# %% wrong_prefill_every_position, of right_prefill_typed
# WRONG: the logits of all tokens
# -     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T
# +     return run_layers(model, ids, positions, attend) @ model.weights.lm_head.T


# %% wrong_prefill_first_position, of right_prefill_typed
# WRONG: the logits of the first token
# -     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T
# +     return run_layers(model, ids, positions, attend)[:, 0] @ model.weights.lm_head.T


# %% wrong_prefill_flash_blocks_exchanged, of right_prefill_flash_plain
# WRONG: q_block and k_block are exchanged
# -         out, _ = flash_attention(q, keys, values, causal=True, q_block=q_block, k_block=k_block)
# +         out, _ = flash_attention(q, keys, values, causal=True, q_block=k_block, k_block=q_block)


# %% wrong_prefill_flash_default_q_block, of right_prefill_flash_plain
# WRONG: tiles of 32 queries where none are asked for
# - def prefill_flash(model, ids, cache, *, q_block=64, k_block=64):
# + def prefill_flash(model, ids, cache, *, q_block=32, k_block=64):


# %% wrong_prefill_flash_half_head, of right_prefill_flash_plain
# WRONG: logits in float32 whatever the model's dtype is
# -     return x[:, -1] @ model.weights.lm_head.T
# +     return x[:, -1].float() @ model.weights.lm_head.T.float()


# %% wrong_prefill_flash_no_gradients, of right_prefill_flash_plain
# WRONG: leaves gradients off for the whole program
# -     start = cache.length
# +     torch.set_grad_enabled(False)
# +     start = cache.length


# %% wrong_prefill_flash_double, of right_prefill_flash_plain
# WRONG: logits in float64 whatever the model's dtype is
# -     return x[:, -1] @ model.weights.lm_head.T
# +     return (x[:, -1] @ model.weights.lm_head.T).double()


# %% wrong_prefill_flash_cuts_the_prompt, of right_prefill_flash_plain
# WRONG: a prompt that does not fit is cut to the room that is left
# -     start = cache.length
# +     start = cache.length
# +     ids = ids[:, : max(1, cache.max_len - start)]


# %% wrong_prefill_flash_gradients_on, of right_prefill_flash_plain
# WRONG: gradients are on afterwards, though the caller had turned them off
# -     x = run_layers(model, ids, positions, attend)
# -     return x[:, -1] @ model.weights.lm_head.T
# +     torch.set_grad_enabled(False)
# +     x = run_layers(model, ids, positions, attend)
# +     logits = x[:, -1] @ model.weights.lm_head.T
# +     torch.set_grad_enabled(True)
# +     return logits


# %% wrong_prefill_flash_window, of right_prefill_flash_plain
# WRONG: of a long text the last 256 keys are seen
# -         keys, values = cache.append(layer, k, v)
# +         keys, values = (x[:, :, -max(256, q.shape[2]) :] for x in cache.append(layer, k, v))


# %% wrong_prefill_flash_512_at_once, of right_prefill_flash_plain
# WRONG: only the first 512 tokens of a chunk are fed
# -     start = cache.length
# +     start, ids = cache.length, ids[:, :512]


# %% wrong_prefill_flash_in_chunks, of right_prefill_flash_plain
# WRONG: a long prompt goes through the layers in chunks of 256 tokens, each of which reads all weights
# -     x = run_layers(model, ids, positions, attend)
# +     chunks = zip(ids.split(256, dim=1), positions.split(256))
# +     x = torch.cat([run_layers(model, chunk, places, attend) for chunk, places in chunks], dim=1)


# %% wrong_prefill_flash_head_of_all, of right_prefill_flash_plain
# WRONG: the head is asked for every token, though only the last row is given back
# -     return x[:, -1] @ model.weights.lm_head.T
# +     return (x @ model.weights.lm_head.T)[:, -1]


# %% wrong_prefill_zero_is_padding, of right_prefill_flash_plain
# WRONG: takes token 0 at the end for padding: gives the logits of an earlier token
# -     return x[:, -1] @ model.weights.lm_head.T
# +     last = (torch.arange(ids.shape[1], device=ids.device) * (ids != 0)).amax(dim=1)
# +     return x[torch.arange(len(ids), device=ids.device), last] @ model.weights.lm_head.T


# %% wrong_prefill_gradients_off_after_cache_full, of right_prefill_flash_plain
# WRONG: gradients stay off after CacheFull
# -     x = run_layers(model, ids, positions, attend)
# -     return x[:, -1] @ model.weights.lm_head.T
# +     before = torch.is_grad_enabled()
# +     torch.set_grad_enabled(False)
# +     x = run_layers(model, ids, positions, attend)
# +     logits = x[:, -1] @ model.weights.lm_head.T
# +     torch.set_grad_enabled(before)
# +     return logits


# %% wrong_prefill_positions_on_the_cpu, of right_prefill_flash_plain
# WRONG: makes the positions on the default device
# -     positions = torch.arange(start, start + ids.shape[1], device=ids.device)
# +     positions = torch.arange(start, start + ids.shape[1])


# %% wrong_prefill_flash_empties_the_cache_on_an_error, of right_prefill_typed
# WRONG: a chunk that does not fit empties the cache: the tokens that were stored are lost
# -     return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T
# +     try:
# +         return run_layers(model, ids, positions, attend)[:, -1] @ model.weights.lm_head.T
# +     except ValueError:
# +         cache.reset()
# +         raise
