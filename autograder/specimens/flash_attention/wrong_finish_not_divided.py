# exercise: finish
# WRONG: the sum of the values is not divided by l

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc
    return out, state.m + state.l.log()
