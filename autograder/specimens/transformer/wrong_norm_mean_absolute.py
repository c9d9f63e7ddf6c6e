# exercise: rms_norm
# WRONG: the mean of the absolute values
# SAYS: The mean of the absolute values is used: it is the root of the mean of the squares.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = precise.abs().mean(dim=-1, keepdim=True) + eps
    return (precise / size).to(x.dtype) * weight
