# exercise: sample_next_token
# WRONG: top_k = 1 is short-cut to greedy: ties with the best are lost
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if top_k is not None: p = top_k_probs(p.log(), top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0 or top_k == 1: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)
