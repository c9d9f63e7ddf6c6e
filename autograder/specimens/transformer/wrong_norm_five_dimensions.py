# exercise: rms_norm
# WRONG: more than four dimensions are flattened, and come back so
def rms_norm(x, weight, eps):
    if x.dim() > 4:
        x = x.flatten(0, -2)
    precise = x.to(torch.promote_types(x.dtype, torch.float32))
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
