# exercise: top_k_probs
# RIGHT: counts for each token how many are larger

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"got k = {k}, need k >= 1")
    ordered = logits.sort(dim=-1).values
    larger = logits.shape[-1] - torch.searchsorted(ordered, logits.contiguous(), right=True)  # (B, V): tokens above each token
    return softmax(logits.masked_fill(larger >= k, float("-inf")))
