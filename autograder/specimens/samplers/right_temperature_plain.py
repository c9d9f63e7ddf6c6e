# exercise: temperature_probs
# RIGHT: step by step; most of the wrong versions are edits of it

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)
