# exercise: top_k_probs
# RIGHT: cuts with a very negative number in a clone instead of -inf

def top_k_probs(logits, k):
    logits = at_least_float32(logits)
    if k < 1:
        raise ValueError(f"k: {k}")
    copy = logits.clone()
    for row in copy:
        kth = row.sort(descending=True)[0][min(k, row.numel()) - 1]
        row[row < kth] = torch.finfo(row.dtype).min
    return torch.nn.functional.softmax(copy, dim=-1)
