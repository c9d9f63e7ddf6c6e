# exercise: feed_forward
# WRONG: adds x
# SAYS: x is added: the layer does that, not this function.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return x + (z * z.sigmoid() * (x @ up.T)) @ down.T
