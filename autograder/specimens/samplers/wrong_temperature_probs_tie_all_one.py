# exercise: temperature_probs
# WRONG: tau = 0 gives 1 to each of equals
def temperature_probs(logits, tau):
    logits = at_least_float32(logits)
    if tau < 0: raise ValueError(f"temperature {tau}")
    if tau == 0:
        return (logits == logits.amax(-1, keepdim=True)).to(logits.dtype)
    return softmax(logits / tau)
