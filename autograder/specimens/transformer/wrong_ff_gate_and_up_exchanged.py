# exercise: feed_forward
# WRONG: silu on up, not on gate
# SAYS: silu is taken of up: it belongs to the gate.
def feed_forward(x, gate, up, down):
    z = x @ up.T
    return (z * z.sigmoid() * (x @ gate.T)) @ down.T
