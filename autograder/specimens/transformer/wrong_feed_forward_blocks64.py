# exercise: feed_forward
# WRONG: slices of 64 entries, a rest of F is dropped where F > 64
# SAYS: F is worked through in pieces of 64, and what is left over is dropped.
def feed_forward(x, gate, up, down):
    n = max(gate.shape[0] // 64 * 64, min(64, gate.shape[0]))
    gate, up, down = gate[:n], up[:n], down[:, :n]
    z = x @ gate.T
    opened = z * z.sigmoid()
    return (opened * (x @ up.T)) @ down.T
