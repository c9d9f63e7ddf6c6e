# exercise: rms_norm
# WRONG: subtracts the mean, as LayerNorm does
# SAYS: The mean is subtracted, as LayerNorm does: RMSNorm subtracts nothing.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    precise = precise - precise.mean(dim=-1, keepdim=True)
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
