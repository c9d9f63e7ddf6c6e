# exercise: top_p_sample
# WRONG: (B,) instead of (B, 1)

def top_p_sample(logits, p, generator=None):
    probs = top_p_probs(logits, p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)
