# exercise: top_p_sample
# WRONG: a seed of its own in every call

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(0))
