# exercise: top_k_probs
# WRONG: the error does not name the value

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError("top_k is too small")
    k = min(k, logits.shape[-1])
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
