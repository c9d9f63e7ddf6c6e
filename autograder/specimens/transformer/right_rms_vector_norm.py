# exercise: rms_norm
# RIGHT: float64 throughout, the size from vector_norm, weight before the cast
def rms_norm(x, weight, eps):
    y = x.to(torch.float64)
    length = torch.linalg.vector_norm(y, dim=-1)
    size = torch.sqrt(length**2 / y.shape[-1] + eps)
    return torch.einsum("...d,...,d->...d", y, 1 / size, weight.double()).to(x.dtype)
