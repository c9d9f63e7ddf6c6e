# exercise: naive_positions
# RIGHT: torch adds
def naive_positions(t0, g):
    return int(torch.arange(t0, t0 + g).sum())
