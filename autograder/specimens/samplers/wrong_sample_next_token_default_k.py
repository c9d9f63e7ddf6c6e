# exercise: sample_next_token
# WRONG: takes top_k = None for 50
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    p = top_k_probs(p.log(), 50 if top_k is None else top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)
