# exercise: top_p_sample
# RIGHT: torch.multinomial

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(probs, 1, generator=generator)
