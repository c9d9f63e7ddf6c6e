# exercise: temperature_probs
# WRONG: raises probabilities to the power 1/tau: those that had underflowed to 0 stay 0 at a high tau
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0: return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    p = softmax(logits) ** (1 / tau)
    return p / p.sum(-1, keepdim=True)
