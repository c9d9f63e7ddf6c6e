# exercise: generate_batch
# WRONG: no cache: the whole text in every step

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    T = ids.shape[1]
    ended = torch.zeros(len(ids), 1, dtype=torch.bool)
    with torch.no_grad():
        for _ in range(max_new_tokens):
            cache = KVCache(model.config, len(ids), ids.shape[1], model.dtype)
            logits = prefill_batch(model, ids, num_pad, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            ids = torch.cat((ids, token), dim=1)
            if eos_token_id is not None and ended.all():
                break
    rows = ids[:, T:].tolist()
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
