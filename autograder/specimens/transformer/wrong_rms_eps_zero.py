# exercise: rms_norm
# WRONG: eps = 0 is replaced by 1e-6
def rms_norm(x, weight, eps):
    eps = eps or 1e-6
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
