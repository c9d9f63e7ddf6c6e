# Versions of `generate_cached`. The wrong ones here are edits of right ones in this file.

# %% right_generate_own_draw
# RIGHT: draws with torch's own multinomial

def generate_cached(
    model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None
):
    room = min(block_size, idx.shape[1] + max_new_tokens)
    cache = KVCache(model.config, len(idx), room, model.weights.embed_tokens.dtype, idx.device)
    ended = torch.zeros(len(idx), 1, dtype=torch.bool, device=idx.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            if step == 0 or idx.shape[1] > block_size:
                cache.reset()
                logits = prefill(model, idx[:, -block_size:], cache)
            else:
                logits = decode_step(model, idx[:, -1:], cache)
            if temperature == 0:
                token = logits.argmax(dim=-1, keepdim=True)
            else:
                probs = (logits / temperature).softmax(dim=-1)
                if top_k is not None and top_k < probs.shape[-1]:
                    probs = probs * (probs >= probs.topk(top_k).values[:, -1:])
                    probs = probs / probs.sum(dim=-1, keepdim=True)
                if top_p is not None and top_p < 1:
                    ordered, where = probs.sort(dim=-1, descending=True)
                    ordered = ordered * (ordered.cumsum(dim=-1) - ordered < top_p)
                    probs = torch.zeros_like(probs).scatter(1, where, ordered)
                token = torch.multinomial(probs, 1, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx

# %% wrong_generate_cached_top_k_above_vocabulary, of right_generate_own_draw
# WRONG: a top_k above the number of tokens is an error
# -                 if top_k is not None and top_k < probs.shape[-1]:
# +                 if top_k is not None:

# %% wrong_generate_cached_top_p_border, of right_generate_own_draw
# WRONG: keeps one token more where the mass is exactly p
# -                     ordered = ordered * (ordered.cumsum(dim=-1) - ordered < top_p)
# +                     ordered = ordered * (ordered.cumsum(dim=-1) - ordered <= top_p)

# %% wrong_generate_cached_top_p_of_all_after_top_k, of right_generate_own_draw
# WRONG: top_p counts the mass before top_k, not what top_k left
# -                     probs = probs / probs.sum(dim=-1, keepdim=True)
