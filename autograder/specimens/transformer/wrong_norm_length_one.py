# exercise: rms_norm
# WRONG: brings each vector to length 1
# SAYS: Each vector gets the length 1: divide by the root of the mean of the squares, not of their sum.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().sum(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight * 1.0
