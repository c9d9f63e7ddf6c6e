# exercise: top_p_sample
# WRONG: draws the survivors with equal chances

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial((probs > 1e-6).float(), 1, generator=generator)
