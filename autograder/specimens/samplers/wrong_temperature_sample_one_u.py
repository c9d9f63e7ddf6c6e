# exercise: temperature_sample
# WRONG: one random number for the whole batch

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    u = torch.rand(1, 1, generator=generator, device=logits.device).expand(len(probs), 1)
    return draw(probs, u)
