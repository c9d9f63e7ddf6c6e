# exercise: top_k_probs
# RIGHT: kthvalue finds the threshold

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"k={k}")
    size = logits.shape[-1]
    if k >= size:
        return torch.softmax(logits, -1)
    threshold = logits.kthvalue(size - k + 1, dim=-1, keepdim=True).values
    return torch.softmax(torch.where(logits >= threshold, logits, torch.tensor(float("-inf"), device=logits.device)), -1)
