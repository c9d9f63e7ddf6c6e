# exercise: feed_forward
# WRONG: writes into x where the shapes allow it
# SAYS: x is written to: build a new tensor.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    out = (z * z.sigmoid() * (x @ up.T)) @ down.T
    x.copy_(out)
    return x
