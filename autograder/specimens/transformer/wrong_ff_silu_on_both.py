# exercise: feed_forward
# WRONG: silu on gate and on up
# SAYS: silu is taken of gate and up: it belongs to the gate alone.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() * torch.nn.functional.silu(x @ up.T)) @ down.T
