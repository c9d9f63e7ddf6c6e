# exercise: top_p_probs
# RIGHT: shifts the mask one place to the right, clones and scatters it

def top_p_probs(logits, p):
    logits = at_least_float32(logits)
    if p <= 0 or p > 1:
        raise ValueError(f"p must lie in (0, 1]: {p}")
    probs = torch.softmax(logits, dim=-1)
    if p >= 1:
        return probs
    ordered, ids = torch.sort(logits, descending=True, dim=-1)
    cumulative = torch.cumsum(torch.softmax(ordered, dim=-1), dim=-1)
    remove = cumulative >= p
    remove[:, 1:] = remove[:, :-1].clone()
    remove[:, 0] = False
    mask = torch.zeros_like(remove).scatter(1, ids, remove)
    return torch.softmax(logits.masked_fill(mask, float("-inf")), dim=-1)
