# exercise: temperature_sample
# WRONG: draws every row from the first row's distribution

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return torch.multinomial(probs[:1].expand_as(probs).contiguous(), 1, generator=generator)
