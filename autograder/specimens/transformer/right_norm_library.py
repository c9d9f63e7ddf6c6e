# exercise: rms_norm
# RIGHT: torch's own rms_norm
import torch.nn.functional as F


def rms_norm(x, weight, eps):
    return F.rms_norm(x.float() if x.dtype != torch.float64 else x, (x.shape[-1],), None, eps).to(x.dtype) * weight
