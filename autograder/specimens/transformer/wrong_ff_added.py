# exercise: feed_forward
# WRONG: gate and up are added
# SAYS: gate and up are added: multiply them, entry by entry.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.sigmoid() + x @ up.T) @ down.T
