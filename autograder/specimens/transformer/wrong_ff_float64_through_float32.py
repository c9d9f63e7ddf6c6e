# exercise: feed_forward
# WRONG: float64 is computed in float32
def feed_forward(x, gate, up, down):
    gates = x @ gate.T
    opened = gates * gates.sigmoid()
    return ((opened * (x @ up.T)).float() @ down.float().T).to(x.dtype)
