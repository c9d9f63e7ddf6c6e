# exercise: temperature_sample
# WRONG: divides the caller's logits

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return greedy_sample(logits)
    return torch.multinomial(softmax(logits.div_(tau)), 1, generator=generator)
