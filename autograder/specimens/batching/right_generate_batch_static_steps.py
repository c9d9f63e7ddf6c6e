# exercise: generate_batch
# RIGHT: prefill, then the recorded fixed-shape steps of capture_decode over the cache's own memory
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None, device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    if max_new_tokens == 0:
        return [[] for _ in prompts]
    ids, num_pad = ids.to(model.device), num_pad.to(model.device)
    B, T = ids.shape
    cache = KVCache(model.config, B, T + max_new_tokens, model.dtype, model.device)
    settings = dict(temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    done, said = torch.zeros((B, 1), dtype=torch.bool, device=model.device), []
    with torch.no_grad():
        logits = prefill_batch(model, ids, num_pad, cache)
        step = None
        while True:
            newest = sample_next_token(logits, **settings)
            if eos_token_id is not None:
                newest = torch.where(done, eos_token_id, newest)
                done = done | newest.eq(eos_token_id)
            said.append(newest)
            if len(said) == max_new_tokens or (eos_token_id is not None and bool(done.all())):
                break
            if step is None:
                step = capture_decode(model, num_pad, T, cache.keys, cache.values)
            logits = step(newest)
    answers = []
    for row in torch.hstack(said).tolist():
        if eos_token_id is not None and eos_token_id in row:
            del row[row.index(eos_token_id) + 1 :]
        answers.append(row)
    return answers
