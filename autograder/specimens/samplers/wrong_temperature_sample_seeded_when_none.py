# exercise: temperature_sample
# WRONG: without a generator always the same tokens

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    generator = generator or torch.Generator().manual_seed(1234)
    return torch.multinomial(probs, 1, generator=generator)
