# exercise: temperature_sample
# WRONG: a negative tau is greedy instead of an error

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau <= 0:
        return greedy_sample(logits)
    return torch.multinomial(temperature_probs(logits, tau), 1, generator=generator)
