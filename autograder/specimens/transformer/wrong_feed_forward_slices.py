# exercise: feed_forward
# WRONG: slices of 32 entries, the rest of F is dropped
# SAYS: F is worked through in pieces of 32, and what is left over is dropped.
def feed_forward(x, gate, up, down):
    F = gate.shape[0]
    n = F // 32 * 32 if F >= 32 else F
    z = x @ gate[:n].T
    return (z * z.sigmoid() * (x @ up[:n].T)) @ down[:, :n].T
