# exercise: combine
# WRONG: the parts are weighted by lse itself

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = lses / lses.sum(dim=0)
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse
