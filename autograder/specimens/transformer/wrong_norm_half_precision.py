# exercise: rms_norm
# WRONG: computed in the dtype of x
# SAYS: Squares, mean and root are computed in the dtype of x: use at least float32, and go back at the end.
def rms_norm(x, weight, eps):
    precise = x
    size = (precise.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    return (precise / size).to(x.dtype) * weight
