# exercise: merge_heads
# WRONG: only head 0
# SAYS: Only head 0 comes back: put all heads side by side.
def merge_heads(x):
    return x[:, 0].repeat(1, 1, x.shape[1])
