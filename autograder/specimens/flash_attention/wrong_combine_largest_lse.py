# exercise: combine
# WRONG: lse is the largest of the parts

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = (lses - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lses.amax(dim=0)
