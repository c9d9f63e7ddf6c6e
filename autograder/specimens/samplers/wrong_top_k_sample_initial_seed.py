# exercise: top_k_sample
# WRONG: copies the generator, which therefore never moves on

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    if generator is not None:
        generator = torch.Generator().manual_seed(generator.initial_seed())
    return torch.multinomial(probs, 1, generator=generator)
