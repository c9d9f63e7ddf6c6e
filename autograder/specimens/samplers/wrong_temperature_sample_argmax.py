# exercise: temperature_sample
# WRONG: takes the best token instead of drawing

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return probs.argmax(dim=-1, keepdim=True)
