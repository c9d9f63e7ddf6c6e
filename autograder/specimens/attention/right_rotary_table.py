# exercise: rotary
# RIGHT: a table of all positions up to the largest, looked up by position
import torch


def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    exponents = torch.linspace(0, 1, half + 1, device=x.device)[:-1]
    table = torch.outer(torch.arange(int(positions.max()) + 1, device=x.device).float(), base ** -exponents)
    cos, sin = table.cos()[positions], table.sin()[positions]
    if positions.dim() == 2:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).type_as(x)
