# exercise: combine
# RIGHT: the maximum taken out by hand

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    top = lses.amax(dim=0).masked_fill(lses.amax(dim=0) == -torch.inf, 0.0)
    lse = top + (lses - top).exp().sum(dim=0).log()
    shares = (lses - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse
