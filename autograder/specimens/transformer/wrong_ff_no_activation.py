# exercise: feed_forward
# WRONG: no activation
# SAYS: silu is left out: the gate goes through z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * (x @ up.T)) @ down.T
