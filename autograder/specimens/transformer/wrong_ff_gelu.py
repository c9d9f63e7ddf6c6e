# exercise: feed_forward
# WRONG: gelu instead of silu
# SAYS: gelu is used: silu(z) = z * sigmoid(z).
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (torch.nn.functional.gelu(z) * (x @ up.T)) @ down.T
