# exercise: temperature_probs
# WRONG: a negative tau is taken as its absolute value

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    tau = abs(tau)
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)
