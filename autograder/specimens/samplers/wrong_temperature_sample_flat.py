# exercise: temperature_sample
# WRONG: the token ids have shape (B,) instead of a column (B, 1)

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)
