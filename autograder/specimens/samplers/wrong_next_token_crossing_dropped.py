# exercise: sample_next_token
# WRONG: its own top-p drops the token that crosses p

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {top_p}")
        values, ids = probs.sort(dim=-1, descending=True)
        keep = values.cumsum(dim=-1) <= top_p
        keep[:, 0] = True
        probs = torch.zeros_like(probs).scatter(-1, ids, values * keep)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)
