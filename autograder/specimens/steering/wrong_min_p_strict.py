# exercise: min_p_probs
# WRONG: a token exactly at the threshold is cut

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    top = probs.amax(-1, keepdim=True)
    keep = (probs > min_p * top) | torch.zeros_like(probs, dtype=torch.bool).scatter(-1, probs.argmax(-1, keepdim=True), True)
    kept = probs * keep
    return kept / kept.sum(-1, keepdim=True)
