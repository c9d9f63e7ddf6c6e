# exercise: rms_norm
# WRONG: divides by the mean square, not its root
# SAYS: x is divided by the mean of the squares: divide by its root.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps)
    return (precise / size).to(x.dtype) * weight
