# exercise: temperature_probs
# RIGHT: torch.softmax, and a one-hot by comparison

def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0:
        raise ValueError(f"tau = {tau} is negative")
    if tau == 0:
        best = logits.argmax(dim=-1)
        return torch.nn.functional.one_hot(best, logits.shape[-1]).to(logits.dtype)
    return torch.softmax(logits / tau, dim=-1)
