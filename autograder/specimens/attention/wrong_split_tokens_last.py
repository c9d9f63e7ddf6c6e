# exercise: split_heads
# WRONG: (B, H, Dh, T)
# SAYS: The result is (B, H, Dh, T): tokens come before entries.
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 3, 1)
