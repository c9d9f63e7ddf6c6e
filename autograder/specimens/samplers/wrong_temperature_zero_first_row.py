# exercise: temperature_probs
# WRONG: tau = 0 gives every row the first row's best token

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        probs = torch.zeros_like(logits)
        probs[:, logits[0].argmax()] = 1.0
        return probs
    return softmax(logits / tau)
