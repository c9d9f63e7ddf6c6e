# exercise: sample_next_token
# WRONG: temperature after top-k and top-p's mask, but the mask from unscaled probabilities

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    nucleus = softmax(logits) if top_p is None else top_p_probs(logits, top_p)
    probs = temperature_probs(logits, temperature)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    probs = probs * (nucleus > 0)
    probs = probs / probs.sum(dim=-1, keepdim=True)
    if temperature == 0:
        return greedy_sample(logits)
    return torch.multinomial(probs, 1, generator=generator)
