# exercise: temperature_probs
# RIGHT: raises probabilities to the power 1/tau, in float64

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if not tau >= 0:
        raise ValueError(f"bad temperature {tau}")
    if tau == 0:
        result = torch.zeros(logits.shape, dtype=logits.dtype, device=logits.device)
        result[torch.arange(len(logits), device=logits.device), logits.argmax(-1)] = 1
        return result
    top = logits.double() - logits.double().amax(-1, keepdim=True)
    weights = top.exp() ** (1 / tau)
    return (weights / weights.sum(-1, keepdim=True)).to(logits.dtype)
