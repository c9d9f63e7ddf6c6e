# exercise: temperature_sample
# WRONG: applies the temperature twice

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    return torch.multinomial(temperature_probs(logits / tau, tau), 1, generator=generator)
