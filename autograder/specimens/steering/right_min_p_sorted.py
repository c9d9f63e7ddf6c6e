# exercise: min_p_probs
# RIGHT: sorted, cut after the last token that qualifies, scattered back

def min_p_probs(logits, min_p):
    if not 0 <= min_p <= 1:
        raise ValueError(min_p)
    values, order = logits.softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32)).sort(dim=-1, descending=True)
    keep = values >= min_p * values[:, :1]
    values = values * keep
    values = values / values.sum(-1, keepdim=True)
    out = torch.empty_like(values)
    out.scatter_(-1, order, values)
    return out
