# exercise: top_p_sample
# WRONG: draws from the plain softmax

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return torch.multinomial(softmax(logits), 1, generator=generator)
