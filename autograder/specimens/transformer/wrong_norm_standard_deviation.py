# exercise: rms_norm
# WRONG: the standard deviation
# SAYS: x is divided by its standard deviation, for which the mean is subtracted: use the mean of the squares.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.var(dim=-1, keepdim=True, unbiased=False) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
