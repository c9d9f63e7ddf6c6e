# exercise: top_k_probs
# WRONG: the threshold of row 0 for all rows

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    k = min(k, logits.shape[-1])
    kth_logit = logits[0].topk(k).values[-1]
    cut = logits.masked_fill(logits < kth_logit, float("-inf"))
    return softmax(cut).nan_to_num(0.0)
