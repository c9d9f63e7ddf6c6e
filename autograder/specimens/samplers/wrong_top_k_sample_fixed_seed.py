# exercise: top_k_sample
# WRONG: a seed of its own in every call

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(0))
