# exercise: rotary
# WRONG: multiplies by the cosine and forgets the exchanged half
# SAYS: Each entry is multiplied by the cosine alone: the sine times the other entry of its pair is missing.
def rotary(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angles = (positions.unsqueeze(-1) * base ** (-torch.arange(half, device=x.device) / half)).unsqueeze(-3)
    return (x * torch.cat((angles.cos(), angles.cos()), dim=-1)).to(x.dtype)
