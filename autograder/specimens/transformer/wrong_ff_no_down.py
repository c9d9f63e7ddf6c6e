# exercise: feed_forward
# WRONG: down is left out where the shapes allow it
# SAYS: down is left out: it brings the F numbers back to D.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() * (x @ up.T)) if down.shape[0] == down.shape[1] else (z * z.sigmoid() * (x @ up.T)) @ down.T
