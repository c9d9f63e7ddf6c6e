# exercise: temperature_probs
# WRONG: takes a tau below 0.01 for 0
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau < 1e-2: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)
