# exercise: rms_norm
# WRONG: eps outside the root
# SAYS: eps is added outside the root: it belongs to the mean, sqrt(mean + eps).
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = precise.square().mean(dim=-1, keepdim=True).sqrt() + eps
    return (precise / size).to(x.dtype) * weight
