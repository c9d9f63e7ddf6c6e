# exercise: rms_norm
# WRONG: eps as a lower bound instead of a summand
# SAYS: eps is a lower bound for the mean: add it.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True).clamp(min=eps)).sqrt()
    return (precise / size).to(x.dtype) * weight
