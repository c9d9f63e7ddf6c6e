# exercise: top_k_sample
# WRONG: takes the best token instead of drawing

def top_k_sample(logits, k, generator=None):
    logits = at_least_float32(logits)
    probs = top_k_probs(logits, k)
    return probs.argmax(dim=-1, keepdim=True)
