# exercise: top_k_probs
# WRONG: renormalises over the whole batch

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    k = min(k, logits.shape[-1])
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]
    probs = softmax(logits).masked_fill(logits < kth_logit, 0.0)
    return probs * len(probs) / probs.sum()
