# exercise: feed_forward
# WRONG: no activation
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * (x @ up.T)) @ down.T
