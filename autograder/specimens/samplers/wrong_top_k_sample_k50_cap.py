# exercise: top_k_sample
# WRONG: takes a k above 50 for 50
def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    return torch.multinomial(top_k_probs(logits, min(k, 50)), 1, generator=generator)
