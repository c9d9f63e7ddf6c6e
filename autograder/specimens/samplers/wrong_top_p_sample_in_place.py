# exercise: top_p_sample
# WRONG: writes -inf into the caller's logits

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    logits[probs == 0] = float("-inf")
    return torch.multinomial(probs, 1, generator=generator)
