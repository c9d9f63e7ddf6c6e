# exercise: feed_forward
# WRONG: gate and up are added
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() + x @ up.T) @ down.T
