# exercise: finish
# WRONG: a query without keys is divided by zero

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc / state.l.unsqueeze(-1)
    return out, state.m + state.l.log()
