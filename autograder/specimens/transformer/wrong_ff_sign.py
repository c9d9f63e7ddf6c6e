# exercise: feed_forward
# WRONG: silu(-z)
# SAYS: The gate's sign is turned before silu.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (-z * (-z).sigmoid() * (x @ up.T)) @ down.T
