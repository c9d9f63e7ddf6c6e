# exercise: generate_batch
# WRONG: every step goes through the rows one after the other, each with a cache of its own: the weights are read once for each row
def generate_batch(
    model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
    device=None, dtype=None,
):
    left_pad(prompts, pad_id)
    model = model.to(device=device, dtype=dtype)
    caches = [KVCache(model.config, 1, len(prompt) + max_new_tokens, model.dtype, model.device) for prompt in prompts]
    unpadded = torch.zeros(1, dtype=torch.int64, device=model.device)
    newest = [torch.tensor([prompt], device=model.device) for prompt in prompts]
    ended = torch.zeros(len(prompts), 1, dtype=torch.bool, device=model.device)
    tokens = []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = torch.cat([prefill_batch(model, ids, unpadded, cache) for ids, cache in zip(newest, caches, strict=True)])
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            tokens.append(token)
            newest = token.split(1)
            if eos_token_id is not None and ended.all():
                break
    rows = torch.cat(tokens, dim=1).tolist() if tokens else [[] for _ in prompts]
    return [row[: row.index(eos_token_id) + 1] if eos_token_id in row else row for row in rows]
