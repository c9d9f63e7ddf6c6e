# exercise: typical_probs
# RIGHT: finds the distance at which the mass is reached and keeps all tokens up to it, ties too

def typical_probs(logits, mass):
    logp = torch.log_softmax(logits, -1)
    p = logp.exp()
    h = -(logp * p).nansum(-1, keepdim=True)
    shifted = (-logp - h).abs()
    sorted_shifted, idx = torch.sort(shifted)
    cumulative = p.gather(-1, idx).cumsum(-1)
    last = (cumulative < mass).sum(-1, keepdim=True).clamp_max(logits.shape[-1] - 1)
    limit = sorted_shifted.gather(-1, last)
    return torch.softmax(logits.masked_fill(shifted > limit, float("-inf")), -1)
