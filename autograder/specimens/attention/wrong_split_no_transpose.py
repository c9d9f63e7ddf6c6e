# exercise: split_heads
# WRONG: leaves tokens before heads
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))
