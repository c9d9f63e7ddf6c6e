# exercise: feed_forward
# WRONG: up is not used
# SAYS: up is not used: multiply silu of the gate by it.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid()) @ down.T
