# exercise: temperature_sample
# WRONG: u from a folded normal distribution

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    u = torch.randn(len(probs), 1, generator=generator, device=logits.device).abs().clamp(max=1 - 2**-24)
    return draw(probs, u)
