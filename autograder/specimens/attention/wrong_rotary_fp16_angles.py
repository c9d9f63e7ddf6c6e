# exercise: rotary
# WRONG: upcasts bfloat16 only: float16 angles for float16
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    precise = torch.float32 if x.dtype == torch.bfloat16 else x.dtype
    a = positions.to(precise)[..., None] * (base ** (-torch.arange(half) / half)).to(precise)
    a = a[:, None] if a.dim() == 3 else a
    f, s = x[..., :half], x[..., half:]
    return torch.cat((f * a.cos() - s * a.sin(), s * a.cos() + f * a.sin()), -1).to(x.dtype)
