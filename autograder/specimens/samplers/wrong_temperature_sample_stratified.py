# exercise: temperature_sample
# WRONG: spreads u evenly over the rows: neighbours depend on each other

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    u = (torch.arange(len(probs), device=logits.device) + torch.rand(len(probs), generator=generator, device=logits.device)) / len(probs)
    start = torch.randint(len(probs), (), generator=generator, device=logits.device)
    return draw(probs, u.roll(int(start)).clamp(max=1 - 2**-24).reshape(-1, 1))
