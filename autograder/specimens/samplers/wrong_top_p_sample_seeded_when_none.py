# exercise: top_p_sample
# WRONG: without a generator always the same tokens

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    generator = generator or torch.Generator().manual_seed(1234)
    return torch.multinomial(probs, 1, generator=generator)
