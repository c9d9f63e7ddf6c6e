# exercise: top_k_probs
# WRONG: gives the survivors equal probabilities

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    k = min(k, logits.shape[-1])
    kth_logit = logits.topk(k, dim=-1).values[:, -1:]
    kept = (logits >= kth_logit).float()
    return kept / kept.sum(dim=-1, keepdim=True)
