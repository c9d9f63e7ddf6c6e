# exercise: temperature_sample
# WRONG: also moves the global state

def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    torch.rand(())
    return torch.multinomial(probs, 1, generator=generator)
