# exercise: split_heads
# WRONG: num_heads taken for the width of a head
# SAYS: num_heads is taken for the width of a head: it counts heads.
def split_heads(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).transpose(1, 2)
