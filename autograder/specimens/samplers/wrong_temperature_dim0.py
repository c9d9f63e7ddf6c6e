# exercise: temperature_probs
# WRONG: takes softmax over the rows of the batch instead of along the vocabulary

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return torch.softmax(logits / tau, dim=0)
