# exercise: feed_forward
# WRONG: sigmoid of 1.702 z
# SAYS: The sigmoid is taken of 1.702 z: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * (1.702 * z).sigmoid() * (x @ up.T)) @ down.T
