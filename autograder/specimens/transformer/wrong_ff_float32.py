# exercise: feed_forward
# WRONG: returns float32
# SAYS: float32 comes back whatever comes in: keep the dtype.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    x, gate, up, down = (t.float() for t in (x, gate, up, down))
    z = z.float()
    return (z * z.sigmoid() * (x @ up.T)) @ down.T
