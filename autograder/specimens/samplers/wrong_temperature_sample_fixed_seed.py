# exercise: temperature_sample
# WRONG: a seed of its own in every call

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(0))
