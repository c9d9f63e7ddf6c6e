# exercise: finish
# WRONG: the given state is divided in place

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = state.acc.div_(state.l.masked_fill(state.l == 0, 1.0).unsqueeze(-1))
    return out, state.m + state.l.log()
