# exercise: rms_norm
# RIGHT: the reciprocal root, weight in float32, one rounding
def rms_norm(x, weight, eps):
    dtype = x.dtype
    x = x.double()
    scale = torch.rsqrt((x * x).mean(-1, True) + eps)
    return (x * scale * weight.double()).to(dtype)
