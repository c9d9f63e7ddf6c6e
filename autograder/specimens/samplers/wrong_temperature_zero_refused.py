# exercise: temperature_probs
# WRONG: tau = 0 is refused instead of being greedy

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau <= 0:
        raise ValueError(f"temperature must be above 0, got {tau}")
    return softmax(logits / tau)
