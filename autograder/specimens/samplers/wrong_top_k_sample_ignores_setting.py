# exercise: top_k_sample
# WRONG: draws from the plain softmax

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return torch.multinomial(softmax(logits), 1, generator=generator)
