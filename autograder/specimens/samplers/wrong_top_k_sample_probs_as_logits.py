# exercise: top_k_sample
# WRONG: applies softmax once more to the probabilities

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return torch.multinomial(softmax(probs), 1, generator=generator)
