# exercise: rms_norm
# WRONG: works for (B, T, D) only
# SAYS: Only an x of shape (B, T, D) can be used: any number of dimensions may stand before D.
def rms_norm(x, weight, eps):
    B, T, D = x.shape
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
