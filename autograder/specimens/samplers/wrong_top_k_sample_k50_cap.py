# exercise: top_k_sample
# WRONG: k is capped at 50
def top_k_sample(logits, k, generator=None):
    return torch.multinomial(top_k_probs(logits, min(k, 50)), 1, generator=generator)
