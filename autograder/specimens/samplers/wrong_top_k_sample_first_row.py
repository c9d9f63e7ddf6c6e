# exercise: top_k_sample
# WRONG: draws every row from the first row's distribution

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return torch.multinomial(probs[:1].expand_as(probs).contiguous(), 1, generator=generator)
