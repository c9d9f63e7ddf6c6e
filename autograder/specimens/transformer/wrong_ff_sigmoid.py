# exercise: feed_forward
# WRONG: sigmoid instead of silu (GLU)
# SAYS: The sigmoid alone is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z.sigmoid() * (x @ up.T)) @ down.T
