# exercise: min_p_probs
# RIGHT: the threshold as a gap of logits: ln p - ln max p >= ln min_p

def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    gap = torch.tensor(float(min_p), dtype=logits.dtype).log()
    best = logits.max(dim=-1, keepdim=True).values
    return torch.softmax(torch.where(logits - best >= gap, logits, float("-inf")), dim=-1)
