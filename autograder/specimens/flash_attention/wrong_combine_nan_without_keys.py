# exercise: combine
# WRONG: nan where no part has a key

def combine(outs: Tensor, lses: Tensor) -> tuple[Tensor, Tensor]:
    lse = lses.logsumexp(dim=0)
    shares = (lses - lse).exp()
    return (shares.unsqueeze(-1) * outs).sum(dim=0), lse
