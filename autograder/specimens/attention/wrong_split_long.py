# exercise: split_heads
# WRONG: texts longer than 64 tokens lose their end
def split_heads(x, num_heads):
    return x[:, :64].unflatten(-1, (num_heads, -1)).transpose(1, 2)
