# exercise: rms_norm
# WRONG: x.view(-1, D): refuses an x that is not contiguous
# SAYS: `view` needs the numbers in memory in the order of the shape, and x may be transposed: a mean over the last dimension needs no reshaping.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    rows = precise.view(-1, x.shape[-1])
    size = (rows.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (rows / size).view(x.shape).to(x.dtype) * weight
