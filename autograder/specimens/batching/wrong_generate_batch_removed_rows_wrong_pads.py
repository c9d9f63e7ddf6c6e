# exercise: generate_batch
# WRONG: finished rows are taken out, and the rest have the first rows' pads

def generate_batch(model, prompts, *, max_new_tokens, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, pad_id=0, generator=None,
                   device=None, dtype=None):
    model = model.to(device=device, dtype=dtype)
    ids, num_pad = left_pad(prompts, pad_id)
    results, alive, text = [[] for _ in prompts], list(range(len(prompts))), ids
    cache = KVCache(model.config, len(prompts), ids.shape[1] + max_new_tokens, model.dtype)
    with torch.no_grad():
        for step in range(max_new_tokens):
            logits = prefill_batch(model, ids, num_pad, cache) if step == 0 else decode_batch(model, last, num_pad, cache)
            last = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            keep = []
            for place, token in enumerate(last[:, 0].tolist()):
                results[alive[place]].append(token)
                if token != eos_token_id:
                    keep.append(place)
            if not keep:
                break
            if len(keep) < len(last):
                n = cache.length
                smaller = KVCache(model.config, len(keep), cache.max_len, model.dtype)
                for layer in range(model.config.num_hidden_layers):
                    smaller.append(layer, cache.keys[layer][keep, :, :n], cache.values[layer][keep, :, :n])
                cache, num_pad, last = smaller, num_pad[: len(keep)], last[keep]
                alive = [alive[place] for place in keep]
    return results
