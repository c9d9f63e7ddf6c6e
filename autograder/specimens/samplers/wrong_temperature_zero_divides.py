# exercise: temperature_probs
# WRONG: tau = 0 divides by zero

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    return softmax(logits / tau)
