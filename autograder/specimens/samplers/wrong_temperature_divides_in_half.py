# exercise: temperature_probs
# WRONG: divides by tau in the dtype of the logits, and raises the precision only then

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return at_least_float32(torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0))
    return softmax(at_least_float32(logits / tau))
