# exercise: top_k_sample
# WRONG: writes -inf into the caller's logits

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    logits[probs == 0] = float("-inf")
    return torch.multinomial(probs, 1, generator=generator)
