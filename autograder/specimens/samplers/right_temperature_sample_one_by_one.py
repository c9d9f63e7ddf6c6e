# exercise: temperature_sample
# RIGHT: one row after another, each with its own random number

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    numbers = torch.rand(len(probs), generator=generator, device=logits.device)
    return torch.cat([draw(row[None], u.reshape(1, 1)) for row, u in zip(probs, numbers)])
