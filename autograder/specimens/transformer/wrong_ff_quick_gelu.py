# exercise: feed_forward
# WRONG: sigmoid of 1.702 z
def feed_forward(x, gate, up, down):
    z = x @ gate.T
    return (z * (1.702 * z).sigmoid() * (x @ up.T)) @ down.T
