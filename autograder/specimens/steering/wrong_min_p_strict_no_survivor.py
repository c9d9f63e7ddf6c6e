# exercise: min_p_probs
# WRONG: strictly above the threshold: nothing survives min_p = 1

def min_p_probs(logits, min_p):
    probs = softmax(logits)
    kept = torch.where(probs > min_p * probs.amax(-1, keepdim=True), probs, 0.0)
    return kept / kept.sum(-1, keepdim=True)
