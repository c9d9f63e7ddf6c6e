# exercise: finish
# RIGHT: the division guarded by where

def finish(state: State) -> tuple[Tensor, Tensor]:
    out = torch.where(state.l.unsqueeze(-1) > 0, state.acc / state.l.unsqueeze(-1), torch.zeros_like(state.acc))
    return out, state.m + state.l.log()
