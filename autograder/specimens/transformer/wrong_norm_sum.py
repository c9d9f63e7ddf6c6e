# exercise: rms_norm
# WRONG: the sum of squares instead of their mean
# SAYS: The sum of the squares is used: take their mean.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().sum(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
