# exercise: temperature_probs
# WRONG: makes a tensor without `device=`: with logits on a GPU it lies on the CPU

def temperature_probs(logits, tau):
    if tau < 0:
        raise ValueError(f"temperature must be 0 or more, got {tau}")
    logits = at_least_float32(logits)
    if tau == 0:
        return torch.zeros(logits.shape, dtype=logits.dtype).scatter(-1, greedy_sample(logits), 1.0)
    return softmax(logits / tau)
