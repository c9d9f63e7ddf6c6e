# exercise: draw
# RIGHT: searchsorted on the running sum, clamped to the last token that has a share

def draw(probs, u):
    cumulative = at_least_float32(probs).cumsum(dim=-1).contiguous()
    index = torch.searchsorted(cumulative, u.reshape(-1, 1).to(cumulative.dtype), right=True)
    last = (cumulative < cumulative[:, -1:]).sum(dim=-1, keepdim=True)
    return torch.minimum(index, last)
