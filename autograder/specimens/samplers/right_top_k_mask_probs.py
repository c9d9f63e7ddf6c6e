# exercise: top_k_probs
# RIGHT: softmax first, mask and renormalise afterwards

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"top_k must be positive but is {k}")
    probs = torch.softmax(logits.double(), dim=-1)
    ordered, _ = torch.sort(logits, dim=-1, descending=True)
    threshold = ordered[:, min(k, ordered.shape[1]) - 1].unsqueeze(1)
    probs = probs * (logits >= threshold)
    return (probs / probs.sum(dim=-1, keepdim=True)).to(logits.dtype)
