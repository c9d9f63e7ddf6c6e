# exercise: feed_forward
# WRONG: down is not transposed where it is square
# SAYS: down is not transposed where it is square: rows are outputs, ... @ down.T.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() * (x @ up.T)) @ (down if down.shape[0] == down.shape[1] else down.T)
