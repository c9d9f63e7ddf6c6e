# exercise: temperature_probs
# WRONG: above 5 counts as 5
def temperature_probs(logits, tau):
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / min(tau, 5.0))
