# exercise: sample_next_token
# WRONG: the generator is not used when no filter is on
def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    p = temperature_probs(logits, temperature)
    if temperature != 0 and top_k is None and top_p is None:
        return torch.multinomial(p, 1)
    if top_k is not None: p = top_k_probs(p.log(), top_k)
    if top_p is not None: p = top_p_probs(p.log(), top_p)
    if temperature == 0: return greedy_sample(p)
    return torch.multinomial(p, 1, generator=generator)
