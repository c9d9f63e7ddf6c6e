# exercise: generate_batch
# RIGHT: argmax where the temperature is 0, a preallocated table of tokens

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    if device is not None or dtype is not None:
        model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    table = torch.zeros(len(prompts), max_new_tokens, dtype=torch.int64, device=model.device)
    lengths = torch.full((len(prompts),), max_new_tokens, device=model.device)
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, dtype=model.dtype, device=model.device)
    with torch.no_grad():
        for step in range(max_new_tokens):
            feed = prefill_batch if step == 0 else decode_batch
            logits = feed(model, ids if step == 0 else table[:, step - 1 : step], num_pad, cache)
            if temperature == 0:
                token = logits.argmax(dim=-1)
            else:
                token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0]
            table[:, step] = token
            if eos_token_id is not None:
                lengths = torch.where((token == eos_token_id) & (lengths == max_new_tokens), step + 1, lengths)
                if bool((table[:, : step + 1] == eos_token_id).any(dim=1).all()):
                    break
    return [row[:n] for row, n in zip(table.tolist(), lengths.tolist())]
