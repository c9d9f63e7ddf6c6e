# exercise: temperature_sample
# WRONG: copies the generator, which therefore never moves on

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    if generator is not None:
        generator = torch.Generator().manual_seed(generator.initial_seed())
    return torch.multinomial(probs, 1, generator=generator)
