# exercise: rms_norm
# WRONG: one mean for the whole tensor
# SAYS: One mean is taken for the whole tensor: every vector has its own.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean() + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
