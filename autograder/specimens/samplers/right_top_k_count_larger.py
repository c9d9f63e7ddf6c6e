# exercise: top_k_probs
# RIGHT: counts for each token how many are larger

def top_k_probs(logits, k):
    if k < 1:
        raise ValueError(f"got k = {k}, need k >= 1")
    larger = (logits.unsqueeze(-2) > logits.unsqueeze(-1)).sum(dim=-1)  # (B, V): tokens above each token
    return softmax(logits.masked_fill(larger >= k, float("-inf")))
