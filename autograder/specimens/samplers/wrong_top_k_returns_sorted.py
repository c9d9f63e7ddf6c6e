# exercise: top_k_probs
# WRONG: returns the k survivors' probabilities in sorted order, padded

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    k = min(k, logits.shape[-1])
    top = softmax(logits.topk(k, dim=-1).values)
    return torch.nn.functional.pad(top, (0, logits.shape[-1] - k))
