# exercise: rms_norm
# WRONG: the mean runs over the tokens
# SAYS: The mean runs over the tokens: it runs over the last dimension.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-2 if x.dim() > 1 else -1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
