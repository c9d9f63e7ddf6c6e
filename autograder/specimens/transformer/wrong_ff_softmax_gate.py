# exercise: feed_forward
# WRONG: softmax over the gate
# SAYS: A softmax runs over the gate: silu(z) = z * sigmoid(z), entry by entry.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z.softmax(-1) * (x @ up.T)) @ down.T
