# exercise: rotary
# WRONG: upcasts bfloat16 only: float16 angles for float16
# SAYS: In float16 the angles are float16: compute them in float32 for every narrow dtype.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    precise = torch.float32 if x.dtype == torch.bfloat16 else x.dtype
    a = positions.to(precise)[..., None] * (base ** (-torch.arange(half, device=x.device) / half)).to(precise)
    a = a[:, None] if a.dim() == 3 else a
    f, s = x[..., :half], x[..., half:]
    return torch.cat((f * a.cos() - s * a.sin(), s * a.cos() + f * a.sin()), -1).to(x.dtype)
