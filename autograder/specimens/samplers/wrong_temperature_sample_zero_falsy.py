# exercise: temperature_sample
# WRONG: `tau or 1`: 0 becomes 1

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    return torch.multinomial(temperature_probs(logits, tau or 1.0), 1, generator=generator)
