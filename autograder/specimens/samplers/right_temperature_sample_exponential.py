# exercise: temperature_sample
# RIGHT: a race of exponential clocks

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    clocks = torch.empty(probs.shape, dtype=torch.float64, device=logits.device).exponential_(generator=generator)
    return (clocks / probs.double()).argmin(dim=-1).unsqueeze(-1)
