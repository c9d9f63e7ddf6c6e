# exercise: split_heads
# WRONG: returns float32 whatever comes in
def split_heads(x, num_heads):
    return x.float().unflatten(-1, (num_heads, -1)).transpose(1, 2)
