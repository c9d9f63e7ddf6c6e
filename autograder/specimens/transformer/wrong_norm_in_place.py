# exercise: rms_norm
# WRONG: divides the caller's x
# SAYS: The caller's x is divided: build a new tensor.
def rms_norm(x, weight, eps):
    size = (x.float().square().mean(dim=-1, keepdim=True) + eps).sqrt()
    x /= size
    return x * weight
