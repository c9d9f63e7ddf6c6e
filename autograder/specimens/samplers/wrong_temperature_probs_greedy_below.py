# exercise: temperature_probs
# WRONG: below 0.01 counts as greedy
def temperature_probs(logits, tau):
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau < 1e-2: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)
