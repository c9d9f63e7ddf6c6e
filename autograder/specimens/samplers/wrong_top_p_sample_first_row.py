# exercise: top_p_sample
# WRONG: draws every row from the first row's distribution

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(probs[:1].expand_as(probs).contiguous(), 1, generator=generator)
