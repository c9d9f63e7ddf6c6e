# exercise: temperature_sample
# WRONG: any tau below 0.1 is greedy

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if 0 <= tau < 0.1:
        return greedy_sample(logits)
    return torch.multinomial(temperature_probs(logits, tau), 1, generator=generator)
