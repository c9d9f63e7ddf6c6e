# exercise: temperature_sample
# WRONG: applies softmax once more to the probabilities

def temperature_sample(logits, tau, generator=None):
    logits = at_least_float32(logits)
    if tau == 0:
        return greedy_sample(logits)
    probs = temperature_probs(logits, tau)
    return torch.multinomial(softmax(probs), 1, generator=generator)
