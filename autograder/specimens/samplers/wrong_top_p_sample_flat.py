# exercise: top_p_sample
# WRONG: the token ids have shape (B,) instead of a column (B, 1)

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)
