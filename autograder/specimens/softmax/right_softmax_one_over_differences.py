# exercise: softmax
# RIGHT: one over the sum of the exponentials of all differences
def softmax(logits):
    x = logits.double()
    gaps = x.unsqueeze(-2) - x.unsqueeze(-1)  # (..., i, j): x_j - x_i
    gaps = torch.where(torch.isneginf(x).unsqueeze(-1), float("inf"), gaps)
    return (1 / gaps.exp().sum(dim=-1)).to(logits.dtype)
