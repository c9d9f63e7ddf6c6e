# exercise: top_k_sample
# RIGHT: torch.multinomial

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return torch.multinomial(probs, 1, generator=generator)
