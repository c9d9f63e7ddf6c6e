# exercise: temperature_probs
# WRONG: computes in float32, then rounds the probabilities to the dtype of the logits

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    x = at_least_float32(logits)
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(x / tau).to(logits.dtype)
