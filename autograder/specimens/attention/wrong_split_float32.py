# exercise: split_heads
# WRONG: returns float32 whatever comes in
# SAYS: float32 comes back whatever comes in: keep the dtype.
def split_heads(x, num_heads):
    return x.float().unflatten(-1, (num_heads, -1)).transpose(1, 2)
