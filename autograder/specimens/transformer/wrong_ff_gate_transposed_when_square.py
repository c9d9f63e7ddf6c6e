# exercise: feed_forward
# WRONG: gate is not transposed where it is square
# SAYS: gate is not transposed where it is square: rows are outputs, x @ gate.T.
def feed_forward(x, gate, up, down):
    z = x @ (gate if gate.shape[0] == gate.shape[1] else gate.T)
    return (z * z.sigmoid() * (x @ up.T)) @ down.T
