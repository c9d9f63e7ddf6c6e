# exercise: top_k_probs
# RIGHT: step by step; most of the wrong versions are edits of it

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    k = min(k, logits.shape[-1])
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < kth_logit, float("-inf")))
