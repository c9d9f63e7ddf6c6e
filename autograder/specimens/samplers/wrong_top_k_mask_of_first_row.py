# exercise: top_k_probs
# WRONG: the mask of row 0 for all rows

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    k = min(k, logits.shape[-1])
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]
    mask = (logits < kth_logit)[:1].expand_as(logits)
    return softmax(logits.masked_fill(mask, float("-inf")))
