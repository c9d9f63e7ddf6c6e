# exercise: rms_norm
# WRONG: eps is always 1e-6
# SAYS: eps is always 1e-6: use the one that is given.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()
    return (precise / size).to(x.dtype) * weight
