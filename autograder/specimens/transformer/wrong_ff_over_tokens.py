# exercise: feed_forward
# WRONG: the gate is averaged over the tokens
def feed_forward(x, gate, up, down):
    z = (x @ gate.T).mean(dim=1, keepdim=True)
    return (z * z.sigmoid() * (x @ up.T)) @ down.T
