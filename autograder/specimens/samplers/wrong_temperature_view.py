# exercise: temperature_probs
# WRONG: flattens with view: logits that are not contiguous raise

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    x = at_least_float32(logits).view(-1).view(logits.shape)
    if tau == 0:
        return torch.zeros_like(x).scatter(-1, greedy_sample(x), 1.0)
    return softmax(x / tau)
