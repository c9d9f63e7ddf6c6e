# exercise: top_p_sample
# WRONG: p outside (0, 1] switches the filter off

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p) if 0 < p <= 1 else softmax(logits)
    return torch.multinomial(probs, 1, generator=generator)
