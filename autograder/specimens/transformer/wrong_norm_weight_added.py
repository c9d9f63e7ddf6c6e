# exercise: rms_norm
# WRONG: adds the weight
# SAYS: The weight is added: multiply by it.
def rms_norm(x, weight, eps):
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) + weight
