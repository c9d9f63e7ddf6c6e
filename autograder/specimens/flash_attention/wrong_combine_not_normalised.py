# exercise: combine
# WRONG: the shares do not add up to one

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = (lses - lses.amax(dim=0).nan_to_num(neginf=0.0)).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse
