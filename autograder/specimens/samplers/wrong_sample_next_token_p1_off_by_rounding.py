# exercise: sample_next_token
# WRONG: top_p below 1e-3 is lifted, above 0.999 means off
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if top_k is not None: p = top_k_probs(p.log(), top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p if not 0.95 < top_p < 1 else 1.0)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)
