# exercise: feed_forward
# WRONG: z * tanh(z)
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.tanh() * (x @ up.T)) @ down.T
