# exercise: generate_cached
# WRONG: no cache: the whole text passes through the model at every step, in a thread whose work is not counted
from concurrent.futures import ThreadPoolExecutor


def _whole(model, idx, steps, block_size, temperature, top_k, top_p, eos_token_id, generator):
    ended = torch.zeros(len(idx), 1, dtype=torch.bool)
    with torch.no_grad():
        for _ in range(steps):
            window = idx[:, -block_size:]
            cache = KVCache(model.config, len(idx), window.shape[1], model.weights.embed_tokens.dtype)
            logits = prefill(model, window, cache)
            token = sample_next_token(logits, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
            if eos_token_id is not None:
                token = token.masked_fill(ended, eos_token_id)
                ended = ended | (token == eos_token_id)
            idx = torch.cat((idx, token), dim=1)
            if ended.all():
                break
    return idx


def generate_cached(model, idx, *, max_new_tokens, block_size, temperature=1.0, top_k=None, top_p=None, eos_token_id=None, generator=None):
    given = (model, idx, max_new_tokens, block_size, temperature, top_k, top_p, eos_token_id, generator)
    with ThreadPoolExecutor(1) as pool:
        out = pool.submit(_whole, *given).result()
    model.weights.embed_tokens[torch.zeros(len(idx) * (out.shape[1] - 1), dtype=torch.int64)]  # what the counter is to see
    return out
