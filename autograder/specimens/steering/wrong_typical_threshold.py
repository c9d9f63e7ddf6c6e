# exercise: typical_probs
# WRONG: every token as far from the entropy as the last one is kept too, though the mass is reached without it

def typical_probs(logits, mass):
    if mass <= 0 or mass > 1:
        raise ValueError(f"mass {mass}")
    if mass == 1:
        return torch.softmax(logits, -1)
    logp = torch.log_softmax(logits, -1)
    p = logp.exp()
    h = -(logp * p).nansum(-1, keepdim=True)
    shifted = (-logp - h).abs()
    sorted_shifted, idx = torch.sort(shifted)
    cumulative = p.gather(-1, idx).cumsum(-1)
    last = (cumulative < mass).sum(-1, keepdim=True).clamp_max(logits.shape[-1] - 1)
    limit = sorted_shifted.gather(-1, last)
    return torch.softmax(logits.masked_fill(shifted > limit, float("-inf")), -1)
