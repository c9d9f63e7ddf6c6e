# exercise: top_p_sample
# WRONG: takes the best token instead of drawing

def top_p_sample(logits, p, generator=None):
    logits = at_least_float32(logits)
    probs = top_p_probs(logits, p)
    return probs.argmax(dim=-1, keepdim=True)
