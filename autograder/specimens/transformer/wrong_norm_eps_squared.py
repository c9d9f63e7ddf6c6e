# exercise: rms_norm
# WRONG: eps is squared
# SAYS: eps is squared: add it as it is.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps**2).sqrt()
    return (precise / size).to(x.dtype) * weight
