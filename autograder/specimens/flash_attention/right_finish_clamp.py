# exercise: finish
# RIGHT: the divisor is kept off zero: l is 0 or at least 1

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.clamp(min=1e-30).unsqueeze(-1)
    return out, state.m + state.l.log()
