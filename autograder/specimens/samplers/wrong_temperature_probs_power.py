# exercise: temperature_probs
# WRONG: power of the probabilities: what underflowed does not come back at a high tau
def temperature_probs(logits, tau):
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    p = softmax(logits) ** (1 / tau)
    return p / p.sum(-1, keepdim=True)
