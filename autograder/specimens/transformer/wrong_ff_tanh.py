# exercise: feed_forward
# WRONG: z * tanh(z)
# SAYS: z * tanh(z) is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.tanh() * (x @ up.T)) @ down.T
