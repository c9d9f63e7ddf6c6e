# exercise: top_k_sample
# WRONG: draws the survivors with equal chances

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return torch.multinomial((probs > 1e-6).float(), 1, generator=generator)
