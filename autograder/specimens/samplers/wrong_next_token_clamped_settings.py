# exercise: sample_next_token
# WRONG: bad settings are clamped in silence

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, max(temperature, 0.0))
    if top_k is not None:
        probs = top_k_probs(probs.log(), max(top_k, 1))
    if top_p is not None:
        probs = top_p_probs(probs.log(), min(max(top_p, 1e-6), 1.0))
    if temperature <= 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)
