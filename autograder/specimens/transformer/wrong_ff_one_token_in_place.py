# exercise: feed_forward
# WRONG: where there is one token, the result is written over x
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    out = (z * z.sigmoid() * (x @ up.T)) @ down.T
    return x.copy_(out) if x.shape[1] == 1 else out
