# exercise: sample_next_token
# WRONG: top-p reads the mass before top-k renormalised it

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature)
    x = probs.log()
    if top_p is not None:
        probs = top_p_probs(x, top_p)
    if top_k is not None:
        probs = probs * (top_k_probs(x, top_k) > 0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)
