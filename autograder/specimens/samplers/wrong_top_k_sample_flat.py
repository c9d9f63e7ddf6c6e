# exercise: top_k_sample
# WRONG: (B,) instead of (B, 1)

def top_k_sample(logits, k, generator=None):
    probs = top_k_probs(logits, k)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)
