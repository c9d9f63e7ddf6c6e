# exercise: top_p_sample
# WRONG: draws from the global state although a generator is given

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(probs, 1)
