# exercise: generate_batch
# RIGHT: collects ints step by step

@torch.no_grad()
def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    settings = dict(temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    ids, num_pad = left_pad(prompts, pad_id)
    model = model.to(device=device or model.device, dtype=dtype or model.dtype)
    ids, num_pad = ids.to(model.device), num_pad.to(model.device)
    new, done = [[] for _ in prompts], [False] * len(prompts)
    if max_new_tokens == 0:
        return new
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens - 1, model.dtype, model.device)
    logits = prefill_batch(model, ids, num_pad, cache)
    while True:
        tokens = sample_next_token(logits, **settings)
        for row, (token,) in enumerate(tokens.tolist()):
            if not done[row]:
                new[row].append(token)
                done[row] = token == eos_token_id or len(new[row]) == max_new_tokens
        if all(done):
            return new
        logits = decode_batch(model, tokens, num_pad, cache)
