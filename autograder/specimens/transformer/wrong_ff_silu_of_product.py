# exercise: feed_forward
# WRONG: silu of the product
# SAYS: silu is taken of the product: it belongs to the gate alone.
def feed_forward(x, gate, up, down):
    z = (x @ gate.T) * (x @ up.T)
    return (z * z.sigmoid()) @ down.T
