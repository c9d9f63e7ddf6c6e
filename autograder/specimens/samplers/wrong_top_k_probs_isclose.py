# exercise: top_k_probs
# WRONG: keeps tokens whose logit is nearly the k-th, too
def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1: raise ValueError(f"top_k {k}")
    t = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < t - 1e-3, float("-inf")))
