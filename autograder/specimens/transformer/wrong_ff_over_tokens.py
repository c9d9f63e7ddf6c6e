# exercise: feed_forward
# WRONG: the gate is averaged over the tokens
# SAYS: The gate is averaged over the tokens: every token is worked on alone.
def feed_forward(x, gate, up, down):
    z = (x @ gate.T).mean(dim=1, keepdim=True)
    return (z * z.sigmoid() * (x @ up.T)) @ down.T
