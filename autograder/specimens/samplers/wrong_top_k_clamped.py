# exercise: top_k_probs
# WRONG: a bad k is raised to 1 in silence

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    k = max(1, min(k, logits.shape[-1]))
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
