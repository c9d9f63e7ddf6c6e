# exercise: temperature_probs
# WRONG: returns the logits divided by tau, without softmax

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return logits / tau
