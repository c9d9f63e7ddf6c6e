# exercise: finish
# WRONG: lse is in bits

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1)
    return out, state.m / 0.6931471805599453 + state.l.log2()
