# exercise: feed_forward
# WRONG: silu as z exp(z) / (1 + exp(z)), which is nan for a large z
# SAYS: exp(z) of a large z is infinite, and infinity over infinity is nan: torch.sigmoid does it safely.
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * z.exp() / (1 + z.exp()) * (x @ up.T)) @ down.T
