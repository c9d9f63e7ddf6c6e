# exercise: rms_norm
# RIGHT: vector by vector
def rms_norm(x, weight, eps):
    rows = x.reshape(-1, x.shape[-1]).double()
    out = torch.empty_like(rows)
    for i, row in enumerate(rows):
        out[i] = row / (torch.dot(row, row) / len(row) + eps).sqrt()
    return (out * weight.double()).view(x.shape).to(x.dtype)
