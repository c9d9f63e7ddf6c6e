# exercise: feed_forward
# WRONG: relu instead of silu
# SAYS: relu is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z.relu() * (x @ up.T)) @ down.T
