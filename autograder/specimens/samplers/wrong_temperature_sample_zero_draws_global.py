# exercise: temperature_sample
# WRONG: tau = 0 touches the global state when no generator is given

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    probs = temperature_probs(logits, tau)
    if tau == 0 and generator is not None:
        return greedy_sample(logits)
    return draw(probs, torch.rand(len(probs), 1, generator=generator, device=logits.device))
