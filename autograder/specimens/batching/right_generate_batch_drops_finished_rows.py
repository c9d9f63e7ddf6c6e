# exercise: generate_batch
# RIGHT: rows that have ended leave the batch, with their cache

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = (tensor.to(model.device) for tensor in left_pad(prompts, pad_id))
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, model.dtype, model.device)
    results = [[] for _ in prompts]
    alive = list(range(len(prompts)))
    with torch.inference_mode():
        for step in range(max_new_tokens):
            if step == 0:
                logits = prefill_batch(model, ids, num_pad, cache)
            else:
                logits = decode_batch(model, torch.tensor([[results[row][-1]] for row in alive], device=model.device), num_pad, cache)
            drawn = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)[:, 0].tolist()
            keep = []
            for place, (row, token) in enumerate(zip(alive, drawn)):
                results[row].append(token)
                if eos_token_id is None or token != eos_token_id:
                    keep.append(place)
            if not keep:
                break
            if len(keep) < len(alive):
                smaller = KVCache(model.config, len(keep), cache.max_len, model.dtype)
                for layer in range(model.config.num_hidden_layers):
                    n = cache.length
                    smaller.append(layer, cache.keys[layer][keep, :, :n], cache.values[layer][keep, :, :n])
                cache, num_pad, alive = smaller, num_pad[keep], [alive[place] for place in keep]
    return results
