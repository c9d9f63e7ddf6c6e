# exercise: split_heads
# WRONG: the heads in reversed order
# SAYS: The heads come in reversed order.
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2).flip(1)
