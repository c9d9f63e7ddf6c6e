# exercise: rotary
# WRONG: multiplies by the cosine and forgets the exchanged half
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half) / half)).unsqueeze(-3)
    return (x * torch.cat((angles.cos(), angles.cos()), dim=-1)).to(x.dtype)
