# exercise: temperature_sample
# WRONG: rounds u to 3 decimals: of many improbable tokens most never come

def temperature_sample(logits, tau, generator=None):
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    u = torch.rand(len(probs), 1, generator=generator, device=logits.device)
    return draw(probs, (u * 1000).floor() / 1000)
