# exercise: finish
# RIGHT: multiplies by the reciprocal

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc * state.l.masked_fill(state.l == 0, 1.0).reciprocal().unsqueeze(-1)
    return out, state.m + state.l.log()
