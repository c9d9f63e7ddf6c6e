# exercise: rms_norm
# WRONG: returns float32
# SAYS: float32 comes back whatever comes in: keep the dtype of x.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size) * weight
