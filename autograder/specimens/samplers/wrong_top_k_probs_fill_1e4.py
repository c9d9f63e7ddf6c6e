# exercise: top_k_probs
# WRONG: forbidden tokens get -1e4, not small beside -20000
def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1: raise ValueError(f"top_k {k}")
    t = logits.topk(min(k, logits.shape[-1]), dim=-1).values[:, -1:]
    return softmax(logits.masked_fill(logits < t, -1e4))
