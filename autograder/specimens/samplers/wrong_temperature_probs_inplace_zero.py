# exercise: temperature_probs
# WRONG: at tau = 0 the input is overwritten
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0:
        ids = greedy_sample(logits)
        return logits.zero_().scatter_(-1, ids, 1.0)
    return softmax(logits / tau)
