# exercise: top_p_sample
# WRONG: applies softmax once more to the probabilities

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(softmax(probs), 1, generator=generator)
