# exercise: temperature_probs
# WRONG: raises every tau to 1e-6 at least: at 0 a second logit that is nearly the best keeps a share

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    return softmax(at_least_float32(logits) / max(tau, 1e-6))
