# exercise: temperature_probs
# WRONG: takes a tau above 5 for 5
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / min(tau, 5.0))
