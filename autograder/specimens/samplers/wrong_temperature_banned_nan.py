# exercise: temperature_probs
# WRONG: centres by the mean: a logit of -inf makes nan

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    if tau == 0:
        return torch.zeros_like(logits).scatter(-1, greedy_sample(logits), 1.0)
    return torch.softmax((logits - logits.mean(dim=-1, keepdim=True)) / tau, dim=-1)
