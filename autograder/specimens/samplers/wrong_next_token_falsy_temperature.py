# exercise: sample_next_token
# WRONG: writes `temperature or 1.0`, so that a temperature of 0 becomes 1

def sample_next_token(logits, *, temperature=1.0, top_k=None, top_p=None, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, temperature or 1.0)
    if top_k is not None:
        probs = top_k_probs(probs.log(), top_k)
    if top_p is not None:
        probs = top_p_probs(probs.log(), top_p)
    return torch.multinomial(probs, 1, generator=generator)
