# exercise: temperature_sample
# WRONG: also moves the global state

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    torch.rand((), device=logits.device)
    return torch.multinomial(probs, 1, generator=generator)
