# exercise: rotary
# RIGHT: a 2 x 2 rotation matrix for each position and pair, applied by einsum in float64
import torch


def rotary(x, positions, base=10000.0):
    B, H, T, Dh = x.shape
    theta = float(base) ** (-2.0 * torch.arange(Dh // 2, dtype=torch.float64, device=x.device) / Dh)
    angles = positions.double().reshape(-1, T, 1) * theta
    c, s = torch.cos(angles), torch.sin(angles)
    matrices = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)
    matrices = matrices.expand(B, T, Dh // 2, 2, 2)
    pairs = x.double().reshape(B, H, T, 2, Dh // 2)
    turned = torch.einsum("btjmn,bhtnj->bhtmj", matrices, pairs)
    return turned.reshape(B, H, T, Dh).to(x.dtype)
