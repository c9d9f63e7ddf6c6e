# exercise: temperature_probs
# WRONG: takes 1e-12 for a tau of 0: a second logit that is nearly the best keeps a share

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    return softmax(at_least_float32(logits) / (tau or 1e-12))
