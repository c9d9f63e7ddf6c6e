# exercise: top_k_probs
# WRONG: computes in the dtype of the logits: in bfloat16 a probability has two or three digits

def top_k_probs(logits, k):
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    kth = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < kth, float("-inf")))
