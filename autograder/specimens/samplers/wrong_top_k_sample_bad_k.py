# exercise: top_k_sample
# WRONG: k below 1 switches the filter off

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k) if k >= 1 else softmax(logits)
    return torch.multinomial(probs, 1, generator=generator)
