# exercise: rms_norm
# WRONG: eps is not used
# SAYS: eps is not used.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True)).sqrt()
    return (precise / size).to(x.dtype) * weight
