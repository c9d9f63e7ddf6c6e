# exercise: finish
# WRONG: m is subtracted

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1)
    return out, -state.m + state.l.log()
