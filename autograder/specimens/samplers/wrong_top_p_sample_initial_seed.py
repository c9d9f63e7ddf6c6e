# exercise: top_p_sample
# WRONG: copies the generator, which therefore never moves on

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    if generator is not None:
        generator = torch.Generator().manual_seed(generator.initial_seed())
    return torch.multinomial(probs, 1, generator=generator)
