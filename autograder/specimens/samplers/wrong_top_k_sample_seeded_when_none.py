# exercise: top_k_sample
# WRONG: without a generator always the same tokens

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    generator = generator or torch.Generator().manual_seed(1234)
    return torch.multinomial(probs, 1, generator=generator)
