# exercise: generate_batch
# RIGHT: a cache without the slot of the last token, which is never fed; output in one preallocated tensor; sentinel -1 for no EOS
@torch.inference_mode()
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    ids, num_pad = left_pad(prompts, pad_id)
    if max_new_tokens < 1:
        return [[] for _ in range(len(ids))]
    model = model.to(device=device, dtype=dtype)
    where = model.device
    ids, num_pad = ids.to(where), num_pad.to(where)
    rows, width = ids.shape
    eos = -1 if eos_token_id is None else eos_token_id
    cache = KVCache(model.config, rows, width + max_new_tokens - 1, model.dtype, where)
    out = torch.full((rows, max_new_tokens), eos, dtype=torch.int64, device=where)
    alive = torch.ones(rows, dtype=torch.bool, device=where)
    logits = prefill_batch(model, ids, num_pad, cache)
    n = 0
    while True:
        drawn = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0]
        out[:, n] = torch.where(alive, drawn, torch.full_like(drawn, eos))
        alive &= out[:, n] != eos
        n += 1
        if n == max_new_tokens or not alive.any():
            break
        logits = decode_batch(model, out[:, n - 1 : n], num_pad, cache)
    result = []
    for row in out[:, :n].tolist():
        kept = []
        for token in row:
            kept.append(token)
            if token == eos:
                break
        result.append(kept)
    return result
