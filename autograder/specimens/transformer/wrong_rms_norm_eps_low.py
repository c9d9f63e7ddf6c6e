# exercise: rms_norm
# WRONG: eps rounded to the dtype of x: 1e-8 becomes 0 in float16
# SAYS: eps is rounded to the dtype of x, and 1e-8 is 0 in float16: add it in float32.
def rms_norm(x, weight, eps):
    y = x.to(torch.promote_types(x.dtype, torch.float32))
    return (y / (y.square().mean(-1, keepdim=True) + torch.tensor(eps, dtype=x.dtype).to(y.dtype)).sqrt()).to(x.dtype) * weight
