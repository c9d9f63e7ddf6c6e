# exercise: feed_forward
# WRONG: adds x
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return x + (z * z.sigmoid() * (x @ up.T)) @ down.T
