# exercise: rms_norm
# WRONG: multiplies by 1 + weight
# SAYS: x is multiplied by 1 + weight: by the weight.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * (1 + weight)
