# exercise: top_k_sample
# WRONG: the token ids have shape (B,) instead of a column (B, 1)

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)
