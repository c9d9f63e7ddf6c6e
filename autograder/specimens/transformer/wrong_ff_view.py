# exercise: feed_forward
# WRONG: x.view(-1, D): refuses an x that is not contiguous
# SAYS: `view` needs the numbers in memory in the order of the shape, and x may be transposed: x @ gate.T needs no reshaping at all.
def feed_forward(x, gate, up, down):
    rows = x.view(-1, x.shape[-1])
    gates = rows @ gate.T
    return (gates * gates.sigmoid() * (rows @ up.T) @ down.T).view(*x.shape[:-1], -1)
