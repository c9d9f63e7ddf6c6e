# exercise: rms_norm
# WRONG: the weight is applied before the size is taken
# SAYS: The weight is applied before the size is taken: norm first.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32)) * weight
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype)
