# exercise: rms_norm
# WRONG: float64 comes back as float32
# SAYS: float64 comes back as float32: compute in float32 or better.
def rms_norm(x, weight, eps):
    precise = x.to(torch.float32)
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).float() * weight.float()
