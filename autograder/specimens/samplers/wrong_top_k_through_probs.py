# exercise: top_k_probs
# WRONG: compares probabilities: logits that differ by less than softmax can show count as ties

def top_k_probs(logits, k):
    if k < 1:
        raise ValueError(f"top_k must be 1 or more, got {k}")
    probs = softmax(at_least_float32(logits))
    kth = probs.topk(min(k, probs.shape[-1]), dim=-1).values[:, -1:]
    kept = probs.masked_fill(probs < kth, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)
