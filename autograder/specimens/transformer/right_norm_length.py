# exercise: rms_norm
# RIGHT: from the length of the vector
import math


def rms_norm(x, weight, eps):
    D = x.size(-1)
    y = x if x.dtype in (torch.float32, torch.float64) else x.float()
    length = torch.linalg.vector_norm(y, dim=-1)
    root = torch.hypot(length / math.sqrt(D), torch.full_like(length, math.sqrt(eps)))
    return weight * torch.einsum("...d,...->...d", y, 1 / root).to(x.dtype)
